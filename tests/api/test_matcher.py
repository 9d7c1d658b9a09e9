"""The matcher's methods: states, refusals that leave no trace, bitmasks, threads, long texts."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from shared_data import require_shared

import derivable as dv

TOKENS = [b"a", b"b", b"ab", b"aba", b"c", None, b"</s>", b"<eot>"]
EOS = [6, 7]
VOCABULARY = dv.Vocabulary.from_bytes(TOKENS, eos=EOS)
WIDE = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"ab", b'"a', b"</s>"], eos=[258])
JSON = r"""
root ::= "[" ws (value ("," ws value)*)? "]"
value ::= root | "true" | "false" | [0-9]+ | "\"" [a-z]* "\""
ws ::= " "?
"""


def start(pattern: str = "(ab)+c", vocabulary: dv.Vocabulary = VOCABULARY) -> dv.Matcher:
    return dv.compile(dv.Grammar.from_regex(pattern), vocabulary).matcher()


def mask(matcher: dv.Matcher) -> list[int]:
    """The allowed tokens, after checking that all three forms agree."""
    size = matcher.constraint.vocabulary.size
    bitmask = dv.allocate_bitmask(1, size)
    matcher.fill_bitmask(bitmask)
    bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")
    ids = matcher.allowed_tokens()
    assert ids.dtype == np.int32 and np.flatnonzero(bits).tolist() == ids.tolist()
    assert [t for t in range(size) if matcher.allows(t)] == ids.tolist()
    return ids.tolist()


def walk(matcher: dv.Matcher, seed: int, steps: int) -> list[list[int]]:
    """The masks along a random generation."""
    rng, seen = random.Random(seed), []
    for _ in range(steps):
        allowed = matcher.allowed_tokens().tolist()
        seen.append(allowed)
        if not allowed:
            break
        matcher.advance(rng.choice(allowed))
    return seen


# One state after another


def test_a_generation_from_start_to_end() -> None:
    matcher = start()
    assert mask(matcher) == [0, 2, 3] and matcher.length == 0
    for token, allowed in [(2, [0, 2, 3, 4]), (3, [1]), (1, [0, 2, 3, 4]), (4, EOS)]:
        matcher.advance(token)
        assert mask(matcher) == allowed
    assert matcher.is_accepting and not matcher.is_finished and matcher.next_bytes() == b""
    matcher.advance(7)
    assert matcher.is_finished and matcher.length == 5 and mask(matcher) == []
    for token in range(len(TOKENS)):
        with pytest.raises(dv.TokenRejectedError, match="finished"):
            matcher.advance(token)
    matcher.rollback(1)
    assert not matcher.is_finished and mask(matcher) == EOS
    matcher.rollback(4)
    assert mask(matcher) == [0, 2, 3] and "after 0 steps" in repr(matcher)


@pytest.mark.parametrize("token", [1, 4, 5, 6, 7, 8, -1, 2**40])
def test_a_refusal_leaves_no_trace(token: int) -> None:
    matcher = start()
    matcher.advance(3)
    matcher.rollback(1)
    before = mask(matcher), matcher.length, matcher.next_bytes()
    with pytest.raises(dv.TokenRejectedError) as caught:
        matcher.advance(token)
    assert caught.value.token_id == token
    assert (mask(matcher), matcher.length, matcher.next_bytes()) == before
    with pytest.raises(dv.TokenRejectedError) as bytes_caught:
        matcher.advance_bytes(b"abac")
    assert bytes_caught.value.token_id is None and bytes_caught.value.token_bytes == b"abac"
    assert (mask(matcher), matcher.length, matcher.next_bytes()) == before


def test_rollback_and_reset() -> None:
    matcher = start()
    matcher.advance_bytes(b"aba")  # counts as one step
    matcher.advance(1)
    for count in (3, 2**40, -1):
        with pytest.raises(dv.RollbackError, match="only 2"):
            matcher.rollback(count)
        assert matcher.length == 2 and mask(matcher) == [0, 2, 3, 4]
    matcher.rollback(0)
    matcher.rollback(1)
    assert mask(matcher) == [1]
    matcher.reset()
    assert matcher.length == 0 and mask(matcher) == [0, 2, 3]


def test_the_message_of_a_negative_rollback() -> None:
    with pytest.raises(dv.RollbackError, match="-1"):
        start().rollback(-1)


def test_two_ways_to_one_place() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", b"c", None], eos=[4])
    constraint = dv.compile(dv.Grammar.from_lark('start: ("a" "b" "c"?)+'), vocabulary)
    one, two = constraint.matcher(), constraint.matcher()
    one.advance(2)
    two.advance(0)
    assert not one.same_place(two)
    two.advance(1)
    assert one.same_place(two) and one.same_place(one) and one.length != two.length
    one.advance(3)
    assert not one.same_place(two)
    for matcher in (one, two):  # both may end here, but only one of them has ended
        assert matcher.is_accepting
    ended = two.fork()
    ended.advance(4)
    assert not ended.same_place(two)
    assert not two.same_place(dv.compile(dv.Grammar.from_regex("(abc?)+"), vocabulary).matcher())


def test_forks_are_independent() -> None:
    one = start()
    one.advance(2)
    two = one.fork()
    two.advance(4)
    assert (mask(one), mask(two)) == ([0, 2, 3, 4], EOS) and (one.length, two.length) == (1, 2)
    one.rollback(1)
    assert (mask(one), mask(two)) == ([0, 2, 3], EOS)
    two.rollback(2)
    assert mask(two) == [0, 2, 3]


def test_count_valid() -> None:
    matcher = start()
    for draft, count in [([], 0), ([2, 3, 1, 4, 6], 5), ([2, 1], 1), ([4], 0), ([2, 4, 6, 6], 3)]:
        assert matcher.count_valid(draft) == count
        assert matcher.length == 0 and mask(matcher) == [0, 2, 3]


def test_forced_tokens() -> None:
    matcher = start('{"ab":[0-9]}', WIDE)
    tokens = matcher.forced_tokens()
    assert tokens and matcher.forced_bytes() == b'{"ab":' and matcher.length == 0
    for token in tokens:
        assert matcher.allows(token)
        matcher.advance(token)
    assert WIDE.decode(tokens) == b'{"ab":'
    assert matcher.forced_tokens() == [] and matcher.forced_bytes() == b""


def test_explain() -> None:
    matcher = start()
    yes, no, special, end = (matcher.explain(t) for t in (2, 1, 5, 6))
    assert yes.allowed and yes.accepted_bytes == b"ab" and "is allowed" in str(yes)
    assert not no.allowed and no.accepted_bytes == b"" and no.expected_bytes == b"a" and "fails at byte 0" in no.reason
    assert not special.allowed and special.token_bytes is None and "special token" in special.reason
    assert not end.allowed and "not complete" in end.reason and matcher.length == 0


# Bitmasks


def test_bad_bitmasks() -> None:
    matcher, read_only = start(vocabulary=VOCABULARY), np.zeros((1, 1), np.int32)
    read_only.flags.writeable = False
    bad = [np.zeros((1, 1), t) for t in (np.int64, np.uint32, np.float32, ">i4")]
    bad += [np.zeros(1, np.int32), np.zeros((1, 0), np.int32), np.zeros((1, 1, 1), np.int32), read_only]
    bad += [np.zeros((2, 4), np.int32)[:, ::2], np.zeros((2, 2), np.int32).T]
    for array in bad[:-1]:
        with pytest.raises(dv.BitmaskShapeError):
            matcher.fill_bitmask(array)
        with pytest.raises(dv.BitmaskShapeError):
            dv.fill_bitmasks([matcher], array)
    with pytest.raises(dv.BitmaskShapeError):
        matcher.fill_bitmask(bad[-1])
    for row in (1, -1, 2**40):
        with pytest.raises(dv.BitmaskShapeError, match="outside"):
            matcher.fill_bitmask(np.zeros((1, 1), np.int32), row)
    with pytest.raises(dv.BitmaskShapeError, match="1 rows for 2"):
        dv.fill_bitmasks([matcher, matcher.fork()], dv.allocate_bitmask(1, 8))
    for batch, size in [(-1, 8), (1, 0)]:
        with pytest.raises(dv.BitmaskShapeError):
            dv.allocate_bitmask(batch, size)


def test_wider_rows_have_a_cleared_tail() -> None:
    bitmask = np.full((3, 4), -1, np.int32)
    start().fill_bitmask(bitmask, 1)
    assert bitmask.tolist() == [[-1] * 4, [0b1101, 0, 0, 0], [-1] * 4]


@pytest.mark.parametrize("threads", [None, 1, 8])
def test_a_batch_equals_single_masks(threads: int | None) -> None:
    constraint = dv.compile(dv.Grammar.from_gbnf(JSON), WIDE)
    matchers = [constraint.matcher() for _ in range(40)]
    for seed, matcher in enumerate(matchers):
        walk(matcher, seed, seed)
    batch, single = (np.full((41, 10), -1, np.int32) for _ in range(2))
    dv.fill_bitmasks(matchers, batch, threads=threads)
    for row, matcher in enumerate(matchers):
        matcher.fill_bitmask(single, row)
        if matcher.is_finished:  # nothing may follow; but a batch has no rows without a choice
            assert not single[row].any()
            single[row, np.array(WIDE.eos_ids) // 32] = 1 << np.array(WIDE.eos_ids) % 32
    assert np.array_equal(batch, single) and (batch[40] == -1).all()
    dv.fill_bitmasks([], batch)


def test_apply_bitmask() -> None:
    bitmask = dv.allocate_bitmask(2, 8)
    start().fill_bitmask(bitmask, 1)
    logits = np.zeros((2, 40), np.float32)  # wider: padding is refused
    assert dv.apply_bitmask(logits, bitmask) is logits
    assert np.isneginf(logits[0]).all() and np.flatnonzero(np.isfinite(logits[1])).tolist() == [0, 2, 3]
    one = np.ones(8)
    assert np.flatnonzero(np.isfinite(dv.apply_bitmask(one, bitmask[1]))).tolist() == [0, 2, 3]
    for wrong, words in [((3, 8), bitmask), ((1, 2, 8), bitmask), ((8,), bitmask), ((2, 8), bitmask.astype(np.int64))]:
        with pytest.raises(dv.BitmaskShapeError, match="do not fit"):
            dv.apply_bitmask(np.zeros(wrong), words)


@pytest.mark.parametrize(("dtype", "dimensions"), [(np.int64, 2), (np.float64, 3)])
def test_apply_bitmask_refuses_by_its_own_error(dtype: type, dimensions: int) -> None:
    bitmask = dv.allocate_bitmask(1, 8)
    with pytest.raises(dv.BitmaskShapeError):
        dv.apply_bitmask(np.zeros((1, 8), dtype), bitmask if dimensions == 2 else bitmask[None])


# Threads and long texts


def test_eight_threads_see_what_one_sees() -> None:
    seeds = range(64)
    grammar = dv.Grammar.from_gbnf(JSON)
    expected = [walk(dv.compile(grammar, WIDE).matcher(), seed, 60) for seed in seeds]
    shared = dv.compile(grammar, WIDE)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda seed: walk(shared.matcher(), seed, 60), seeds)) == expected


@pytest.mark.parametrize(
    ("grammar", "cycle"),
    [
        (dv.Grammar.from_gbnf(JSON), b'1,true,"ab",[],'),
        (dv.Grammar.from_gbnf('root ::= "[" root | "["'), b"["),
        (dv.Grammar.from_lark('start: "a" start | "a"'), b"a"),
    ],
    ids=["json", "right-recursive-gbnf", "right-recursive-lark"],
)
def test_the_second_10_000_steps_walk_no_more_than_the_first(grammar: dv.Grammar, cycle: bytes) -> None:
    matcher, walked = dv.compile(grammar, WIDE).matcher(), []
    first, bitmask = mask(matcher), dv.allocate_bitmask(1, WIDE.size)
    if b"," in cycle:
        matcher.advance(ord("["))
    for step in range(20_000):
        matcher.advance(cycle[step % len(cycle)])
        matcher.fill_bitmask(bitmask)
        if step in (9_999, 19_999):
            walked.append(matcher.constraint.stats()["walk_nodes"])
    assert walked[1] - walked[0] <= walked[0]
    assert matcher.constraint.stats()["stack_nodes"] < 200_000
    matcher.rollback(matcher.length)
    assert matcher.length == 0 and mask(matcher) == first


def test_ten_thousand_brackets() -> None:
    matcher = dv.compile(dv.Grammar.from_gbnf('root ::= "[" root "]" | "x"'), WIDE).matcher()
    for char in "[" * 10_000 + "x" + "]" * 10_000:
        assert not matcher.is_accepting
        matcher.advance(ord(char))
    assert mask(matcher) == [258]
    matcher.rollback(10_001)
    assert matcher.next_bytes() == b"[x"


def test_llama_3() -> None:
    vocabulary = dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-3"))
    matcher = dv.compile(dv.Grammar.from_regex(r'\{"name": "[a-z ]+"\}'), vocabulary).matcher()
    forced = matcher.forced_tokens()
    assert forced and b'{"name": "'.startswith(vocabulary.decode(forced))
    tokens = vocabulary.encode('{"name": "ada lovelace"}')
    assert matcher.count_valid(tokens) == len(tokens)
    for token in tokens:
        allowed = set(matcher.allowed_tokens().tolist())
        assert token in allowed
        assert {t for t in range(0, vocabulary.size, 37) if matcher.allows(t)} == {t for t in allowed if t % 37 == 0}
        matcher.advance(token)
    assert matcher.allowed_tokens().tolist() == sorted(vocabulary.eos_ids)


def test_batches_of_none_and_of_one_matcher_twice() -> None:
    dv.fill_bitmasks([], dv.allocate_bitmask(2, VOCABULARY.size))
    for wrong in (np.zeros(3, np.int32), np.zeros((2, 1), np.float32), [1, 2]):
        with pytest.raises(dv.BitmaskShapeError):
            dv.fill_bitmasks([], wrong)
    matcher = start()
    bitmask = dv.allocate_bitmask(64, VOCABULARY.size)
    dv.fill_bitmasks([matcher] * 64, bitmask, threads=4)
    assert (bitmask == bitmask[0]).all() and mask(matcher) == [0, 2, 3]


def test_explanations_show_text_and_what_comes_behind_a_complete_lexeme() -> None:
    grammar = dv.Grammar.from_gbnf('root ::= "a" [b-d]+ x? "!"\nx ::= "(" root ")"')
    matcher = dv.compile(grammar, WIDE).matcher()
    assert matcher.explain(0).expected == ('"a" [b-d]+',)
    matcher.advance_bytes(b"a")
    assert matcher.explain(0).lexeme == ('"a" [b-d]+',) and matcher.explain(0).expected == ()
    matcher.advance_bytes(b"b")
    assert set(matcher.explain(0).expected) == {'"!"', '"("'}


def test_ambiguous_generations_do_not_grow_the_stacks() -> None:
    matcher = dv.compile(dv.Grammar.from_gbnf('root ::= root root | "a"'), WIDE).matcher()
    for _ in range(3):
        for _ in range(100):
            matcher.advance(97)
        matcher.reset()
    assert matcher.constraint.stats()["stack_nodes"] < 1 << 18


def test_what_is_no_grammar_or_vocabulary_is_refused_by_name() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
    with pytest.raises(dv.GrammarError, match="str is no grammar"):
        dv.compile("a+", vocabulary)  # type: ignore[arg-type]
    with pytest.raises(dv.VocabularyError, match="list is no vocabulary"):
        dv.compile(dv.Grammar.from_regex("a+"), [b"a"])  # type: ignore[arg-type]


def test_sizes_beyond_all_memory() -> None:
    with pytest.raises(dv.BitmaskShapeError, match="too large"):
        dv.allocate_bitmask(2**62, 32)
    matcher = dv.compile(dv.Grammar.from_regex("a+"), dv.Vocabulary.from_bytes([b"a", None], eos=[1])).matcher()
    assert matcher.situation(2**32 - 1) == matcher.situation(9)  # at the bottom of the stack there is no more to tell


_SCHEMA = {"properties": {"ab": {"type": "integer"}, "ac": {"maxLength": 3}}}
_CLOSED = {"additionalProperties": False, "properties": {f"k{i}": {} for i in range(30)}}
NEXT_BYTES = [
    (dv.Grammar.from_json_schema(_SCHEMA), b'{"ab": -1, "ac": "\\u00e9x"}'),
    (dv.Grammar.from_json_schema(_CLOSED), b'{"k1": [1.5e3], "k22": null}'),
    (dv.Grammar.from_choices(["lorem ipsum " * 30, "lorem dolor"]), b"lorem ipsum lo"),
    (dv.Grammar.from_gbnf('root ::= "a" root? "b" | [é-ÿ]+ root | " " root'), "aéêab".encode()),
    (dv.Grammar.from_lark('start: (A | B)+\nA: /a+/\nB: "b"\n%ignore " "', lexing="scannerless"), b"aa b a"),
    (dv.Grammar.from_lark('start: (A | B)+\nA: /a+(?!b)/\nB: "b"\n%ignore " "'), b"aa b a"),
]


@pytest.mark.parametrize(("grammar", "text"), NEXT_BYTES)
def test_next_bytes_are_those_that_advance(grammar: dv.Grammar, text: bytes) -> None:
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"</s>"], eos=[256])
    matcher = dv.compile(grammar, vocabulary).matcher()
    for k in range(len(text) + 1):
        allowed = [b for b in range(256) if matcher.allows(b)]
        assert list(matcher.next_bytes()) == allowed
        matcher.advance_bytes(text[k : k + 1])
