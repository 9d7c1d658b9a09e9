"""Indentation, lowered: the symbols the kernel needs, and what a grammar must keep so that columns can tell its blocks.

A newline lexeme gives the parser the newline terminal, then an INDENT, or nothing, or DEDENTs. So an INDENT may stand
behind a newline only, a DEDENT behind a newline or another DEDENT (or at the end of the text: `derivable.endings`), and
both must pair up inside each production, as must brackets; between brackets no newline may stand. A grammar that asks
for anything else asks for what no text can give, and is refused by name. With these rules kept, every sequence that the
grammar derives has a text, so dead ends can be told without following the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from .._kernel import Dfa
from ..automata import Recognizer
from ..errors import GrammarError
from ..limits import Limits
from ..rules import Rules
from .endings import split_ends

_T = TypeVar("_T")

__all__ = ["LoweredIndentation", "indentation_terminals", "lower_indentation", "matches_blank_lines"]

LoweredIndentation = tuple[int, int, int, list[int], list[int], int, bool, bool, int]
"""newline, indent, dedent, opening, closing, tab, tab_stops, final_newline, step (0: any)."""


def matches_blank_lines(newline: Recognizer) -> bool:
    """Whether a terminal matches a line feed with any blanks behind it, as columns ask of a newline's."""
    if not isinstance(newline, Dfa):
        return False
    state, seen = newline.step(0, ord("\n")), set[int]()
    while state not in seen:
        if state < 0 or not newline.is_accepting(state):
            return False
        seen.add(state)
        state = newline.step(state, ord(" "))
    return True


def indentation_terminals(grammar: Rules) -> Iterator[str]:
    """The terminals that `grammar.indentation` names, each once.

    Raises:
        GrammarError: one is not defined, named twice, ignored, or the grammar has no lexer.
    """
    indentation = grammar.indentation
    if indentation is None:
        return
    if grammar.lexing == "scannerless":
        raise GrammarError(
            "indentation needs lexemes, and under 'scannerless' lexing there are none",
            source=grammar.source,
            hint="Use 'longest' or 'basic'.",
        )
    if not 1 <= indentation.tab <= 1000:
        raise GrammarError(f"a tab of {indentation.tab} columns makes no sense", hint="Choose 1 to 1000, usually 8.")
    seen: set[str] = set()
    for name in (
        indentation.newline,
        indentation.indent,
        indentation.dedent,
        *(name for pair in indentation.brackets for name in pair),
    ):
        if name not in grammar.terminals:
            raise GrammarError(
                f"the indentation names the terminal {name!r}, which the grammar does not use",
                source=grammar.source,
                hint="Correct the spelling. Lark names an anonymous terminal after its text: '(' is LPAR.",
            )
        if name in seen or name in grammar.ignore:
            raise GrammarError(
                f"the indentation names the terminal {name!r}, which is {'named twice' if name in seen else 'ignored'}",
                source=grammar.source,
                hint="Each part of an indentation is a terminal of its own.",
            )
        seen.add(name)
        yield name


def lower_indentation(
    grammar: Rules,
    symbols: Mapping[str, int],
    dfas: Sequence[Recognizer],
    flat: list[int],
    nonterminals: list[str],
    start: int,
    limits: Limits,
    slots: Mapping[str, tuple[str, str]],
) -> tuple[LoweredIndentation | None, int]:
    """What the kernel takes, once the grammar is known to keep the rules, and the start symbol.

    Args:
        grammar: with or without indentation.
        symbols: of the terminals, by name.
        dfas: of the terminals, from symbol 1.
        flat: productions as in `Lowered`; they grow (and the names) where the end of the text may close blocks.
        nonterminals: by number.
        start: a symbol.
        limits: bounds what is added.
        slots: terminal and slot of each terminal that is another one in a slot (`with_slots`).

    Raises:
        GrammarError: a rule is broken.
        LimitError: too much would be added.
    """
    indentation = grammar.indentation
    if indentation is None:
        return None, start
    productions = list(_unpacked(flat, len(dfas)))
    newline, indent, dedent = (symbols[name] for name in (indentation.newline, indentation.indent, indentation.dedent))
    opening, closing = (
        [symbols[name] for pair in indentation.brackets for name in _in_slots(pair[side], slots) if name in symbols]
        for side in (0, 1)
    )
    names = {symbol: name for name, symbol in symbols.items()}
    spec = (
        newline,
        indent,
        dedent,
        opening,
        closing,
        indentation.tab,
        indentation.tab_stops,
        indentation.final_newline,
        indentation.step or 0,
    )
    if not matches_blank_lines(dfas[newline - 1]):
        raise _refused(
            grammar, f"the newline terminal {indentation.newline!r} must match a line feed and any blanks behind it"
        )
    for name in (indentation.indent, indentation.dedent):
        if not dfas[symbols[name] - 1].is_empty:
            raise _refused(grammar, f"the terminal {name!r} has a pattern, but columns bring it, not text")
    special = {newline, indent, dedent}
    touches = _reaching(productions, special)
    opens, closes = (_alone(productions, {*brackets}) for brackets in (opening, closing))
    for head, *body in productions:
        if head in opens or head in closes:
            continue
        blocks = depth = 0
        for symbol in body:
            blocks += (symbol == indent) - (symbol == dedent)
            depth += (symbol in opens) - (symbol in closes)
            if blocks < 0 or depth < 0:
                known = names.get(symbol, "a bracket")
                raise _refused(grammar, f"a production has {known!r} without the terminal that it closes")
            if depth and symbol in touches:
                pairs = ", ".join(f"{first} and {second}" for first, second in indentation.brackets)
                raise _refused(
                    grammar,
                    f"{indentation.newline!r} stands between brackets, where newline lexemes are dropped",
                    f"Take it out there, or leave out of `Indentation.brackets` what lines end between (of {pairs}).",
                )
        if blocks or depth:
            raise _refused(grammar, "a production opens a block or bracket that it does not close")
    allowed = {indent: {newline}, dedent: {newline, dedent}}
    for symbol, before in zip(allowed, _before(productions, len(dfas), tuple(allowed))):
        wrong = sorted(before - allowed[symbol])
        if symbol == dedent and wrong:
            first, free = (_number(symbol, len(dfas)) for symbol in (start, -1 - len(nonterminals)))
            split = split_ends(productions, len(dfas), free, first, newline, dedent, limits.max_symbols)
            if split is not None:
                first, added, originals = split
                for head, body in added:
                    flat += (_number(head, len(dfas)), len(body), *(_number(s, len(dfas)) for s in body))
                nonterminals += [nonterminals[original - len(dfas) - 2] for original in originals]
                return spec, _number(first, len(dfas))
        if wrong:
            behind = repr(names[wrong[0]]) if wrong[0] else "the start of the text"
            raise _refused(grammar, f"{names[symbol]!r} stands behind {behind}, not behind {indentation.newline!r}")
    return spec, start


def _number(symbol: int, terminals: int) -> int:
    """Nonterminals numbered behind the terminals, or from -1 down again."""
    return symbol if 0 < symbol <= terminals else 1 + terminals - symbol


def _unpacked(flat: Sequence[int], terminals: int) -> Iterator[list[int]]:
    """[head, *body] of each production, nonterminals numbered behind the terminals."""
    at = 0
    while at < len(flat):
        end = at + 2 + flat[at + 1]
        yield [_number(symbol, terminals) for symbol in (flat[at], *flat[at + 2 : end])]
        at = end


_BLOCKS = "Write blocks as `_NEWLINE _INDENT statement+ _DEDENT`; a statement ends with `_NEWLINE` or a block."


def _in_slots(terminal: str, slots: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """The terminal, and what it is in slots."""
    yield terminal
    yield from (name for name, (base, _) in slots.items() if base == terminal and name != base)


def _alone(productions: Sequence[Sequence[int]], brackets: set[int]) -> set[int]:
    """Brackets, and the rules that are one of them: slots may be such rules."""
    others = {head for head, *body in productions if len(body) != 1 or body[0] not in brackets}
    return brackets | {head for head, *_ in productions if head not in others}


def _refused(grammar: Rules, problem: str, hint: str = _BLOCKS) -> GrammarError:
    return GrammarError(problem, source=grammar.source, hint=hint)


def _reaching(productions: Sequence[Sequence[int]], goal: set[int]) -> set[int]:
    """The symbols that derive some text with one of `goal` in it (and perhaps some that do not end)."""
    uses: dict[int, list[int]] = {}
    for head, *body in productions:
        for symbol in body:
            uses.setdefault(symbol, []).append(head)
    found, todo = set(goal), list(goal)
    while todo:
        for head in uses.get(todo.pop(), ()):
            if head not in found:
                found.add(head)
                todo.append(head)
    return found


def _before(productions: Sequence[Sequence[int]], terminals: int, goals: Sequence[int]) -> Iterator[set[int]]:
    """For each of `goals`, the terminals that may stand directly before it; 0: it may be the first."""
    by_head: dict[int, list[Sequence[int]]] = {}
    for head, *body in productions:
        by_head.setdefault(head, []).append(body)
    nullable = _grown(set(), by_head, lambda bodies, known: any(map(known.issuperset, bodies)))
    begins = {head: {s for body in bodies for s in _first(body, nullable)} for head, bodies in by_head.items()}
    used = {symbol for head, *body in productions for symbol in body if symbol != head}
    starts = by_head.keys() - used or by_head.keys()
    for goal in goals:
        beginning = _grown({goal}, begins, lambda symbols, known: not known.isdisjoint(symbols))
        found: set[int] = set()
        todo: list[int] = []
        for _, *body in productions:
            for i, symbol in enumerate(body):
                if symbol in beginning:
                    todo += _first(body[:i][::-1], nullable)
        while todo:
            symbol = todo.pop()
            if symbol not in found:
                found.add(symbol)
                for ending in by_head.get(symbol, ()):
                    todo += _first(ending[::-1], nullable)
        yield {symbol for symbol in found if symbol <= terminals} | ({0} if beginning & starts else set())


def _first(body: Sequence[int], nullable: set[int]) -> Iterator[int]:
    """The symbols that what a body derives may begin with."""
    for symbol in body:
        yield symbol
        if symbol not in nullable:
            break


def _grown(known: set[int], heads: Mapping[int, _T], adds: Callable[[_T, set[int]], bool]) -> set[int]:
    """The least set with `known` that has every head of which `adds` says so, given the set."""
    size = -1
    while len(known) > size:
        size = len(known)
        known |= {head for head, of_it in heads.items() if head not in known and adds(of_it, known)}
    return known
