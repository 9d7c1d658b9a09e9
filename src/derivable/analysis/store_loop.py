"""Tran-Thien's decoding loop: a list of (state of the scanner, terminals that wait), and one parser.

A token may be cut in several ways. Each way is a state of the scanner, and the terminals that it adds to those that the
parser has. As long as the ways differ the terminals wait; what all of them begin with is given to the parser. A mask
asks the parser about what waits and each sequence of the store behind it.

As printed the loop keeps ways that the parser does not take, and cuts the wrong list by the common prefix. Here ways
that the grammar refuses are dropped, and each list is cut.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from ..errors import LimitError, TokenRejectedError
from ..matcher import Matcher
from ..support.arguments import integer
from .mask_store import MaskStore
from .sequences import SequenceParser
from .streamlining import Chosen, Sequence, Streamlined

__all__ = ["StoreLoop", "StoreLoopMatcher"]

_MOST_WAYS = 256


class StoreLoop:
    """A mask store with the parser that it asks.

    Args:
        store: of a grammar and a vocabulary.
        streamlined: of `MaskStore.streamline`; without it every sequence is asked about.

    Attributes:
        parser: of all sequences that may be asked about.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import MaskStore, StoreLoop
        >>> grammar = dv.Grammar.from_lark('start: "(" start ")" | NAME \\nNAME: /[a-z]+/')
        >>> store = MaskStore(grammar, dv.Vocabulary.from_bytes([b"(", b")", b"a", b"a)", None], eos=[4]))
        >>> matcher = StoreLoop(store, store.streamline()).matcher()
        >>> for token in (0, 2): matcher.advance(token)
        >>> matcher.allowed_tokens().tolist(), matcher.questions
        ([1, 2, 3], 1)
    """

    def __init__(self, store: MaskStore, streamlined: Streamlined | None = None) -> None:
        self.store = store
        self.streamlined = streamlined
        self.parser = SequenceParser(store.terminals, store.sequences())
        self._tokens: dict[int, dict[Sequence, NDArray[np.int32]]] = {}
        self._questions: dict[tuple[int, Sequence], list[tuple[Sequence, NDArray[np.int32]]]] = {}

    def streamlined_by(self, streamlined: Streamlined | None) -> StoreLoop:
        """The same store and parser, other sequences that are asked about."""
        other = copy(self)
        other.streamlined = streamlined
        other._questions = {}
        return other

    def matcher(self) -> StoreLoopMatcher:
        """A matcher at the start of the text."""
        return StoreLoopMatcher(self)

    def questions(self, row: int, history: Sequence) -> list[tuple[Sequence, NDArray[np.int32]]]:
        """What is asked in a state behind the last terminals: each sequence with the rows of `tokens` that its answer
        stands for. The empty one is always legal."""
        more = self.streamlined is not None and self.store.history > 1
        key = row, history[-self.store.history :] if more else ()
        known = self._questions.get(key)
        if known is None:
            chosen: Chosen | None = None
            if self.streamlined is not None:
                chosen = self.streamlined.behind(*key) if more else self.streamlined.representatives[row]
            by_asked: dict[Sequence, list[NDArray[np.int32]]] = {}
            for sequence, tokens in self.tokens(row).items():
                asked = sequence if chosen is None else chosen[sequence]
                if asked is not None:
                    by_asked.setdefault(asked, []).append(tokens)
            known = [(asked, np.unique(np.concatenate(ids))) for asked, ids in by_asked.items()]
            self._questions[key] = known
        return known

    def tokens(self, row: int) -> dict[Sequence, NDArray[np.int32]]:
        """The rows of the post's ``mask_store`` for a state: each sequence to the tokens that add it, ascending."""
        known = self._tokens.get(row)
        if known is None:
            of, ids = self.store.rows[row], self.store.tokens.ids
            found: dict[Sequence, list[NDArray[np.int32]]] = {(): [ids[of.inside]]} if len(of.inside) else {}
            order = np.argsort(of.profiles, kind="stable")
            profiles, begins = np.unique(of.profiles[order], return_index=True)
            for profile, rows in zip(profiles.tolist(), np.split(of.leaving[order], begins[1:]), strict=False):
                for sequence in self.store.profiles[profile]:
                    found.setdefault(sequence, []).append(ids[rows])
            known = self._tokens[row] = {s: np.unique(np.concatenate(each)) for s, each in found.items()}
        return known


class StoreLoopMatcher:
    """One text.

    Attributes:
        ways: what the post calls the states of the lexer: (state of the scanner, terminals that wait), each once.
        read: how many terminals the parser has.
        questions: what the parser was asked for the last mask.
    """

    def __init__(self, of: StoreLoop) -> None:
        self.of = of
        self.ways: list[tuple[int, Sequence]] = [(0, ())]
        self.read = 0
        self.questions = 0
        self._depth = 0  # brackets that are open behind what was read
        self._history: Sequence = ()
        self._parser = of.parser.parser()

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The tokens that may follow, ascending. The end of the text is not among them: ask `is_accepting`."""
        return np.flatnonzero(self.mask()).astype(np.int32)

    def mask(self) -> NDArray[np.bool_]:
        """The same as bool [V]."""
        mask = np.zeros(self.of.store.tokens.size, dtype=np.bool_)
        self.questions = 0
        for state, waiting in self.ways:
            parser = self._behind(waiting)
            if parser is None:
                continue
            for asked, tokens in self.of.questions(self.of.store.row_of[state], self._history + waiting):
                self.questions += bool(asked)
                if not asked or self._accepts(parser, asked):
                    mask[tokens] = True
        return mask

    def over(self, other: StoreLoop) -> StoreLoopMatcher:
        """A matcher at the same place that asks otherwise: over the same grammar and vocabulary."""
        moved = copy(self)
        moved.of = other
        return moved

    def _accepts(self, parser: Matcher, sequence: Sequence) -> bool:
        number = self.of.parser.numbers.get(sequence)
        if number is not None:
            return parser.allows(number)
        try:  # the representative of interchangeable terminals need be no sequence that a token adds
            self.of.parser.read(parser.fork(), sequence)
        except TokenRejectedError:
            return False
        return True

    def _behind(self, waiting: Sequence) -> Matcher | None:
        """The parser behind what waits; `None` if the grammar does not have it."""
        if not waiting:
            return self._parser
        parser = self._parser.fork()
        try:
            self.of.parser.read(parser, waiting)
        except TokenRejectedError:
            return None
        return parser

    @property
    def is_accepting(self) -> bool:
        """Some way of cutting the text ends with a whole lexeme, and the grammar can end behind it."""
        scanner = self.of.store.scanner
        for state, waiting in self.ways:
            parser = self._behind(waiting)
            if parser is not None and parser.is_accepting and (state == 0 or scanner.winners(state)):
                return True
        return False

    def advance(self, token_id: int) -> None:
        """Takes a token.

        Raises:
            TokenRejectedError: no way of cutting it is in the grammar. The state is unchanged.
            LimitError: the text can be cut in too many ways.
        """
        store = self.of.store
        integer("token_id", token_id, 0, store.tokens.size - 1)
        data = store.tokens.text_of(token_id)
        found: dict[tuple[int, Sequence], None] = {}
        for state, waiting in self.ways:
            _, depth = store.between_brackets(waiting, self._depth)
            for after, added in store.advance(state, data) if data else ():
                kept, _ = store.between_brackets(added, depth)
                found[after, waiting + kept] = None
        legal = {waiting: self._behind(waiting) is not None for waiting in dict.fromkeys(w for _, w in found)}
        ways = [way for way in found if legal[way[1]]]
        if not ways:
            raise TokenRejectedError(token_id, data or None, "no way of cutting it is in the grammar")
        if len(ways) > _MOST_WAYS:
            raise LimitError("ways of cutting a text", len(ways), _MOST_WAYS, "a mask store")
        common = _common([waiting for _, waiting in ways])
        self.of.parser.read(self._parser, common)
        self._history = (self._history + common)[-2:]  # as much as any store asks for: see `over`
        _, self._depth = store.between_brackets(common, self._depth)
        self.read += len(common)
        self.ways = [(state, waiting[len(common) :]) for state, waiting in ways]


def _common(sequences: list[Sequence]) -> Sequence:
    """What all of them begin with."""
    size = 0
    for symbols in zip(*sequences, strict=False):
        if len(set(symbols)) > 1:
            break
        size += 1
    return sequences[0][:size]
