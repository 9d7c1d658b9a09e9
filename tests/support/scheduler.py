"""A scheduler without a model: it does to matchers what servers do, at random, and every text must come out as it does
when nobody else is there.

    python tests/support/scheduler.py --schedules 1000000 --seed 0

A request is a grammar, perhaps a budget, and a number. Its model takes of the tokens that are allowed one that depends
on that number and the position in the text alone, so its text is known beforehand (`plain_text`). The scheduler then
serves several requests at once: batches that change from step to step, drafts and trees of drafts of which a part is
accepted, masks asked for before the token of the step before is known, preemption (a matcher becomes bytes, and goes on
in another constraint), forks, requests that are cancelled, grammars compiled meanwhile, tables that are freed, and
threads.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import derivable as dv

__all__ = ["GRAMMARS", "Schedule", "plain_text"]

MOST_TOKENS = 40
"""Of one text."""

SCHEMA = {
    "type": "object",
    "properties": {
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": True},
        "n": {"type": "integer", "minimum": 0, "maximum": 120},
        "kind": {"enum": ["one", "other", "none"]},
    },
    "required": ["n"],
}
GRAMMARS: dict[str, Callable[[], dv.Grammar]] = {
    "choices": lambda: dv.Grammar.from_choices(["yes", "no", "perhaps", "yesterday"]),
    "brackets": lambda: dv.Grammar.from_gbnf('root ::= "[" (root ("," root)*)? "]" | "1"'),
    "schema": lambda: dv.Grammar.from_json_schema(SCHEMA),
    "schema in any order": lambda: dv.Grammar.from_json_schema(SCHEMA, key_order="any"),
    "python": lambda: dv.Grammar.builtin("python"),
    "sums": lambda: dv.Grammar.from_lark('start: N ("+" N)*\nN: /[0-9]+(?![0-9])/\n%ignore " "'),
    "string of JSON": lambda: dv.Grammar.from_regex("x") + dv.Grammar.builtin("json").encoded("json"),
}
BUDGETED = ("brackets", "schema")
"""Those whose masks with a budget depend on nothing that was asked before."""

WORDS = (
    b'"n"',
    b'": ',
    b'{"',
    b'["',
    b'",',
    b"],",
    b"yes",
    b"per",
    b"12",
    b"\n  ",
    b"if ",
    b"x = ",
    b"+1",
    b'\\"',
    b"}}",
)


@cache
def vocabulary() -> dv.Vocabulary:
    words = [*(bytes([b]) for b in range(32, 127)), b"\n", *WORDS]
    return dv.Vocabulary.from_bytes([*words, None], eos=[len(words)])


@cache
def constraint(name: str, process: int) -> dv.Constraint:
    """One for each of several processes."""
    return dv.compile(GRAMMARS[name](), vocabulary())


def _mixed(*numbers: int) -> int:
    """A number that depends on all of them, in every process the same."""
    z = 0x9E3779B97F4A7C15
    for n in numbers:
        z = (z ^ n) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        z ^= z >> 29
    return z


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        grammar: one of `GRAMMARS`.
        number: what its model chooses by.
        max_tokens: its budget.
        forks: further texts that go on as others from a position on: (position, number) of each.
    """

    grammar: str
    number: int
    max_tokens: int | None = None
    forks: tuple[tuple[int, int], ...] = ()


def choice(number: int, position: int, allowed: Sequence[int] | np.ndarray[Any, Any]) -> int:
    """The model: one of the tokens that are allowed."""
    eos = vocabulary().eos_ids[0]
    h = _mixed(number, position)
    if allowed[-1] == eos and h % 4 == 0:
        return eos
    return int(allowed[(h >> 8) % len(allowed)])


def allowed_in(row: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The tokens of a row of a bitmask, ascending."""
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))


def plain_text(request: Request) -> tuple[int, ...]:
    """What comes out when nobody else is there: one mask and one step after the other."""
    matcher = dv.compile(GRAMMARS[request.grammar](), vocabulary()).matcher(request.max_tokens)
    return tuple(_written(matcher, request.number, []))


def plain_forks(request: Request, text: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The same of the texts that fork off."""
    texts = []
    for position, number in request.forks:
        matcher = constraint(request.grammar, 0).matcher(request.max_tokens)
        begun = list(text[:position])
        for token in begun:
            matcher.advance(token)
        texts.append(tuple(_written(matcher, number, begun)))
    return texts


def _written(matcher: dv.Matcher, number: int, tokens: list[int]) -> list[int]:
    while not matcher.is_finished and len(tokens) < MOST_TOKENS:
        allowed = matcher.allowed_tokens()
        if not len(allowed):
            break
        tokens.append(choice(number, len(tokens), allowed))
        matcher.advance(tokens[-1])
    return tokens


@dataclass
class Text:
    """One text that is being written."""

    request: Request
    number: int
    expected: tuple[int, ...]
    matcher: dv.Matcher | None
    state: bytes = b""
    tokens: list[int] = field(default_factory=list)
    forks: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return len(self.tokens) >= len(self.expected)


class Schedule:
    """One run of the scheduler.

    Args:
        seed: of all that happens.
        requests: at least so many are served.
    """

    def __init__(self, seed: int, requests: int = 4) -> None:
        self.rng = random.Random(seed)
        self.waiting = [self._request() for _ in range(requests)]
        self.running: list[Text] = []
        self.bitmask = dv.allocate_bitmask(64, vocabulary().size)
        self.pool = ThreadPoolExecutor(2) if self.rng.random() < 0.1 else None
        self.done = self.cancelled = 0

    def _request(self) -> Request:
        rng = self.rng
        grammar = rng.choice(list(GRAMMARS))
        budget = rng.randint(12, 45) if grammar in BUDGETED and rng.random() < 0.5 else None
        forks = tuple((rng.randint(0, 10), rng.getrandbits(32)) for _ in range(rng.choice([0, 0, 0, 1, 3])))
        return Request(grammar, rng.randrange(200), budget, forks)

    def run(self) -> None:
        """Serves all requests; raises `AssertionError` where a text is another than it would be alone."""
        try:
            while self.waiting or self.running:
                self._admit()
                self._disturb()
                batch = [each for each in self.running if self.rng.random() < 0.8]
                self.rng.shuffle(batch)
                self._step([each for each in batch if self._is_here(each)])
                for each in self.running:
                    self._check(each)
                self.done += sum(each.is_done for each in self.running)
                self.running = [each for each in self.running if not each.is_done]
        finally:
            if self.pool:
                self.pool.shutdown()

    def _admit(self) -> None:
        while self.waiting and (not self.running or self.rng.random() < 0.5):
            request = self.waiting.pop()
            text = known_text(request.grammar, request.number, request.max_tokens)
            begun = [(position, number) for position, number in request.forks if position < len(text)]
            texts = plain_forks(Request(request.grammar, request.number, request.max_tokens, tuple(begun)), text)
            forks = [(position, number, other) for (position, number), other in zip(begun, texts)]
            where = constraint(request.grammar, self.rng.randrange(2))
            self.running.append(Text(request, request.number, text, where.matcher(request.max_tokens), forks=forks))

    def _disturb(self) -> None:
        """What happens between steps."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.02:
            constraint(rng.choice(list(GRAMMARS)), rng.randrange(2))._kernel.give_back()
        elif kind < 0.04:
            constraint(rng.choice(list(GRAMMARS)), rng.randrange(2))._kernel.forget_masks()
        elif kind < 0.06:  # a grammar that nobody has asked for
            dv.compile(dv.Grammar.from_choices([f"{rng.getrandbits(20)}", "x"]), vocabulary())
        elif kind < 0.09 and self.running:  # cancelled
            self.running.pop(rng.randrange(len(self.running)))
            self.cancelled += 1
        elif kind < 0.25 and self.running:  # preempted
            each = rng.choice(self.running)
            if each.matcher is not None:
                each.state, each.matcher = each.matcher.to_bytes(), None

    def _is_here(self, each: Text) -> bool:
        """Brings one back that was preempted, perhaps."""
        if each.matcher is None and self.rng.random() < 0.6:
            each.matcher = constraint(each.request.grammar, self.rng.randrange(2)).resume(each.state)
        return each.matcher is not None

    def _check(self, each: Text) -> None:
        written = tuple(each.tokens)
        assert written == each.expected[: len(written)], (each.request, written, each.expected)
        if each.matcher is not None and each.is_done and each.expected[-1:] == vocabulary().eos_ids[:1]:
            assert each.matcher.is_finished

    # ---- one step of the model ----

    def _step(self, batch: list[Text]) -> None:
        for each in batch:
            self._fork(each)
        plain: list[Text] = []
        for each in batch:
            kind = self.rng.random()
            if each.is_done:
                continue
            if kind < 0.45:
                plain.append(each)
            elif kind < 0.65:
                self._draft(each)
            elif kind < 0.8:
                self._tree(each)
            else:
                self._overlap(each)
        if self.pool and len(plain) > 1:
            halves = plain[::2], plain[1::2]
            starts = [self.rng.getrandbits(32) for _ in halves]
            list(self.pool.map(self._plain, halves, (0, len(halves[0])), starts))
        else:
            self._plain(plain, 0, self.rng.getrandbits(32))

    def _fork(self, each: Text) -> None:
        """Where further texts begin, they go on by themselves."""
        for fork in [fork for fork in each.forks if fork[0] == len(each.tokens)]:
            each.forks.remove(fork)
            assert each.matcher is not None
            _, number, expected = fork
            self.running.append(Text(each.request, number, expected, each.matcher.fork(), tokens=list(each.tokens)))

    def _matcher(self, each: Text) -> dv.Matcher:
        assert each.matcher is not None
        return each.matcher

    def _chosen(self, each: Text, row: int, ahead: int = 0) -> int:
        """What the model takes of a row, so many tokens further."""
        return choice(each.number, len(each.tokens) + ahead, allowed_in(self.bitmask[row]))

    def _plain(self, batch: list[Text], first: int, seed: int) -> None:
        """All masks in one call, and all steps in another; or one by one."""
        if not batch:
            return
        rng = random.Random(seed)
        matchers = [self._matcher(each) for each in batch]
        rows = list(range(first, first + len(batch)))
        rng.shuffle(rows)
        if rng.random() < 0.5:
            dv.fill_bitmasks(matchers, self.bitmask, rows=rows)
        else:
            for matcher, row in zip(matchers, rows):
                matcher.fill_bitmask(self.bitmask, row)
        tokens = [self._chosen(each, row) for each, row in zip(batch, rows)]
        if rng.random() < 0.5:
            dv.advance(matchers, tokens)
        else:
            for matcher, token in zip(matchers, tokens):
                matcher.advance(token)
        for each, token in zip(batch, tokens):
            each.tokens.append(token)

    def _guess(self, each: Text, ahead: int) -> int:
        """A token as a draft model would propose it: often the one that comes."""
        at = len(each.tokens) + ahead
        if at < len(each.expected) and self.rng.random() < 0.75:
            return each.expected[at]
        return self.rng.randrange(vocabulary().size)

    def _draft(self, each: Text) -> None:
        """Tokens one after the other: masks along them, then back, then what the model accepts and one more."""
        matcher, rng = self._matcher(each), self.rng
        draft = [self._guess(each, i) for i in range(rng.randint(1, 5))]
        if rng.random() < 0.3:
            draft = [*matcher.forced_tokens()[:5]] or draft
        if rng.random() < 0.5:
            matcher.fill_draft(draft, self.bitmask)
        else:  # as vLLM does
            taken = 0
            for row, token in enumerate([*draft, -1]):
                matcher.fill_bitmask(self.bitmask, row)
                if token < 0 or matcher.is_finished or not matcher.allows(token):
                    break
                matcher.advance(token)
                taken += 1
            matcher.rollback(taken)
        accepted: list[int] = []
        for row in range(len(draft) + 1):
            if len(each.tokens) + len(accepted) >= len(each.expected):
                break
            accepted.append(self._chosen(each, row, len(accepted)))
            if row < len(draft) and accepted[-1] != draft[row]:
                break
        assert matcher.count_valid(accepted) == len(accepted)
        for token in accepted:
            matcher.advance(token)
        each.tokens += accepted

    def _tree(self, each: Text) -> None:
        """Several ways on at once; the model follows one of them as far as it goes."""
        matcher, rng = self._matcher(each), self.rng
        size = rng.randint(1, 10)
        parents = [rng.randrange(-1, i) for i in range(size)]
        depth = [0] * size
        draft: list[int] = []
        for i, parent in enumerate(parents):
            depth[i] = 0 if parent < 0 else depth[parent] + 1
            draft.append(self._guess(each, depth[i]))
        valid = matcher.fill_draft(draft, self.bitmask, parents=parents)
        at, accepted = -1, list[int]()
        while len(each.tokens) + len(accepted) < len(each.expected):
            accepted.append(self._chosen(each, at + 1, len(accepted)))
            behind = [i for i in range(size) if parents[i] == at and draft[i] == accepted[-1]]
            if not behind:
                break
            at = behind[0]
            assert valid[at]
        for token in accepted:
            matcher.advance(token)
        each.tokens += accepted

    def _overlap(self, each: Text) -> None:
        """The mask behind a guess, before the token is known; then back, or on with the fork."""
        matcher, rng = self._matcher(each), self.rng
        matcher.fill_bitmask(self.bitmask, 0)
        guess, other = self._guess(each, 0), matcher.fork()
        is_allowed = matcher.allows(guess)
        if is_allowed:
            other.advance(guess)
            dv.fill_bitmasks([other], self.bitmask, rows=[1])
        token = self._chosen(each, 0)
        if is_allowed and guess == token:
            each.matcher = other
            each.tokens.append(token)
            if not each.is_done:
                token = self._chosen(each, 1)
                other.advance(token)
                each.tokens.append(token)
            return
        if is_allowed and rng.random() < 0.5:
            other.rollback(1)
            each.matcher = other
        self._matcher(each).advance(token)
        each.tokens.append(token)


@cache
def known_text(grammar: str, number: int, max_tokens: int | None) -> tuple[int, ...]:
    """As `plain_text`."""
    return plain_text(Request(grammar, number, max_tokens))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first one (default 0)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    asked = parser.parse_args()
    begin, done, cancelled, ran = time.monotonic(), 0, 0, 0
    for seed in range(asked.seed, asked.seed + asked.schedules):
        if time.monotonic() - begin > asked.seconds:
            break
        schedule = Schedule(seed)
        try:
            schedule.run()
        except BaseException:
            print(f"schedule {seed} failed", flush=True)
            raise
        done, cancelled, ran = done + schedule.done, cancelled + schedule.cancelled, ran + 1
    took = time.monotonic() - begin
    print(f"{ran:,} schedules, {done:,} texts as they are alone, {cancelled:,} cancelled, {took:.0f} s")


if __name__ == "__main__":
    main()
