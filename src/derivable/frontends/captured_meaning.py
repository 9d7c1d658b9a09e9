"""What groups of patterns have matched, as a `Meaning`: of one pattern, of several, and beside another meaning."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from ..errors import GrammarError, MeaningError, UnsupportedFeatureError
from ..lowering.slots import ignored_slot
from ..meaning import Meaning, Names
from ..rules import Rules

__all__ = ["BesideMeaning", "CapturedMeaning", "captured_in", "refuse_lexing", "with_meaning"]


class CapturedMeaning(Meaning):
    """A reference is what its group has matched last.

    Args:
        groups: places of groups, by the rules for them.
        references: the same, by the rules for references, and whether case is ignored.
        most: how many references to each group one text may hold, behind it; `None`: any number, or more than one.
        terminals: of a grammar, those that hold such groups and references.
        ignored: terminals that it ignores.
    """

    def __init__(
        self,
        groups: Mapping[str, int],
        references: Mapping[str, tuple[int, bool]],
        most: tuple[int | None, ...],
        terminals: tuple[str, ...] = (),
        ignored: tuple[str, ...] = (),
    ) -> None:
        self.slots = self.free = (*groups, *references)
        self.terminals, self.ignored = terminals, ignored
        self._groups, self._references, self._most = groups, references, most
        self._any = Names((), others=True, marked=())
        self._captured = lru_cache(maxsize=256)(lambda text, ignore_case: Names([text], ignore_case=ignore_case))
        # Where `missing` does not say how much is owed, a reference may be as long as can be.
        self.longest: Mapping[str, int] = dict.fromkeys(self.slots, _MOST_BYTES if None in most else 1)

    def __repr__(self) -> str:
        return f"CapturedMeaning({', '.join(self.terminals or self._groups)})"

    @staticmethod
    def joined(
        parts: Iterable[tuple[str, CapturedMeaning, Mapping[str, str]]], ignored: tuple[str, ...]
    ) -> CapturedMeaning:
        """That of several patterns: of each, its terminal, its own, and what its slots are called in the grammar."""
        groups: dict[str, int] = {}
        references: dict[str, tuple[int, bool]] = {}
        most: tuple[int | None, ...] = ()
        terminals: list[str] = []
        for terminal, part, names in parts:
            before = len(most)
            groups |= {names[slot]: before + place for slot, place in part._groups.items()}
            references |= {names[slot]: (before + place, any_) for slot, (place, any_) in part._references.items()}
            most += part._most
            terminals.append(terminal)
        return CapturedMeaning(groups, references, most, tuple(terminals), ignored)

    def start(self) -> tuple[str | None, ...]:
        return (None,) * len(self._most)

    def names(self, state: tuple[str | None, ...], slot: str) -> Names:
        if slot in self._groups:
            return self._any
        place, ignores_case = self._references[slot]
        text = state[place]
        return Names(()) if text is None else self._captured(text, ignores_case)

    def read(self, state: tuple[str | None, ...], slot: str, text: str) -> tuple[str | None, ...]:
        if slot in self._groups:
            place = self._groups[slot]
            return (*state[:place], text, *state[place + 1 :])
        place, _ = self._references[slot]
        return state if self._most[place] is None else (*state[:place], None, *state[place + 1 :])

    def missing(self, state: tuple[str | None, ...]) -> list[str] | None:
        if None in self._most:
            return None
        return [text for text in state if text is not None]

    def from_plain(self, value: Any) -> Hashable:
        if len(value) != len(self._most) or not all(text is None or isinstance(text, str) for text in value):
            raise TypeError("not a text for each group")
        return tuple(value)


class BesideMeaning(Meaning):
    """What is captured, beside a meaning that somebody has given: each has slots and a state of its own.

    Args:
        captured: what is captured.
        other: the meaning.
    """

    def __init__(self, captured: CapturedMeaning, other: Meaning) -> None:
        self.captured, self.other = captured, other
        self.slots = (*captured.slots, *other.slots)
        self.free = (*captured.free, *other.free)
        self.growth = other.growth
        # A meaning that says nothing of the end of a text asks for no more than the grammar does.
        kind = type(other)
        self._is_silent = kind.missing is Meaning.missing and kind.may_end is Meaning.may_end
        self._is_unknown = kind.missing is Meaning.missing and not self._is_silent
        own = other.longest if isinstance(other.longest, Mapping) else dict.fromkeys(other.slots, other.longest)
        known = dict.fromkeys(captured.slots, _MOST_BYTES) if self._is_unknown else captured.longest
        self.longest = {**known, **own}

    def __repr__(self) -> str:
        return f"BesideMeaning({self.captured!r}, {self.other!r})"

    def start(self) -> tuple[Hashable, Hashable] | None:
        state = self.other.start()
        return None if state is None else (self.captured.start(), state)

    def names(self, state: tuple[Any, Any], slot: str) -> Names | Iterable[str] | None:
        if slot in self.captured.slots:
            return self.captured.names(state[0], slot)
        return self.other.names(state[1], slot)

    def read(self, state: tuple[Any, Any], slot: str, text: str) -> Hashable:
        if slot in self.captured.slots:
            return self.captured.read(state[0], slot, text), state[1]
        behind = self.other.read(state[1], slot, text)
        return None if behind is None else (state[0], behind)

    def may_end(self, state: tuple[Any, Any]) -> bool:
        return self.other.may_end(state[1])

    def missing(self, state: tuple[Any, Any]) -> list[str] | None:
        captured = self.captured.missing(state[0])
        if captured is None or self._is_unknown:
            return None
        owed = [] if self._is_silent else self.other.missing(state[1])
        if owed is None:
            raise MeaningError(
                f"{type(self.other).__name__}.missing() gave None in the state {state[1]!r:.80}. Beside terminals with "
                "back-references it says what is missing in every state, or it is not there.",
                "",
                state[1],
            )
        return [*captured, *([owed] if isinstance(owed, str) else owed)]

    def _may_be_longer(self, state: tuple[Any, Any], slot: str) -> bool:
        if slot in self.captured.slots:
            return self.captured._may_be_longer(state[0], slot)
        return self.other._may_be_longer(state[1], slot)

    def to_plain(self, state: tuple[Any, Any]) -> Hashable:
        return self.captured.to_plain(state[0]), self.other.to_plain(state[1])

    def from_plain(self, value: Any) -> Hashable:
        captured, other = value
        return self.captured.from_plain(captured), self.other.from_plain(other)


_MOST_BYTES = 1 << 16


def captured_in(grammar: Rules) -> CapturedMeaning | None:
    """What is captured in a grammar, if anything is."""
    meaning = grammar.meaning
    if isinstance(meaning, BesideMeaning):
        return meaning.captured
    return meaning if isinstance(meaning, CapturedMeaning) else None


def with_meaning(grammar: Rules, meaning: Meaning) -> Meaning:
    """The meaning of a grammar that is given one: what is captured in it stays so.

    Raises:
        GrammarError: a slot is a terminal with back-references, which is no terminal to the lexer, or is ignored.
    """
    captured = captured_in(grammar)
    if captured is None:
        return meaning
    for slot in meaning.slots:
        if slot in captured.ignored:
            raise ignored_slot(slot, grammar.source)
        if slot in captured.terminals or slot in captured.slots:
            raise GrammarError(
                f"{slot!r:.80} cannot be a slot of a meaning: it has back-references, which are slots themselves",
                source=grammar.source,
                hint="Take the back-references out of it, or name another slot. Slots elsewhere can stand beside them.",
            )
    return BesideMeaning(captured, meaning)


def refuse_lexing(grammar: Rules, lexing: str) -> None:
    """Refuses another lexing policy, under which parts of terminals with back-references would be lexemes.

    Raises:
        UnsupportedFeatureError: so it is.
    """
    if captured_in(grammar) is not None and lexing != "scannerless":
        raise UnsupportedFeatureError(
            "backreference",
            f"back-references cannot be enforced exactly under {lexing!r} lexing, where a lexeme ends where its "
            "longest match does",
            source=grammar.source,
            hint="Leave the grammar scannerless, or make the tag a terminal, and give the grammar a meaning "
            "(docs/names.md).",
        )
