"""Loading with the `lark` library: its internals, and its errors turned into ours. `lark` is the front end proper."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lark import Token, Tree

from ..errors import DerivableError, GrammarError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from ..limits import Limits
from .build import checked_source
from .regex import parse_regex

__all__ = ["Loaded", "Source", "load"]

_lark: Any = importlib.import_module("lark.load_grammar")

# Lark's lexical syntax. Its own patterns for strings and patterns take exponential time on an unclosed one, so that
# case is found here, before Lark sees the text.
_LEXEME = re.compile(
    r"""
      (?P<comment>  //[^\n]* | \#[^\n]* )
    | (?P<string>   "(?:\\.|[^"\\\n])*"i? )
    | (?P<regexp>   /(?:\\.|[^/\\])*/[imslux]* )
    | (?P<unclosed> ["/] )
    | (?P<name>     [a-zA-Z_][a-zA-Z0-9_]* )
    | (?P<open>     [(\[{] )
    | (?P<close>    [)\]}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNBOUNDED: int = _lark.PatternRE(".*").max_width
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


_OF_LLGUIDANCE = (
    "Lark has no attributes in brackets, %json, %regex or <tokens> in rules: that is llguidance's dialect, which "
    '`dialect="llguidance"` reads. Templates, priorities and %declare are Lark\'s alone.'
)


def _places(literal: str) -> list[int]:
    """Where each character stands of the text that Lark makes of a literal: it reads these escapes itself."""
    lengths = {"x": 4, "u": 6, "U": 10, **dict.fromkeys('nftr"', 2)}
    places, at = [], 0
    while at < len(literal):
        places.append(at)
        if literal[at] == "\\" and at + 1 < len(literal) and literal[at + 1] not in lengths:
            places.append(at + 1)
            at += 1
        elif literal[at] == "\\":
            at += lengths.get(literal[at + 1 : at + 2], 1) - 1
        at += 1
    return places


def _count(number: str) -> int:
    """A number of times; of more digits one that no text reaches either. Python reads no more than 4,300 of them."""
    digits = number.lstrip("+-").lstrip("0")
    value = int(digits or 0) if len(digits) < 20 else 10**19
    return -value if number.startswith("-") else value


@dataclass(frozen=True)
class Loaded:
    """What Lark made of a grammar.

    Attributes:
        rules: name to tree (`None` if only declared), templates applied, terminals named.
        terminals: name to pattern (`None` if only declared) and priority, in Lark's order.
        ignored: names of terminals.
        names: what stands for the names that Lark makes up (`__ANON_0`, `__IGNORE_0`): the text of the terminal.
        options: of each rule, how it shapes trees (`lark.grammar.RuleOptions`).
    """

    rules: dict[str, Any]
    terminals: dict[str, tuple[Any, int]]
    ignored: list[str]
    names: dict[str, str]
    options: dict[str, Any]


class Source:
    """The text of a grammar: finds places in it and says what is wrong there."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = checked_source(text, limits, "Lark grammar")
        self.limits = limits
        self.lexemes: list[tuple[str, tuple[int, int]]] = []
        for found in _LEXEME.finditer(text):
            self.lexemes.append((str(found.lastgroup), found.span()))
            if found.lastgroup == "unclosed":  # refused below; to read on would look at its rest again and again
                break
        self.depth = self._check()
        self._bound_terminals()

    def _check(self) -> int:
        """What must not reach Lark: unclosed strings and patterns, and nesting beyond the limit."""
        depth = deepest = 0
        for kind, span in self.lexemes:
            if kind == "unclosed":
                what = "string" if self.text[span[0]] == '"' else "pattern"
                hint = "Close it on the same line." if what == "string" else "Close it with `/`."
                raise GrammarSyntaxError(f"this {what} is never closed", source=self.text, span=span, hint=hint)
            depth += (kind == "open") - (kind == "close")
            deepest = max(deepest, depth)
        if deepest > self.limits.max_depth:
            raise LimitError("max_depth", deepest, self.limits.max_depth, "brackets of a Lark grammar")
        return deepest

    def _bound_terminals(self) -> None:
        """Lark writes out the terminals that a terminal uses, at every use, and takes as long: bound the size."""
        parts: dict[str, list[str]] = {}
        current: list[str] = []
        for kind, (begin, end) in self.lexemes:
            word = self.text[begin:end]
            if kind == "name":
                line = self.text[self.text.rfind("\n", 0, begin) + 1 : begin]
                if re.fullmatch(r"[ \t?!]*|%(?:override|extend)[ \t]+[?!]*", line):
                    current = parts.setdefault(word, []) if word.isupper() else []
                    continue
            if kind in ("name", "string", "regexp"):
                current.append(word)
        sizes: dict[str, int] = {}
        opened: set[str] = set()
        for first in parts:
            todo = [first]
            while todo:
                name = todo[-1]
                if name not in opened:
                    opened.add(name)  # a part that is open already is in a circle, which Lark reports
                    todo += {part for part in parts[name] if part in parts and part not in opened}
                    continue
                todo.pop()
                sizes[name] = 1 + sum(sizes.get(part, 1) for part in parts[name])
                if sizes[name] > self.limits.max_symbols // 10:  # about ten of Lark's nodes for each
                    detail = f"terminal {name!r} of a Lark grammar, written out"
                    raise LimitError("max_symbols", 10 * sizes[name], self.limits.max_symbols, detail)
        # About forty steps of Lark's for each symbol of a terminal that another one repeats.
        steps = sum(size + 39 * (size - 1 - len(parts[name])) for name, size in sizes.items())
        if steps > self.limits.max_symbols:
            raise LimitError("max_symbols", steps, self.limits.max_symbols, "terminals of a Lark grammar, written out")

    @cached_property
    def _names(self) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
        """Where each name (or text without one) is used first, and where it is defined, ignored or declared first."""
        uses: dict[str, tuple[int, int]] = {}
        definitions: dict[str, tuple[int, int]] = {}
        for kind, span in self.lexemes:
            if kind in ("string", "regexp"):
                uses.setdefault(self.text[slice(*span)], span)
            elif kind == "name":
                line = self.text[self.text.rfind("\n", 0, span[0]) + 1 : span[0]]
                defines = re.fullmatch(r"[ \t?!]*|%(?:ignore|declare|override|extend)\b.*", line)
                (definitions if defines else uses).setdefault(self.text[slice(*span)], span)
        return uses, definitions

    def find(self, name: str) -> tuple[int, int] | None:
        """Where `name` is used first, else where it is defined."""
        uses, definitions = self._names
        return uses.get(name) or definitions.get(name)

    def defined(self, name: str) -> tuple[int, int] | None:
        """Where `name` is defined, else where it is used first."""
        uses, definitions = self._names
        return definitions.get(name) or uses.get(name)

    def unused(self, start: str) -> list[str]:
        """Rules and terminals of this text that the start needs nothing of, in their order."""
        bodies: dict[str, set[str]] = {}
        needed, body = {start}, set[str]()
        for kind, (begin, end) in self.lexemes:
            if kind != "name":
                continue
            word, line = self.text[begin:end], self.text[self.text.rfind("\n", 0, begin) + 1 : begin]
            if re.fullmatch(r"[ \t]*%[ \t]*", line):  # the name of a directive: what follows it is needed by nobody
                body = needed if word == "ignore" else set()
            elif re.fullmatch(r"[ \t?!]*|%(?:override|extend)[ \t]+[?!]*", line):
                body = bodies.setdefault(word, set())
            else:
                body.add(word)
        todo = list(needed)
        while todo:
            for name in bodies.get(todo.pop(), set()) - needed:
                needed.add(name)
                todo.append(name)
        return [name for name in bodies if name not in needed]

    def bounds(self, operator: Sequence[Any]) -> tuple[int, int | None]:
        """The bounds that `*`, `+`, `?`, `~ n` or `~ n..m` (a list of tokens) stand for."""
        if str(operator[0]) in _REPEATS:
            return _REPEATS[str(operator[0])]
        numbers = [_count(str(number)) for number in operator[1:]]
        low, high = numbers[0], numbers[-1]
        if low < 0 or high < low:
            first, last = operator[1], operator[-1]
            raise GrammarSyntaxError(
                f"nothing can be repeated {low} to {high} times"
                if low != high
                else f"nothing can be repeated {low} times",
                source=self.text,
                span=self.between(first, last),
                hint="Write `~ n` or `~ n..m` with 0 <= n <= m.",
            )
        return low, high

    def is_here(self, token: Token) -> bool:
        """Whether a token comes from this text and not from an imported grammar."""
        return token.start_pos is not None and self.text.startswith(str(token), token.start_pos)

    def between(self, first: Token, last: Token) -> tuple[int, int] | None:
        """From one token to another, if they stand in this text."""
        return (int(first.start_pos or 0), int(last.end_pos or 0)) if self.is_here(first) else None

    # Errors

    def blame(self, error: Exception) -> DerivableError:
        """Our error for one of Lark's: with the place if it can be found."""
        message = str(error).strip().split("\n")[0] or type(error).__name__
        if isinstance(error, RecursionError):
            return LimitError("max_depth", self.depth, self.depth, "terminals of a Lark grammar within one another")
        try:
            _lark._parse_grammar(self.text, "<string>")
        except Exception as again:
            return self._syntax_error(again)
        try:
            self._check_literals()
        except GrammarError as found:
            return found
        if isinstance(error, FileNotFoundError):
            return GrammarError(
                f"the grammar {error.filename!r} to import cannot be found",
                source=self.text,
                span=self.find("import"),
                hint="Import one that comes with Lark, or name its directory in `import_paths`.",
            )
        quoted = re.search(r"['`](\w+)['`]|: (\w+)$", message)
        name = (quoted[1] or quoted[2]) if quoted else ""
        return GrammarError(
            f"Lark cannot load this grammar: {message}",
            source=self.text,
            span=self.find(name),
            hint="Define what is missing, or correct the spelling." if "not defined" in message else None,
        )

    def _syntax_error(self, error: Exception) -> GrammarSyntaxError:
        message = str(error).strip().split("\n")[0]
        place = re.search(r"line (\d+),? col(?:umn)? (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        if line < 1:  # at the very end
            line, column = self.text.count("\n") + 1, len(self.text) - self.text.rfind("\n")
        starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        begin = min(starts[min(line, len(starts)) - 1] + max(column, 1) - 1, len(self.text))
        message = re.sub(r",? at line .*|Unexpected token Token\((\S+), (.*)\)$", r"\2", message) or "unexpected text"
        return GrammarSyntaxError(
            f"the Lark grammar cannot be parsed: {message}",
            source=self.text,
            span=(begin, begin + 1),
            hint=_OF_LLGUIDANCE
            if re.match(r"\[[a-z_]+[\]=,]|%(?:json|regex|llguidance|lark)\b|<", self.text[begin:])
            else "A rule is `name: ...`, a terminal `NAME: ...`; it continues on a new line that begins with `|`.",
        )

    def _check_literals(self) -> None:
        """Raise for the first string or pattern in the text that Lark or `re` cannot read."""
        for kind, (begin, end) in self.lexemes:
            if kind in ("string", "regexp"):
                value = self.text[begin:end]
                try:
                    pattern = _lark._literal_to_pattern(Token(kind.upper(), value))
                except Exception as error:
                    raise GrammarSyntaxError(
                        f"this {'pattern' if kind == 'regexp' else kind} cannot be read: {error}",
                        source=self.text,
                        span=(begin, end),
                        hint="Check its escapes; an empty one is not allowed.",
                    ) from None
                if kind == "regexp":
                    flags = sum(int(getattr(re, letter.upper())) for letter in set(pattern.flags))
                    try:
                        parse_regex(pattern.value, flags, limits=self.limits)
                    except GrammarError as error:
                        raise self._shown_here(error, value, begin) from None

    def _shown_here(self, error: GrammarError, literal: str, begin: int) -> GrammarError:
        """An error in the pattern that Lark made of a literal, shown in the literal."""
        places = _places(literal[1:]) if error.span is not None else []
        span = None
        if error.span is not None and error.span[1] < len(places):
            span = begin + 1 + places[error.span[0]], begin + 1 + places[error.span[1]]
        if isinstance(error, UnsupportedFeatureError):
            return UnsupportedFeatureError(error.feature, error.problem, source=self.text, span=span, hint=error.hint)
        return type(error)(error.problem, source=self.text, span=span, hint=error.hint)

    def blame_terminal(self, name: str, error: DerivableError) -> DerivableError:
        """The error for a terminal whose pattern is refused, shown in the grammar if it stands there."""
        try:
            self._check_literals()
        except DerivableError as found:
            if type(found) is type(error):
                return found
        error.args = (f"in terminal {name!r}: {error.args[0]}",)
        return error


class _Literals(_lark.PrepareLiterals):  # type: ignore[misc]
    """Lark's reader of literals; ranges are checked, and `"^".."z"` is not taken for a negated class."""

    source: Source

    def range(self, children: list[Token]) -> Any:
        ends = [_lark.eval_escaping(str(child)[1:-1]) for child in children if str(child).endswith('"')]
        ends = [end.replace("\\\\", "\\") for end in ends]
        if len(ends) != 2 or len(ends[0]) != 1 or len(ends[1]) != 1 or ends[1] < ends[0]:
            raise GrammarSyntaxError(
                "a range goes from one character to a higher one",
                source=self.source.text,
                span=self.source.between(children[0], children[1]),
                hint='Write `"a".."z"`, without flags.',
            )
        return _lark.ST("pattern", [_lark.PatternRE(f"[{re.escape(ends[0])}-{re.escape(ends[1])}]")])


class _Patterns(_lark.TerminalTreeToPattern):  # type: ignore[misc]
    """Lark's joining of the trees of terminals to patterns, each part of a tree joined once.

    Lark sorts alternatives by the widths of what they match, and has `re` parse whatever it joined to learn them. A
    group may be replaced by `.{least,most}` for that: `short` has such patterns for those that hold groups.
    """

    def __init__(self, source: Source, literals: Any) -> None:
        super().__init__()
        self.source, self.literals = source, literals
        self.joined: dict[int, Any] = {}  # by the identity of a tree: terminals share the trees of those they use
        self.short: dict[Any, Any] = {}

    def of(self, tree: Any) -> Any:
        """The pattern of a terminal's tree. The trees must outlive this object."""
        todo = [tree]
        while todo:
            top = todo[-1]
            missing = [child for child in top.children if isinstance(child, Tree) and id(child) not in self.joined]
            if missing:
                todo += missing
                continue
            todo.pop()
            if top.data in ("literal", "range"):
                self.joined[id(top)] = self.literals.transform(top).children[0]
            elif id(top) not in self.joined:
                parts = [self.joined[id(child)] if isinstance(child, Tree) else child for child in top.children]
                self.joined[id(top)] = getattr(self, top.data)(parts)
        return self.joined[id(tree)]

    def expansion(self, items: list[Any]) -> Any:
        whole = super().expansion(items)
        if any(item in self.short for item in items):
            self.short.setdefault(whole, super().expansion([self.short.get(item, item) for item in items]))
        return whole

    def expr(self, args: list[Any]) -> Any:
        self.source.bounds(args[1:])
        whole = super().expr(args)
        if args[0] in self.short:
            self.short.setdefault(whole, super().expr([self.short[args[0]], *args[1:]]))
        return whole

    def expansions(self, alternatives: list[Any]) -> Any:
        for pattern in alternatives:
            if pattern in self.short:  # where Lark keeps a width that it knows
                pattern._width = [self.short[pattern].min_width, self.short[pattern].max_width]
        whole = super().expansions(alternatives)
        if len(alternatives) > 1:
            least, most = min(p.min_width for p in alternatives), max(p.max_width for p in alternatives)
            if least <= 1_000 and (most <= 1_000 or most == _UNBOUNDED):  # `re` takes no bound above 2^32
                self.short[whole] = _lark.PatternRE(f".{{{least},{'' if most == _UNBOUNDED else most}}}")
        return whole


class _Builder(_lark.GrammarBuilder):  # type: ignore[misc]
    """Lark's builder, which would resolve relative imports against the running program's directory."""

    source: Source

    def _unpack_import(self, stmt: Any, grammar_name: str) -> Any:
        path = stmt.children[0]
        if path.data == "import_rel" and grammar_name == "<string>":
            first = path.children[0]
            raise GrammarError(
                "a relative import needs a directory to start from",
                source=self.source.text,
                span=(first.start_pos, first.end_pos),
                hint="Name it in `import_paths`, or import one of the grammars that come with Lark.",
            )
        return super()._unpack_import(stmt, grammar_name)


def _replace(tree: Any, changes: Mapping[str, Callable[[Any], Any]]) -> None:
    """Puts something else for the nodes of some kinds, in Lark's order: so it numbers the terminals without a name."""
    for parent in tree.iter_subtrees():
        for i, node in enumerate(parent.children):
            if isinstance(node, Tree) and node.data in changes:
                parent.children[i] = changes[node.data](node)


def _only_child(tree: Any) -> Any:
    (child,) = tree.children
    return child


def load(source: Source, import_paths: Sequence[str]) -> Loaded:
    """Everything Lark does with a grammar, up to (not including) the expansion of repeats.

    Raises:
        DerivableError: a mistake that is found here.
        Exception: whatever Lark raises; `Source.blame` explains it.
    """
    builder = _Builder(False, list(import_paths))
    builder.source = source
    builder.load_grammar(source.text, os.path.join(import_paths[0], "<string>") if import_paths else "<string>")
    grammar = builder.build()
    literals = _Literals()
    literals.source = source

    # Terminals: those built from others become one pattern.
    joined = _Patterns(source, literals)
    definitions, declared = [], set()
    for name, (tree, priority) in grammar.term_defs:
        if tree is None:
            declared.add(name)
            continue
        if all(part.data == "expansion" and not part.children for part in tree.children):
            raise GrammarError(
                f"the terminal {name!r} is empty",
                source=source.text,
                span=source.find(name),
                hint="A terminal must match some text; leave it out of the rules that use it.",
            )
        definitions.append(_lark.TerminalDef(name, joined.of(tree), priority))

    # Rules: terminals get names, templates are applied. The list grows while it is walked.
    rule_definitions = list(grammar.rule_defs)
    anonymous = _lark.PrepareAnonTerminals(definitions)
    anonymous.term_set |= declared
    templates = _lark.ApplyTemplates(rule_definitions)
    rules: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, params, tree, of_rule in rule_definitions:
        if name.count("{") > source.limits.max_depth:
            raise LimitError("max_depth", name.count("{"), source.limits.max_depth, "templates of a Lark grammar")
        if len(rules) > source.limits.max_symbols:
            raise LimitError("max_symbols", len(rules), source.limits.max_symbols, "rules of a Lark grammar")
        if not params:
            rules[str(name)], options[str(name)] = tree, of_rule
            if tree is not None:
                _replace(tree, {"literal": literals.transform, "range": literals.transform, "value": _only_child})
                _replace(tree, {"pattern": anonymous.transform, "template_usage": templates.transform})

    patterns = {str(definition.name): (definition.pattern, definition.priority) for definition in definitions}
    order = [str(name) for name, _ in grammar.term_defs] + list(patterns)
    names = _names_for_people({name: patterns[name][0] for name in order if name in patterns})
    return Loaded(
        rules,
        {names.get(name, name): patterns.get(name, (None, 0)) for name in order},
        [names.get(name, str(name)) for name in grammar.ignore],
        names,
        options,
    )


def _names_for_people(patterns: Mapping[str, Any]) -> dict[str, str]:
    """The texts of terminals whose names Lark has made up; without those that are too long to be names."""
    names: dict[str, str] = {}
    for name, pattern in patterns.items():
        text = str(pattern.raw or "")
        if name.startswith(("__ANON_", "__IGNORE_")) and 0 < len(text) <= 60 and text not in names.values():
            names[name] = text
    return names
