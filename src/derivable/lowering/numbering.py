"""From a `Grammar` to what the kernel takes: numbered symbols, one automaton per terminal, flat productions.

Under `scannerless`, where any segmentation counts, rules that are regular and small are folded into single terminals
first: a JSON string written character by character becomes one automaton, and the parser never sees its inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from .. import _kernel
from ..automata import Recognizer, compile_expr, recognizer, recognizer_in_order, without_empty
from ..errors import GrammarError, LimitError
from ..expr import (
    NOTHING,
    And,
    Embedded,
    Expr,
    JsonStrings,
    Ref,
    Repeat,
    Special,
    refs,
)
from ..limits import Limits
from ..rules import Rules, Terminal
from .indentation import LoweredIndentation, indentation_terminals, lower_indentation
from .leaves import cut_into_leaves
from .repeats import add_repeat
from .show import show
from .slots import with_slots
from .tallies import Tallies, lower_tallies
from .words import cut_out_words, words

__all__ = ["InnerTexts", "Lowered", "lower", "optional_terminals", "with_symbols"]

_PART, _OF_ONE = 64, 100
"""Terminals between two looks at the budget; what one of them costs here, in its units."""


@dataclass(frozen=True)
class Lowered:
    """Terminals are the numbers from 1 up, nonterminals those from -1 down.

    Attributes:
        terminals: (automaton without the empty string, rank, ignored) of each terminal; the lower rank wins ties.
        strings: what the terminals (by index) are that are lists of strings, or all but those.
        words: the texts of the terminals (by index) that are long literals or lists of words.
        references: (symbol, token) of the terminals that are one token and no text; their automata are empty.
        languages: (symbol, grammar) of the terminals whose lexemes are the texts of another one; likewise.
        terminal_names, nonterminal_names: for messages; generated ones are in angle brackets.
        productions: head, length of the body, body; one production after the other.
        start: a symbol.
        indentation: symbols and settings, as the kernel takes them.
        distinct: symbols of the terminals that open arrays of distinct items.
        max_tokens: symbols of the terminals whose lexemes may lie in so many tokens, and the number.
        slots: (symbol, symbol of the terminal that it is to the lexer, name) of the terminals whose lexemes are names.
        temperatures: symbols of the terminals that say how they are sampled, and the temperature.
        tallies: what objects ask of their members together, and the roles of symbols in them.
    """

    terminals: list[tuple[Recognizer, int, bool]]
    references: list[tuple[int, Special]]
    strings: dict[int, JsonStrings]
    terminal_names: list[str]
    nonterminal_names: list[str]
    productions: list[int]
    start: int
    indentation: LoweredIndentation | None = None
    distinct: tuple[int, ...] = ()
    max_tokens: tuple[tuple[int, int], ...] = ()
    tallies: Tallies | None = None
    words: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    slots: tuple[tuple[int, int, str], ...] = ()
    languages: tuple[tuple[int, Embedded], ...] = ()
    temperatures: tuple[tuple[int, float], ...] = ()


class InnerTexts(NamedTuple):
    """Which texts an inner language has: the empty one, others."""

    empty: bool
    others: bool


def lower(
    grammar: Rules,
    limits: Limits,
    inner: Mapping[Embedded, InnerTexts] = MappingProxyType({}),
    *,
    folds: bool = True,
) -> Lowered:
    """Numbers, automata and productions of a grammar.

    Args:
        grammar: in which no literal stands for tokens any more (`with_tokens`).
        limits: bounds on its automata and symbols.
        inner: which texts the languages inside it have.
        folds: small regular rules become terminals.

    Raises:
        GrammarError: a terminal that can match nothing, an ignored terminal used in a rule, an empty language.
        LimitError: an automaton or the grammar itself grows past its bound.
    """
    try:
        return _Lowering(grammar, limits, inner, folds).run()
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, "nesting of an expression") from None


def with_symbols(productions: list[int], instead: Mapping[int, int]) -> list[int]:
    """Productions, as `Lowered` has them, with other symbols in their bodies."""
    made: list[int] = []
    at = 0
    while at < len(productions):
        body = at + 2
        made += productions[at:body]
        at = body + productions[at + 1]
        made += [instead.get(symbol, symbol) for symbol in productions[body:at]]
    return made


_OPTIONAL = "<{}?>"
"""What stands for a terminal that matches the empty text, too."""


def optional_terminals(lowered: Lowered) -> set[str]:
    """The names of those that match the empty text, too."""
    nonterminals = set(lowered.nonterminal_names)
    return {name for name in lowered.terminal_names if _OPTIONAL.format(name) in nonterminals}


class _Lowering:
    def __init__(self, grammar: Rules, limits: Limits, inner: Mapping[Embedded, InnerTexts], folds: bool) -> None:
        grammar, self.slots = with_slots(grammar)
        self.grammar = grammar
        self.limits = limits
        self.inner = inner
        self.languages: list[tuple[int, Embedded]] = []
        self.scannerless = grammar.lexing == "scannerless"
        # A terminal that means something is not folded into others.
        folds = folds and self.scannerless and not grammar.distinct and not grammar.tallied and not grammar.meaning
        self.rules = dict[str | Expr, Expr]((cut_into_leaves(grammar) if folds else grammar.rules).items())
        self.nonterminal_names: list[str] = []
        self.terminals: dict[str | Expr, int] = {}  # symbols, by name (named) or expression (inline)
        self.references: list[tuple[int, Special]] = []
        self.strings: dict[int, JsonStrings] = {}
        self.words: dict[int, tuple[bytes, ...]] = {}
        self.productions: list[int] = []

    def run(self) -> Lowered:
        start = self._flatten()
        automata, names, optional = self._automata()
        if optional:
            start = self._let_be_empty(optional, names).get(start, start)
        indentation, start = self._indentation(automata, start) if self.grammar.indentation else (None, start)
        ignored = [False] * len(automata)
        for name in self.grammar.ignore:
            ignored[self.terminals[name] - 1] = True
        return Lowered(
            terminals=[*zip(automata, self._ranks(), ignored)],
            references=self.references,
            strings=self.strings,
            words=self.words,
            terminal_names=names,
            nonterminal_names=self.nonterminal_names,
            productions=self.productions,
            start=start,
            indentation=indentation,
            distinct=tuple([self.terminals[name] for name in self.grammar.distinct if name in self.terminals]),
            max_tokens=self._max_tokens(),
            tallies=lower_tallies(self.grammar, self.terminals),
            languages=tuple(self.languages),
            slots=tuple(
                [
                    (self.terminals[name], self.terminals[base], slot)
                    for name, (base, slot) in self.slots.items()
                    if name in self.terminals
                ]
            ),
            temperatures=self._temperatures(),
        )

    def _max_tokens(self) -> tuple[tuple[int, int], ...]:
        bounds = {name: terminal.max_tokens for name, terminal in self.grammar.terminals.items()}
        named = {symbol for symbol, _ in self.references}
        symbols = [(self.terminals[name], most) for name, most in bounds.items() if most and name in self.terminals]
        return tuple([(symbol, most) for symbol, most in symbols if symbol not in named])

    def _temperatures(self) -> tuple[tuple[int, float], ...]:
        terminals = self.grammar.terminals.items()
        known = [
            (self.terminals.get(name), each.temperature) for name, each in terminals if each.temperature is not None
        ]
        return tuple([(symbol, float(value)) for symbol, value in known if symbol is not None])

    def _indentation(self, automata: list[Recognizer], start: int) -> tuple[LoweredIndentation | None, int]:
        symbols = {name: symbol for name, symbol in self.terminals.items() if isinstance(name, str)}
        return lower_indentation(
            self.grammar, symbols, automata, self.productions, self.nonterminal_names, start, self.limits, self.slots
        )

    # -- symbols ------------------------------------------------------------------------------------------------

    def _flatten(self) -> int:
        """The productions of all rules, and the start symbol."""
        grammar = self.grammar
        first = [*(grammar.terminals if grammar.lexing == "basic" else grammar.ignore), *indentation_terminals(grammar)]
        first += [base for base, _ in self.slots.values()]
        asked: set[Expr] = set()
        while True:
            start, names, self.productions, self.terminals = _kernel.flatten(
                self.rules, grammar.start, first, self.limits.max_symbols
            )
            alone = [key for key in self.terminals if not isinstance(key, str) and key not in asked]
            asked.update(alone)
            if not [expr for expr in alone if self._add_rules(expr)]:
                break
        if not self.scannerless and grammar.ignore:
            self._refuse_ignored([Ref(grammar.start), *(rule for name in names if (rule := grammar.rules.get(name)))])
        self.nonterminal_names = names
        return start

    def _add_rules(self, expr: Expr) -> bool:
        """Rules for what stands alone in a body, if it is not one terminal."""
        match expr:
            case Repeat():
                add_repeat(self.rules, expr)
                return True
            case Special() | Embedded():
                return False
            case _ if not self.scannerless:
                raise GrammarError(
                    f"a rule under {self.grammar.lexing!r} lexing holds bare text",
                    source=self.grammar.source,
                    hint="Name it as a terminal.",
                )
            case And() if (parts := cut_out_words(expr)) is not expr:
                self.rules[expr] = parts
                return True
        return False

    def _refuse_ignored(self, rules: list[Expr]) -> None:
        for ref in (ref for rule in rules for ref in refs(rule) if ref.name in self.grammar.ignore):
            raise GrammarError(
                f"the terminal {ref.name!r} is ignored, so the lexer drops it, but a rule waits for it",
                source=self.grammar.source,
                span=ref.span,
                hint="Remove it from the rule or from the ignored terminals.",
            )

    def _new_nonterminal(self, name: str) -> int:
        self.nonterminal_names.append(name)
        return -len(self.nonterminal_names)

    # -- automata -----------------------------------------------------------------------------------------------

    def _automata(self) -> tuple[list[Recognizer], list[str], dict[int, bool]]:
        """What recognizes the terminals, and their names. Of the symbols of those that match the empty text, too:
        whether they match any other."""
        automata: list[Recognizer] = []
        names: list[str] = []
        optional: dict[int, bool] = {}
        terminals, limits = self.grammar.terminals, self.limits
        for index, key in enumerate(self.terminals):
            if index % _PART == 0:
                _kernel.check(_PART * _OF_ONE)
            if isinstance(key, str):
                expr = terminals[key].expr
                names.append(key)
            else:
                expr = key
                names.append(show(key))
            found: Recognizer
            if self.scannerless and type(expr) is JsonStrings:  # most terminals of a schema are names of members
                self.strings[index] = expr
                found = recognizer(expr, limits)
            elif isinstance(expr, Special | Embedded):
                self._refer(index, key, expr)
                automata.append(compile_expr(NOTHING))
                if isinstance(expr, Embedded):
                    texts_of = self.inner.get(expr, InnerTexts(False, True))
                    if texts_of.empty or not texts_of.others:
                        optional[1 + index] = texts_of.others
                continue
            elif not self.scannerless:
                blocks = self.grammar.indentation
                if blocks is not None and key == blocks.newline:  # columns are read from its automaton
                    found = compile_expr(expr, leftmost_first=True, limits=limits)
                else:
                    found = recognizer_in_order(expr, limits)
                automata.append(self._without_empty(key, found))
                continue
            elif (texts := words(expr)) is not None:
                # The kernel makes their states when a text reaches them.
                written = self.words[index] = tuple([text for text in texts if text])
                found = _kernel.JsonStrings.verbatim(written)
                if len(written) < len(texts):
                    optional[1 + index] = True
            else:
                found = recognizer(expr, limits)
                if isinstance(found, _kernel.Dfa | _kernel.CountingAutomaton) and found.accepts_empty:
                    found = without_empty(found) if isinstance(found, _kernel.Dfa) else found.without_empty()
                    optional[1 + index] = not found.is_empty
            if found.is_empty and 1 + index not in optional:
                self._refuse_empty(names[index])
            automata.append(found)
        return automata, names, optional

    def _refer(self, index: int, key: str | Expr, what: Special | Embedded) -> None:
        """A terminal that is a token, or a text of another grammar."""
        is_token = isinstance(what, Special)
        if key in self.grammar.ignore:
            raise GrammarError(
                f"the ignored terminal {key!r} is {'a token by its id, not text' if is_token else 'another grammar'}",
                source=self.grammar.source,
                hint="Ignore terminals of text only, and name this one in the rules where it may stand.",
            )
        if isinstance(what, Special):
            self.references.append((1 + index, what))
        else:
            self.languages.append((1 + index, what))

    def _without_empty(
        self, key: str | Expr, found: _kernel.Dfa | _kernel.CountingAutomaton
    ) -> _kernel.Dfa | _kernel.CountingAutomaton:
        if found.accepts_empty:
            found = without_empty(found) if isinstance(found, _kernel.Dfa) else found.without_empty()
        blocks = self.grammar.indentation
        if found.is_empty and (blocks is None or key not in (blocks.indent, blocks.dedent)):  # columns bring those
            self._refuse_empty(str(key))
        return found

    def _let_be_empty(self, optional: Mapping[int, bool], names: list[str]) -> dict[int, int]:
        """Terminals that also match the empty text: T? -> T | (empty) stands where they stood."""
        instead = {symbol: self._new_nonterminal(_OPTIONAL.format(names[symbol - 1])) for symbol in optional}
        self.productions = with_symbols(self.productions, instead)
        for symbol, has_text in optional.items():
            self.productions += (instead[symbol], 0, *((instead[symbol], 1, symbol) if has_text else ()))
        return instead

    def _refuse_empty(self, name: str) -> NoReturn:
        raise GrammarError(
            f"the terminal {name} can never match"
            + ("" if self.scannerless else " any text (an empty match counts as none)"),
            source=self.grammar.source,
            hint="Correct its pattern, or remove it.",
        )

    # -- the result ---------------------------------------------------------------------------------------------

    def _ranks(self) -> list[int]:
        """Longest-match ties: higher priority, then literals, then order of definition."""
        if self.scannerless:
            return [0] * len(self.terminals)
        position = {name: i for i, name in enumerate(self.grammar.terminals)}
        order: list[tuple[int, bool, int, int]] = []
        for index, key in enumerate(self.terminals):
            terminal = self.grammar.terminals[key] if isinstance(key, str) else Terminal(key)
            order.append(
                (-terminal.priority, not terminal.literal, position.get(key, 0) if isinstance(key, str) else 0, index)
            )
        ranks = [0] * len(order)
        for rank, (_, _, _, index) in enumerate(sorted(order)):
            ranks[index] = rank
        return ranks
