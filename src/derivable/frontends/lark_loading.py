"""Loading with the `lark` library, whose internals these are. `lark` is the front end proper."""

from __future__ import annotations

import errno
import importlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree

from ..errors import DerivableError, GrammarError, GrammarSyntaxError, LimitError
from ..limits import Limits
from .lark_source import Source, in_file

__all__ = ["LANGUAGES", "Imported", "Loaded", "load"]

_lark: Any = importlib.import_module("lark.load_grammar")

LANGUAGES = "derivable"
"""What languages are imported from."""
_UNBOUNDED: int = _lark.PatternRE(".*").max_width


@dataclass(frozen=True)
class _File:
    """A file that is imported, and where it was imported from (`None`: the text itself)."""

    path: str
    text: str
    limits: Limits
    importer: _File | None

    def is_within(self, path: str) -> bool:
        """It is that file, or it is imported by it."""
        return self.path == path or (self.importer is not None and self.importer.is_within(path))

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Lark's errors, with the file and the place in it."""
        try:
            yield
        except (DerivableError, RecursionError):
            raise
        except Exception as error:
            try:
                found = Source(self.text, self.limits).blame(error)
            except DerivableError as refused:
                found = refused
            raise in_file(found, self.path) from error


@dataclass(frozen=True)
class Imported:
    """A language that is imported: its name, and the file that imports it (`None`: the text itself)."""

    name: str
    file: _File | None
    source: Source  # the text

    @property
    def path(self) -> str | None:
        """Of the file."""
        return None if self.file is None else self.file.path

    def error(self, problem: str, hint: str | None, name: str = "") -> GrammarError:
        """What is wrong with it, where it or another name stands."""
        if self.file is None:
            return GrammarError(problem, source=self.source.text, span=self.source.find(name or self.name), hint=hint)
        source = Source(self.file.text, self.file.limits)
        error = GrammarError(problem, source=source.text, span=source.find(name or self.name), hint=hint)
        return in_file(error, self.file.path)


@dataclass(frozen=True)
class Loaded:
    """What Lark made of a grammar.

    Attributes:
        rules: name to tree (`None` if only declared), templates applied, terminals named.
        terminals: name to pattern (`None` if only declared) and priority, in Lark's order.
        ignored: names of terminals.
        names: what stands for the names that Lark makes up (`__ANON_0`, `__IGNORE_0`): the text of the terminal.
        options: of each rule, how it shapes trees (`lark.grammar.RuleOptions`).
        languages: rules that are languages (`%import derivable.python -> code`), and which.
    """

    rules: dict[str, Any]
    terminals: dict[str, tuple[Any, int]]
    ignored: list[str]
    names: dict[str, str]
    options: dict[str, Any]
    languages: dict[str, Imported]


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
    """Lark's builder, which would resolve relative imports against the running program's directory.

    What is imported from `derivable` is no file, unless there is one: it is a rule without a body for a language. Files
    that are imported are read by builders of this class, too, so they may import languages.
    """

    source: Source
    file: _File | None
    languages: dict[str, Imported]

    def begin(self, source: Source, file: _File | None, used_files: dict[str, str]) -> _Builder:
        """For the text, or a file that it imports."""
        self.source, self.file, self.languages, self.used_files = source, file, {}, used_files
        return self

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

    def do_import(self, dotted_path: Any, base_path: Any, aliases: Mapping[str, str], base_mangle: Any = None) -> None:
        files = [os.path.join(folder, f"{LANGUAGES}.lark") for folder in self.import_paths]
        if dotted_path == (LANGUAGES,) and base_path is None and not any(map(os.path.exists, files)):
            self._import_languages(aliases, base_mangle)
            return
        name = os.path.join(*dotted_path) + ".lark"
        path, text = self._read(name, base_path)
        if self.file is not None and self.file.is_within(str(path)):
            raise in_file(
                GrammarError(f"the file {str(path)!r} imports itself", hint="Import one way only."), self.file.path
            )
        file = _File(str(path), text, self.source.limits, self.file)
        inner = _Builder(False, self.import_paths).begin(self.source, file, self.used_files)
        mangle = _lark._get_mangle("__".join(dotted_path), aliases, base_mangle)
        with file.blamed():
            inner.load_grammar(text, path, mangle)
            inner._remove_unused(map(mangle, aliases))
        for symbol in inner._definitions:
            if symbol in self._definitions:
                raise _lark.GrammarError(f"'{symbol}' cannot be imported from '{name}': it is defined already")
        self._definitions.update(inner._definitions)
        self.languages.update((rule, each) for rule, each in inner.languages.items() if rule in inner._definitions)

    def _read(self, name: str, base_path: Any) -> tuple[Any, str]:
        """The first file of a name, and its text; in the order of Lark."""
        for folder in [*self.import_paths, *([] if base_path is None else [base_path]), _lark.stdlib_loader]:
            try:
                if callable(folder):
                    path, text = folder(base_path, name)
                else:
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf8") as file:
                        text = file.read()
            except OSError:
                continue
            if self.used_files.setdefault(str(path), text) != text:
                raise GrammarError(f"the file {str(path)!r} was changed while it was imported", hint="Read it again.")
            return path, text
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)

    def _import_languages(self, aliases: Mapping[str, str], mangle: Callable[[str], str] | None) -> None:
        for name, alias in aliases.items():
            language = Imported(str(name), self.file, self.source)
            if alias.lstrip("_")[:1].isupper():
                raise language.error(
                    f"a language is a rule, and {str(alias)!r} names a terminal",
                    f"Write `%import {LANGUAGES}.{name} -> {alias.lower()}`.",
                    str(alias),
                )
            rule = str(mangle(alias) if mangle else alias)
            self._define(rule, False, _lark.ST("expansions", []))
            self.languages[rule] = language

    def _define(
        self, name: Any, is_term: Any, exp: Any, params: Any = (), options: Any = None, *, override: bool = False
    ) -> None:
        super()._define(name, is_term, exp, params, options, override=override)
        if override:
            self.languages.pop(str(name), None)

    def _extend(self, name: Any, *rest: Any) -> None:
        if str(name) in self.languages:
            raise Imported(str(name), self.file, self.source).error(
                f"the rule {str(name)!r} is a language, which cannot be extended",
                f"Write a rule of its own, such as `code: {name} | ...`.",
            )
        super()._extend(name, *rest)


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
    builder = _Builder(False, list(import_paths)).begin(source, None, {})
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
        builder.languages,
    )


def _names_for_people(patterns: Mapping[str, Any]) -> dict[str, str]:
    """The texts of terminals whose names Lark has made up; without those that are too long to be names."""
    names: dict[str, str] = {}
    for name, pattern in patterns.items():
        text = str(pattern.raw or "")
        if name.startswith(("__ANON_", "__IGNORE_")) and 0 < len(text) <= 60 and text not in names.values():
            names[name] = text
    return names
