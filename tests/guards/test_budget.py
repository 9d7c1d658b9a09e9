"""What a step and a compilation may cost: counted, refused with a typed error, and gone on with by asking again."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
import pytest

import derivable as dv
from derivable import _kernel

_T = TypeVar("_T")
_MANY_CALLS = 20_000


def vocabulary() -> dv.Vocabulary:
    words = [
        "ab",
        "aa",
        "abab",
        "  ",
        "true",
        '",',
        '": "',
        "[1",
        ",2",
        "1,2",
        "x x",
        "def",
        " return",
        "\n    ",
        "();",
        "12",
        '"a"',
    ]
    return dv.Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [w.encode() for w in words] + [None], eos=[256 + len(words)]
    )


LARK = 'start: (WORD WORD? ";")+\nWORD: /[a-z]+(?= |;)/\n%ignore " "\n'
GRAMMARS: dict[str, tuple[Callable[[], dv.Grammar], str, int | None]] = {
    "schema": (
        lambda: dv.Grammar.from_json_schema(
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "pattern": "^[a-c]{2,}x"},
                    "b": {"enum": [1, 12, "ab"]},
                    "c": {"type": "string", "maxLength": 9},
                },
                "patternProperties": {"^x": {"type": "integer"}, "x$": {"type": "number"}},
            }
        ),
        '{"a": "abx", "b": 12, "c": "\\u00e4bc", "xx": 1}',
        None,
    ),
    "distinct": (
        lambda: dv.Grammar.from_json_schema(
            {"type": "array", "uniqueItems": True, "items": {"enum": [1, 12, "a", "ab", [1], {"a": 1}]}}
        ),
        '[1, 12, "ab", [1], "a"]',
        None,
    ),
    "ambiguous": (lambda: dv.Grammar.from_gbnf('root ::= root root | "a" | "ab" | root "b"\n'), "aababbaab", None),
    "longest": (lambda: dv.Grammar.from_lark(LARK), "ab cd;x;", None),
    "basic": (lambda: dv.Grammar.from_lark(LARK, lexing="basic"), "ab cd;x;", None),
    "lookahead": (lambda: dv.Grammar.from_lark(LARK), "ab cd;x;", 1),
    "python": (lambda: dv.Grammar.builtin("python"), "def f(a):\n    return a\n", None),
}


def ask(step: Callable[[], _T], matcher: dv.Matcher) -> tuple[_T, int]:
    """What a step gives when it is asked for as often as it takes, and how often that was."""
    length = matcher.length
    for calls in range(1, _MANY_CALLS):
        try:
            return step(), calls
        except dv.LimitError as error:
            assert error.limit == "max_step_work"
            assert error.used > error.allowed
            assert matcher.length == length
    raise AssertionError("no end")


def walk(matcher: dv.Matcher, text: str, *, fork: bool = False) -> Iterator[tuple[list[int], int]]:
    """The mask at each byte of a text, and how many calls mask and step took."""
    for byte in text.encode():
        if fork:
            matcher = matcher.fork()
        tokens, calls = ask(matcher.allowed_tokens, matcher)
        assert ask(partial(matcher.allows, byte), matcher)[0] == (byte in tokens)
        _, more = ask(partial(matcher.advance, byte), matcher)
        yield tokens.tolist(), calls + more


@pytest.mark.parametrize("name", GRAMMARS)
def test_refused_steps_end_in_the_same_masks(name: str) -> None:
    grammar, text, lookahead = GRAMMARS[name]
    free = dv.compile(grammar(), vocabulary(), lookahead=lookahead, limits=dv.Limits(max_step_work=1 << 60)).matcher()
    wanted = [mask for mask, calls in walk(free, text) if calls == 2]
    assert len(wanted) == len(text.encode())
    for work in (150, 3_000):
        bounded = dv.compile(
            grammar(), vocabulary(), lookahead=lookahead, limits=dv.Limits(max_step_work=work)
        ).matcher()
        found = list(walk(bounded, text, fork=work > 1_000))
        assert [mask for mask, _ in found] == wanted
        if work < 1_000:
            assert max(calls for _, calls in found) > 2, "nothing was refused"


@pytest.mark.parametrize("name", GRAMMARS)
def test_work_is_counted_alike_every_time(name: str) -> None:
    grammar, text, lookahead = GRAMMARS[name]

    def calls() -> list[int]:
        dv.cache.clear()
        constraint = dv.compile(grammar(), vocabulary(), lookahead=lookahead, limits=dv.Limits(max_step_work=400))
        return [n for _, n in walk(constraint.matcher(), text)]

    assert calls() == calls()


def test_a_row_is_written_whole_or_not_at_all() -> None:
    grammar = GRAMMARS["schema"][0]()
    constraint = dv.compile(grammar, vocabulary(), limits=dv.Limits(max_step_work=100))
    matcher, row = constraint.matcher(), dv.allocate_bitmask(1, constraint.vocabulary.size)
    row[:] = 0x5A5A5A5A
    before = row.copy()
    with pytest.raises(dv.LimitError, match="Ask again"):
        matcher.fill_bitmask(row)
    assert np.array_equal(row, before)
    ask(lambda: matcher.fill_bitmask(row), matcher)
    assert not np.array_equal(row, before)


def test_what_was_refused_can_be_rolled_back_and_forked() -> None:
    grammar, text, _ = GRAMMARS["ambiguous"]
    constraint = dv.compile(grammar(), vocabulary(), limits=dv.Limits(max_step_work=100))
    matcher = constraint.matcher()
    for byte in text.encode():
        ask(lambda byte=byte: matcher.advance(byte), matcher)
    with pytest.raises(dv.LimitError):
        matcher.allowed_tokens()
    fork = matcher.fork()
    matcher.rollback(len(text) - 2)
    other = constraint.matcher()
    other.advance_bytes(text[:2].encode())
    assert ask(matcher.allowed_tokens, matcher)[0].tolist() == ask(other.allowed_tokens, other)[0].tolist()
    assert fork.length == len(text)
    ask(fork.allowed_tokens, fork)


def test_work_grows_with_what_there_is_to_do() -> None:
    def work(size: int) -> int:
        schema = {
            "type": "object",
            "properties": {f"k{i}": {"type": "integer"} for i in range(size)},
            "additionalProperties": False,
        }
        matcher = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary()).matcher()
        with _kernel.Budget(None, 1 << 40) as budget:
            for byte in b'{"k1": ':
                matcher.allowed_tokens()
                matcher.advance(byte)
        return budget.work

    few, many = work(50), work(800)
    assert 2 * few < many < 256 * few  # never more than quadratic


# -- compiling ---------------------------------------------------------------------------------------------------

LARGE = r"[ab]*a[ab]{17}"
"""Its automaton has 2^18 states: more than a second of work."""
UNBOUNDED = dv.Limits(max_dfa_states=1 << 24)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_timeouts_that_are_none(timeout: float) -> None:
    with pytest.raises(dv.GrammarError, match="seconds"):
        dv.compile(dv.Grammar.from_regex("a"), vocabulary(), timeout=timeout)


@pytest.mark.parametrize(
    "grammar",
    [
        lambda: dv.Grammar.from_regex(LARGE),
        lambda: dv.Grammar.from_gbnf(
            "root ::= "
            + " | ".join(f"r{i}" for i in range(3000))
            + "".join(f'\nr{i} ::= [a-z]{{{i % 40}}} "{i}" root?' for i in range(3000))
        ),
        lambda: dv.Grammar.from_lark(f"start: (A B)+\nA: /{LARGE}/\nB: /x(?=a*b)/\n"),
        lambda: dv.Grammar.from_choices([f"word {i}" * 3 for i in range(80_000)]),
    ],
)
def test_a_deadline_is_a_limit(grammar: Callable[[], dv.Grammar]) -> None:
    made = grammar()
    with pytest.raises(dv.LimitError) as caught:
        dv.compile(made, vocabulary(), limits=UNBOUNDED, timeout=0.02)
    assert caught.value.limit == "timeout"
    assert caught.value.used >= caught.value.allowed == 0.02


@pytest.mark.parametrize(
    "schema", [{"const": [*range(3_000)]}, {"properties": {f"k{i}": {"type": "integer"} for i in range(3_000)}}]
)
def test_the_clock_is_looked_at_between_terminals(schema: dict[str, object]) -> None:
    """What is not counted is not bounded by a deadline: of 300,000 constants 1.3 s of 0.5 that were allowed."""
    grammar = dv.Grammar.from_json_schema(schema)
    with _kernel.Budget(None, 1 << 40) as budget:
        dv.compile(grammar, vocabulary())
    assert budget.work > 150 * 3_000


def test_filling_ahead_of_time_stops_at_the_deadline() -> None:
    """Which is no error: the rest is filled as texts come to it."""
    grammar = dv.Grammar.builtin("python")
    begun = time.perf_counter()
    constraint = dv.compile(grammar, vocabulary(), ahead_of_time=1 << 20, timeout=3.0)
    assert time.perf_counter() - begun < 6.0
    matcher, lazy = constraint.matcher(), dv.compile(grammar, vocabulary(), lookahead=None, limits=UNBOUNDED).matcher()
    for byte in b"def f(x):\n  y = {1: 'a'}\nz":
        assert matcher.allowed_tokens().tolist() == lazy.allowed_tokens().tolist()
        matcher.advance_bytes(bytes([byte]))
        lazy.advance_bytes(bytes([byte]))


def test_filling_ahead_of_time_stops_where_memory_does() -> None:
    limits = dv.Limits(cache_bytes=1 << 20)
    seen: list[int] = []
    constraint = dv.compile(
        dv.Grammar.builtin("python"),
        vocabulary(),
        ahead_of_time=1 << 20,
        limits=limits,
        progress=lambda done, _: seen.append(done),
    )
    assert 0 < len(seen) < 50_000
    assert constraint.matcher().allows(ord("x"))


def test_what_is_compiled_in_time_is_as_ever() -> None:
    constraint = dv.compile(dv.Grammar.from_regex("a|ab"), vocabulary(), timeout=60)
    assert bytes(constraint.matcher().next_bytes()) == b"a"


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_ends_a_compilation() -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.05):
        dv.compile(dv.Grammar.from_regex(r"[ab]*a[ab]{21}"), vocabulary(), limits=UNBOUNDED)


def test_a_signal_ends_a_step_and_leaves_it_as_it_was() -> None:
    """Whenever it comes: the masks afterwards are those of an undisturbed constraint."""
    grammar, text, _ = GRAMMARS["ambiguous"]
    long = text * 6
    free = dv.compile(grammar(), vocabulary()).matcher()
    wanted = [mask for mask, _ in walk(free, long)]
    disturbed = dv.compile(grammar(), vocabulary(), limits=dv.Limits(max_step_work=1 << 59)).matcher()
    masks: list[list[int]] = []
    times = iter([0.0003 * (1 + i) for i in range(400)])
    while disturbed.length < len(long):
        try:
            with interrupted_after(next(times, 60)):
                while disturbed.length < len(long):
                    mask = disturbed.allowed_tokens().tolist()
                    disturbed.advance(long.encode()[disturbed.length])
                    masks.append(mask)
        except KeyboardInterrupt:
            del masks[disturbed.length :]
            while len(masks) < disturbed.length:  # advanced, and not noted any more
                masks.append(wanted[len(masks)])
    assert masks == wanted


def work_of_a_walk(lark: str, text: bytes) -> int:
    """Of all masks of a text, under longest match."""
    matcher = dv.compile(dv.Grammar.from_lark(lark, lexing="longest"), vocabulary()).matcher()
    with _kernel.Budget(None, 1 << 40) as budget:
        for byte in text:
            matcher.allowed_tokens()
            matcher.advance(byte)
        matcher.allowed_tokens()
    return budget.work


@pytest.mark.parametrize(
    ("look", "text"),
    [
        ("A: /a+(?!.{0,%d}z)/\nB: /[b-z]/", b"aobaobaac" * 4),
        ("A: /[a-z]+(?=.{0,%d};)/\nB: /[a-z0-9;]/", b"ab0ab;0a;" * 4),
    ],
    ids=["forbids", "demands"],
)
def test_looking_ahead_further_costs_no_more_than_pairs_of_distances(look: str, text: bytes) -> None:
    """Each lexeme owes nearly the same as the one before: what was said before is not said again. With a formula for
    each set of distances a mask took twenty calls, and a walk of nine bytes 335 MB."""
    near, far = (work_of_a_walk("start: (A|B)+\n" + look % n, text) for n in (15, 60))
    assert far < 16 * near and far < 4_000_000, (near, far)


def test_what_can_follow_is_counted_for_what_it_takes() -> None:
    """Under longest match: looking up and keeping a hundred thousand obligations was counted as next to nothing, and a
    refused mask took 1.6 s. What a call has allocated says how much it has done, on every machine."""
    looks = [rf"/[a-z]{{1,{i + 2}}}(?=[0-9a-m]{{{i}}}x)|[{letter}x0]/" for i, letter in enumerate("bcdefghijklm")]
    named = [f"T{i}: {look}" for i, look in enumerate(looks)]
    lark = f"start: ({'|'.join(f'T{i}' for i in range(len(looks)))})+\n" + "\n".join(named)
    constraint = dv.compile(dv.Grammar.from_lark(lark, lexing="longest"), vocabulary())
    matcher, made = constraint.matcher(), []
    for _ in range(20):
        before = constraint.stats()["run_bytes"]
        try:
            matcher.allowed_tokens()
            break
        except dv.LimitError as error:
            assert error.limit == "max_step_work"
        made.append(constraint.stats()["run_bytes"] - before)
    assert len(made) > 1
    assert max(made) < 12 << 20  # 0.2 s


def test_looking_ahead_for_many_things_costs_no_more_than_the_way_there() -> None:
    """Eight letters, each somewhere: 256 sets of those that are still missing, and one look at eight letters that are
    found. A mask took more than seventy calls."""
    lark = "start: A\nA: /" + "".join(f"(?=.*{letter})" for letter in "abcdefgh") + ".{8,20}/"
    assert work_of_a_walk(lark, b"xxabx") < 20_000_000


def test_a_refused_token_is_gone_on_with() -> None:
    """Along ten thousand bytes, a call goes no further than it may, and the next one goes on from there."""
    gbnf = 'root ::= root root | "a" | "b" root "c" | [a-z ]+'
    among = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"ab" * 1_500, None], eos=[257])
    free = dv.compile(dv.Grammar.from_gbnf(gbnf), among, limits=dv.Limits(max_step_work=1 << 60)).matcher()
    free.advance(256)
    matcher = dv.compile(dv.Grammar.from_gbnf(gbnf), among, limits=dv.Limits(max_step_work=200_000)).matcher()
    spent = list[int]()
    for _ in range(1_000):
        try:
            with _kernel.Budget(None, 1 << 40) as budget:
                matcher.advance(256)
            break
        except dv.LimitError:
            spent.append(budget.work)
    assert matcher.length == 1 and spent
    assert max(spent) < 400_000
    assert matcher.next_bytes() == free.next_bytes()


def test_masks_whose_walk_never_ends_are_made_byte_by_byte() -> None:
    """Emphasis, as of Markdown: 64 stars can be read in more ways than a walk gets through, however often one asks."""
    gbnf = 'root ::= (b | i | t)*\nb ::= "**" root "**"\ni ::= "*" root "*"\nt ::= [a-z ]+'
    stars, words = [b"*" * n for n in range(2, 65)], [b"ab", b"the", b"of a", b" word"]
    mixed = [first + word + last for first in stars[:12] for word in words for last in stars[:12]]
    tokens = [*(bytes([b]) for b in range(256)), *stars, *words, *mixed, *(s + w for s in stars for w in words)]
    tokens += [w + s for s in stars for w in words]
    among = dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])
    matcher = dv.compile(dv.Grammar.from_gbnf(gbnf), among, limits=dv.Limits(max_step_work=500_000)).matcher()
    mask, calls = ask(matcher.allowed_tokens, matcher)
    assert 3 < calls < 200
    for token in range(0, len(tokens), 7):
        assert ask(partial(matcher.allows, token), matcher)[0] == (token in mask)


@pytest.mark.parametrize("letters", ["a-zé-ü日本", "a-z日", "a-zé-üÿ"])
def test_characters_of_several_bytes_byte_by_byte(letters: str) -> None:
    """What leads back to the same place is passed by as a whole: but for characters of which some do not."""
    gbnf = f'root ::= (b | i | t)*\nb ::= "**" root "**"\ni ::= "*" root "*"\nt ::= [{letters} ]+'
    parts = ["é", "ü", "ÿ", "日", "本", "月", "ab", " c", "É"]
    texts = [first + second + third for first in ("a", "é", "日", "**") for second in parts for third in parts]
    texts += [
        "b" + second + third
        for second in (*"é日a", "é日a")
        for third in (*"é日ab ", "éé", "日日", "a日", "abcdefghijklmnopqrstuvwxyz")
    ]
    cut = [text.encode()[:-1] for text in texts[::3]]  # some end within a character
    stars = [b"*" * n for n in range(2, 65)]
    tokens = sorted({*(bytes([b]) for b in range(256)), *stars, *(text.encode() for text in texts), *cut} - {b""})
    among = dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])
    matcher = dv.compile(dv.Grammar.from_gbnf(gbnf), among, limits=dv.Limits(max_step_work=500_000)).matcher()
    for piece in (b"", b"a", b"*", "é".encode()[:1] if "é" in letters else b"b"):
        ask(partial(matcher.advance_bytes, piece), matcher)
        mask = set(ask(matcher.allowed_tokens, matcher)[0].tolist())
        assert mask == {t for t in range(len(tokens) + 1) if ask(partial(matcher.allows, t), matcher)[0]}


def emphasis(limits: dv.Limits) -> tuple[dv.Constraint, int]:
    """A grammar whose masks are made byte by byte, and one of its tokens."""
    gbnf = 'root ::= (b | i | t)*\nb ::= "**" root "**"\ni ::= "*" root "*"\nt ::= [a-z ]+'
    stars, words = [b"*" * n for n in range(2, 40)], [b"ab", b"the", b"of a"]
    mixed = [first + word + last for first in stars[:12] for word in words for last in stars[:12]]
    tokens = [*(bytes([b]) for b in range(256)), *stars, *words, *mixed, *(s + w for s in stars for w in words)]
    among = dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])
    return dv.compile(dv.Grammar.from_gbnf(gbnf), among, limits=limits), ord("a")


def test_sequences_side_by_side_all_get_to_an_end() -> None:
    """Masks of one constraint that take several calls each, asked for in turn: each goes on from its own work."""
    count, texts = 12, [b"a" + b"*a" * n for n in range(12)]
    constraint, _ = emphasis(dv.Limits(max_step_work=100_000))
    wanted, alone = [], 0
    for text in texts:
        matcher = constraint.matcher()
        ask(partial(matcher.advance_bytes, text), matcher)
        mask, calls = ask(matcher.allowed_tokens, matcher)
        wanted.append(mask.tolist())
        alone += calls
    assert alone > 2 * count
    constraint, _ = emphasis(dv.Limits(max_step_work=100_000))
    open_ones = {n: constraint.matcher() for n in range(count)}
    for n, matcher in open_ones.items():
        ask(partial(matcher.advance_bytes, texts[n]), matcher)
    found, calls = dict[int, list[int]](), 0
    while open_ones:
        assert calls < 2 * alone
        for n, matcher in list(open_ones.items()):
            calls += 1
            try:
                found[n] = matcher.allowed_tokens().tolist()
                del open_ones[n]
            except dv.LimitError:
                pass
    assert [found[n] for n in range(count)] == wanted


def test_a_mask_that_is_kept_for_no_stack_is_kept_for_who_asks_again() -> None:
    """Forks of a sequence, or threads at the same place, ask for the same."""
    constraint, token = emphasis(dv.Limits(max_step_work=1 << 60))
    matcher = constraint.matcher()
    matcher.advance(token)
    wanted = matcher.allowed_tokens().tolist()
    with _kernel.Budget(None, 1 << 40) as budget:
        assert matcher.fork().allowed_tokens().tolist() == wanted
    assert budget.work < 1_000


def test_names_of_thousands_of_keys_cost_their_letters() -> None:
    """Of many keys those that go on with a byte are looked at, not each of them for each byte."""

    def work(n: int) -> int:
        keys = {f"k{i}": {"type": "integer"} for i in range(n)}
        schema = {"type": "object", "properties": keys, "additionalProperties": False}
        matcher = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary()).matcher()
        most = 0
        for byte in b'{"k1':
            matcher.advance(byte)
            with _kernel.Budget(None, 1 << 40) as budget:
                matcher.allowed_tokens()
            most = max(most, budget.work)
        return most

    small, large = work(500), work(2_000)
    assert large < 4.5 * small
    assert large < 500 * 2_000
