"""Drafters, and masks of whole trees and sequences."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from fixed_models import END, VOCABULARY, WORDS, FixedModel, favouring, scattered

import derivable as dv
from derivable.decoding.drafters import DraftModel, PromptLookup


def compiled(pattern: str) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex(pattern), VOCABULARY)


@pytest.mark.parametrize("pattern", ["(ab|c)*12", "[abc12 ]{3,9}", "(a(b|c)1 ){1,4}2"])
def test_drafters_change_no_text(pattern: str) -> None:
    constraint = compiled(pattern)
    accepted = 0
    for seed in range(30):
        model = scattered(seed)
        arguments: dict[str, Any] = {"seed": seed, "max_tokens": 20, "heal": False}
        prompt = [0, 1, 2, 3, 3, 5, 7, 0, 1, 2, 3, 3]
        plain = dv.generate(model, prompt, constraint, speculate=0, **arguments)
        for drafters in (
            [PromptLookup()],
            [DraftModel(scattered(seed))],
            [PromptLookup(2, 1), DraftModel(favouring(2))],
        ):
            fast = dv.generate(model, prompt, constraint, drafters=drafters, speculate=4, **arguments)
            assert fast.token_ids == plain.token_ids
            accepted += fast.stats.accepted
    assert accepted > 20


def test_a_draft_model_that_is_the_model_is_always_right() -> None:
    model = scattered(4)
    constraint = compiled("[abc]{12}")
    fast = dv.generate(model, [0], constraint, temperature=0, drafters=[DraftModel(model)], speculate=5, forced=False)
    assert fast.stats.accepted == fast.stats.drafted > 0
    assert fast.stats.model_calls <= -(-fast.stats.steps // 5)
    shorter = FixedModel(model.logits, context=4)
    assert dv.generate(model, [0], constraint, temperature=0, drafters=[DraftModel(shorter)]).text == fast.text
    other = FixedModel(model.logits)
    other.vocabulary = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
    with pytest.raises(dv.MatcherError, match="same family"):
        dv.generate(model, [0], constraint, drafters=[DraftModel(other)])
    with pytest.raises(dv.ArgumentError, match="model"):
        DraftModel("gpt")  # type: ignore[arg-type]


def test_prompt_lookup() -> None:
    lookup = PromptLookup(3, 2)
    assert lookup.draft(None, [1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3], 2) == [4, 9]  # the longest match, not the latest
    assert lookup.draft(None, [2, 3, 4, 2, 3, 5, 7, 2, 3], 1) == [5]  # of equally long ones the latest
    assert lookup.draft(None, [1, 2, 3], 4) == [] == lookup.draft(None, [], 4)
    assert PromptLookup(1, 1).draft(None, [7, 7], 4) == [7]
    for longest, shortest in ((0, 0), (2, 3), (2.5, 1)):
        with pytest.raises(dv.ArgumentError):
            PromptLookup(longest, shortest)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["(ab|c)*12", "[abc12 ]{3,9}", "a*b*c*1?", "(a(b|c)1 ){1,4}2"])
def test_a_tree_is_its_paths(pattern: str) -> None:
    constraint = compiled(pattern)
    some = 0
    for seed in range(40):
        rng = random.Random(seed)
        size = rng.randrange(0, 12)
        parents = [rng.randrange(-1, node) for node in range(size)]
        tokens = [rng.randrange(len(WORDS)) if rng.random() < 0.3 else rng.choice([0, 1, 2, 3]) for _ in range(size)]
        matcher = constraint.matcher()
        if seed % 2:
            matcher.advance(int(matcher.allowed_tokens()[0]))
        before, length = matcher.allowed_tokens().tolist(), matcher.length
        bitmask = np.full((size + 2, 2), -1, np.int32)
        allowed = dv.fill_tree(matcher, tokens, parents, bitmask)
        assert allowed.shape == (size,) and allowed.dtype == bool
        assert (matcher.allowed_tokens().tolist(), matcher.length) == (before, length)
        assert bitmask[-1].tolist() == [-1, -1]  # not a row of the tree
        expected = dv.allocate_bitmask(1, VOCABULARY.size)
        for node in range(-1, size):
            path, at = list[int](), node
            while at >= 0:
                path.append(tokens[at])
                at = parents[at]
            place = matcher.fork()
            fits = place.count_valid(path[::-1]) == len(path)
            if node >= 0:
                assert allowed[node] == fits
            some += fits and node >= 0
            expected[:] = 0
            if fits:
                for token in path[::-1]:
                    place.advance(token)
                place.fill_bitmask(expected)
            assert bitmask[node + 1, 0] == expected[0, 0] and bitmask[node + 1, 1] == 0
    assert some > 20


def test_trees_that_are_none() -> None:
    matcher, bitmask = compiled("[abc]*").matcher(), dv.allocate_bitmask(3, VOCABULARY.size)
    for tokens, parents in (([0, 1], [-1]), ([0], [0]), ([0, 1], [1, -1]), ([0], [-2]), ([-1], [-1]), (5, [-1])):
        with pytest.raises(dv.ArgumentError):
            dv.fill_tree(matcher, tokens, parents, bitmask)  # type: ignore[arg-type]
    with pytest.raises(dv.BitmaskShapeError, match="4 rows"):
        dv.fill_tree(matcher, [0, 1, 2], [-1, 0, 1], bitmask)
    with pytest.raises(dv.BitmaskShapeError):
        dv.fill_tree(matcher, [0], [-1], bitmask.astype(np.int64))


@pytest.mark.parametrize("pattern", ["(ab|c)*12", "[abc12 ]{3,9}", "(a(b|c)1 ){1,4}2"])
def test_the_masks_of_a_sequence(pattern: str) -> None:
    constraint = compiled(pattern)
    for seed in range(20):
        ids = [*dv.generate(scattered(seed), [0], constraint, seed=seed).token_ids, END]
        masks = dv.sequence_bitmask(constraint, ids)
        assert masks.shape == (len(ids), 1) and masks.dtype == np.int32
        matcher = constraint.matcher()
        for row, token in enumerate(ids):
            assert [t for t in range(len(WORDS)) if masks[row, 0] >> t & 1] == matcher.allowed_tokens().tolist()
            matcher.advance(token)
        half = constraint.matcher()
        half.advance(ids[0])
        assert (dv.sequence_bitmask(half, ids[1:]) == masks[1:]).all() and half.length == 1
        assert (dv.sequence_bitmask(constraint, ids[:-1]) == masks[:-1]).all()
    assert dv.sequence_bitmask(constraint, []).shape == (0, 1)
    with pytest.raises(dv.TokenRejectedError, match="token 1 of 2") as caught:
        dv.sequence_bitmask(compiled("ab"), [0, 0])
    assert caught.value.token_id == 0
    with pytest.raises(dv.ArgumentError):
        dv.sequence_bitmask("ab", [0])  # type: ignore[arg-type]


def test_a_loss_under_the_grammar() -> None:
    """The example of docs/decoding.md: the loss of a text among what the grammar allows, without the forced tokens."""
    constraint = compiled("a(b|c)12")
    ids = [0, 1, 7, END]
    logits = np.zeros((4, len(WORDS)), np.float64)
    masks = dv.sequence_bitmask(constraint, ids)
    dv.apply_bitmask(logits, masks)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(4), ids]
    allowed = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little").sum(axis=1)
    np.testing.assert_allclose(losses, np.log(allowed))
    assert allowed.tolist() == [2, 2, 2, 1]  # a or ab; b or c; 1 or 12; the end
    assert (losses[allowed == 1] == 0).all()


def test_the_same_loss_with_torch() -> None:
    torch = pytest.importorskip("torch")
    constraint, target = compiled("a(b|c)12"), [0, 1, 7, END]
    raw = torch.zeros((4, len(WORDS)), requires_grad=True)
    logits = raw.clone()
    dv.apply_bitmask(logits, torch.from_numpy(dv.sequence_bitmask(constraint, target)))
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(target))
    loss.backward()
    assert loss.item() == pytest.approx(0.75 * np.log(2)) and bool((raw.grad[3] == 0).all())
