"""What may be allocated: bounded, refused with a typed error, given back and made again."""

from __future__ import annotations

import random
import sys
import zlib

import pytest

import derivable as dv
from guards.test_budget import GRAMMARS, LARGE, vocabulary, walk
from guards.test_threads import run

CHAIN = 40
"""`t0` may begin at every "a", so an LR state says where there were some among the last forty letters."""


def chain() -> dv.Grammar:
    """Any of the last letters may have begun a chain: LR states multiply. (Letters are rules, lest two become one.)"""
    rules = ["root ::= a root | b root | a t0", f't{CHAIN} ::= "c" root?', 'x ::= "" | "d" x "e"']
    letters = ['a ::= "a" | "(" a ")"', 'b ::= "b" | "(" b ")"']
    steps = (f"t{i} ::= a t{i + 1} x | b t{i + 1}" for i in range(CHAIN))
    return dv.Grammar.from_gbnf("\n".join([*rules, *letters, *steps]))


def test_a_compilation_that_takes_too_much() -> None:
    grammar, limits = dv.Grammar.from_regex(LARGE), dv.Limits(max_dfa_states=1 << 24, max_bytes=8 << 20)
    with pytest.raises(dv.LimitError) as caught:
        dv.compile(grammar, vocabulary(), limits=limits)
    assert caught.value.limit == "max_bytes"
    assert caught.value.used <= caught.value.allowed == 8 << 20


def test_what_fits_is_compiled() -> None:
    schema = {"type": "object", "properties": {f"k{i}": {"type": "string"} for i in range(200)}}
    dv.compile(dv.Grammar.from_json_schema(schema), vocabulary(), limits=dv.Limits(max_bytes=64 << 20))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds its memory")
def test_a_machine_without_memory_is_a_typed_error() -> None:
    done = run(f"""
        import resource
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (24 << 20), resource.RLIM_INFINITY))
        grammar = dv.Grammar.from_regex({LARGE!r})
        try:
            dv.compile(grammar, vocabulary, limits=dv.Limits(max_dfa_states=1 << 24))
        except dv.LimitError as error:
            print(error.limit)
    """)
    assert done.stdout == "memory of the machine\n", done.stderr


def run_along(constraint: dv.Constraint, steps: int) -> tuple[int, int, int, list[tuple[dv.Matcher, int]]]:
    """A checksum of the masks along a text, the most bytes and LR states at a time, and matchers on the way."""
    matcher, letters = constraint.matcher(), random.Random(1)
    checksum = most_bytes = most_states = 0
    forks = []
    for step in range(steps):
        mask = matcher.allowed_tokens()
        checksum = zlib.crc32(mask.tobytes(), checksum)
        if step % 3_000 == 0:
            forks.append((matcher.fork(), zlib.crc32(mask.tobytes())))
        matcher.advance(letters.choice(b"ab"))
        if step % 50 == 0:
            facts = constraint.stats()
            most_bytes, most_states = max(most_bytes, facts["run_bytes"]), max(most_states, facts["lr_states"])
    return checksum, most_bytes, most_states, forks


def test_what_a_run_makes_is_given_back() -> None:
    steps, room = 30_000, 64 << 20
    free = dv.compile(chain(), vocabulary())
    wanted, free_bytes, free_states, _ = run_along(free, steps)
    bounded = dv.compile(chain(), vocabulary(), limits=dv.Limits(cache_bytes=0))
    found, most_bytes, most_states, forks = run_along(bounded, steps)
    assert found == wanted
    assert most_bytes < room < free_bytes
    assert most_states < free_states / 2
    for fork, checksum in forks:
        assert zlib.crc32(fork.allowed_tokens().tobytes()) == checksum
        fork.rollback(fork.length)
        assert fork.allowed_tokens().tolist() == free.matcher().allowed_tokens().tolist()


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_the_same_after_all_was_given_back(name: str) -> None:
    grammar, text, lookahead = GRAMMARS[name]
    wanted = [mask for mask, _ in walk(dv.compile(grammar(), vocabulary(), lookahead=lookahead).matcher(), text)]
    constraint = dv.compile(grammar(), vocabulary(), lookahead=lookahead)
    matcher = constraint.matcher()
    states = []
    for i, byte in enumerate(text.encode()):
        if i % 3 == 1:
            matcher.allowed_tokens()
        constraint._kernel.give_back()
        states.append(constraint.stats()["lr_states"])
        assert matcher.allowed_tokens().tolist() == wanted[i]
        other = matcher.fork()
        if i > 2:
            other.rollback(2)
            constraint._kernel.give_back()
            assert other.allowed_tokens().tolist() == wanted[i - 2]
        matcher.advance(byte)
    assert len(states) == len(wanted)


def divided(limits: dv.Limits | None = None) -> dv.Constraint:
    """An integer divided by one of eighteen, over numbers of up to three digits."""
    numbers = [f"{n:0{digits}d}".encode() for digits in (2, 3) for n in range(10**digits)]
    tokens = [*(bytes([byte]) for byte in range(256)), *numbers, None]
    some = dv.Vocabulary.from_bytes(tokens, eos=[len(tokens) - 1])
    schema = {"type": "integer", "anyOf": [{"multipleOf": n} for n in range(2, 20)]}
    return dv.compile(
        dv.Grammar.from_json_schema(schema, whitespace="none", profile="spec"), some, limits=limits or dv.Limits()
    )


def test_what_is_forgotten_is_freed_as_fast_as_it_is_made() -> None:
    """What a mask met is not kept for good."""
    constraint = divided(dv.Limits(max_step_work=1_000_000_000))
    matcher, sizes = constraint.matcher(), []
    for digit in b"13456789123":
        matcher.allowed_tokens()
        matcher.advance(digit)
        stats = constraint.stats()
        sizes.append(stats["run_bytes"] - stats["spanner_bytes"])
    assert max(sizes[3:]) < 1.5 * max(sizes[:3])


def test_remainders_of_numbers_are_not_kept_together() -> None:
    """Each token leads eighteen remainders elsewhere. A mask follows them one by one: few of each, and many sets."""
    constraint = divided()
    matcher, sizes = constraint.matcher(), []
    for digit in b"13456789123" * 3:
        matcher.allowed_tokens()
        matcher.advance(digit)
        sizes.append(constraint.stats()["spanner_bytes"])
    assert sizes[-1] - sizes[10] < 10_000 * (len(sizes) - 11)


def test_states_that_a_text_passes_once_are_small() -> None:
    """What a step makes lives as long as the index, and so long as a constraint is served. A row of 256 next states for
    each was 1.3 KB a byte."""
    constraint = divided()
    sizes = []
    for _ in range(2):
        random_ = random.Random(2)
        matcher = constraint.matcher()
        for digit in random_.choices(b"13456789", k=500):
            matcher.advance(digit)
        sizes.append(constraint.stats()["spanner_bytes"])
    assert sizes[1] - sizes[0] == 0
    assert sizes[0] < 250_000


def test_states_of_many_counters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty counters in one string stand together in ever other ways. Past a share of the index's budget they are
    followed one by one, and who comes later gets an index of his own."""
    letters, random_ = b"abcdefgh", random.Random(1)
    words = {bytes(random_.choices(letters, k=random_.randint(2, 8))) for _ in range(4000)}
    some = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), *sorted(words), None], eos=[256 + len(words)])
    counters = [f"^(([^{c}]*{c}){{{n}}})*[^{c}]*$" for n in (3, 7, 11, 13) for c in "abcde"]
    schema = {"type": "string", "anyOf": [{"pattern": pattern} for pattern in counters]}
    monkeypatch.setattr(dv.cache, "limit", 64 << 20)
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), some)
    matcher, sizes = constraint.matcher(), []
    matcher.advance_bytes(b'"')
    for letter in random_.choices(letters, k=60):
        allowed = matcher.allowed_tokens()
        matcher.advance_bytes(bytes([letter]))
        sizes.append(constraint.stats()["spanner_bytes"])
    assert len(allowed) > len(words)
    assert sizes[-1] < 8 << 20 and sizes[-1] - sizes[30] < 200_000
    assert dv.compile(dv.Grammar.from_regex("ab"), some).stats()["spanner_bytes"] < sizes[-1] / 10
