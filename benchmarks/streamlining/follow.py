"""Texts through a mask store: parses, one for each way of cutting a text into lexemes."""

from __future__ import annotations

import numpy as np

import derivable as dv
from derivable.analysis import MaskStore, SequenceParser
from derivable.analysis.mask_store import Row
from derivable.errors import TokenRejectedError
from derivable.matcher import Matcher

MOST_PARSES = 64
"""Ways of cutting a text. A text with more at some place is left out, and counted."""

Parse = tuple[int, int, Matcher]
"""State of the scanner, brackets that are open, parser."""


class Texts:
    """Runs a store along texts.

    Args:
        store: of a grammar of Python, with `optional_newlines`.
        steps: of streamlining.
    """

    def __init__(self, store: MaskStore, vocabulary: dv.Vocabulary, steps: int) -> None:
        self.store = store
        self.vocabulary = vocabulary
        self.chosen = store.streamline(steps).representatives
        asked = {s for each in self.chosen for s in each.values() if s}
        self.parser = SequenceParser(store.terminals, {*store.sequences(), *asked})
        self.profile_of = {}
        for i, row in enumerate(store.rows):
            places = np.full(len(store.tokens.ids), -2, dtype=np.int32)
            places[row.inside] = -1
            places[row.leaving] = row.profiles
            self.profile_of[i] = places
        self.place = np.full(store.tokens.size, -1, dtype=np.int32)
        self.place[store.tokens.ids] = np.arange(len(store.tokens.ids), dtype=np.int32)
        self._questions: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._ways: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}

    def start(self) -> list[Parse]:
        return [(0, 0, self.parser.parser())]

    def advance(self, parses: list[Parse], token_id: int) -> list[Parse]:
        """After a token, by the store without streamlining; none if no way of cutting it is in the grammar."""
        by_place: dict[tuple[int, int], list[Matcher]] = {}
        for state, depth, parser in parses:
            for after, added in self._ways_of(state, token_id):
                counted, open_then = self.store.between_brackets(added, depth)
                moved = parser
                if counted:
                    moved = parser.fork()
                    try:
                        self.parser.read(moved, counted)
                    except TokenRejectedError:
                        continue
                # A comment is ignored or part of a newline, and both ways lead to one stack.
                others = by_place.setdefault((after, open_then), [])
                if not any(moved.same_place(other) for other in others):
                    others.append(moved)
        return [(after, depth, parser) for (after, depth), parsers in by_place.items() for parser in parsers]

    def allows(self, parses: list[Parse], token_id: int) -> bool:
        """Whether the streamlined mask holds a token."""
        at = int(self.place[token_id])
        for state, _, parser in parses:
            i = self.store.row_of[state]
            profile = int(self.profile_of[i][at])
            if profile == -1:
                return True
            if profile < 0:
                continue
            for sequence in self.store.profiles[profile]:
                asked = self.chosen[i][sequence]
                if asked == () or (asked is not None and parser.allows(self.parser.numbers[asked])):
                    return True
        return False

    def masks_agree(self, parses: list[Parse]) -> bool:
        """Whether the masks by the store and by the streamlined store are the same.

        They are where they allow the same profiles for each parse. Where they do not, tokens are compared, for one
        may be allowed by several parses.
        """
        differ = False
        for state, _, parser in parses:
            legal = np.append(self.parser.legal(parser), (True, False))
            profiles, plain, streamlined = self._questions_of(state)
            differ |= not (self._or(profiles, legal[plain]) == self._or(profiles, legal[streamlined])).all()
        if not differ:
            return True
        plain_mask, streamlined_mask = self.masks(parses)
        return bool((plain_mask == streamlined_mask).all())

    def masks(self, parses: list[Parse]) -> tuple[np.ndarray, np.ndarray]:
        """The mask by the store and by the streamlined store, bool [V]."""
        plain = np.zeros(self.store.tokens.size, dtype=np.bool_)
        streamlined = plain.copy()
        for state, _, parser in parses:
            legal = self.parser.legal(parser)

            def ask(sequence: tuple[int, ...], legal: np.ndarray = legal) -> bool:
                return not sequence or bool(legal[self.parser.numbers[sequence]])

            i = self.store.row_of[state]
            row: Row = self.store.rows[i]
            plain |= self.store.mask(row, ask)
            streamlined |= self.store.mask(row, ask, self.chosen[i])
        return plain, streamlined

    @staticmethod
    def _or(profiles: np.ndarray, answers: np.ndarray) -> np.ndarray:
        return np.logical_or.reduceat(answers, profiles) if len(profiles) else answers

    def _questions_of(self, state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each profile's sequences begin; their numbers, and those that are asked for (-2: always; -1: never)."""
        known = self._questions.get(state)
        if known is None:
            i = self.store.row_of[state]
            begins, plain, streamlined = list[int](), list[int](), list[int]()
            for profile in np.unique(self.store.rows[i].profiles).tolist():
                begins.append(len(plain))
                for sequence in self.store.profiles[profile]:
                    asked = self.chosen[i][sequence]
                    plain.append(self.parser.numbers[sequence] if sequence else -2)
                    streamlined.append(-1 if asked is None else self.parser.numbers[asked] if asked else -2)
            known = np.array(begins), np.array(plain), np.array(streamlined)
            self._questions[state] = known
        return known

    def _ways_of(self, state: int, token_id: int) -> list[tuple[int, tuple[int, ...]]]:
        ways = self._ways.get((state, token_id))
        if ways is None:
            data = self.vocabulary.token_bytes(token_id) or b""
            ways = self._ways[state, token_id] = list(self.store.advance(state, data))
        return ways
