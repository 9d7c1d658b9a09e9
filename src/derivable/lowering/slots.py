"""Slots: each gets terminals of its own, which to the lexer are those that stand in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..automata.widths import width
from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import Alt, Bytes, Concat, Embedded, Expr, Look, Ref, Special
from ..rules import Rules

__all__ = ["ignored_slot", "longest_names", "with_slots"]

_UTF_8 = 4
"""Bytes of a character, at most."""


def with_slots(grammar: Rules) -> tuple[Rules, dict[str, tuple[str, str]]]:
    """The grammar with a terminal for each slot and each terminal in it; of those, that terminal and the slot.

    Raises:
        GrammarError: a slot is no terminal, and no rule that is a choice of terminals.
        UnsupportedFeatureError: there is something beside slots that they do not go with.
    """
    if grammar.meaning is None:
        return grammar, {}
    _refuse_beside(grammar)
    rules, terminals = dict(grammar.rules), dict(grammar.terminals)
    slots: dict[str, tuple[str, str]] = {}
    for slot in grammar.meaning.slots:
        if slot in grammar.ignore:
            raise ignored_slot(slot, grammar.source)
        if slot in terminals:
            slots[slot] = slot, slot
            continue
        if slot not in rules:
            raise GrammarError(
                f"the slot {slot!r} is neither a rule nor a terminal of the grammar",
                source=grammar.source,
                hint="Name a terminal, or a rule that is one, in `slots` of the meaning.",
            )
        names = []
        for base in _terminals(grammar, slot, rules[slot], frozenset()):
            name = f"{slot}: {base}"
            terminals[name] = terminals[base]
            slots[name] = base, slot
            names.append(Ref(name))
        rules[slot] = Alt(tuple(names))
    return replace(grammar, rules=rules, terminals=terminals), slots


def ignored_slot(slot: str, source: str | None) -> GrammarError:
    """What says that nothing is read in a slot."""
    return GrammarError(
        f"the slot {slot!r} is ignored, so nothing is read in it",
        source=source,
        hint="Name terminals and rules that stand in the text.",
    )


def longest_names(grammar: Rules | None) -> dict[str, int | list[str]]:
    """Of slots whose terminals do not have texts of any length: their most bytes, or the one text that there is."""
    found: dict[str, int | list[str]] = {}
    if grammar is None or grammar.meaning is None:
        return found
    for slot in grammar.meaning.slots:
        named = set(_terminals(grammar, slot, Ref(slot), frozenset()))
        exprs = [grammar.terminals[name].expr for name in named]
        if len(exprs) == 1 and (text := _literal(exprs[0])):
            found[slot] = [text]
            continue
        widths = [most for _, most in map(width, exprs) if most is not None]
        if exprs and len(widths) == len(exprs):
            found[slot] = max(1, _UTF_8 * max(widths))
    return found


def _literal(expr: Expr) -> str | None:
    """The text of a terminal that has one, such as a keyword and what must not follow it."""
    match expr:
        case Bytes(value):
            return value.decode("utf-8", "replace")
        case Concat(items):
            parts = [_literal(item) for item in items if not isinstance(item, Look)]
            return None if None in parts else "".join(part or "" for part in parts)
        case _:
            return None


def _terminals(grammar: Rules, slot: str, expr: Expr, within: frozenset[str]) -> Iterator[str]:
    match expr:
        case Ref(name) if name in grammar.terminals:
            yield name
        case Ref(name) if name not in within:
            yield from _terminals(grammar, slot, grammar.rules[name], within | {name})
        case Alt(items):
            for item in items:
                yield from _terminals(grammar, slot, item, within)
        case Concat((item,)):
            yield from _terminals(grammar, slot, item, within)
        case _:
            raise GrammarError(
                f"the slot {slot!r} is a rule of more than one terminal",
                source=grammar.source,
                hint="A slot is one name: name a terminal, or a rule that is a terminal or a choice of some.",
            )


def _refuse_beside(grammar: Rules) -> None:
    beside = [
        ("distinct items or counted members", bool(grammar.distinct or grammar.tallied)),
        ("tokens by their ids", any(isinstance(t.expr, Special) for t in grammar.terminals.values())),
        ("other languages", any(isinstance(t.expr, Embedded) for t in grammar.terminals.values())),
        ("bounds on tokens", any(t.max_tokens is not None for t in grammar.terminals.values())),
    ]
    for what, there in beside:
        if there:
            raise UnsupportedFeatureError(
                "meaning",
                f"a grammar with slots has {what}, which do not go with them yet",
                source=grammar.source,
                hint="Take that out of the grammar, or the meaning.",
            )
