"""From a `Grammar` to what the kernel takes: numbered symbols, one automaton per terminal, flat productions.

Under `scannerless`, where any segmentation counts, rules that are regular and small are folded into single terminals
first: a JSON string written character by character becomes one automaton, and the parser never sees its inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import _kernel
from .automata import compile_expr, json_strings
from .errors import GrammarError, LimitError
from .expr import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Graph,
    JsonStrings,
    Look,
    Not,
    Ref,
    Repeat,
    Special,
    children,
    is_regular,
    refs,
    walk,
)
from .grammar import Grammar, Terminal
from .limits import Limits

__all__ = ["Lowered", "lower"]

_MAX_FOLDED_NODES = 400
"""Expression nodes, counted repeats multiplied out, up to which a regular rule becomes a terminal."""


@dataclass(frozen=True)
class Lowered:
    """Symbols are numbered terminals first, from 1; 0 is the end of the text.

    Attributes:
        terminals: (automaton without the empty string, rank, ignored) of each terminal; the lower rank wins ties.
        references: (symbol, token) of the terminals that are one token and no text; their automata are empty.
        terminal_names, nonterminal_names: for messages; generated ones are in angle brackets.
        productions: [head, *body].
        start: a symbol.
    """

    terminals: list[tuple[_kernel.Dfa | _kernel.JsonStrings, int, bool]]
    references: list[tuple[int, Special]]
    terminal_names: list[str]
    nonterminal_names: list[str]
    productions: list[list[int]]
    start: int


def lower(grammar: Grammar, limits: Limits) -> Lowered:
    """Numbers, automata and productions of a grammar.

    Raises:
        GrammarError: a terminal that can match nothing, an ignored terminal used in a rule, an empty language.
        LimitError: an automaton or the grammar itself grows past its bound.
    """
    try:
        return _Lowering(grammar, limits).run()
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, "nesting of an expression") from None


class _Lowering:
    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        self.grammar = grammar
        self.limits = limits
        self.scannerless = grammar.lexing == "scannerless"
        self.rules: Mapping[str, Expr] = _fold_regular_rules(grammar) if self.scannerless else grammar.rules
        self.symbols: dict[str, int] = {}  # nonterminal name -> index among nonterminals
        self.nonterminal_names: list[str] = []
        self.terminal_ids: dict[str | Expr, int] = {}  # by name (named) or expression (inline)
        self.dfas: list[_kernel.Dfa | _kernel.JsonStrings] = []
        self.terminal_names: list[str] = []
        self.references: list[tuple[int, Special]] = []
        self.nullable: set[int] = set()  # terminals that also match the empty string
        self.pending: list[tuple[int, Expr]] = []
        self.productions: list[tuple[int, list[tuple[bool, int]]]] = []  # bodies of (is terminal, index)
        self.helpers: dict[Expr, int] = {}
        self.size = 0

    def run(self) -> Lowered:
        start = self._symbol(Ref(self.grammar.start))
        if start[0] and start[1] in self.nullable:
            start = (False, self._helper(Alt((Ref(self.grammar.start),))))
        for name in self.grammar.terminals if self.grammar.lexing == "basic" else self.grammar.ignore:
            self._terminal(name, self.grammar.terminals[name])
        done: set[int] = set()
        while self.pending:
            head, expr = self.pending.pop()
            if head in done:
                continue
            done.add(head)
            for alternative in expr.items if isinstance(expr, Alt) else (expr,):
                self._production(head, alternative)
        return self._finish(start)

    # -- symbols ------------------------------------------------------------------------------------------------

    def _symbol(self, expr: Expr) -> tuple[bool, int]:
        """The symbol of an expression that stands alone in a body."""
        if isinstance(expr, Ref):
            if expr.name in self.rules:
                return self._nonterminal(expr.name)
            if expr.name in self.grammar.ignore and not self.scannerless:
                raise GrammarError(
                    f"the terminal {expr.name!r} is ignored, so the lexer drops it, but a rule waits for it",
                    source=self.grammar.source,
                    span=expr.span,
                    hint="Remove it from the rule or from the ignored terminals.",
                )
            return True, self._terminal(expr.name, self.grammar.terminals[expr.name])
        if isinstance(expr, Special):
            return True, self._terminal(expr, Terminal(expr))
        if isinstance(expr, Bytes | Chars | ByteSet | JsonStrings | Look | And | Not | Graph):
            if not self.scannerless:
                raise GrammarError(
                    f"a rule under {self.grammar.lexing!r} lexing holds bare text",
                    source=self.grammar.source,
                    hint="Name it as a terminal.",
                )
            return True, self._terminal(expr, Terminal(expr))
        return False, self._helper(expr)

    def _nonterminal(self, name: str) -> tuple[bool, int]:
        index = self.symbols.get(name)
        if index is None:
            index = self.symbols[name] = self._new_nonterminal(name)
            self.pending.append((index, self.rules[name]))
        return False, index

    def _new_nonterminal(self, name: str) -> int:
        self.nonterminal_names.append(name)
        return len(self.nonterminal_names) - 1

    def _helper(self, expr: Expr) -> int:
        """A nonterminal for an inner expression; equal ones share it."""
        index = self.helpers.get(expr)
        if index is None:
            index = self.helpers[expr] = self._new_nonterminal(f"<{type(expr).__name__.lower()}>")
            if isinstance(expr, Repeat):
                self._repeat(index, expr)
            else:
                self.pending.append((index, expr))
        return index

    def _terminal(self, key: str | Expr, terminal: Terminal) -> int:
        index = self.terminal_ids.get(key)
        if index is not None:
            return index
        name = key if isinstance(key, str) else _short(terminal.expr)
        if isinstance(terminal.expr, Special):
            if key in self.grammar.ignore:
                raise GrammarError(
                    f"the ignored terminal {name!r} is a token by its id, not text",
                    source=self.grammar.source,
                    hint="Ignore text only, and name the token in the rules where it may stand.",
                )
            index = self.terminal_ids[key] = len(self.dfas)
            self.references.append((1 + index, terminal.expr))
            self.dfas.append(compile_expr(NOTHING))
            self.terminal_names.append(name)
            return index
        dfa: _kernel.Dfa | _kernel.JsonStrings
        if self.scannerless and isinstance(terminal.expr, JsonStrings):
            dfa = json_strings(terminal.expr)
        else:
            dfa = compile_expr(terminal.expr, leftmost_first=not self.scannerless, limits=self.limits)
        if not isinstance(dfa, _kernel.JsonStrings) and dfa.accepts_empty:
            dfa = dfa.without_empty()
            if self.scannerless:
                self.nullable.add(len(self.dfas))
        if dfa.is_empty and len(self.dfas) not in self.nullable:
            raise GrammarError(
                f"the terminal {name} can never match"
                + ("" if self.scannerless else " any text (an empty match counts as none)"),
                source=self.grammar.source,
                hint="Correct its pattern, or remove it.",
            )
        index = self.terminal_ids[key] = len(self.dfas)
        self.dfas.append(dfa)
        self.terminal_names.append(name)
        return index

    # -- productions --------------------------------------------------------------------------------------------

    def _production(self, head: int, expr: Expr) -> None:
        items = expr.items if isinstance(expr, Concat) else (expr,)
        body: list[tuple[bool, int]] = []
        for item in items:
            if item == EMPTY:
                continue
            body.append(self._symbol(item))
        self._emit(head, body)

    def _emit(self, head: int, body: list[tuple[bool, int]]) -> None:
        self.size += 1 + len(body)
        if self.size > self.limits.max_symbols:
            raise LimitError("max_symbols", self.size, self.limits.max_symbols, "the size of the grammar")
        self.productions.append((head, body))

    def _repeat(self, head: int, expr: Repeat) -> None:
        """Left-recursive, so the parser's stack does not grow with the number of items."""
        item = self._symbol(expr.item)
        low, high = expr.min, expr.max
        if high is None:
            # R -> R item | item^low
            self._emit(head, self._times(item, low))
            self._emit(head, [(False, head), item])
            return
        if low == high:
            self._emit(head, self._times(item, low))
            return
        # R -> item^low U;  U_k -> (empty) | U_{k-1} item: one nonterminal per optional item
        previous = -1
        for k in range(1, high - low + 1):
            index = self._new_nonterminal(f"<up to {k}>")
            self._emit(index, [])
            self._emit(index, [item] if k == 1 else [(False, previous), item])
            previous = index
        self._emit(head, [*self._times(item, low), (False, previous)])

    def _times(self, item: tuple[bool, int], count: int) -> list[tuple[bool, int]]:
        """A body of `count` items; a long one as a left-recursive chain: every position of a body is an LR item."""
        if count <= 16:
            return [item] * count
        previous = item
        for k in range(2, count + 1):
            index = self._new_nonterminal(f"<{k} times>")
            self._emit(index, [previous, item])
            previous = (False, index)
        return [previous]

    # -- the result ---------------------------------------------------------------------------------------------

    def _finish(self, start: tuple[bool, int]) -> Lowered:
        # A terminal that may be empty stands behind a nonterminal: T? -> T | (empty).
        optional = {t: self._new_nonterminal(f"<{self.terminal_names[t]}?>") for t in sorted(self.nullable)}
        count = len(self.dfas)

        def number(symbol: tuple[bool, int]) -> int:
            is_terminal, index = symbol
            if not is_terminal:
                return 1 + count + index
            return 1 + count + optional[index] if index in optional else 1 + index

        productions = [[1 + count + head, *map(number, body)] for head, body in self.productions]
        for t, nonterminal in optional.items():
            productions.append([1 + count + nonterminal])
            if not self.dfas[t].is_empty:
                productions.append([1 + count + nonterminal, 1 + t])
        return Lowered(
            terminals=list(zip(self.dfas, self._ranks(), self._ignored())),
            references=self.references,
            terminal_names=self.terminal_names,
            nonterminal_names=self.nonterminal_names,
            productions=productions,
            start=number(start),
        )

    def _ignored(self) -> list[bool]:
        ignored = {self.terminal_ids[name] for name in self.grammar.ignore}
        return [i in ignored for i in range(len(self.dfas))]

    def _ranks(self) -> list[int]:
        """Longest-match ties: higher priority, then literals, then order of definition."""
        position = {name: i for i, name in enumerate(self.grammar.terminals)}
        order: list[tuple[int, bool, int, int]] = []
        for key, index in self.terminal_ids.items():
            terminal = self.grammar.terminals[key] if isinstance(key, str) else Terminal(key)
            order.append(
                (-terminal.priority, not terminal.literal, position.get(key, 0) if isinstance(key, str) else 0, index)
            )
        ranks = [0] * len(order)
        for rank, (_, _, _, index) in enumerate(sorted(order)):
            ranks[index] = rank
        return ranks


def _short(expr: Expr) -> str:
    if isinstance(expr, Special):
        name = expr.token if isinstance(expr.token, str) else f"<[{expr.token}]>"
        return f"!{name}" if expr.negated else name
    shown = repr(expr.value) if isinstance(expr, Bytes) else type(expr).__name__.lower()
    return f"<{shown if len(shown) <= 40 else shown[:37] + '...'}>"


def _fold_regular_rules(grammar: Grammar) -> Mapping[str, Expr]:
    """Replaces every reference to a small regular rule by that rule, and makes every regular part one leaf.

    Bottom up: a rule is regular if all it refers to is regular and it does not refer to itself. Nothing is folded over
    a place where an ignored terminal could stand, nor out of a terminal with look-around, which sees its own text only.
    Rules that hold nothing but names were cut into terminals by whoever wrote them, and stay as they are.
    """
    if all(isinstance(leaf, Ref) for expr in grammar.rules.values() for leaf in walk(expr) if not children(leaf)):
        return grammar.rules
    if grammar.ignore:
        return {
            name: expr if any(refs(expr)) or not is_regular(expr) else _leaf(expr)
            for name, expr in grammar.rules.items()
        }
    bodies: dict[str, Expr] = {}  # the expanded regular rules and terminals
    costs: dict[str, int] = {}
    for name, terminal in grammar.terminals.items():
        if not _looks(terminal.expr) and not isinstance(terminal.expr, Special):
            bodies[name], costs[name] = terminal.expr, 1  # a terminal stays what it is, whatever its size
    unfit: set[str] = set()
    for root in grammar.rules:
        stack = [(root, False)]
        open_rules: set[str] = set()
        while stack:
            name, finished = stack.pop()
            if finished:
                open_rules.discard(name)
                expr = grammar.rules[name]
                inner = [n for n in walk(expr) if isinstance(n, Ref)]
                if name in unfit or any(r.name not in bodies for r in inner) or _looks(expr) or _has_special(expr):
                    unfit.add(name)
                    continue
                cost = _cost(expr, costs)
                if cost > _MAX_FOLDED_NODES:
                    unfit.add(name)
                else:
                    bodies[name], costs[name] = _substitute(expr, bodies), cost
            elif name in grammar.rules and name not in bodies and name not in unfit:
                if name in open_rules:
                    unfit.update(open_rules)  # recursion: none on the way round is regular
                    continue
                open_rules.add(name)
                stack.append((name, True))
                stack.extend((r.name, False) for r in walk(grammar.rules[name]) if isinstance(r, Ref))
    return {
        name: _leaf(bodies[name]) if name in bodies else _mark(expr, bodies, costs)
        for name, expr in grammar.rules.items()
    }


def _leaf(expr: Expr) -> Expr:
    """A regular expression as one leaf: an `And` of one item, which the lowering takes as a terminal."""
    return expr if isinstance(expr, Bytes | Chars | ByteSet | JsonStrings) or expr == EMPTY else And((expr,))


def _looks(expr: Expr) -> bool:
    return any(isinstance(n, Look) for n in walk(expr))


def _has_special(expr: Expr) -> bool:
    return any(isinstance(n, Special) for n in walk(expr))


def _cost(expr: Expr, costs: Mapping[str, int]) -> int:
    match expr:
        case Ref(name):
            return costs[name]
        case Bytes(value):
            return 1 + len(value)
        case Repeat(item, low, high, _):
            return 1 + _cost(item, costs) * max(1, low if high is None else high)
        case _:
            return 1 + sum(_cost(c, costs) for c in children(expr))


def _substitute(expr: Expr, bodies: Mapping[str, Expr]) -> Expr:
    match expr:
        case Ref(name):
            return bodies[name]
        case Concat(items):
            return Concat(tuple(_substitute(i, bodies) for i in items))
        case Alt(items):
            return Alt(tuple(_substitute(i, bodies) for i in items))
        case Repeat(item, low, high, lazy):
            return Repeat(_substitute(item, bodies), low, high, lazy)
        case _:
            return expr


def _mark(expr: Expr, bodies: Mapping[str, Expr], costs: Mapping[str, int]) -> Expr:
    """Makes every maximal regular part of an irregular expression one leaf."""
    if is_regular(expr):
        return _leaf(expr)
    foldable = not _has_special(expr) and not _looks(expr) and all(r.name in bodies for r in refs(expr))
    if foldable and _cost(expr, costs) <= _MAX_FOLDED_NODES:
        return _leaf(_substitute(expr, bodies))
    match expr:
        case Concat(items):
            # Neighbouring regular items become one leaf together.
            out: list[Expr] = []
            run: list[Expr] = []
            cost = 0
            for item in (*items, None):
                if (
                    item is not None
                    and not _has_special(item)
                    and not _looks(item)
                    and all(r.name in bodies for r in refs(item))
                ):
                    cost += _cost(item, costs)
                    if cost <= _MAX_FOLDED_NODES:
                        run.append(item)
                        continue
                if run:
                    out.append(_leaf(_substitute(run[0] if len(run) == 1 else Concat(tuple(run)), bodies)))
                run, cost = [], 0
                if item is not None:
                    out.append(_mark(item, bodies, costs))
            return Concat(tuple(out))
        case Alt(items):
            return Alt(tuple(_mark(i, bodies, costs) for i in items))
        case Repeat(item, low, high, lazy):
            return Repeat(_mark(item, bodies, costs), low, high, lazy)
        case _:
            return expr
