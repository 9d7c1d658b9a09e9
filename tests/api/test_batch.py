"""Batches: rows without a constraint and rows that are finished, a row map, one advance for all, drafts and trees."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import derivable as dv

TOKENS = [b"a", b"b", b"ab", b"ba", b"c", None, b"</s>", b"<eot>"]
EOS = [6, 7]
ONLY_END = 1 << 6 | 1 << 7
VOCABULARY = dv.Vocabulary.from_bytes(TOKENS, eos=EOS)
BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"ab", b'"a', None], eos=[258])


def start(pattern: str = "(ab)+c", vocabulary: dv.Vocabulary = VOCABULARY) -> dv.Matcher:
    return dv.compile(dv.Grammar.from_regex(pattern), vocabulary).matcher()


def mask(matcher: dv.Matcher) -> list[int]:
    """The row of a batch, as words."""
    row = dv.allocate_bitmask(1, matcher.constraint.vocabulary.size)
    matcher.fill_bitmask(row)
    if matcher.is_finished and not row.any():
        for eos in matcher.constraint.vocabulary.eos_ids:
            row[0, eos // 32] |= 1 << eos % 32
    return row[0].tolist()


# Masks


def test_rows_without_a_constraint_allow_everything() -> None:
    bitmask = np.zeros((3, 4), np.int32)
    dv.fill_bitmasks([None, start()], bitmask)
    assert bitmask.tolist() == [[-1] * 4, [0b101, 0, 0, 0], [0] * 4]
    dv.fill_bitmasks([None] * 3, bitmask)
    assert (bitmask == -1).all()
    logits = np.ones((3, 200), np.float32)
    dv.apply_bitmask(logits[:, :128], bitmask)
    assert (logits == 1).all()


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("at", range(4))
def test_none_stands_anywhere_among_matchers(at: int, threads: int | None) -> None:
    """Beside matchers of every kind, in rows that are named, and where no one has a constraint."""
    known = start()
    prefetching = dv.compile(dv.Grammar.from_regex("(ab)+c"), VOCABULARY, prefetch=True).matcher()
    others: list[dv.Matcher | None] = [start(), known, prefetching, start("b+")]
    wanted = [[0b101, 0], [0b101, 0], [0b101, 0], [0b10, 0]]
    others[at], wanted[at] = None, [-1, -1]
    for rows in (None, [3, 1, 0, 2]):
        bitmask = np.full((5, 2), 77, np.int32)
        dv.fill_bitmasks(tuple(others), bitmask, rows=rows, threads=threads)
        assert [bitmask[row].tolist() for row in rows or range(4)] == wanted
        assert bitmask[4].tolist() == [77, 77]
    dv.advance([None, known], [10**6, 0], threads=threads)
    assert known.length == 1


def test_finished_rows_allow_end_of_sequence_only() -> None:
    matcher = start()
    for token in (2, 4, 7):
        matcher.advance(token)
    assert matcher.is_finished and matcher.allowed_tokens().tolist() == []
    bitmask = np.full((2, 2), -1, np.int32)
    dv.fill_bitmasks([matcher, start()], bitmask)
    assert bitmask.tolist() == [[ONLY_END, 0], [0b101, 0]]
    no_end = dv.Vocabulary.from_bytes([b"a"], eos=[])
    dv.fill_bitmasks([start("a", no_end)], bitmask)
    assert bitmask[0, 0] == 1


def test_a_finished_row_that_may_go_on_keeps_its_mask() -> None:
    """The token that ends the text is one that the grammar names, too."""
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2], special={"<end>": 2})
    grammar = dv.Grammar.from_ebnf('root ::= "a" (Token(2) "b")?')
    matcher = dv.compile(grammar, vocabulary).matcher()
    matcher.advance(0)
    matcher.advance(2)
    bitmask = dv.allocate_bitmask(1, 3)
    dv.fill_bitmasks([matcher], bitmask)
    assert bitmask[0, 0] == mask(matcher)[0] == 0b010


def test_rows_are_mapped() -> None:
    bitmask = np.full((5, 1), 77, np.int32)
    dv.fill_bitmasks([start("a"), None, start("c")], bitmask, rows=[3, 0, 1])
    assert bitmask.ravel().tolist() == [-1, 0b10000, 77, 0b1, 77]
    dv.fill_bitmasks([], bitmask, rows=[])
    for rows in ([0], [0, 1, 5], [0, 0, 1], [0, 1, 2**63 - 1]):
        with pytest.raises(dv.BitmaskShapeError):
            dv.fill_bitmasks([start("a"), None, start("c")], bitmask, rows=rows)
    for wrong in ([0, 1, -1], [0, 1, "2"], 5, [0, 1, None]):
        with pytest.raises(dv.ArgumentError):
            dv.fill_bitmasks([start("a"), None, start("c")], bitmask, rows=wrong)  # type: ignore[arg-type]
    assert bitmask.ravel().tolist() == [-1, 0b10000, 77, 0b1, 77]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_many_constraints_on_threads(threads: int) -> None:
    rng = random.Random(threads)
    constraints = [dv.compile(dv.Grammar.from_regex(f"[ab]*{'c' * i}[a-z]{{3,{i + 4}}}"), BYTES) for i in range(60)]
    matchers: list[dv.Matcher | None] = []
    for constraint in constraints * 2:
        matcher = constraint.matcher()
        for _ in range(rng.randrange(8)):
            allowed = matcher.allowed_tokens().tolist()
            if not allowed:
                break
            matcher.advance(rng.choice(allowed))
        matchers += [matcher, None]
    rows = rng.sample(range(300), len(matchers))
    for _ in range(3):
        bitmask = dv.allocate_bitmask(300, BYTES.size)
        dv.fill_bitmasks(matchers, bitmask, rows=rows, threads=threads)
        for matcher, row in zip(matchers, rows):
            assert bitmask[row].tolist() == ([-1] * 9 if matcher is None else mask(matcher))
        assert not bitmask[sorted(set(range(300)) - set(rows))].any()


def test_a_row_that_fails_does_not_keep_the_others() -> None:
    """What one grammar costs too much is its own affair."""
    grammar = dv.Grammar.from_regex("(a|b)*a(a|b){12}")
    poor = dv.compile(grammar, BYTES, limits=dv.Limits(max_step_work=10)).matcher()
    good = [start(pattern, BYTES) for pattern in ("a", "b", "c")]
    bitmask = np.zeros((4, 9), np.int32)
    with pytest.raises(dv.LimitError):
        dv.fill_bitmasks([good[0], poor, *good[1:]], bitmask)
    for row, matcher in zip((0, 2, 3), good):
        assert bitmask[row].tolist() == mask(matcher)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_pool_after_a_fork() -> None:
    """A child has none of its parent's threads; whether they ran before must not matter."""
    code = textwrap.dedent("""
        import os, derivable as dv
        vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
        def use(n):
            matchers = [dv.compile(dv.Grammar.from_regex(f"[ab]*{n}x{{{i}}}[^c]{{0,50}}"), vocabulary).matcher()
                        for i in range(40)]
            rows = dv.allocate_bitmask(40, vocabulary.size)
            dv.fill_bitmasks(matchers, rows, threads=4)
            alone = dv.allocate_bitmask(40, vocabulary.size)
            dv.fill_bitmasks(matchers, alone, threads=1)
            return (rows == alone).all()
        assert use(1)
        for n in range(2, 6):
            child = os.fork()
            if child == 0:
                os._exit(0 if use(n) else 3)
            assert os.waitpid(child, 0)[1] == 0
            assert use(n)
        print("all")
    """)
    source = str(Path(dv.__file__).parents[1])
    paths = os.pathsep.join([source, *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": paths}, timeout=120, capture_output=True, text=True
    )
    assert done.stdout == "all\n", done.stderr


# Tokens


def test_advance_takes_all() -> None:
    matchers = [start(), start("c"), None, start("b*")]
    dv.advance(matchers, [2, 4, 10**9, 1])
    assert [m and m.length for m in matchers] == [1, 1, None, 1]
    dv.advance(matchers[:2], np.array([4, 6]))
    assert matchers[1] is not None and matchers[1].is_finished
    dv.advance([], [])


def test_advance_takes_none_if_one_is_refused() -> None:
    one, two, three = start(), start("(a|b)*"), start("c")
    two.advance(0)
    for tokens, row in (([0, 1, 0], 2), ([1, 1, 4], 0), ([0, 5, 4], 1), ([0, 1, 10**7], 2), ([-1, 1, 4], 0)):
        before = [mask(m) for m in (one, two, three)]
        with pytest.raises(dv.TokenRejectedError, match=f"in row {row}") as caught:
            dv.advance([one, two, three], tokens)
        assert (caught.value.row, caught.value.token_id) == (row, tokens[row])
        assert [m.length for m in (one, two, three)] == [0, 1, 0]
        assert [mask(m) for m in (one, two, three)] == before
    with pytest.raises(dv.TokenRejectedError) as caught:
        one.advance(1)
    assert caught.value.row is None
    for wrong in ([0, 1], [0, 1, 4, 4], [0, 1, "c"], [0, None, 4]):
        with pytest.raises(dv.ArgumentError):
            dv.advance([one, two, three], wrong)  # type: ignore[arg-type]
    assert [m.length for m in (one, two, three)] == [0, 1, 0]


def test_matchers_that_prefetch_refuse_what_are_no_tokens() -> None:
    matcher = dv.compile(dv.Grammar.from_regex("(ab)+c"), VOCABULARY, prefetch=True).matcher()
    for wrong in (["c"], [None], [1.5], [[0]], [], [0, 1], "a", 5):
        with pytest.raises(dv.ArgumentError):
            dv.advance([matcher], wrong)  # type: ignore[arg-type]
    assert matcher.length == 0


def test_finished_rows_take_what_their_masks_allow() -> None:
    matcher = start("c")
    dv.advance([matcher], [4])
    dv.advance([matcher], [7])
    for _ in range(3):
        dv.advance([matcher, start()], [6, 2])
    assert matcher.is_finished and matcher.length == 2
    with pytest.raises(dv.TokenRejectedError, match="finished"):
        dv.advance([matcher], [0])


def test_a_matcher_twice_in_a_batch_goes_two_steps() -> None:
    matcher = start("ab(c|b)")
    dv.advance([matcher, start(), matcher], [0, 2, 1], threads=8)
    assert matcher.length == 2 and matcher.allowed_tokens().tolist() == [1, 4]
    with pytest.raises(dv.TokenRejectedError):
        dv.advance([matcher, matcher], [4, 4])
    assert matcher.length == 2 and matcher.allowed_tokens().tolist() == [1, 4]


def test_count_valid_looks_no_further_than_the_first_that_does_not_fit() -> None:
    matcher = start()
    for after in ([10**7], [-1], [2**70], [10**7, 4], [5, 10**9]):
        assert matcher.count_valid([2, 2, *after]) == 2
    assert matcher.count_valid([10**7]) == 0 and matcher.length == 0
    with pytest.raises(dv.ArgumentError):
        matcher.count_valid([10**7, "x"])


# Drafts


def drafted(matcher: dv.Matcher, tokens: Sequence[int], parents: Sequence[int]) -> tuple[list[list[int]], list[bool]]:
    """What `fill_draft` should find, by forks."""
    nodes: list[dv.Matcher | None] = [matcher.fork()]
    for token, parent in zip(tokens, parents):
        before = nodes[parent + 1]
        node = before.fork() if before is not None and 0 <= token < before.constraint.vocabulary.size else None
        if node is not None:
            node = node if node.allows(token) else None
        if node is not None:
            node.advance(token)
        nodes.append(node)
    end = start("")
    end.advance(6)
    return [mask(node or end) for node in nodes], [node is not None for node in nodes[1:]]


def test_a_chain() -> None:
    matcher = start()
    matcher.advance(0)
    for tokens in ([], [1], [1, 2, 4, 6], [1, 4, 7, 7], [1, 1, 2], [10**7, 1], [-1], [1, 2**70]):
        bitmask = np.full((8, 3), 77, np.int32)
        accepted = matcher.fill_draft(tokens, bitmask, row=2)
        count = matcher.count_valid(tokens)
        assert accepted.dtype == np.bool_ and accepted.tolist() == [i < count for i in range(len(tokens))]
        wanted, _ = drafted(matcher, tokens, range(-1, len(tokens) - 1))
        assert bitmask[2 : len(tokens) + 3].tolist() == [[*row, 0, 0] for row in wanted]
        assert (bitmask[:2] == 77).all() and (bitmask[len(tokens) + 3 :] == 77).all()
        assert matcher.length == 1


@pytest.mark.parametrize("seed", range(20))
def test_trees(seed: int) -> None:
    rng = random.Random(seed)
    matcher = start(rng.choice(["(ab)+c", "(a|b|c)*", "(a(b|c))*", "a?b?c?"]))
    size = rng.randrange(1, 30)
    tokens = [rng.randrange(-1, 9) for _ in range(size)]
    parents = [rng.randrange(-1, i) for i in range(size)]
    bitmask = np.full((size + 1, 1), 77, np.int32)
    accepted = matcher.fill_draft(tokens, bitmask, parents=parents)
    wanted, valid = drafted(matcher, tokens, parents)
    assert bitmask.tolist() == wanted and accepted.tolist() == valid and matcher.length == 0


def test_bad_drafts() -> None:
    matcher, bitmask = start(), np.zeros((3, 1), np.int32)
    for parents in ([0, 0], [-1, 1], [-2, 0], [-1], [-1, 0, 1], [-1, "0"], 5):
        with pytest.raises(dv.ArgumentError):
            matcher.fill_draft([2, 4], bitmask, parents=parents)  # type: ignore[arg-type]
    for tokens, row in (([2, 4, 6], 0), ([2, 4], 1), ([2], -1), ([], 3), ([2], 2**62)):
        with pytest.raises(dv.BitmaskShapeError):
            matcher.fill_draft(tokens, bitmask, row=row)
    assert not bitmask.any() and matcher.length == 0
