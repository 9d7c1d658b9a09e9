"""Behind which tokens a text of the grammar may follow whose tokenization begins with the tokens so far.

What the tokenizer does is followed by `derivable.vocabularies.tokenization`, what the grammar allows by a matcher. A
token is *kept* if there is a text that both can go on with. Behind most tokens a single byte shows it: behind `name` in
a JSON string a blank may follow, no merge joins a blank to what is before it, and whatever comes then, the tokens so
far stay as they are. Where no byte does, tokens are tried, one behind the other: behind `fal` only `s` and `se` may
follow, the tokenizer puts none of them there, so `fal` is not kept.

A mask may hold most of the vocabulary, so a byte is asked for behind all tokens at once: the mask of the same grammar
at the same place for a vocabulary each of whose tokens has that byte behind it. Which bytes are worth that is learned.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .. import _kernel
from ..errors import LimitError, TokenRejectedError
from ..matcher import Matcher
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..matcher import CompiledGrammar
    from ..vocabularies.tokenization import Ways

    Mask: TypeAlias = NDArray[np.int32]

__all__ = ["Search", "search_of", "standing"]

_MOST_PROBED = 4
"""Bytes that are asked for behind all tokens at once. Each takes an index of its own."""

_FEW, _MANY, _SAMPLE = 48, 512, 16
"""Fewer tokens are looked at one by one at once; for more a byte is looked for, by that many of them."""

_MOST_TRIED = 4_000
"""Tokens that are tried behind one, before it is kept without being decided."""

_MOST_TRIED_FOR_MASK = 40_000
_MOST_PLACES, _MOST_ALIKE, _MOST_PATHS, _MOST_NEXTS = 2_048, 64, 8, 8
_DEEP = 4  # tokens up to which the search goes deep first
_BATCH = 1_024
_END = None  # in place of a text: that the text may end

_Path: TypeAlias = "tuple[tuple[int, ...], bytes]"
_Nexts: TypeAlias = "list[tuple[Matcher, NDArray[np.int64], bool]]"
"""Places, the tokens of text that the grammar allows there, and whether it allows others."""


class _Known(NamedTuple):
    """A place where it is known what is kept."""

    matcher: Matcher
    kept: Mask


class Search:
    """What is kept at the places of one constraint. It remembers the latest ones.

    Args:
        constraint: the grammar, compiled for a vocabulary whose tokenizer can be followed.

    Attributes:
        undecided: tokens that were kept because the search had come to its bounds.
    """

    def __init__(self, constraint: CompiledGrammar) -> None:
        self._constraint = constraint
        self._rules = constraint.vocabulary.tokenization
        self._tokens = constraint.vocabulary.tokens
        self._probed: list[int] = []
        # A token of text that the grammar names is allowed whatever byte is put behind it.
        named = [ids for _, ids in constraint._lowered.references]
        self._probes = not any(
            each.negated or any(self._rules.is_text[int(token)] for token in each.tokens) for each in named
        )
        self._followed: dict[int, CompiledGrammar] = {}  # the grammar for the same tokens, each with a byte behind it
        self._likely: list[int] = [0x20]  # bytes that settled tokens, the latest ones first
        self._paths: list[_Path] = []  # tokens and a byte behind them that settled others, the latest ones first
        self._places: OrderedDict[tuple[Ways, bytes], list[_Known]] = OrderedDict()
        self.undecided = 0

    def kept(self, matcher: Matcher, ways: Ways) -> Mask:
        """The tokens behind which a canonical text may follow, int32 [V / 32], as a mask has them.

        Args:
            matcher: where the text stands, without a budget.
            ways: how the tokenizer may stand there.

        Raises:
            LimitError: the mask costs more than the constraint's limits allow.
        """
        rules = self._rules
        words = _mask(matcher, len(rules.text))
        kept = words & ~rules.text if rules.may_end(ways) else np.zeros_like(words)
        text = words & rules.text
        if _count(text) > _MANY:  # what few may follow is asked of each
            text &= rules.candidates(ways)
        if text.any():
            kept |= self._continued(matcher, ways, text)
        return kept

    def keeps(self, matcher: Matcher, ways: Ways, token: int) -> bool:
        """Whether one token, which the grammar allows, is kept."""
        if not self._rules.is_text[token]:
            return self._rules.may_end(ways)
        behind = self._rules.after(ways, token)
        return bool(behind) and self._is_continued(matcher, token, behind, [_MOST_TRIED], [])

    def keeps_any(self, matcher: Matcher, ways: Ways) -> bool:
        """Whether any token is kept, or the end."""
        words = _mask(matcher, len(self._rules.text))
        if self._rules.may_end(ways) and (words & ~self._rules.text).any():
            return True
        return any(self.keeps(matcher, ways, token) for token in _tokens(words & self._rules.text).tolist())

    def _continued(self, matcher: Matcher, ways: Ways, text: Mask) -> Mask:
        key = (ways, matcher.situation(2))
        known = self._places.get(key)
        if known is not None:
            self._places.move_to_end(key)
            for place in known:
                if place.matcher.same_place(matcher):
                    return place.kept
        kept = self._found(matcher, ways, text)
        alike = self._places.setdefault(key, [])
        alike.append(_Known(Matcher(matcher), kept))
        del alike[:-_MOST_ALIKE]  # a stack may go on below in any number of ways
        if len(self._places) > _MOST_PLACES:
            self._places.popitem(last=False)
        return kept

    def _found(self, matcher: Matcher, ways: Ways, text: Mask) -> Mask:
        kept, left = np.zeros_like(text), [_MOST_TRIED_FOR_MASK]
        asked = 0
        while True:
            for probed in self._probed[asked:]:
                if _count(text) <= _FEW:
                    break
                asked += 1
                kept |= self._settled(matcher, ways, text, probed)
                text = text & ~kept
            tokens = _tokens(text).tolist()
            if len(tokens) <= _MANY or len(self._probed) >= _MOST_PROBED or not self._probes:
                self._decide(matcher, ways, tokens, left, kept)
                return kept
            sample = tokens[:: max(1, len(tokens) // _SAMPLE)]
            byte = self._worthwhile(matcher, ways, sample)
            if byte is None:
                self._decide(matcher, ways, tokens, left, kept)
                return kept
            self._probed.append(byte)

    def _settled(self, matcher: Matcher, ways: Ways, text: Mask, byte: int) -> Mask:
        """The tokens behind which this byte may follow, and settles that they are the tokenizer's own."""
        settled = text & self._rules.settled_by(ways, byte)
        if _count(settled) <= _FEW:
            return np.zeros_like(text)
        try:
            probe = standing(self._followed_by(byte), matcher)
            return settled & _mask(probe, len(text))
        except LimitError:  # they are looked at one by one
            return np.zeros_like(text)

    def _followed_by(self, byte: int) -> CompiledGrammar:
        """The same grammar for the same tokens, each with a byte behind it."""
        if byte not in self._followed:
            vocabularies, own = self._rules.followed, self._constraint.vocabulary
            if byte not in vocabularies:
                tokens = [None if token is None else token + bytes([byte]) for token in self._tokens]
                special = {name: token for name, token in own.special_ids.items() if tokens[token] is None}
                vocabularies[byte] = Vocabulary.from_bytes(tokens, eos=own.eos_ids, special=special)
            self._followed[byte] = _for_tokens(self._constraint, vocabularies[byte])
        return self._followed[byte]

    def _worthwhile(self, matcher: Matcher, ways: Ways, sample: list[int]) -> int | None:
        """The byte that settles most of some tokens, if it is not yet asked for."""
        found: Counter[int] = Counter()
        for token in sample:
            settling = self._rules.settling(self._rules.after(ways, token))
            try:
                probe = Matcher(matcher)
                probe.advance_bytes(self._tokens[token] or b"")
                found.update(byte for byte in probe.next_bytes() if settling >> byte & 1 and byte not in self._probed)
            except (TokenRejectedError, LimitError):
                continue
        best = found.most_common(1)
        return best[0][0] if best and best[0][1] * 4 >= len(sample) else None

    def _decide(self, matcher: Matcher, ways: Ways, tokens: list[int], left: list[int], kept: Mask) -> None:
        """Writes into a mask which tokens are kept, one by one."""
        rules = self._rules
        behind = {token: found for token in tokens if (found := rules.after(ways, token))}
        for text in (_END, *(bytes([byte]) for byte in self._likely)):
            asked = {token: text for token, ways in behind.items() if self._would_settle(ways, text)}
            for token in self._spelled(matcher, asked):
                _add(kept, token)
                del behind[token]
        for path in (None, *self._paths):
            asked = {token: text for token, ways in behind.items() if (text := self._shown_by(ways, path)) is not None}
            for token in self._spelled(matcher, asked):
                _add(kept, token)
                del behind[token]
        places: _Nexts = []
        for token, ways in behind.items():
            texts = [text for path in self._paths if (text := self._shown_by(ways, path)) is not None]
            is_shown = any(self._spelled(matcher, {token: text}) for text in texts)
            if is_shown or self._is_continued(matcher, token, ways, left, places):
                _add(kept, token)

    def _shown_by(self, ways: Ways, path: _Path | None) -> bytes | None:
        """A text that settles what comes before it: what was found before, or some tokens and a byte, if they do."""
        if path is None:
            return self._rules.shown.get(ways)
        tokens, settled = path
        behind = ways
        for token in tokens:
            behind = self._rules.after(behind, token)
        if not behind or not self._would_settle(behind, settled):
            return None
        text = b"".join(self._tokens[token] or b"" for token in tokens) + settled
        self._rules.show(ways, text)
        return text

    def _would_settle(self, ways: Ways, text: bytes | None) -> bool:
        if text is _END:
            return self._rules.may_end(ways)
        return bool(text) and bool(self._rules.settling(ways) >> text[0] & 1)

    def _spelled(self, matcher: Matcher, asked: dict[int, bytes | None]) -> list[int]:
        """The tokens behind which the grammar allows a text each, or the end (`_END`)."""
        found, all_asked = list[int](), list(asked.items())
        for at in range(0, len(all_asked), _BATCH):
            batch = all_asked[at : at + _BATCH]
            try:
                answers = matcher.spells([(self._tokens[token] or b"") + (text or b"") for token, text in batch])
            except LimitError:
                continue
            found += [token for (token, text), answer in zip(batch, answers, strict=True) if answer > (text is _END)]
        return found

    def _is_continued(self, matcher: Matcher, token: int, behind: Ways, left: list[int], nexts: _Nexts) -> bool:
        """Whether the tokens up to this one are the beginning of the tokenization of a text."""
        if not behind:
            return False
        probe = Matcher(matcher)
        try:
            probe.advance_bytes(self._tokens[token] or b"")
            most = min(left[0], _MOST_TRIED)
            verdict, used = self._tried(probe, behind, most, nexts)
            left[0] -= used
        except TokenRejectedError:  # no token of text: the grammar names it
            return self._rules.may_end(behind)
        except LimitError:
            verdict = None
        self.undecided += verdict is None
        return verdict is not False

    def _tried(self, probe: Matcher, ways: Ways, most: int, nexts: _Nexts) -> tuple[bool | None, int]:
        """Whether a canonical text follows, and how many tokens were tried to find out; `None`: not within so many."""
        begun, used = ways, 0
        if self._settled_here(probe, ways) is not None:
            return True, used
        work: deque[tuple[Matcher, Ways, tuple[int, ...]]] = deque([(probe, ways, ())])
        while work:
            probe, ways, path = work.popleft()
            tokens, has_special = self._next_tokens(probe, nexts)
            if has_special and self._rules.may_end(ways):
                return True, used
            for token in self._rules.following(ways, tokens):
                behind = self._rules.after(ways, token)
                if not behind:
                    continue
                used += 1
                if used > most:
                    return None, used
                further, spelled = Matcher(probe), self._tokens[token] or b""
                try:
                    further.advance_bytes(spelled)
                except TokenRejectedError:
                    continue
                settled = self._settled_here(further, behind)
                if settled is not None:
                    if settled:
                        self._show(begun, (*path, token), settled)
                    return True, used
                # Deep first, since the bytes of a character are as many tokens; but no text need end.
                add = work.appendleft if len(path) < _DEEP else work.append
                add((further, behind, (*path, token)))
        return False, used

    def _next_tokens(self, probe: Matcher, nexts: _Nexts) -> tuple[NDArray[np.int64], bool]:
        """The tokens of text that the grammar allows at a place, and whether it allows others. `nexts` are those that
        were asked for before."""
        for other, tokens, has_special in nexts:
            if other.same_place(probe):
                return tokens, has_special
        words = _mask(probe, len(self._rules.text))
        tokens, has_special = _tokens(words & self._rules.text), bool((words & ~self._rules.text).any())
        if len(nexts) < _MOST_NEXTS:
            nexts.append((probe, tokens, has_special))
        return tokens, has_special

    def _show(self, ways: Ways, path: tuple[int, ...], settled: bytes) -> None:
        """Remembers what settled the tokens before it."""
        self._rules.show(ways, b"".join(self._tokens[token] or b"" for token in path) + settled)
        self._paths = [(path, settled), *(other for other in self._paths if other != (path, settled))][:_MOST_PATHS]

    def _settled_here(self, probe: Matcher, ways: Ways) -> bytes | None:
        """A byte that may come next and settles what is before it; nothing, where the text may end; or `None`."""
        if self._rules.may_end(ways) and probe.is_accepting:
            return b""
        settling = self._rules.settling(ways)
        if not settling:
            return None
        for byte in self._likely:
            if settling >> byte & 1 and probe.spells([bytes([byte])]) != b"\0":
                return bytes([byte])
        for byte in probe.next_bytes():
            if settling >> byte & 1:
                self._likely = [byte, *(other for other in self._likely if other != byte)][:4]
                return bytes([byte])
        return None


def search_of(constraint: CompiledGrammar) -> Search:
    """That of a constraint, which all copies of it share."""
    if not constraint._search:
        constraint._search.append(Search(constraint))
    found: Search = constraint._search[0]
    return found


def _for_tokens(constraint: Any, vocabulary: Vocabulary) -> Any:
    """The same grammar for other bytes of the same tokens."""
    inner = [
        (symbol, key, _for_tokens(each, vocabulary.decoded(key) if key else vocabulary))
        for symbol, key, each in constraint._inner
    ]
    plan = replace(constraint._plan, index=b"", splits=b"", languages=())
    return type(constraint)(plan, vocabulary, constraint.grammar, inner=inner)


def standing(constraint: CompiledGrammar, matcher: Matcher) -> Matcher:
    """A matcher of a constraint of the same grammar, where another one stands, without its budget."""
    made = Matcher.__new__(Matcher)
    made.constraint = constraint
    _kernel.Matcher.__init__(made, constraint._kernel, state=matcher.state(budget=False))
    return made


def _mask(matcher: Matcher, words: int) -> Mask:
    mask = np.zeros(words, np.int32)
    _kernel.Matcher.fill_bitmask(matcher, mask.reshape(1, -1))
    return mask


def _tokens(mask: Mask) -> NDArray[np.int64]:
    """The tokens of a mask, ascending."""
    (words,) = mask.nonzero()
    places = np.flatnonzero(np.unpackbits(mask[words].view(np.uint8), bitorder="little"))
    tokens: NDArray[np.int64] = words[places >> 5] << 5 | places & 31
    return tokens


def _add(mask: Mask, token: int) -> None:
    mask.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))


def _count(mask: Mask) -> int:
    return int(np.unpackbits(mask.view(np.uint8)).sum())
