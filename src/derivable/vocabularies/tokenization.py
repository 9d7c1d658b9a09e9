"""How a BPE tokenizer tokenizes a text, followed token by token, without knowing the rest of the text.

A tokenizer cuts a text into pieces by a pattern (`derivable.vocabularies.splitting`) and merges inside each piece
(`derivable.vocabularies.canonical`). Behind some tokens of a text it may stand in several ways: the piece that the last
token is in goes on, or it ends there, and what follows must fit to that. `Ways` holds all of them; which one it was,
the rest of the text decides. Tokens are the beginning of a tokenization of some text only if there is a way left.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from derivable.errors import UnsupportedFeatureError
from derivable.vocabularies.canonical import CanonicalPairs
from derivable.vocabularies.split_patterns import split_pattern, unsupported
from derivable.vocabularies.splitting import ALL_BYTES, Splitter

__all__ = ["Tokenization", "Way", "Ways", "packed"]

_MOST_KEPT = 512  # answers of V bits, of each kind (8 MB for 128,000 tokens)
_MOST_SHOWN = 1 << 16
_MOST_STATES = 64  # starts from which it is known where tokens lead (32 MB)

_Flags: TypeAlias = "NDArray[np.bool_]"
_T = TypeVar("_T")


class Way(NamedTuple):
    """One way in which the tokenizer may stand behind some tokens.

    Attributes:
        state: of the splitter; 0 where no pattern splits.
        last: the token before in the same piece; -1 where a piece begins.
        held: where no pattern splits, the bytes of a character that was begun byte by byte. Else the bytes of the
            piece, as long as more of it could be a token that merges do not lead to, and which only stands alone.
    """

    state: int
    last: int
    held: bytes


Ways: TypeAlias = "frozenset[Way]"


class Tokenization:
    """What a tokenizer does to texts.

    Args:
        document: a tokenizer.json.
        tokens: bytes of each token of the vocabulary.
        where: the file, for messages.

    Raises:
        UnsupportedFeatureError: not BPE, or something beside one pattern and merges decides.

    Cost: 3 s for 128,000 tokens.

    Attributes:
        size: tokens of the vocabulary, V.
        pairs: what merges decide.
        start: the ways at the start of a text.
        is_text: bool [V], the tokens that have bytes; `text` is the same as a mask.
        shown: by ways, a text that settles what comes before it. The latest ones.
        followed: vocabularies of the same tokens, each with a byte behind it, as they were asked for.
        lock: to be held while it is asked, since it remembers what it has found.
    """

    def __init__(self, document: Mapping[str, Any], tokens: Sequence[bytes | None], where: str) -> None:
        try:
            _refuse_what_is_no_merge(document, tokens)
            pattern = split_pattern(document.get("pre_tokenizer"))
            whole = bool(document["model"].get("ignore_merges"))
            if pattern is None and whole:
                raise unsupported("a text that is a token is never merged, and no pattern splits texts")
            self._splitter = None if pattern is None else Splitter(pattern)
            if pattern is not None and document["model"].get("byte_fallback"):
                raise unsupported("it splits texts by a pattern, and spells characters that are no tokens by bytes")
        except UnsupportedFeatureError as error:
            raise unsupported(f"{where}: {error.problem}") from None
        self.lock = RLock()
        self.pairs = CanonicalPairs(document, tokens)
        self.size = len(tokens)
        self._tokens = tokens
        self._words = (self.size + 31) // 32
        self.is_text: _Flags = np.array([token is not None for token in tokens], bool)
        self.text = self._packed(self.is_text)
        self._merged: _Flags = self.pairs.producible & self.is_text
        self._offsets = np.cumsum([0, *(len(token or b"") for token in tokens)])
        self._blob = np.frombuffer(b"".join(token or b"" for token in tokens), np.uint8)
        self._alone = np.flatnonzero(self.is_text & ~self._merged) if whole else np.empty(0, np.int64)
        alone = {token for at in self._alone.tolist() if (token := tokens[at])}
        self._only_alone = alone
        self._begin_alone = {token[:length] for token in alone for length in range(1, len(token) + 1)}
        begins = np.zeros(self.size, bool)
        begins[[at for at, token in enumerate(tokens) if token in self._begin_alone]] = True
        self._begins_alone = begins
        self.start: Ways = frozenset([Way(0 if self._splitter is None else self._splitter.start, -1, b"")])
        self.followed: dict[int, Any] = {}
        self.shown: OrderedDict[Ways, bytes] = OrderedDict()
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {}
        self._properties: dict[str, list[Any]] = {}
        self._parted: dict[int, _Flags] = {}

    def after(self, ways: Ways, token: int) -> Ways:
        """The ways behind one more token; none if no text is tokenized so."""
        found: set[Way] = set()
        for way in ways:
            found.update(self._remember("after", (way, token), partial(self._after, way, token), 1 << 16))
        return frozenset(found)

    def _after(self, way: Way, token: int) -> list[Way]:
        if not self.is_text[token] or not self._may_follow(way, token):
            return []
        data, splitter = self._tokens[token] or b"", self._splitter
        if splitter is None:
            return [Way(0, token, self.pairs.begun(way.held, token))]
        state = splitter.run(way.state, data)
        if state < 0:
            return []
        piece = data if way.last < 0 else way.held + data if way.held else b""
        found = []
        if self._merged[token] and splitter.goes_on(state):
            found.append(Way(state, token, piece if piece in self._begin_alone else b""))
        if way.last < 0 or piece not in self._only_alone:
            found += [Way(end, -1, b"") for end in splitter.ends(state)]
        return found

    def _may_follow(self, way: Way, token: int) -> bool:
        if self._splitter is None and way.held:
            return bool(self.pairs.completing(way.held)[token])
        if way.last < 0:
            return bool(self._merged[token] or (self._splitter and (self._tokens[token] in self._only_alone)))
        return bool(self._merged[token]) and self.pairs.follows(way.last, token)

    def may_end(self, ways: Ways) -> bool:
        """Whether the text may end here."""
        if self._splitter is None:
            return any(not way.held for way in ways)
        return any(way.last < 0 and self._splitter.keeps_at_end(way.state) for way in ways)

    def candidates(self, ways: Ways) -> NDArray[np.int32]:
        """The tokens of text behind which there is a way, int32 [V / 32], as a mask has them."""
        found = np.zeros(self._words, np.int32)
        for way in ways:
            found |= self._remember("candidates", way, partial(self._packed_candidates, way), _MOST_KEPT)
        return found

    def _packed_candidates(self, way: Way) -> NDArray[np.int32]:
        return self._packed(self._candidates(way))

    def _candidates(self, way: Way) -> _Flags:
        if self._splitter is None:
            if way.held:
                return self.pairs.completing(way.held)
            return self._merged if way.last < 0 else self.pairs.after(way.last) & self.is_text
        states = self._leads(way.state)
        allowed: _Flags = self._merged & (states >= 0)
        if way.last >= 0:
            allowed[self.pairs.refused(way.last)] = False
            return allowed
        ends = self._property("ends", lambda state: bool(self._split.ends(state)))
        allowed[self._alone] = (states[self._alone] >= 0) & ends[states[self._alone]]
        return allowed

    def following(self, ways: Ways, tokens: NDArray[np.int64]) -> list[int]:
        """Of some tokens those that may follow; some of them may not.

        Cost: about 10 us for each way; `after` decides the rest.
        """
        if len(tokens) >= 16:  # PERF: few are asked one by one
            found = np.zeros(len(tokens), bool)
            for way in ways:
                found |= True if way.last < 0 else self.pairs.may_follow(way.last, tokens)
            tokens = tokens[found]
        listed: list[int] = tokens.tolist()
        return listed

    @property
    def _split(self) -> Splitter:
        assert self._splitter is not None
        return self._splitter

    def _leads(self, state: int) -> NDArray[np.int32]:
        """Where each token leads to within a piece, int32 [V]; -1: nowhere."""
        return self._remember(
            "leads", state, lambda: self._split.run_all(state, self._offsets, self._blob), _MOST_STATES
        )

    def _property(self, name: str, ask: Callable[[int], Any]) -> NDArray[Any]:
        """What holds for each state of the splitter so far; the last entry, which -1 finds, is never looked at."""
        known = self._properties.setdefault(name, [])
        known += map(ask, range(len(known), self._split.num_states))
        return np.array([*known, False])

    # What is certain, whatever follows.

    def settling(self, ways: Ways) -> int:
        """The bytes behind which it is certain that the tokens so far are the tokenizer's own, as bits of an int."""
        found = 0
        for way in ways:
            found |= self._remember("settling", way, partial(self._settling, way), 1 << 16)
        return found

    def _settling(self, way: Way) -> int:
        if self._splitter is None:
            return 0 if way.held else ALL_BYTES if way.last < 0 else self.pairs.parting(way.last)
        if way.last < 0:
            return self._splitter.settling(way.state)
        if way.held or not self._splitter.covers(way.state):
            return 0
        return self.pairs.parting(way.last) & self._splitter.settling(way.state)

    def show(self, ways: Ways, text: bytes) -> None:
        """Remembers a text that settles what comes before it, for whoever asks again (`shown`)."""
        self.shown[ways] = text
        if len(self.shown) > _MOST_SHOWN:
            self.shown.popitem(last=False)

    def settled_by(self, ways: Ways, byte: int) -> NDArray[np.int32]:
        """The tokens of text behind which this byte makes it certain that they are the tokenizer's own, as a mask."""
        found = np.zeros(self._words, np.int32)
        for way in ways:
            found |= self._remember("settled_by", (way, byte), partial(self._packed_settled, way, byte), _MOST_KEPT)
        return found

    def _packed_settled(self, way: Way, byte: int) -> NDArray[np.int32]:
        return self._packed(self._settled_by(way, byte))

    def _settled_by(self, way: Way, byte: int) -> _Flags:
        parted = self._parted.get(byte)
        if parted is None:
            parted = self._parted[byte] = self.pairs.parted_by(byte)
        allowed = self._candidates(way)
        if self._splitter is None:
            # A byte of a character that is no token may be in the middle of it.
            apart: _Flags = allowed & parted & ~self.pairs.is_byte
            return apart
        split, states = self._split, self._leads(way.state)

        def ends_by(state: int) -> bool:
            return any(split.settling(end) >> byte & 1 for end in split.ends(state))

        def covers_by(state: int) -> bool:
            return split.covers(state) and bool(split.settling(state) >> byte & 1)

        ends, within = self._property(f"ends by {byte}", ends_by), self._property(f"covers by {byte}", covers_by)
        in_piece = within[states] & parted & self._merged
        if way.last < 0:
            in_piece &= ~self._begins_alone
        if way.last < 0 or not way.held:
            settled: _Flags = allowed & (ends[states] | in_piece)
            return settled
        closing: _Flags = allowed & ends[states]
        for token in np.flatnonzero(closing).tolist():
            closing[token] = way.held + (self._tokens[token] or b"") not in self._only_alone
        return closing

    def _packed(self, allowed: _Flags) -> NDArray[np.int32]:
        return packed(allowed, self._words)

    def _remember(self, kind: str, key: Hashable, find: Callable[[], _T], most: int) -> _T:
        """What was found before for a key; of each kind the latest ones are kept."""
        kept = self._kept.setdefault(kind, OrderedDict())
        known: _T | None = kept.get(key)
        if known is None:
            known = kept[key] = find()
            if len(kept) > most:
                kept.popitem(last=False)
        else:
            kept.move_to_end(key)
        return known


def packed(allowed: _Flags, words: int) -> NDArray[np.int32]:
    """Bits of a mask, int32 [words]."""
    bits = np.zeros(words * 32, np.uint8)
    bits[: len(allowed)] = allowed
    return np.packbits(bits, bitorder="little").view(np.int32)


def _refuse_what_is_no_merge(document: Mapping[str, Any], tokens: Sequence[bytes | None]) -> None:
    """Raises where something beside a pattern and merges decides about a text's tokens."""
    model = document.get("model") or {}
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        raise unsupported(f"a tokenizer of type {model.get('type')!r} has no merges")
    if model.get("dropout"):
        raise unsupported("it does not always apply its merges")
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise unsupported("its tokens are spelled by their place in a word")
    if not _keeps_text(document.get("normalizer")):
        raise unsupported("its normalizer changes texts")
    added = [entry for entry in document.get("added_tokens") or () if not entry.get("special")]
    if any(0 <= entry["id"] < len(tokens) and tokens[entry["id"]] for entry in added):
        raise unsupported("it has added tokens that are text, which are matched before merges")


def _keeps_text(normalizer: Any) -> bool:
    if normalizer is None:
        return True
    if normalizer.get("type") == "Sequence":
        return all(_keeps_text(inner) for inner in normalizer["normalizers"])
    return normalizer.get("type") == "Prepend" or (
        normalizer.get("type") == "Replace"
        and (normalizer.get("pattern"), normalizer.get("content")) == ({"String": " "}, "▁")
    )
