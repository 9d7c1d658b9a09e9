"""The masked sampling loop, against small models with known logits, and the two model adapters."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pytest
from embedded_model import needs_weights
from fixed_models import END, HOLE, VOCABULARY, WORDS, FixedModel, favouring, scattered

import derivable as dv
from derivable.decoding.generate import generate


def matcher(pattern: str) -> dv.Matcher:
    return dv.compile(dv.Grammar.from_regex(pattern), VOCABULARY).matcher()


def test_argmax_without_matcher() -> None:
    result = generate(favouring(3, END), [0], max_tokens=4, temperature=0)
    assert (result.token_ids, result.text, result.finish_reason) == ([3, 3, 3, 3], "abababab", "length")
    assert generate(favouring(END), [0], temperature=0).finish_reason == "stop"


def test_mask_takes_the_best_allowed_token() -> None:
    m = matcher("a(b|c)1")
    result = generate(favouring(END, 2, 3, 7, 5), [0], m, temperature=0, forced=False, opportunistic=False)
    # ab (3) is the best that fits, not END; c (2) may not begin; then 1 (5), not 12 (7); then the end.
    assert (result.token_ids, result.text_bytes, result.finish_reason) == ([3, 5], b"ab1", "stop")
    assert m.is_finished
    assert (result.stats.steps, result.stats.interventions, result.stats.forced) == (3, 2, 2)
    assert 0 < result.stats.mask_seconds < result.stats.seconds
    assert result.stats.tokens_per_second > 0 and result.stats.mean_mask_seconds * 3 == result.stats.mask_seconds


def test_length_leaves_a_prefix() -> None:
    m = matcher("[ab]{5}")
    result = generate(favouring(0), [0], m, max_tokens=3, temperature=0)
    assert (result.text, result.finish_reason) == ("aaa", "length")
    assert not m.is_accepting and not m.is_finished
    m.advance_bytes(b"bb")
    assert m.is_accepting


def test_context_bounds_the_length() -> None:
    model = FixedModel(favouring(0).logits, context=5)
    assert generate(model, [0, 1, 2], max_tokens=100).finish_reason == "length"
    assert len(generate(model, [0, 1, 2], max_tokens=100, temperature=0).token_ids) == 2
    assert generate(model, [0] * 5, max_tokens=100).token_ids == []


def test_continues_where_the_matcher_stands() -> None:
    m = matcher("(ab)+1")
    m.advance_bytes(b"aba")
    assert generate(favouring(5, 1), [0], m, temperature=0).text == "b1"


@pytest.mark.parametrize("pattern", ["(ab|c)*12", "[abc12 ]{3,9}", "a*b*c*1?", "1{4}|2{5}"])
@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"top_p": 0.5}, {"top_k": 4, "top_p": 0.8}, {"temperature": 3}])
def test_always_in_the_language(pattern: str, options: dict[str, float]) -> None:
    for seed in range(30):
        m = matcher(pattern)
        result = generate(scattered(seed), [0], m, max_tokens=60, seed=seed, **options)  # type: ignore[arg-type]
        if result.finish_reason == "stop":
            assert re.fullmatch(pattern, result.text), (seed, result)
        else:
            assert not m.is_finished


def test_wide_and_narrow_logits() -> None:
    for width in (len(WORDS) + 40, len(WORDS) - 1):
        for seed in range(20):
            result = generate(scattered(seed, width), [0], matcher("[abc]{4}"), seed=seed)
            assert re.fullmatch("[abc]{4}", result.text)


def test_the_mask_changes_nothing_that_it_does_not_refuse() -> None:
    same = 0
    for seed in range(60):
        free = generate(scattered(seed), [0], max_tokens=12, seed=seed)
        m = matcher("[abc12 ]*")
        result = generate(scattered(seed), [0], m, max_tokens=12, seed=seed)
        assert (result.stats.interventions == 0) == (HOLE not in free.token_ids)
        if not result.stats.interventions:
            same += 1
            assert (free.token_ids, free.finish_reason) == (result.token_ids, result.finish_reason)
    assert same > 20


def test_seeds() -> None:
    model = scattered(5)
    first = generate(model, [0], max_tokens=30, seed=3).token_ids
    assert first == generate(model, [0], max_tokens=30, seed=3).token_ids
    assert first != generate(model, [0], max_tokens=30, seed=4).token_ids
    # Without an end in sight: 30 draws agree by chance in less than one run of a billion.
    endless = FixedModel(lambda ids: np.where(np.arange(len(WORDS)) == END, -np.inf, 0).astype(np.float32))
    fresh = {tuple(generate(endless, [0], max_tokens=30, seed=None).token_ids) for _ in range(2)}
    assert len(fresh) == 2


def test_samples_from_the_softmax_of_what_is_allowed() -> None:
    logits = np.array([0.0, 1.0, 2.0, 5, 5, 5, 5, 5, 5, 5, 5], np.float32)
    constraint = dv.compile(dv.Grammar.from_regex("[abc]"), VOCABULARY)
    counts = np.zeros(3)
    for seed in range(3000):
        result = generate(FixedModel(lambda _: logits), [0], constraint.matcher(), temperature=2.0, seed=seed)
        counts[result.token_ids[0]] += 1
    expected = np.exp(logits[:3] / 2)
    assert np.abs(counts / 3000 - expected / expected.sum()).max() < 0.04


def test_top_k_and_top_p_keep_the_most_likely_allowed() -> None:
    logits = np.array([3.0, 2.0, 1.0, 9, 9, 9, 9, 9, 9, 9, 9], np.float32)
    constraint = dv.compile(dv.Grammar.from_regex("[abc]"), VOCABULARY)

    def seen(**options: float) -> set[str]:
        runs = (
            generate(FixedModel(lambda _: logits), [0], constraint.matcher(), seed=seed, **options)  # type: ignore[arg-type]
            for seed in range(200)
        )
        return {run.text for run in runs}

    assert seen() == {"a", "b", "c"}
    assert seen(top_k=2) == {"a", "b"}
    assert seen(top_k=1) == {"a"}
    assert seen(top_p=0.5) == {"a"}  # a alone has 0.665
    assert seen(top_p=0.8) == {"a", "b"}
    assert seen(top_p=1.0, top_k=50) == {"a", "b", "c"}
    assert seen(temperature=0.05) == {"a"}


def test_impossible_logits_cannot_break_the_mask() -> None:
    for value in (-np.inf, np.nan, np.inf):
        for temperature in (0.0, 1.0):
            model = FixedModel(lambda _, value=value: np.full(len(WORDS), value, np.float32))  # type: ignore[misc]
            with np.errstate(all="ignore"):
                result = generate(model, [0], matcher("(ab|1){2}"), temperature=temperature)
            assert re.fullmatch("(ab|1){2}", result.text)


def test_on_token_sees_every_token() -> None:
    seen: list[tuple[int, bytes]] = []
    result = generate(favouring(3, 5), [0], matcher("(ab){3}1"), on_token=lambda *token: seen.append(token))
    assert [token for token, _ in seen] == result.token_ids
    assert b"".join(data for _, data in seen) == result.text_bytes == b"ababab1"


def test_dead_end_of_the_vocabulary() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
    model = FixedModel(lambda _: np.zeros(2, np.float32))
    model.vocabulary = vocabulary
    with pytest.raises(dv.MatcherError, match="every byte is a token"):
        generate(model, [0], dv.compile(dv.Grammar.from_regex("ax"), vocabulary).matcher())


class NothingBehind(dv.Meaning):
    """No name is there."""

    slots = ("NAME",)

    def start(self) -> int:
        return 0

    def names(self, state: Hashable, slot: str) -> dv.Names:
        return dv.Names([])


def test_dead_end_of_a_meaning() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
    model = FixedModel(lambda _: np.zeros(3, np.float32))
    model.vocabulary = vocabulary
    grammar = dv.Grammar.from_lark('start: "a" NAME\nNAME: "b"').with_meaning(NothingBehind())
    with pytest.raises(dv.MatcherError, match="check_meaning"):
        generate(model, [0], dv.compile(grammar, vocabulary).matcher())


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": -1},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_k": 0},
        {"top_p": 0},
        {"top_p": 2},
    ],
)
def test_bad_arguments(options: dict[str, float]) -> None:
    with pytest.raises(dv.DerivableError, match=next(iter(options))):
        generate(favouring(0), [0], **options)  # type: ignore[arg-type]


def test_bad_prompts_and_matchers() -> None:
    with pytest.raises(dv.DerivableError, match="prompt is empty"):
        generate(favouring(0), [])
    m = matcher("a")
    generate(favouring(0), [0], m)
    with pytest.raises(dv.MatcherError, match="end token"):
        generate(favouring(0), [0], m)
    other = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
    with pytest.raises(dv.MatcherError, match=r"model\.vocabulary"):
        generate(favouring(0), [0], dv.compile(dv.Grammar.from_regex("a"), other).matcher())


@needs_weights
def test_embedded_model() -> None:
    from derivable.decoding.models import TinyLanguageModel

    model = TinyLanguageModel()
    ids = model.encode("A person as JSON:\n")
    assert model.decode(ids) == "A person as JSON:\n" and ids[1:] == model.encode("A person as JSON:\n")[1:]
    grammar = dv.Grammar.from_regex(r'\{"name": "[A-Z][a-z]{1,12}( [A-Z][a-z]{1,12})?", "age": [1-9][0-9]?\}')
    constraint = dv.compile(grammar, model.vocabulary)
    for seed in range(5):
        result = generate(model, ids, constraint.matcher(), seed=seed)
        assert result.finish_reason == "stop"
        assert json.loads(result.text).keys() == {"name", "age"}


@needs_weights
def test_embedded_state_truncates() -> None:
    from derivable.decoding.models import TinyLanguageModel

    model = TinyLanguageModel()
    state = model.start()
    first = state.append([*model.encode("Date: "), 300])
    state.append([301, 302])
    state.truncate(state.length - 3)
    np.testing.assert_allclose(state.append([300])[-1], first[-1], atol=1e-3)


@needs_weights
def test_transformers_model_agrees(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from derivable.decoding.models import TinyLanguageModel, TransformersLanguageModel
    from derivable.tiny.export import export

    tiny, other = TinyLanguageModel(), TransformersLanguageModel(export(tmp_path))
    assert other.vocabulary == tiny.vocabulary and other.context == tiny.context
    ids = tiny.encode("A product as JSON:\n")
    state = other.start()
    last = state.append(ids)[-1]
    assert state.length == len(ids)
    np.testing.assert_allclose(last, tiny.start().append(ids)[-1], atol=1e-2)
    prefilled = other.start()
    np.testing.assert_allclose(prefilled.prefill(ids), last[None], atol=1e-3)
    state.append([300, 301])
    state.truncate(len(ids) - 1)
    assert state.length == len(ids) - 1
    np.testing.assert_allclose(state.append(ids[-1:])[0], last, atol=1e-3)
    grammar = dv.Grammar.from_regex(r'\{"id": [0-9]{1,4}, "name": "[a-z ]{3,20}"\}')
    texts = [
        generate(model, ids, dv.compile(grammar, model.vocabulary).matcher(), seed=4).text for model in (tiny, other)
    ]
    assert texts[0] == texts[1] and other.decode(other.encode(texts[0])) == texts[0]


def test_missing_folder_is_our_error(tmp_path: Path) -> None:
    from derivable.decoding.models import TransformersLanguageModel

    with pytest.raises(dv.DerivableError, match="is no folder"):
        TransformersLanguageModel(tmp_path / "absent")
