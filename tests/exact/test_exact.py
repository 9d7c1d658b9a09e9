"""Exactness, against the oracle: every mask of the engine equals the definition, bit by bit.

For each case (a tiny grammar with a tiny vocabulary, see `families`) the test walks every path of allowed tokens up to
a length and compares, at every step: the mask in its three forms (`fill_bitmask`, `allowed_tokens`, `allows`), the end
of sequence, `is_accepting`, what `advance` refuses (and that the refusal leaves no trace), and the way back
(`rollback`, `fork`). Languages without a single text must be refused by `compile`.

A failure prints its case as one line of JSON. Paste it into `testdata/regressions.json`; `test_regressions` runs
it from then on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle as cyclic
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from families import (
    POLICIES,
    Case,
    cases,
    contested,
    enumerated,
    matches_only_empty,
    sample,
    shaped,
    with_vocabulary,
)
from handmade import handmade
from hypothesis import HealthCheck, assume, given, settings
from oracle.prefixes import PrefixOracle, texts
from oracle.regular import full_match, pattern_of
from paths import TESTDATA

import derivable as dv
from derivable.errors import GrammarError, TokenRejectedError, VocabularyError
from derivable.grammar import Lexing

SHAPED, ENUMERATED, CONTESTED = 72, 36, 36
"""Cases per policy in a fast run."""

MANY_SHAPED, MANY_ENUMERATED, MANY_CONTESTED = 4000, 2000, 4000
"""Cases per policy in a slow run."""

UNDECIDED_OF_PART, UNDECIDED_OF_CASE = 0.002, 0.05
"""Shares of the bits (and two more) that may stay undecided: the engine allows a token, and neither the oracle nor a
search through what may follow finds the end of a text."""

REGRESSIONS = TESTDATA / "regressions.json"


class Mismatch(AssertionError):
    """The engine and the oracle disagree."""


# --- the comparison ---


class TooLong(Exception):
    """It would take minutes to find out who is right."""


class Comparison:
    """One case: the oracle, the engine's constraint, and the walk over both.

    Args:
        patience: pieces of proposed texts, after which the search for a member is given up (`TooLong`).
    """

    def __init__(self, case: Case, patience: float = math.inf) -> None:
        self.case, self.patience = case, patience
        self.tokens = case.tokens
        self.eos = len(case.tokens)
        longest = max(map(len, case.tokens))
        self.oracle = PrefixOracle(case.grammar, case.alphabet, case.depth + longest, case.slack)
        self.expected: dict[bytes, frozenset[int]] = {}
        self.masks = self.undecided = 0

    @property
    def bits(self) -> int:
        """How many bits of masks were compared."""
        return self.masks * len(self.case.tokens)

    def run(self) -> None:
        """Raises `Mismatch` at the first difference, or where too much stays undecided."""
        self.compare_all()
        allowed = 2 + self.bits * UNDECIDED_OF_CASE
        if self.undecided > allowed:
            self.fail(b"", f"{self.undecided} of {self.bits} bits could not be decided ({allowed:.0f} may)")

    def compare_all(self) -> None:
        special = {f"<{token.decode('latin-1')}>": i for i, token in enumerate(self.tokens) if token[0] >= 0xF8}
        tokens = [None if i in special.values() else token for i, token in enumerate(self.tokens)]
        vocabulary = dv.Vocabulary.from_bytes([*tokens, b"</s>"], eos=[self.eos], special=special)
        try:
            # What one call may take is looked at in tests/guards: here it is about 40 s, at 10 ns a unit of work.
            constraint = dv.compile(self.case.grammar, vocabulary, limits=dv.Limits(max_step_work=1 << 32))
        except VocabularyError as error:
            spelled = next((m for m in sorted(self.oracle.members, key=len) if self.spells(m)), None)
            if spelled is not None:
                self.fail(b"", f"compile finds no way to spell a text, but {spelled!r} is one: {error}")
            return
        except GrammarError as error:
            if "can never match" in error.problem or "never ends" in error.problem:
                self.refused_rightly(error)
            elif self.oracle.members:
                shortest = min(self.oracle.members, key=len)
                self.fail(b"", f"compile refuses a language that holds {shortest!r}: {error}")
            return
        start = constraint.matcher()
        if not self.oracle.members and not self.is_inhabited(start):
            self.fail(b"", "compile accepts an empty language")
        self.walk(start, b"", ())

    def walk(self, matcher: dv.Matcher, w: bytes, path: tuple[int, ...]) -> None:
        """Checks the state after `w`, reached by the tokens of `path`, and everything behind it."""
        first_visit = w not in self.expected
        expected = self.mask(matcher, w)
        self.compare(self.bitmask(matcher), expected, w, path, "fill_bitmask")
        if first_visit:
            self.compare(matcher.allowed_tokens().tolist(), expected, w, path, "allowed_tokens")
            every = range(self.eos + 1)
            self.compare([t for t in every if matcher.allows(t)], expected, w, path, "allows")
            if matcher.is_accepting != (self.eos in expected):
                self.fail(w, f"is_accepting is {matcher.is_accepting}", path)
            for token in every:
                if token not in expected:
                    self.rejects(matcher, w, path, token)
            self.compare(self.bitmask(matcher), expected, w, path, "fill_bitmask after refusals")
        for token in sorted(expected):
            longer = w if token == self.eos else w + self.tokens[token]
            if len(longer) > self.case.depth:
                continue
            if token == self.eos:
                if first_visit:
                    self.ends(matcher.fork(), w, path)
                continue
            forked = len(path) % 2 == 1
            after = matcher.fork() if forked else matcher
            try:
                after.advance(token)
            except TokenRejectedError as error:
                self.fail(w, f"advance refuses the allowed token {self.tokens[token]!r}: {error}", path)
            self.walk(after, longer, (*path, token))
            if not forked:
                after.rollback(1)
            self.compare(self.bitmask(matcher), expected, w, path, f"the way back from {self.tokens[token]!r}")

    def is_inhabited(self, start: dv.Matcher) -> bool:
        """Some text longer than those the oracle lists is a member."""
        return (
            any(map(self.oracle.recognizer.member, self.walks(start, b"")))
            or self.oracle.completion(b"") is not None
            or bool(self.oracle.deeper().members)
            or any(map(self.oracle.recognizer.member, self.walks(start, b"", 20, 64)))
        )

    def mask(self, matcher: dv.Matcher, w: bytes) -> frozenset[int]:
        """What the mask after `w` must be."""
        if w not in self.expected:
            self.masks += 1
            mask = self.oracle.mask(w, self.tokens)
            surplus = set(matcher.allowed_tokens().tolist()) - mask - {self.eos}
            if (
                surplus
            ):  # is the oracle short of breath? Then the engine must show a text, and the recogniser must agree
                mask |= {t for t in surplus if t < self.eos and self.completes(matcher, w, t)}
            self.expected[w] = frozenset(mask | ({self.eos} if self.oracle.is_member(w) else set()))
        return self.expected[w]

    def spells(self, text: bytes) -> bool:
        """Some sequence of tokens spells `text`."""
        return not text or any(t and text.startswith(t) and self.spells(text[len(t) :]) for t in self.tokens)

    def refused_rightly(self, error: GrammarError) -> None:
        """A terminal that never matches, a rule that never ends: refused by name, wherever it stands. Is it true?"""
        names = (*self.case.grammar.terminals, *self.case.grammar.rules)
        named = [n for n in names if f" {n} " in error.problem or f" {n!r} " in error.problem]
        if "never ends" in error.problem:
            productions = self.oracle.recognizer.sequences.cfg.productions  # trimmed
            if named and all(productions[name] for name in named):
                self.fail(b"", f"compile says what is not true: {error}")
            if not named and self.oracle.members:
                self.fail(b"", f"compile refuses a language that is not empty: {error}")
            return
        for name in named:
            pattern = pattern_of(self.case.grammar.terminals[name].expr)
            for text in texts(self.case.alphabet, 5):
                if self.case.lexing == "scannerless":
                    matches = pattern.full_match(text) and text != b""
                else:
                    matches = any(pattern.match_length(text, at) for at in range(len(text)))
                if matches:
                    self.fail(b"", f"compile says what is not true, see {text!r}: {error}")

    def completes(self, matcher: dv.Matcher, w: bytes, token: int) -> bool:
        """Whether `w` and the token can be completed by more than the oracle's slack.

        Texts are proposed by walks of short pieces through the engine's own masks (the same ones every time), then by
        the rules; the recogniser decides. Where none of them is a member, the oracle with twice the slack does.
        """
        longer, after = w + self.tokens[token], matcher.fork()
        after.advance(token)
        return (
            any(map(self.oracle.recognizer.member, self.walks(after, longer)))
            or self.oracle.completion(longer) is not None
            or self.oracle.deeper().is_prefix(longer)
            or any(map(self.oracle.recognizer.member, self.walks(after, longer, 300, 32)))
            or any(map(self.oracle.recognizer.member, self.cycles(after, longer)))
            or any(map(self.oracle.recognizer.member, self.closings(after, longer)))
            or not self.ends_soon(after)
        )

    def ends_soon(self, start: dv.Matcher, patience: int = 1500) -> bool:
        """Whether everything behind `start` can be searched. If not, the shortest completion is too long to be found
        by either side; such bits are counted, and `run` and `check` bound their share."""
        queue = [start]
        for state in queue:
            if len(queue) > patience:
                self.undecided += 1
                return False
            for byte in state.next_bytes():
                longer = state.fork()
                longer.advance_bytes(bytes([byte]))
                queue.append(longer)
            for i, token in enumerate(self.tokens):
                if token[0] >= 0xF8 and state.allows(i):
                    longer = state.fork()
                    longer.advance(i)
                    queue.append(longer)
        return True

    def walks(self, start: dv.Matcher, text: bytes, count: int = 60, length: int = 16) -> Iterator[bytes]:
        """Members by the engine's account that begin with `text`, which led to `start`."""
        pieces = [bytes([byte]) for byte in self.case.alphabet]
        for terminal in self.case.grammar.terminals.values():
            pieces += [p for p in texts(self.case.alphabet, 3) if p and full_match(terminal.expr, p)][:3]
        generator = np.random.default_rng(0)
        for _ in range(count):
            state, longer = start.fork(), text
            for _ in range(length):
                if state.is_accepting:
                    yield longer
                for index in generator.permutation(len(pieces)):
                    try:
                        self.take(state, pieces[index])
                    except TokenRejectedError:
                        continue
                    longer += pieces[index]
                    break
                else:
                    break

    def cycles(self, start: dv.Matcher, text: bytes, length: int = 40) -> Iterator[bytes]:
        """Members by the engine's account that go on with one to three pieces, over and over: what is open is closed
        by as many of them."""
        pieces = [p for p in texts(self.case.alphabet, 3) if p]
        for size in range(1, 4):
            for cycle in product(pieces, repeat=size):
                if sum(map(len, cycle)) > 6:
                    continue
                yield from self.along(start.fork(), text, islice(cyclic(cycle), length))

    def closings(self, start: dv.Matcher, text: bytes, length: int = 12) -> Iterator[bytes]:
        """Members by the engine's account that go on with one lexeme up to three times, then with one or two over and
        over: what is begun in one way is closed in another one."""
        short = [p for p in texts(self.case.alphabet, 3) if p]
        terminals = self.case.grammar.terminals.values()
        pieces = [*dict.fromkeys(p for t in terminals for p in [p for p in short if full_match(t.expr, p)][:8])]
        endings = [*product(pieces), *product(pieces, repeat=2)]
        for middle, times in product(pieces, range(1, 4)):
            for ending in endings:
                yield from self.along(start.fork(), text, islice((*times * (middle,), *length * ending), length))

    def along(self, state: dv.Matcher, text: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """`text`, which led to `state`, and pieces behind it as far as they are taken: where that may end."""
        for piece in pieces:
            self.patience -= 1
            if self.patience < 0:
                raise TooLong
            try:
                self.take(state, piece)
            except TokenRejectedError:
                return
            text += piece
            if state.is_accepting:
                yield text

    def take(self, matcher: dv.Matcher, piece: bytes) -> None:
        """Advances by text, or by the special token that a byte stands for."""
        if piece[0] >= 0xF8:
            matcher.advance(self.tokens.index(piece) if piece in self.tokens else self.eos + 1)
        else:
            matcher.advance_bytes(piece)

    def bitmask(self, matcher: dv.Matcher) -> list[int]:
        """`fill_bitmask` as token ids; bits behind the vocabulary count as ids too."""
        bitmask = dv.allocate_bitmask(1, self.eos + 1)
        matcher.fill_bitmask(bitmask, 0)
        bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")
        return [int(t) for t in np.flatnonzero(bits)]

    def rejects(self, matcher: dv.Matcher, w: bytes, path: tuple[int, ...], token: int) -> None:
        try:
            matcher.advance(token)
        except TokenRejectedError:
            return
        self.fail(w, f"advance takes the token {self.name(token)} that the mask refuses", path)

    def ends(self, matcher: dv.Matcher, w: bytes, path: tuple[int, ...]) -> None:
        try:
            matcher.advance(self.eos)
        except TokenRejectedError as error:
            self.fail(w, f"advance refuses the end of sequence: {error}", path)
        if not matcher.is_finished:
            self.fail(w, "not finished behind the end of sequence", path)
        matcher.rollback(1)
        self.compare(self.bitmask(matcher), self.expected[w], w, path, "the way back from the end")

    def compare(
        self, got: Sequence[int], expected: frozenset[int], w: bytes, path: tuple[int, ...], source: str
    ) -> None:
        if list(got) == sorted(expected):
            return
        surplus = [self.name(t) for t in sorted(set(got) - expected)]
        missing = [self.name(t) for t in sorted(expected - set(got))]
        message = f"{source}: allowed but must not be: {surplus}; missing: {missing}"
        if missing and missing != ["end"]:
            token = next(t for t in sorted(expected - set(got)) if t != self.eos)
            longer = w + self.tokens[token]
            members = self.oracle.members | (self.oracle.deeper().members if self.oracle._deeper else frozenset())
            shortest = min((m for m in members if m.startswith(longer)), key=len)
            message += f" (the language holds {shortest!r})"
        self.fail(w, message, path)

    def name(self, token: int) -> str:
        if token > self.eos:
            return f"bit {token}"
        return "end" if token == self.eos else repr(self.tokens[token])

    def fail(self, w: bytes, problem: str, path: tuple[int, ...] = ()) -> None:
        by_tokens = [self.tokens[t] for t in path]
        raise Mismatch(f"after {w!r} (tokens {by_tokens}): {problem}\n  case: {self.case.to_json()}")


def takes_too_long(case: Case, error: dv.LimitError) -> bool:
    """Whether a stack has a future is undecidable in general under longest match where parses compete: a question that
    takes too many steps, or more memory than a constraint may, is refused by name (docs/design/liveness.md). Rarely."""
    return case.lexing == "longest" and error.limit in {"max_liveness_steps", "max_step_work", "cache_bytes"}


def check(chunk: Sequence[Case]) -> None:
    """Compares every case, then reports how many differ and the smallest ones."""
    failures: list[str] = []
    bits = undecided = refused = 0
    for case in chunk:
        try:
            comparison = Comparison(case)
            comparison.run()
            bits += comparison.bits
            undecided += comparison.undecided
        except Mismatch as mismatch:
            failures.append(str(mismatch))
        except dv.LimitError as error:
            if not takes_too_long(case, error):
                failures.append(f"{error}\n  case: {case.to_json()}")
            refused += 1
        except Exception as error:  # a crash is a finding like any other; say where
            failures.append(f"{type(error).__name__}: {error}\n  case: {case.to_json()}")
    may = 2 + bits * UNDECIDED_OF_PART
    assert undecided <= may, f"{undecided} of {bits} bits could not be decided: the families want shorter texts"
    assert refused <= len(chunk) // 40, f"{refused} of {len(chunk)} cases took too many steps"
    if failures:
        smallest = "\n".join(sorted(failures, key=len)[:3])
        pytest.fail(f"{len(failures)} of {len(chunk)} cases differ, the shortest:\n{smallest}", pytrace=False)


# --- exhaustive ---


def family(policy: Lexing, shaped_count: int, enumerated_count: int, contested_count: int) -> list[Case]:
    """The cases of a run, in the same order every time."""
    drawn = sample(shaped(policy), shaped_count) + sample(enumerated(policy), enumerated_count)
    drawn += sample(contested(policy), contested_count)
    return [with_vocabulary(case, index) for index, case in enumerate([*handmade(policy), *drawn])]


PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("policy", POLICIES)
def test_family(policy: Lexing, part: int) -> None:
    check(family(policy, SHAPED, ENUMERATED, CONTESTED)[part::PARTS])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10 * PARTS))
@pytest.mark.parametrize("policy", POLICIES)
def test_large_family(policy: Lexing, part: int) -> None:
    check(family(policy, MANY_SHAPED, MANY_ENUMERATED, MANY_CONTESTED)[part :: 10 * PARTS])


# --- random ---

PATIENCE = 300_000
"""Pieces of proposed texts for a random case, seconds; some would take minutes."""

RANDOM = settings(
    max_examples=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def check_random(case: Case) -> None:
    if case.lexing != "scannerless":
        assume(not matches_only_empty(case))
    try:
        Comparison(case, patience=PATIENCE).run()
    except TooLong:
        assume(False)
    except dv.LimitError as error:
        assume(not takes_too_long(case, error))
        raise


@pytest.mark.parametrize("policy", POLICIES)
def test_random(policy: Lexing) -> None:
    RANDOM(given(cases(policy))(check_random))()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_random(policy: Lexing) -> None:
    settings(RANDOM, max_examples=5000)(given(cases(policy))(check_random))()


# --- found before ---


def regressions() -> list[Any]:
    """Entries with `open` say what the engine cannot do yet; they must go as soon as it can."""
    entries = json.loads(REGRESSIONS.read_text(encoding="utf-8"))
    return [
        pytest.param(
            entry,
            id=entry["name"].replace(" ", "-"),
            marks=[pytest.mark.xfail(reason=entry["open"], strict=True)] if "open" in entry else [],
        )
        for entry in entries
    ]


@pytest.mark.parametrize("entry", regressions())
def test_regressions(entry: dict[str, Any]) -> None:
    check([Case.from_json(entry)])


def test_regression_format() -> None:
    """What a failure prints can be read back."""
    for policy in POLICIES:
        for case in handmade(policy):
            full = with_vocabulary(case, 0)
            assert Case.from_json(json.loads(full.to_json())) == full
