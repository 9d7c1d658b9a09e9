"""Rules that a meaning is told of where they begin and end (`Meaning.scopes`).

The first lexeme of such a rule begins it, and its last one ends it. So a grammar with scopes is one whose lexemes at
these borders are slots of their own, in copies of the rules that lead there. The meaning of that grammar asks the given
one to enter scopes before such a lexeme and to leave them behind it (`BorderMeaning`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from ..errors import GrammarError, LimitError, UnsupportedFeatureError
from ..expr import (
    EMPTY,
    NOTHING,
    Alt,
    Bytes,
    Concat,
    Embedded,
    Expr,
    Members,
    Ref,
    Repeat,
    Sequences,
    Special,
    Spelled,
)
from ..limits import Limits
from ..lowering.show import show
from ..meaning import Meaning, Names, asked
from ..rules import Rules, Shape, Terminal
from .text_ends import empty_names, has_empty

__all__ = ["BorderMeaning", "with_scopes"]

_NO_NAMES = Names(())
_Grammar = TypeVar("_Grammar", bound=Rules)


class _Border(NamedTuple):
    """A lexeme at borders of scopes: the slot of the given meaning that it is (`""`: none), and the scopes that it
    begins, the outer ones first, and ends, the inner ones first."""

    slot: str
    begins: tuple[str, ...]
    ends: tuple[str, ...]


class BorderMeaning(Meaning):
    """A meaning that is told of scopes, where lexemes at their borders are slots.

    Args:
        meaning: the one that is told.
        borders: these slots.
    """

    def __init__(self, meaning: Meaning, borders: Mapping[str, _Border]) -> None:
        self.meaning = meaning
        self._borders = borders
        self.slots = (*meaning.slots, *borders)
        self.free = (*meaning.free, *(name for name, border in borders.items() if self._is_free(border)))
        self.growth = {**meaning.growth, **self._of_slots(meaning.growth)}
        longest = meaning.longest
        self.longest = longest if isinstance(longest, int) else {**longest, **self._of_slots(longest)}

    def __repr__(self) -> str:
        return f"BorderMeaning({self.meaning!r})"

    def _is_free(self, border: _Border) -> bool:
        free = self.meaning.free
        return (not border.slot or border.slot in free) and all(scope in free for scope in border.ends)

    def _of_slots(self, known: Mapping[str, Any]) -> dict[str, Any]:
        return {name: known[border.slot] for name, border in self._borders.items() if border.slot in known}

    def start(self) -> Hashable:
        return self.meaning.start()

    def _entered(self, state: Any, border: _Border) -> Any:
        for scope in border.begins:
            state = None if state is None else asked(self.meaning, "enter", scope, state, state, scope)
        return state

    def names(self, state: Any, slot: str) -> Names | Iterable[str] | None:
        border = self._borders.get(slot)
        if border is None:
            return self.meaning.names(state, slot)
        state = self._entered(state, border)
        if state is None:
            return _NO_NAMES
        return self.meaning.names(state, border.slot) if border.slot else None

    def read(self, state: Any, slot: str, text: str) -> Hashable:
        border = self._borders.get(slot)
        if border is None:
            return self.meaning.read(state, slot, text)
        state = self._entered(state, border)
        if border.slot and state is not None:
            state = self.meaning.read(state, border.slot, text)
        for scope in border.ends:
            state = None if state is None else asked(self.meaning, "leave", scope, state, state, scope)
        behind: Hashable = state
        return behind

    def may_end(self, state: Any) -> bool:
        return self.meaning.may_end(state)

    def missing(self, state: Any) -> Iterable[str] | None:
        return self.meaning.missing(state)

    def _may_be_longer(self, state: Any, slot: str) -> bool:
        return self.meaning._may_be_longer(state, slot)

    def to_plain(self, state: Any) -> Hashable:
        return self.meaning.to_plain(state)

    def from_plain(self, value: Any) -> Hashable:
        return self.meaning.from_plain(value)


def with_scopes(grammar: _Grammar, meaning: Meaning) -> tuple[_Grammar, Meaning]:
    """The grammar with slots at the borders of scopes, and its meaning.

    Raises:
        GrammarError: a scope is no rule, or a lexeme may begin or end any number of it.
        UnsupportedFeatureError: something stands at the border of a scope that is no lexeme of text.
        LimitError: rules at the borders of scopes hold one another too deep.
    """
    if not meaning.scopes:
        return grammar, meaning
    for scope in meaning.scopes:
        if scope not in grammar.rules or scope in meaning.slots:
            raise GrammarError(
                f"the scope {scope!r:.80} is no rule of the grammar, or it is a slot",
                source=grammar.source,
                hint="Name rules in `scopes` of the meaning, and terminals in its `slots`.",
            )
    copies = _Copies(grammar, meaning)
    try:
        for scope in meaning.scopes:
            copies.rules[scope] = copies.scope(scope)
    except RecursionError:
        most = Limits().max_depth
        raise LimitError("max_depth", most + 1, most, "rules at the borders of scopes, in one another") from None
    made = replace(grammar, rules=copies.rules, terminals=copies.terminals, shapes=copies.shapes)
    return made, BorderMeaning(meaning, copies.borders)


_Scopes = tuple[str, ...]


@dataclass
class _Copies:
    """Copies of rules, by the scopes that their first lexeme begins and their last one ends."""

    grammar: Rules
    meaning: Meaning
    rules: dict[str, Expr] = field(init=False)
    terminals: dict[str, Terminal] = field(init=False)
    shapes: dict[str, Shape] = field(init=False)
    borders: dict[str, _Border] = field(default_factory=dict)
    _names: dict[tuple[str, _Scopes, _Scopes], str] = field(default_factory=dict)
    _inlined: dict[Expr, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rules, self.terminals = dict(self.grammar.rules), dict(self.grammar.terminals)
        self.shapes = dict(self.grammar.shapes)
        self._empty = empty_names(self.grammar)

    def _may_be_empty(self, expr: Expr) -> bool:
        return has_empty(expr, self._empty)

    def scope(self, name: str) -> Expr:
        """What is told when it begins and ends."""
        made = self._marked(self.grammar.rules[name], (name,), (name,)) or NOTHING
        return Alt((made, EMPTY)) if self._empty[name] else made

    def _marked(self, expr: Expr, begins: _Scopes, ends: _Scopes) -> Expr | None:
        """The texts that are not empty, with their borders. `None`: there are none."""
        if not begins and not ends and not self._may_be_empty(expr):
            return expr
        match expr:
            case Ref():
                return self._reference(expr, begins, ends)
            case Alt(items):
                return _choice([self._marked(item, begins, ends) for item in items])
            case Concat(items, alias):
                ways = [Concat(way, alias) for way in self._ways(items, begins, ends)]
                return _choice(ways)
            case Repeat():
                return self._repeated(expr, begins, ends)
            case Sequences():
                return self._marked(expr.expanded, begins, ends)
            case Members() | Special() | Spelled() | Embedded():
                raise self._unsupported(show(expr), begins, ends)
        return self._inline(expr, begins, ends)

    def _ways(self, items: Sequence[Expr], begins: _Scopes, ends: _Scopes) -> Iterator[tuple[Expr, ...]]:
        """By which item is the last that is not empty, where none begins a scope; else by which is the first."""
        order = range(len(items)) if begins else reversed(range(len(items)))
        for i in order:
            before, behind = tuple(items[:i]), tuple(items[i + 1 :])
            may_be_both = not begins or not ends or all(map(self._may_be_empty, behind))
            if may_be_both and (marked := self._marked(items[i], begins, ends)) is not None:
                yield (marked, *(() if ends else behind)) if begins else (*before, marked)
            if begins and ends and (first := self._marked(items[i], begins, ())) is not None:
                yield from ((first, *way) for way in self._ways(behind, (), ends))
            if not self._may_be_empty(items[i]):
                return

    def _repeated(self, expr: Repeat, begins: _Scopes, ends: _Scopes) -> Expr | None:
        least = 0 if self._may_be_empty(expr.item) else expr.min
        most = expr.max
        one = self._marked(expr.item, (), ())
        if one is None or most == 0:
            return None
        if not begins and not ends:
            return replace(expr, item=one, min=max(1, least))
        ways: list[Expr | None] = [self._marked(expr.item, begins, ends)] if least <= 1 else []
        if most is None or most > 1:
            between = replace(expr, item=one, min=max(0, least - 2), max=None if most is None else most - 2)
            first, last = self._marked(expr.item, begins, ()), self._marked(expr.item, (), ends)
            ways.append(Concat((first, between, last)) if first is not None and last is not None else None)
        return _choice(ways)

    def _reference(self, expr: Ref, begins: _Scopes, ends: _Scopes) -> Expr | None:
        name = expr.name
        if name in self.terminals or name in self.meaning.slots:
            return self._border(expr, begins, ends)
        if name in self.meaning.scopes:
            for around, what in ((begins, "begin"), (ends, "end")):
                if name in around:
                    raise GrammarError(
                        f"the scope {name!r:.80} may {what} with itself, so one lexeme would {what} any number of them",
                        source=self.grammar.source,
                        hint="Make what stands around it slots of the meaning, such as brackets or keywords.",
                    )
            begins, ends = (*begins, name), (name, *ends)
        key = name, begins, ends
        if key not in self._names:
            made = self._names[key] = _free(f"_{name} {len(self._names) + 1}", self.rules)
            self.rules[made] = NOTHING  # until it is known: the rule may refer to itself
            body = self._marked(self.grammar.rules[name], begins, ends)
            self.rules[made] = body or NOTHING
            self.shapes[made] = self.grammar.shapes.get(name, Shape(name))
        return replace(expr, name=self._names[key])

    def _inline(self, expr: Expr, begins: _Scopes, ends: _Scopes) -> Expr:
        """What stands in a rule as it is."""
        known = self._inlined.get(expr)
        if known is None:
            known = self._inlined[expr] = _free(show(expr), self.terminals)
            self.terminals[known] = Terminal(expr)
        return self._border(Ref(known, is_kept=not isinstance(expr, Bytes)), begins, ends)

    def _border(self, expr: Ref, begins: _Scopes, ends: _Scopes) -> Expr:
        if not begins and not ends:
            return expr
        name = expr.name
        layout = self.grammar.indentation
        terminal = self.terminals.get(name)
        if layout is not None and name in (layout.newline, layout.indent, layout.dedent):
            raise self._unsupported(name, begins, ends)
        if terminal is not None and isinstance(terminal.expr, Special | Embedded):
            raise self._unsupported(name, begins, ends)
        parts = [f"begins {scope}" for scope in begins] + [f"ends {scope}" for scope in ends]
        made = f"{name} {', '.join(parts)}{'' if expr.is_kept else ' (no part of trees)'}"
        if made not in self.borders:
            self.rules[made], self.shapes[made] = expr, Shape("")
            if name not in self.terminals:
                self.rules[made] = self.grammar.rules[name]
                self.shapes[made] = self.grammar.shapes.get(name, Shape(name))
            self.borders[made] = _Border(name if name in self.meaning.slots else "", begins, ends)
        return Ref(made)

    def _unsupported(self, what: str, begins: _Scopes, ends: _Scopes) -> UnsupportedFeatureError:
        scope = (*begins, *ends)[0]
        return UnsupportedFeatureError(
            "meaning",
            f"at a border of the scope {scope!r:.80} stands {what:.80}, which is no lexeme of text",
            source=self.grammar.source,
            hint="Begin and end scopes with terminals, or tell the meaning by slots.",
        )


def _choice(ways: Iterable[Expr | None]) -> Expr | None:
    found = tuple([way for way in ways if way is not None])
    return found[0] if len(found) == 1 else Alt(found) if found else None


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "'"
    return name
