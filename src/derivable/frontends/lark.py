"""Grammars in Lark's language, loaded by the `lark` library itself.

Lark's loader does what its language asks for: imports, `%extend`, `%override`, templates, names for anonymous
terminals, joining terminals into patterns. It is stopped before it turns repeats into recursive rules, so `x ~ 0..1000`
stays one node. What only shapes trees (`?rule`, `!rule`, `_rule`, aliases, `[x]`, which tokens are filtered, and rule
priorities, which choose between derivations) does not touch the language: it is kept beside it for `derivable.trees`.

Terminals stand in Lark's order: imported ones, then those defined, then the anonymous ones in order of appearance.
Those that no rule reachable from the start uses, and that are not ignored, are left out, as Lark does; rules likewise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lark import Tree
from lark.grammar import NonTerminal
from lark.grammar import Terminal as LarkTerminal
from lark.lexer import PatternStr

from ..automata.widths import width
from ..errors import DerivableError, GrammarError, LimitError, UnsupportedFeatureError
from ..expr import NOTHING, Alt, Concat, Expr, Look, Ref, Repeat, refs
from ..limits import Limits
from ..lowering.counted import counted_walk
from ..rules import Indentation, Lexing, Rules, Shape, Terminal
from ..support.collector import without_collector
from .build import Step, alternation, concatenation, recursion_room, repeat, run
from .captured_terminals import with_captured
from .combine import Joined
from .lark_loading import LANGUAGES, Imported, Loaded, load
from .lark_source import Source
from .regex import parse_regex, unfolded_regex

__all__ = ["grammar_from_lark"]

_DEFAULTS = Limits()
_MANY = 50
"""Times from which on Lark writes a repeat as a rule of its own, whose name it leaves out of trees."""
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "l": re.L, "u": re.U, "x": re.X}


@without_collector
def grammar_from_lark(
    text: str,
    start: str = "start",
    lexing: Lexing = "longest",
    *,
    declared: Mapping[str, Terminal] | None = None,
    indentation: Indentation | None = None,
    import_paths: Sequence[str] = (),
    language: Callable[[str, str | None], Rules] | None = None,
    limits: Limits = _DEFAULTS,
) -> Rules:
    """A grammar in Lark's language.

    Args:
        text: the grammar.
        start: the start rule.
        lexing: see `derivable.grammar.Lexing`.
        declared: what the terminals that the grammar only `%declare`s are.
        indentation: see `derivable.grammar.Indentation`; its `indent` and `dedent` are declared by the grammar. A
            grammar that declares `_INDENT` and `_DEDENT` and uses `_NEWLINE` or `_NL` is read as Lark's
            `PythonIndenter` reads it if nothing else is said.
        import_paths: directories to import grammars from, before those that come with Lark. A relative import
            (`%import .name`) starts from the first; without any it is refused.
        language: the grammar of a name that is imported from `derivable`, given the path of the file that imports it
            (`None`: the text). Without it such an import is refused.
        limits: bounds on its size and nesting.

    Raises:
        GrammarSyntaxError: it cannot be parsed; the caret shows the place.
        UnsupportedFeatureError: a terminal uses something that is not regular, but for back-references that can be told
            exactly under `scannerless` lexing.
        GrammarError: a name is not defined, or declared only; every text needs a terminal that is ignored; under
            `longest` and `basic` lexing, a terminal in a rule may match the empty text.
        LimitError: it is longer or deeper than `limits` allows, or its templates grow without end.
    """
    source = Source(text, limits, refers=lexing == "scannerless")
    try:
        with recursion_room(12 * source.depth + 1_000):
            loaded = load(source, import_paths)
    except DerivableError:
        raise
    except Exception as error:  # Lark reports mistakes by asserting and unpacking, too
        inner = getattr(error, "orig_exc", error)  # what a visitor of its trees met
        if isinstance(inner, DerivableError):
            raise inner from None
        raise source.blame(inner) from error
    ignored = tuple(dict.fromkeys(loaded.ignored))
    languages = _languages(loaded.languages, language)
    loaded.rules.update({rule: NonTerminal(title) for rule, (title, _) in languages.items()})
    if lexing == "scannerless":
        rules = _reachable(loaded, start, source)
    else:
        with recursion_room(4 * source.depth + 1_000):
            rules = _without_ignored(loaded, start, ignored, source)
    used = {ref.name for expr in rules.values() for ref in refs(expr)} | {start}
    terminals, captured, given = dict[str, Terminal](), dict[str, Rules](), dict(declared or {})
    if indentation is None and lexing != "scannerless" and not _BLOCKS & given.keys():
        indentation = _declared_indentation(loaded, used)
    zero_width = (indentation.indent, indentation.dedent) if indentation else ()
    for name, (pattern, priority) in loaded.terminals.items():
        replacement = given.pop(name, None) if pattern is None else None
        if name not in used and name not in ignored:
            continue
        made = _captured(name, pattern, source, limits) if lexing == "scannerless" else None
        if made is not None:
            captured[name], terminals[name] = made, Terminal(NOTHING)
        elif pattern is not None:
            terminals[name] = _terminal(name, pattern, priority, source, limits)
            if lexing != "scannerless" and name in used and not isinstance(pattern, PatternStr):
                _refuse_empty_match(name, terminals[name].expr, source)
        elif replacement is not None:
            terminals[name] = replacement
        elif name in zero_width:
            terminals[name] = Terminal(NOTHING)
        else:
            raise GrammarError(
                f"the declared terminal {name!r} has no pattern and is used",
                source=text,
                span=source.find(name),
                hint="Pass what it is in `declared`, define it in the grammar, or name it in `indentation`.",
            )
    if given:
        raise GrammarError(
            f"the grammar does not declare {', '.join(map(repr, given))}",
            source=text,
            hint="`declared` is for terminals that the grammar names in `%declare`.",
        )
    inner = Joined()
    for rule, (title, grammar) in languages.items():
        if rule in rules:
            inner.embed(grammar, name=title)
    grammar = Rules(
        rules=rules,
        terminals=terminals | inner.terminals,
        start=start,
        ignore=ignored,
        lexing=lexing,
        source=text,
        indentation=indentation,
        shapes={name: _shape(name, loaded.options[name]) for name in rules},
        relaxed=tuple(inner.relaxed),
        warnings=tuple(inner.warnings),
    )
    return with_captured(grammar, captured) if captured else grammar


def _languages(
    imported: Mapping[str, Imported], language: Callable[[str, str | None], Rules] | None
) -> dict[str, tuple[str, Rules]]:
    """The rules that are languages, with the names of their terminals, which no name that Lark takes is: with a dot."""
    found: dict[str, tuple[str, Rules]] = {}
    titles: dict[str, Rules] = {}
    for rule, each in imported.items():
        try:
            if language is None:
                raise GrammarError(
                    "no languages can be imported here",
                    hint="Import them in a text for `Grammar.from_lark`, or join the grammars (`grammar + other`).",
                )
            grammar = language(each.name, each.path)
        except GrammarError as error:
            if type(error) is not GrammarError or error.source is not None:
                raise
            raise each.error(error.problem, error.hint) from None
        title = f"{LANGUAGES}.{each.name}"
        while titles.setdefault(title, grammar) is not grammar:
            title += "'"
        found[rule] = title, grammar
    return found


def _shape(name: str, options: Any) -> Shape:
    shown = "" if name.startswith("_") else str(options.template_source or name)
    return Shape(shown, bool(options.expand1), int(options.priority or 0))


_BLOCKS = {"_INDENT", "_DEDENT"}


def _declared_indentation(loaded: Loaded, used: set[str]) -> Indentation | None:
    """By the names of Lark's own indenter (`lark.indenter.PythonIndenter`)."""
    declared = {name for name, (pattern, _) in loaded.terminals.items() if pattern is None}
    newlines = [name for name in ("_NEWLINE", "_NL") if name in used and name not in declared]
    if not declared & used >= _BLOCKS or len(newlines) != 1:
        return None
    pairs = (("LPAR", "RPAR"), ("LSQB", "RSQB"), ("LBRACE", "RBRACE"))
    brackets = tuple(pair for pair in pairs if used.issuperset(pair))
    return Indentation(newlines[0], "_INDENT", "_DEDENT", brackets=brackets, tab_stops=False)


def _reachable(loaded: Loaded, start: str, source: Source, lost: frozenset[str] = frozenset()) -> dict[str, Expr]:
    """The rules that the start needs, in the order of the grammar, as expressions; `lost` terminals never come."""
    trees, terminals = loaded.rules, loaded.terminals
    if start not in trees and start not in terminals:
        raise GrammarError(
            f"the start rule {start!r} is not defined",
            source=source.text,
            hint=f"Define it, or choose another start. Defined rules: {', '.join(list(trees)[:8]) or 'none'}.",
        )
    found: dict[str, Expr] = {}
    todo = [start] if start in trees else []
    while todo:
        name = todo.pop()
        if name in found:
            continue
        if trees[name] is None:
            raise GrammarError(
                f"the declared rule {name!r} has no definition and is used",
                source=source.text,
                span=source.find(name),
                hint="Define it in the grammar.",
            )
        read = _Reading(loaded.names, lost, source, bool(loaded.options[name].keep_all_tokens))
        found[name] = run(read.expression(trees[name]))
        todo += [ref.name for ref in refs(found[name]) if ref.name in trees]
    return {name: found[name] for name in trees if name in found}


def _without_ignored(loaded: Loaded, start: str, ignored: Sequence[str], source: Source) -> dict[str, Expr]:
    """The rules without what waits for an ignored terminal: the lexer drops it, so that never comes (nor in Lark)."""
    rules = _reachable(loaded, start, source)
    waiting = next((ref for expr in rules.values() for ref in refs(expr) if ref.name in ignored), None)
    if waiting is None and start not in ignored:
        return rules
    before, rules = _productive(rules), _reachable(loaded, start, source, frozenset(ignored))
    after = _productive(rules)
    if start not in after and start not in rules.keys() - before:
        name = start if waiting is None else waiting.name
        raise GrammarError(
            f"every text needs the terminal {name!r}, which is ignored and so never reaches a rule",
            source=source.text,
            span=source.find(name),
            hint="Take it out of the rules or out of %ignore, or define a second terminal.",
        )
    return {name: NOTHING if name in before - after else expr for name, expr in rules.items()}


def _productive(rules: Mapping[str, Expr]) -> set[str]:
    """The rules that derive a text. Cost: linear in their size, and in how often they are referred to."""
    users: dict[str, list[str]] = {}
    for name, expr in rules.items():
        for ref in refs(expr):
            users.setdefault(ref.name, []).append(name)
    found: set[str] = set()

    def derives(expr: Expr) -> bool:
        match expr:
            case Ref():
                return expr.name in found or expr.name not in rules
            case Alt():
                return any(map(derives, expr.items))
            case Concat():
                return all(map(derives, expr.items))
            case Repeat():
                return expr.min == 0 or derives(expr.item)
        raise AssertionError(f"unknown part {expr!r} of a rule")

    todo = list(rules)
    while todo:
        name = todo.pop()
        if name not in found and derives(rules[name]):
            found.add(name)
            todo += users.get(name, ())
    return found


def _refuse_empty_match(name: str, expr: Expr, source: Source) -> None:
    """A lexeme is never empty, so a rule would lose that text. Where look-around decides, the lowering refuses it."""
    if width(expr)[0] == 0 and not any(isinstance(part, Look) for part in counted_walk(expr)):
        raise GrammarError(
            f"the terminal {name} may match the empty text, and no lexeme is empty",
            source=source.text,
            span=source.defined(name),
            hint=f"Take the empty text out of its pattern, and write `{name}?` in the rules where it may be missing.",
        )


@dataclass(frozen=True)
class _Reading:
    """A rule's right-hand side, its terminals already named and its templates applied, as an expression.

    Attributes:
        names: what Lark's made-up names stand for.
        lost: terminals that never come.
        source: the grammar.
        keeps_all: trees keep all tokens of the rule.
    """

    names: Mapping[str, str]
    lost: frozenset[str]
    source: Source
    keeps_all: bool

    def expression(self, tree: Any) -> Step:
        if isinstance(tree, NonTerminal | LarkTerminal):
            name = self.names.get(tree.name, str(tree.name))
            return NOTHING if name in self.lost else Ref(name, self.source.find(name), self._is_kept(tree))
        assert isinstance(tree, Tree), tree
        children: list[Any] = tree.children
        match str(tree.data):
            case "expansions":
                alternatives = []
                for child in children:
                    alternatives.append((yield self.expression(child)))
                return alternation(alternatives)
            case "expansion":
                items = []
                for child in children:
                    items.append((yield self.expression(child)))
                return concatenation(items)
            case "value":
                return (yield self.expression(children[0]))
            case "alias":
                item = yield self.expression(children[0])
                if len(children) < 2 or children[1] is None or item == NOTHING:
                    return item
                items = list(item.items) if isinstance(item, Concat) and not item.alias else [item]
                return Concat(tuple(items), str(children[1].name))
            case "maybe":
                item = repeat((yield self.expression(children[0])), 0, 1)
                return replace(item, absent=self._size(children[0])) if isinstance(item, Repeat) else item
            case "expr":
                low, high = self.source.bounds(children[1:])
                return repeat((yield self.expression(children[0])), low, high)
            case other:
                raise AssertionError(f"unknown node {other!r} in a Lark grammar")

    def _is_kept(self, symbol: Any) -> bool:
        """A symbol of its own in trees: a rule, or a token."""
        if isinstance(symbol, NonTerminal):
            return not symbol.name.startswith("_")
        return self.keeps_all or not symbol.filter_out

    def _size(self, tree: Any) -> int:
        """The places that `[...]` leaves open where nothing stands, as Lark counts them."""
        if not isinstance(tree, Tree):
            return int(self._is_kept(tree))
        match str(tree.data):
            case "expansions":
                return max(map(self._size, tree.children))
            case "expr":
                high = self.source.bounds(tree.children[1:])[1]
                return 0 if high is None or high >= _MANY else high * self._size(tree.children[0])
            case "expansion":
                return sum(map(self._size, tree.children))
            case _:
                return self._size(tree.children[0])


def _terminal(name: str, pattern: Any, priority: int, source: Source, limits: Limits) -> Terminal:
    literal = isinstance(pattern, PatternStr)
    try:
        expr = parse_regex(re.escape(pattern.value) if literal else pattern.value, _flags(pattern), limits=limits)
    except (GrammarError, LimitError) as error:
        raise source.blame_terminal(name, error) from None
    return Terminal(expr, priority=priority, literal=literal)


def _flags(pattern: Any) -> int:
    return sum({int(_FLAGS[letter]) for letter in pattern.flags})


def _captured(name: str, pattern: Any, source: Source, limits: Limits) -> Rules | None:
    """The grammar of a terminal with back-references; `None`: it has none."""
    if pattern is None or isinstance(pattern, PatternStr):
        return None
    try:
        made = unfolded_regex(pattern.value, _flags(pattern), limits=limits)
    except (GrammarError, LimitError) as error:
        raise source.blame_terminal(name, error) from None
    if made is not None and pattern.raw is None and any(found[1] for found in _NUMBERED.finditer(pattern.value)):
        raise UnsupportedFeatureError(
            "backreference",
            f"the terminal {name} is put together of several patterns, in which groups have other numbers",
            source=source.text,
            span=source.defined(name),
            hint="Give the group a name, and refer to it by that: `(?P<tag>...)` and `(?P=tag)`.",
        )
    return made


_NUMBERED = re.compile(r"(?s)\\(?:(?![0-7]{3})([1-9])|.)|\[\^?\]?(?:\\.|[^\]\\])*\]")
"""Back-references by number, each as its first digit; and whatever else might look like one."""
