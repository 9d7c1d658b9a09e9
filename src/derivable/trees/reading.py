"""Texts of a grammar as trees, and what of them is captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lark import Token, Tree

from .. import _kernel
from ..encodings import encoding
from ..errors import MatcherError
from ..expr import Embedded, Special
from ..limits import Limits
from ..lowering import InnerTexts, lower, optional_terminals, with_tokens
from ..rules import Rules
from ..support import steps
from ..support.arguments import integer, items
from ..vocabulary import Vocabulary
from ..warm.artifact import Plan
from .bodies import Bodies
from .chart import Chart
from .cut import cut
from .derivation import Derived, derive
from .lexemes import Lexeme, Lexemes, lexemes_of
from .written import Written

__all__ = ["Captures", "Inner", "Trees"]


class Inner(NamedTuple):
    """A language inside another one.

    Attributes:
        kernel: its constraint.
        texts: which texts it has.
        trees: how its texts are read, by a grammar of it.
    """

    kernel: _kernel.Constraint
    texts: InnerTexts
    trees: Callable[[Rules], Trees]


class Captures(Mapping[str, str]):
    """What stands in the captured parts of a text, by name: the last of several, as in `re`.

    Example:
        >>> captures = Captures([("word", "a"), ("word", "b")])
        >>> captures["word"], captures.all("word"), dict(captures)
        ('b', ['a', 'b'], {'word': 'b'})
    """

    def __init__(self, found: Sequence[tuple[str, str]] = ()) -> None:
        self._found = list(found)
        self._last = dict(self._found)

    @property
    def listed(self) -> list[tuple[str, str]]:
        """All of them, with their names, in the order in which they end."""
        return list(self._found)

    def all(self, name: str) -> list[str]:
        """All of one name, in the order in which they end."""
        return [text for other, text in self._found if other == name]

    def __getitem__(self, name: str) -> str:
        return self._last[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def __repr__(self) -> str:
        return f"Captures({self._found!r})"


@dataclass(slots=True)
class _Node:
    """What became of a rule: children of the node around it, and which units of the text it covers."""

    children: list[Any] = field(default_factory=list)
    begin: int = -1
    end: int = -1

    def cover(self, begin: int, end: int) -> None:
        if begin < 0:
            return
        self.begin = begin if self.begin < 0 else self.begin
        self.end = end


class Trees:
    """Reads texts by one grammar.

    Cost: making it, as compiling the grammar does; then for each byte some microseconds.

    Attributes:
        captured: the rules and terminals whose texts, or parts of them, are captured.
        hidden: terminals whose texts captures around them leave out.
        has_captures: something is captured, here or in a language inside.
    """

    def __init__(
        self,
        grammar: Rules,
        vocabulary: Vocabulary,
        limits: Limits,
        inner: Mapping[Embedded, Inner],
        by_id: Callable[[Special], Special],
        finest: bool = False,
    ) -> None:
        """
        Args:
            grammar: the rules.
            vocabulary: in which special tokens are named.
            limits: bounds.
            inner: the languages inside it.
            by_id: the tokens that a terminal names, by their ids.
            finest: see `cut`.
        """
        self._whole, self._vocabulary, self._limits, self._inner = grammar, vocabulary, limits, inner
        self.captured = {*grammar.captures, *grammar.parts}
        self.hidden = frozenset(grammar.hidden)
        self._parts: dict[str, Trees] = {}
        spelled = with_tokens(grammar, vocabulary.special_ids)
        self._joined = grammar.terminals.keys() & spelled.rules.keys()  # literals that have become several tokens
        self._cut = cut(spelled, finest)
        texts = {language: each.texts for language, each in inner.items()}
        lowered = lower(self._cut, limits, texts, folds=False)
        self._names = ["", *lowered.terminal_names]
        self._indentation = lowered.indentation
        references = [(symbol, by_id(named)) for symbol, named in lowered.references]
        self._tokens = {each for _, named in references for each in named.tokens}
        plan = Plan(lowered, grammar.lexing, grammar.start, (), limits, None, "text")
        self._kernel = _kernel.Constraint(
            vocabulary._kernel_vocabulary,
            plan,
            [(symbol, [i for i in named.tokens if isinstance(i, int)], named.negated) for symbol, named in references],
            [(symbol, inner[language].kernel) for symbol, language in lowered.languages],
        )
        symbols = {name: number for number, name in enumerate(self._names) if name}
        self._bodies = Bodies(self._cut, symbols, optional_terminals(lowered), limits.max_symbols)
        self.has_captures = _captures(grammar)
        self._capturing = {language for language in inner if _captures(language.grammar)}

    def written(self, text: str | bytes | Sequence[int]) -> Written:
        """A text, in which names of special tokens stand for those that the grammar names; or tokens."""
        if not isinstance(text, str | bytes):
            what = "a text, or token ids of the vocabulary"
            size = self._vocabulary.size
            ids = [integer("text", each, 0, size - 1) for each in items("text", text, what)]
            return Written.of_tokens(ids, self._vocabulary)
        special = self._vocabulary.special_ids
        return Written.of_text(text, {name: each for name, each in special.items() if each in self._tokens})

    def tree(self, written: Written) -> Any:
        """The tree of a whole text; a token, if the start rule is one that is replaced by its only child.

        Raises:
            LimitError: it is too ambiguous.
            MatcherError: it is not in the language.
        """
        derived = self._derive(written, is_whole=True)
        node: _Node = steps.run(_Reader(self, written, []).node(derived, is_root=True))
        (tree,) = node.children
        return tree

    def captures(self, written: Written, *, is_whole: bool = False) -> Captures:
        """What is captured in a text, or in the beginning of one: of parts that are complete, whatever follows.

        Raises:
            LimitError, MatcherError: as `tree`.
        """
        found: list[tuple[str, str]] = []
        if self.has_captures:
            self._read_captures(written, found, is_whole)
        return Captures(found)

    def captures_within(self, name: str, written: Written, shown: str, found: list[tuple[str, str]]) -> None:
        """Adds what is captured in the text of a rule or terminal; `shown` is what the text is to captures around."""
        if name in self._whole.captures:
            found.append((self._whole.captures[name], shown))
        if name in self._whole.parts:
            if (parts := self._parts.get(name)) is None:
                grammar = self._whole.parts[name]
                parts = self._parts[name] = Trees(
                    grammar, self._vocabulary, self._limits, {}, lambda named: named, True
                )
            parts._read_captures(written, found, True)

    def _read_captures(self, written: Written, found: list[tuple[str, str]], is_whole: bool) -> None:
        derived = self._derive(written, is_whole=is_whole)
        steps.run(_Reader(self, written, found, for_captures=True).node(derived, is_root=True))

    def _chart(self, written: Written, *, is_whole: bool) -> tuple[Lexemes, Chart]:
        lexemes = lexemes_of(
            self._kernel, written.units, written.tokens, is_whole=is_whole, indentation=self._indentation
        )
        if lexemes is None:
            raise self.refused(written, is_whole)
        return lexemes, Chart(self._bodies, lexemes, is_whole, self._limits.max_step_work)

    def _derive(self, written: Written, *, is_whole: bool) -> Derived:
        lexemes, chart = self._chart(written, is_whole=is_whole)
        root = self._bodies.start, 0
        ends = [at for at, ends in enumerate(lexemes.ends) if ends and root in chart.columns[at].complete]
        derived = derive(chart, ends if is_whole else [len(lexemes.following)])
        if derived is None:
            raise self.refused(written, is_whole)
        return derived

    def refused(self, written: Written, is_whole: bool) -> MatcherError:
        """What says that a text is not in the language."""
        what = "a text" if is_whole else "the beginning of a text"
        return MatcherError(
            f"{written.text(0, len(written.units))[:60]!r} is not {what} of the grammar. `derivable check` shows where "
            "it leaves it."
        )


def _captures(grammar: Rules) -> bool:
    """Something is captured in the texts of a grammar."""
    inner = (terminal.expr for terminal in grammar.terminals.values() if isinstance(terminal.expr, Embedded))
    return bool(grammar.captures or grammar.parts) or any(_captures(language.grammar) for language in inner)


class _Reader:
    """Reads one derivation. `for_captures`: nobody wants the tree."""

    def __init__(
        self, trees: Trees, written: Written, found: list[tuple[str, str]], *, for_captures: bool = False
    ) -> None:
        self.trees, self.written, self.found, self.for_captures = trees, written, found, for_captures
        self.bodies = trees._bodies
        self.hidden: list[tuple[int, int]] = []  # which units captures around them leave out

    def node(self, derived: Derived, is_root: bool = False) -> steps.Step[_Node]:
        name, shape = self.bodies.names[derived.rule], self.bodies.shapes[derived.rule]
        made, alias = _Node(), ""
        for way, part in derived.parts:
            for action in way.actions:
                if isinstance(action, str):
                    alias = action
                else:
                    made.children += [None] * action
            if isinstance(part, Lexeme):
                if part.end > part.begin:
                    made.cover(part.begin, part.end)
                child = self.leaf(part, way.is_kept)
                made.children += child if way.is_kept else []
            elif part is not None:
                inside = yield self.node(part)
                made.cover(inside.begin, inside.end)
                is_left_out = self.bodies.shapes[part.rule].is_token and not way.is_kept
                made.children += [] if is_left_out else inside.children
        if derived.is_complete:
            whole = 0, len(self.written.units)  # what is ignored at its ends is part of it
            self.capture(name, *(whole if is_root else (made.begin, made.end)))
        if name in self.trees._joined or shape.is_token:
            title = shape.name if shape.is_token else name
            made.children = [self.token(title, max(0, made.begin), max(0, made.end))]
        elif (is_root or shape.name) and (alias or not shape.is_only_child or len(made.children) != 1):
            made.children = [self.tree(alias or shape.name or name.split("#")[0], made)]
        return made

    def tree(self, name: str, made: _Node) -> Tree[Any]:
        if made.begin < 0:
            return Tree(name, made.children)
        return Tree(name, made.children, self.written.meta(made.begin, made.end))

    def capture(self, name: str, begin: int, end: int) -> None:
        if name not in self.trees.captured:
            return
        begin, end = max(0, begin), max(0, end)
        edges = [begin, *(edge for pair in self.hidden if begin <= pair[0] and pair[1] <= end for edge in pair), end]
        shown = "".join([self.written.text(*pair) for pair in zip(edges[::2], edges[1::2], strict=True)])
        self.trees.captures_within(name, self.written.part(begin, end), shown, self.found)

    def token(self, name: str, begin: int, end: int) -> Token:
        start, line, column = self.written.place(begin)
        last, end_line, end_column = self.written.place(end)
        return Token(name, self.written.text(begin, end), start, line, column, end_line, end_column, last)

    def leaf(self, lexeme: Lexeme, is_kept: bool) -> list[Any]:
        """A terminal: a token, or what stands in the other language."""
        name = self.trees._names[lexeme.terminal]
        terminal = self.trees._cut.terminals.get(name)
        if lexeme.is_whole:
            self.capture(name, lexeme.begin, lexeme.end)
        if name in self.trees.hidden:
            self.hidden.append((lexeme.begin, lexeme.end))
        if terminal is not None and isinstance(terminal.expr, Embedded):
            return self.inside(terminal.expr, lexeme)
        return [self.token(name, lexeme.begin, lexeme.end)] if is_kept else []

    def inside(self, language: Embedded, lexeme: Lexeme) -> list[Any]:
        # PERF: of a page with a program that nobody captures, the program need not be derived.
        if (self.for_captures or not lexeme.is_whole) and language not in self.trees._capturing:
            return []
        trees = self.trees._inner[language].trees(language.grammar)
        part = self.written.part(lexeme.begin, lexeme.end)
        if language.encoding:
            data = part.data(0, len(part.units))
            decoded = None if data is None else encoding(language.encoding).decode(data)
            if decoded is None:
                return [self.token(language.encoding, lexeme.begin, lexeme.end)] if lexeme.is_whole else []
            part = Written.of_text(decoded, {})
        derived = trees._derive(part, is_whole=lexeme.is_whole)
        reader = _Reader(trees, part, self.found, for_captures=self.for_captures)
        node: _Node = steps.run(reader.node(derived, is_root=True))
        return node.children if lexeme.is_whole else []
