"""What makes decoding cheap changes no text: opportunistic masking, speculation, forced tokens."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fixed_models import END, VOCABULARY, WORDS, FixedModel, compiled, favouring, scattered

import derivable as dv
from derivable.decoding.sampling import Sampling

PATTERNS = ["(ab|c)*12", "[abc12 ]{3,9}", "a*b*c*1?", "1{4}|2{5}", "(a(b|c)1 ){1,4}2", "abcab12(c|ab)"]


def reference(model: FixedModel, prompt: Sequence[int], constraint: dv.Constraint, most: int) -> list[int]:
    """Greedy decoding from the definition: every mask, every step, one token at a time."""
    state, matcher, ids = model.start(), constraint.matcher(), list[int]()
    row = state.append(list(prompt))[-1]
    while len(ids) < most:
        allowed = matcher.allowed_tokens()
        token = int(allowed[row[allowed].argmax()])
        if token in model.vocabulary.eos_ids:
            break
        matcher.advance(token)
        ids.append(token)
        row = state.append([token])[-1]
    return ids


class Replay:
    """A drafter that knows a text, and says every third token wrong."""

    def __init__(self, token_ids: list[int], prompt: int) -> None:
        self.token_ids, self.prompt = token_ids, prompt

    def draft(self, matcher: dv.Matcher, token_ids: Sequence[int], most: int) -> list[int]:
        at = len(token_ids) - self.prompt
        guesses = self.token_ids[at : at + most]
        return [(g + 1) % len(WORDS) if (at + i) % 3 == 2 else g for i, g in enumerate(guesses)]


# The same text


@pytest.mark.parametrize("pattern", PATTERNS)
def test_greedy_is_the_definition(pattern: str) -> None:
    constraint = compiled(pattern)
    for seed in range(25):
        model = scattered(seed)
        expected = reference(model, [0, 1], constraint, 20)
        for speculate, opportunistic in itertools.product((0, 1, 4), (False, True)):
            result = dv.generate(
                model,
                [0, 1],
                constraint,
                temperature=0,
                max_tokens=20,
                speculate=speculate,
                opportunistic=opportunistic,
                drafters=[Replay(expected, 2)],
                forced=False,
                heal=False,
            )
            assert result.token_ids == expected, (seed, speculate, opportunistic)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"top_p": 0.7}, {"min_p": 0.2}, {"repetition_penalty": 1.5}])
def test_sampling_is_the_same_token_by_token(pattern: str, options: dict[str, Any]) -> None:
    constraint, speculator = compiled(pattern), dv.Speculator(threshold=0.2)
    accepted = drafted = 0
    for seed in range(40):
        arguments: dict[str, Any] = {"max_tokens": 20, "seed": seed, "heal": False, **options}
        model = scattered(seed % 3)
        plain = dv.generate(model, [0], constraint, speculate=0, opportunistic=False, **arguments)
        fast = dv.generate(model, [0], constraint, speculate=5, speculator=speculator, **arguments)
        assert (fast.token_ids, fast.finish_reason) == (plain.token_ids, plain.finish_reason)
        assert fast.stats.interventions == plain.stats.interventions
        assert fast.stats.model_calls <= plain.stats.model_calls and fast.stats.masks <= plain.stats.masks
        accepted += fast.stats.accepted
        drafted += fast.stats.drafted
    if pattern not in ("1{4}|2{5}", "abcab12(c|ab)"):  # there one choice decides all
        assert drafted > accepted > 0


def test_drafts_save_model_calls() -> None:
    model, constraint = favouring(3, 2, 0, 5), compiled("(ab|c){12}12")
    plain = dv.generate(model, [0], constraint, temperature=0, speculate=0, forced=False)
    assert plain.stats.model_calls == plain.stats.steps == 15 and plain.stats.drafted == 0
    for _ in range(2):
        dv.generate(model, [0], constraint, temperature=0, forced=False)
    fast = dv.generate(model, [0], constraint, temperature=0, forced=False)
    assert fast.token_ids == plain.token_ids
    assert fast.stats.model_calls <= 4 and fast.stats.accepted >= 8
    assert fast.stats.tokens == 14 and all(step.speculated for step in fast.trace[:4])
    assert dv.generate(model, [0], constraint, temperature=0, forced=False, speculate=0).stats.accepted == 0


def test_forced_tokens_need_no_model() -> None:
    model = favouring(1, 0)
    result = dv.generate(model, [0], compiled("abcab12(c|ab)1212"), temperature=0)
    assert result.text == "abcab12ab1212" and result.finish_reason == "stop"
    assert result.stats.model_calls <= 2  # one of them chooses between a, ab and c
    assert result.stats.forced >= 5 and result.stats.masks <= 2
    only = dv.generate(model, [0], compiled("abcab12"), temperature=0)
    assert (only.text, only.stats.model_calls, only.stats.masks) == ("abcab12", 0, 0)
    assert only.trace[-1].token_id == END and all(step.forced for step in only.trace)


@pytest.mark.parametrize("pattern", ["abcab12(c|ab)1212", "(ab|c){1,5}12", "a(bc){6}1", "abcab12"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_forced_text_in_the_tokens_of_the_model(pattern: str, temperature: float) -> None:
    """`"model"` is `False`, token by token; and never asks more often."""
    fewer = other = 0
    for seed in range(12):
        model = scattered(seed)
        options: dict[str, Any] = {"temperature": temperature, "seed": seed, "max_tokens": 40}
        left = dv.generate(model, [0], compiled(pattern), forced=False, speculate=0, **options)
        kept = dv.generate(model, [0], compiled(pattern), forced="model", **options)
        assert kept.token_ids == left.token_ids and kept.stats.model_calls <= left.stats.model_calls
        canonical = dv.generate(model, [0], compiled(pattern), forced="canonical", **options)
        assert canonical.token_ids == dv.generate(model, [0], compiled(pattern), forced=True, **options).token_ids
        fewer += kept.stats.model_calls < left.stats.model_calls
        other += canonical.token_ids != left.token_ids
    assert fewer and other


def test_who_splits_forced_text_is_named() -> None:
    for wrong in ("tokenizer", None, 2):
        with pytest.raises(dv.ArgumentError, match="canonical"):
            dv.generate(favouring(0), [0], compiled("ab"), forced=wrong)  # type: ignore[call-overload]


def test_the_end_is_forced_too() -> None:
    m = compiled("a|b").matcher()
    result = dv.generate(favouring(0), [1], m, temperature=0)
    assert (result.text, result.stats.model_calls, m.is_finished) == ("a", 1, True)
    no_end = dv.Vocabulary.from_bytes([b"a", b"b"], eos=[])
    model = FixedModel(lambda _: np.array([1, 0], np.float32))
    model.vocabulary = no_end
    result = dv.generate(model, [1], compiled("a|b", no_end), temperature=0)
    assert (result.text, result.finish_reason, result.is_complete) == ("a", "stop", True)


def chi_squared(observed: Counter[str], expected: dict[str, float]) -> tuple[float, int]:
    """The statistic, and its degrees of freedom; cells of fewer than 5 are put together."""
    total = sum(observed.values())
    assert set(observed) <= set(expected)
    cells: list[tuple[float, float]] = []
    rest = [0.0, 0.0]
    for text, probability in expected.items():
        if probability * total < 5:
            rest[0] += observed[text]
            rest[1] += probability * total
        else:
            cells.append((observed[text], probability * total))
    if rest[1] > 0:
        cells.append((rest[0], max(rest[1], 1e-9)))
    return sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1


def distribution(model: FixedModel, prompt: list[int], matcher: dv.Matcher, temperature: float) -> dict[str, float]:
    """The probability of every text under masked sampling, by enumeration."""
    found: Counter[str] = Counter()

    def visit(ids: list[int], matcher: dv.Matcher, probability: float) -> None:
        allowed = matcher.allowed_tokens()
        logits = model.logits(prompt + ids)[allowed].astype(np.float64) / temperature
        weights = np.exp(logits - logits.max())
        for token, weight in zip(allowed.tolist(), weights / weights.sum(), strict=True):
            if token == END:
                found[VOCABULARY.decode(ids).decode()] += probability * weight
            else:
                after = matcher.fork()
                after.advance(token)
                visit([*ids, token], after, probability * weight)

    visit([], matcher, 1.0)
    assert abs(sum(found.values()) - 1) < 1e-9
    return dict(found)


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("(ab|c){1,3}1", {"speculate": 0}),
        ("(ab|c){1,3}1", {"speculate": 3}),
        ("[abc]{1,3}", {"speculate": 3, "temperature": 0.7}),
        ("a(b|c)1?2?", {"speculate": 2, "opportunistic": False}),
        ("(a|ab|bc|c){2}", {"speculate": 4, "temperature": 1.5}),
    ],
)
@pytest.mark.parametrize("samples", [1500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_samples_have_the_distribution_of_masked_sampling(pattern: str, options: dict[str, Any], samples: int) -> None:
    model, constraint = scattered(11), compiled(pattern)
    expected = distribution(model, [4], constraint.matcher(), options.get("temperature", 1.0))
    speculator = dv.Speculator(threshold=0.1)
    observed: Counter[str] = Counter()
    for seed in range(samples):
        arguments = {"seed": seed, "speculator": speculator, "forced": False, "heal": False, **options}
        observed[dv.generate(model, [4], constraint, **arguments).text] += 1
    statistic, freedom = chi_squared(observed, expected)
    # Wilson and Hilferty: the cube root is nearly normal; 4.5 deviations are one in 300,000.
    deviations = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5
    assert freedom > 1 and deviations < 4.5, (statistic, freedom)


# Stops, streams, contexts, biases


def test_stop_strings_and_streams() -> None:
    model = favouring(3, 2)  # abababab...
    result = dv.generate(model, [0], temperature=0, max_tokens=9, stop="bab")
    assert (result.text, result.finish_reason, result.is_complete) == ("a", "stop_string", False)
    assert dv.generate(model, [0], temperature=0, max_tokens=4, stop=["x", "1"]).text == "abababab"
    stream = dv.generate(model, [0], temperature=0, max_tokens=5, stop=["abababab1", "zz"], stream=True)
    pieces = []
    for piece in stream:
        pieces.append(piece)
    assert "".join(pieces) == "ab" * 5 and stream.generation is not None and stream.generation.text == "ab" * 5
    stream = dv.generate(scattered(1), [0], compiled("(ab|c|1){8}"), stream=True, stop=["c1", "1c"], seed=3)
    text = "".join(stream)
    assert stream.generation is not None and text == stream.generation.text
    assert "c1" not in text and "1c" not in text
    half = dv.Vocabulary.from_bytes(["é".encode()[:1], "é".encode()[1:], None], eos=[2])
    model = FixedModel(lambda ids: np.eye(3, dtype=np.float32)[(len(ids) + 1) % 2])
    model.vocabulary = half
    assert list(dv.generate(model, [2], max_tokens=3, temperature=0, stream=True)) == ["é", "\ufffd"]


def test_context_and_lengths_hold_drafts_too() -> None:
    for context in range(1, 12):
        model = favouring(3, 2, 0, 5)
        model.context = context
        constraint = compiled("(ab|c){12}12")
        for _ in range(3):
            result = dv.generate(model, [0], constraint, temperature=0, finish=False)
            assert len(result.token_ids) == max(0, min(context - 1, 14))
    assert dv.generate(favouring(0), [0], max_tokens=0).token_ids == []


def test_bias_and_penalty() -> None:
    flat = FixedModel(lambda _: np.zeros(len(WORDS), np.float32))
    assert dv.generate(flat, [0], temperature=0, max_tokens=3, logit_bias={2: 1.0}).text == "ccc"
    assert dv.generate(flat, [0], temperature=0, max_tokens=2, logit_bias={2: -1.0, 1: 0}).text == "aa"
    for constrained in (None, dv.Grammar.from_regex("a+")):
        with pytest.raises(dv.ArgumentError, match=r"the model's tokens, which are 0 to 10, not int \(99\)"):
            dv.generate(flat, [0], constrained, logit_bias={2: -1.0, 99: 5})
    with pytest.raises(dv.ArgumentError, match=r"which are 0 to 3, not int \(4\)"):
        Sampling(logit_bias={4: 1.0}).scores(np.zeros(4), [])
    rising = FixedModel(lambda _: np.array([3, 2.9, 2.8, 0, 0, 0, 0, 0, 0, -9, -9], np.float32))
    assert dv.generate(rising, [9], temperature=0, max_tokens=4, repetition_penalty=1.2).text == "abca"
