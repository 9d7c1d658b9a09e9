"""Level 4 of the index as data: the keys of the trie of stacks, each with the tokens of its mask.

Willard & Louf, Section 4.1: what a parser may read depends on the top of its stack, or on sub-stacks where rules end
there, so the index of a pushdown automaton is a trie over stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Key", "Keys", "Level", "keys_of"]

_KINDS = {1 << 62: "open objects", 1 << 61: "innermost object", 2 << 32: "blocks", 1 << 32: "brackets"}


@dataclass(frozen=True)
class Level:
    """What a key says of one level of the stack.

    Attributes:
        states: numbers of the LR states that stand there. Of the uppermost level one; of a level at which several
            parses are kept together one for each (twice where they stand on two others). None below the uppermost level
            of a single stack: there only the items count.
        items: LR items, a dot before what comes next: those the states were made from, or those that wait for a rule
            that ends above. Empty: whatever state stands there, nothing depends on it.
    """

    states: tuple[int, ...]
    items: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.items) or "anything"


@dataclass(frozen=True)
class Key:
    """A situation of one parse, as far as its mask depends on it, and that mask.

    Attributes:
        lexer_state: its number. It tells what `lexeme` does not: which longer lexeme must not come to an end, and
            states of terminals that have no table of states.
        lexeme: (terminal, state of its automaton) for each terminal that the lexeme in progress may belong to; before
            its first byte all that the parser can begin, in state 0. A state is 0 for terminals without a table.
        stack: from the top downward, as far as the answer depended on it.
        beside: what else it depended on, as (name, number): ``brackets`` that are open, or the interned ``blocks``,
            ``open objects`` or ``innermost object``, where equal numbers are equal blocks, and equal members so far.
        mask: bit ``t % 32`` of word ``t // 32`` is 1 if token t is allowed, int32 [ceil(V/32)], not to be written to.
            Keys with one mask share it.
    """

    lexer_state: int
    lexeme: tuple[tuple[str, int], ...]
    stack: tuple[Level, ...]
    beside: tuple[tuple[str, int], ...]
    mask: NDArray[np.int32] = field(compare=False, repr=False)

    @property
    def tokens(self) -> NDArray[np.int32]:
        """The tokens of the mask, ascending, int32."""
        bits = np.unpackbits(self.mask.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(np.int32)

    def __str__(self) -> str:
        lexeme = " | ".join(f"{terminal}.{state}" for terminal, state in self.lexeme) or "(the end)"
        beside = "".join(f", {name} {number}" for name, number in self.beside)
        return f"{lexeme} over {' / '.join(map(str, self.stack))}{beside}: {len(self.tokens)} tokens"


@dataclass(frozen=True)
class Keys(Sequence[Key]):
    """Keys, sorted by lexer state and stack.

    Attributes:
        keys: those that were asked for.
        left_out: how many more there are, for which there was no room.
    """

    keys: tuple[Key, ...]
    left_out: int

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, at: Any) -> Any:
        return self.keys[at]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys)


def keys_of(
    kernel: tuple[list[Any], list[bytes], Mapping[int, tuple[int, list[int]]], int],
    terminals: Sequence[str],
    nonterminals: Sequence[str],
) -> Keys:
    """What the kernel says (`Constraint.index_keys`), with names."""
    keys, rows, productions, left_out = kernel
    masks = [np.frombuffer(row, dtype=np.int32) for row in rows]
    names = ["(end)", *terminals, *nonterminals]

    def name(symbol: int) -> str:
        return (
            names[symbol] if symbol < len(names) else f"<{symbol}>"
        )  # the parser's own: of a list, or a part of a body

    def item(production: int, dot: int) -> str:
        head, body = productions[production]
        read, left = ([name(symbol) for symbol in part] for part in (body[:dot], body[dot:]))
        return " ".join([name(head) if production else "(text)", "→", *read, "·", *left])

    written: dict[tuple[int, int], str] = {}
    for _, _, stack, *_ in keys:
        for _, items in stack:
            for each in items:
                if each not in written:
                    written[each] = item(*each)
    return Keys(
        tuple(
            Key(
                lexer_state,
                tuple((terminals[symbol - 1], state) for symbol, state in lexeme),
                tuple(Level(tuple(states), tuple(written[each] for each in items)) for states, items in stack),
                tuple(_named(word) for word in (environment, tally) if word),
                masks[mask],
            )
            for lexer_state, lexeme, stack, environment, tally, mask in keys
        ),
        left_out,
    )


def _named(word: int) -> tuple[str, int]:
    """What a word beside the stack tells (`ReachTrie::Written`)."""
    return next((name, word - kind) for kind, name in _KINDS.items() if word >= kind)
