"""Slots: each gets terminals of its own, which to the lexer are those that stand in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import Alt, Concat, Embedded, Expr, Ref, Special
from ..rules import Rules

__all__ = ["ignored_slot", "with_slots"]


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
