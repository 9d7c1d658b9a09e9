"""How parts of a text are sampled: a rule's temperature is that of the terminals in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import EMPTY, Expr, Ref
from ..lowering.leaves import names_only
from ..rules import Rules, Shape, Terminal
from .combine import plain, refuse_lost_slots, with_leaves, with_terminals

__all__ = ["with_temperatures"]


def with_temperatures(grammar: Rules, temperatures: Mapping[str, float], without: Collection[str] = ()) -> Rules:
    """See `Grammar.with_temperature`. `without`: terminals that keep what they have wherever they stand."""
    for name in temperatures:
        if name not in grammar.rules and name not in grammar.terminals:
            raise GrammarError(
                f"{name!r:.80}, whose temperature is to be set, is no rule of the grammar",
                source=grammar.source,
                hint=f"Its rules are {', '.join([*grammar.rules][:8])}.",
            )
    if grammar.lexing == "scannerless" and not names_only(grammar):
        # Rules that are regular become one terminal each: so masks cost what they did.
        made, _ = with_terminals(
            grammar,
            [name for name in temperatures if name in grammar.rules],
            lambda name: f"{name} as a whole",
            lambda name, body: Terminal(body, temperature=temperatures[name]),
        )
        grammar = plain(made)
    elif grammar.ignore and grammar.lexing == "scannerless":
        grammar = plain(grammar)
    return _Copies(grammar, temperatures, without).grammar()


class _Copies:
    """The rules and terminals, once for each temperature that they are reached with.

    A rule that has none takes that of the rule it stands in.
    """

    def __init__(self, grammar: Rules, temperatures: Mapping[str, float], without: Collection[str]) -> None:
        self.given, self.temperatures, self.without = grammar, temperatures, without
        self.rules: dict[str, Expr] = {}
        self.terminals: dict[str, Terminal] = {}
        self.names: dict[tuple[str, float | None], str] = {}
        self.todo: list[tuple[str, float | None]] = []

    def grammar(self) -> Rules:
        given = self.given
        for name in given.ignore:
            self.terminals[name] = given.terminals[name]
        if given.indentation is not None:
            raise UnsupportedFeatureError(
                "temperature",
                "temperatures of rules in a grammar with indentation are not supported",
                source=given.source,
                hint="Give one to the whole, after it was combined with others.",
            )
        start = self.name_of(given.start, None)
        while self.todo:
            name, temperature = self.todo.pop()
            new = self.names[name, temperature]
            self.rules[new] = with_leaves(given.rules[name], partial(self.leaf, temperature=temperature))
        if given.meaning is not None:
            slots = given.meaning.slots
            refuse_lost_slots(given, any(old in slots and new != old for (old, _), new in self.names.items()))
        order = {name: at for at, name in enumerate([*given.rules, *given.terminals])}
        of = {new: (order[old], at) for at, ((old, _), new) in enumerate(self.names.items())}
        at_first = (-1, -1)
        distinct = [new for (old, _), new in self.names.items() if old in given.distinct]
        tallied = {new: given.tallied[old] for (old, _), new in self.names.items() if old in given.tallied}
        return replace(
            given,
            rules={name: self.rules[name] for name in sorted(self.rules, key=lambda name: of.get(name, at_first))},
            terminals={
                name: self.terminals[name] for name in sorted(self.terminals, key=lambda name: of.get(name, at_first))
            },
            start=start,
            captures={new: given.captures[old] for (old, _), new in self.names.items() if old in given.captures},
            parts={new: given.parts[old] for (old, _), new in self.names.items() if old in given.parts},
            hidden=tuple([new for (old, _), new in self.names.items() if old in given.hidden]),
            shapes=self.shapes(),
            distinct=tuple(distinct),
            tallied=tallied,
        )

    def shapes(self) -> dict[str, Shape]:
        """A copy of a rule is called as the rule is in trees."""
        known = self.given.shapes
        made = {new: known.get(old, Shape(old)) for (old, _), new in self.names.items() if old in self.given.rules}
        return {new: shape for new, shape in made.items() if shape != Shape(new)}

    def leaf(self, leaf: Expr, temperature: float | None) -> Expr:
        return replace(leaf, name=self.name_of(leaf.name, temperature)) if isinstance(leaf, Ref) else leaf

    def name_of(self, name: str, around: float | None) -> str:
        """The name of a rule or terminal where it stands in something of that temperature."""
        given = self.given
        own = self.temperatures.get(name)
        terminal = given.terminals.get(name)
        if own is None and terminal is not None:
            own = terminal.temperature
        temperature = around if own is None else own
        if name in self.without:
            temperature = None if terminal is None else terminal.temperature
        key = (name, temperature)
        if key in self.names:
            return self.names[key]
        new = name if temperature in (None, own) else f"{name} at {temperature:g}"
        while (
            new in self.rules
            or new in self.terminals
            or (new != name and (new in given.rules or new in given.terminals))
        ):
            new += "'"
        self.names[key] = new
        if terminal is not None:
            self.terminals[new] = replace(terminal, temperature=temperature)
        else:
            self.rules[new] = EMPTY  # the name is taken
            self.todo.append(key)
        return new
