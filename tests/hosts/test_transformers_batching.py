"""Continuous batching of transformers with a grammar for each request: masks are those of new matchers."""
# ruff: noqa: E402 -- nothing of transformers is imported where it is not installed

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")
pytest.importorskip("transformers.generation.continuous_batching.cb_logits_processors")
try:
    from derivable.integrations.transformers_batching import ConstrainedBatching, _Masks, generate_batch
except ImportError:
    pytest.skip("this transformers has no processors for each request", allow_module_level=True)

from transformers import GenerationConfig
from transformers.generation.configuration_utils import ContinuousBatchingConfig
from transformers_models import EOS, GRAMMARS, PAD, SIZE, VOCABULARY, make_model

import derivable as dv
from derivable.integrations import transformers_batching
from derivable.integrations.transformers import DerivableLogitsProcessor

PROMPTS = [list(text) for text in (b"What?", b"A list: ", b"yes or no", b"An address, please: ", b"x")]


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model(1, SIZE + 5)


@pytest.fixture(scope="module")
def constraints() -> dict[str, dv.Constraint]:
    return {name: dv.compile(make(), VOCABULARY) for name, (make, _) in GRAMMARS.items()}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Compares each row of logits with the mask of a new matcher after the request's tokens, and counts the rows; those
    of requests that were put off, too."""
    counts = {"rows": 0, "put off": 0}
    wanted: list[list[int] | None] = []
    prepare, call = _Masks.prepare_tensor_args, _Masks.__call__

    def prepared(self: Any, requests: list[Any]) -> Any:
        wanted.clear()
        for request in requests:
            asked = request.state.logit_processor_kwargs.get("constraint")
            if asked is None:
                wanted.append(None)
                continue
            matcher = asked.constraint.matcher(asked.max_tokens)
            state = request.state
            counts["put off"] += bool(state._true_initial_tokens)
            begun = state._true_initial_tokens or len(state.initial_tokens)
            for token in (state.initial_tokens + state.generated_tokens)[begun:]:
                matcher.advance(token)
            wanted.append(matcher.allowed_tokens().tolist())
        return prepare(self, requests)

    def called(self: Any, scores: Any, ids: Any) -> Any:
        before = scores.clone()
        masked = call(self, scores, ids)
        for at, allowed in enumerate(wanted):
            finite = np.flatnonzero(np.isfinite(masked[at].numpy())).tolist()
            assert finite == (list(range(scores.shape[1])) if allowed is None else allowed)
            assert torch.equal(masked[at][finite], before[at][finite])
            counts["rows"] += 1
        return masked

    monkeypatch.setattr(_Masks, "prepare_tensor_args", prepared)
    monkeypatch.setattr(_Masks, "__call__", called)
    yield counts


def config(**options: Any) -> ContinuousBatchingConfig:
    return ContinuousBatchingConfig(**{"num_blocks": 64, "max_batch_tokens": 64, "page_size": 16} | options)


def generation(**options: Any) -> GenerationConfig:
    return GenerationConfig(**{"eos_token_id": EOS, "pad_token_id": PAD, "do_sample": False} | options)


def text_of(tokens: list[int]) -> bytes:
    assert tokens[-1] == EOS and EOS not in tokens[:-1]
    return b"".join(VOCABULARY.token_bytes(token) or b"?" for token in tokens[:-1])


def test_greedy_texts_are_those_of_generate(model: Any, constraints: dict[str, dv.Constraint], checked: Any) -> None:
    names = [*GRAMMARS, "json"]
    found = generate_batch(
        model,
        PROMPTS,
        [constraints[name] for name in names],
        max_new_tokens=40,
        generation_config=generation(),
        continuous_batching_config=config(),
    )
    for prompt, name, result in zip(PROMPTS, names, found):
        assert result.prompt_ids == prompt and GRAMMARS[name][1](text_of(result.generated_tokens))
        alone = model.generate(
            torch.tensor([prompt]),
            logits_processor=[DerivableLogitsProcessor(constraints[name], max_new_tokens=40)],
            generation_config=generation(max_new_tokens=40),
        )
        assert result.generated_tokens == alone[0, len(prompt) :].tolist()
    assert checked["rows"] >= sum(len(result.generated_tokens) for result in found)


def test_requests_without_a_grammar_are_as_they_were(model: Any, constraints: dict[str, dv.Constraint]) -> None:
    options: dict[str, Any] = {"generation_config": generation(), "continuous_batching_config": config()}
    mixed = [constraints["json"], None, constraints["ipv4"], None, None]
    found = generate_batch(model, PROMPTS, mixed, max_new_tokens=30, **options)
    plain = list(model.generate_batch(PROMPTS, max_new_tokens=30, **options).values())
    for at, each in enumerate(mixed):
        assert (found[at].generated_tokens == plain[at].generated_tokens) is (each is None)


@pytest.mark.parametrize("most", [9, 20])
def test_budgets(model: Any, constraints: dict[str, dv.Constraint], checked: Any, most: int) -> None:
    options: dict[str, Any] = {"continuous_batching_config": config()}
    torch.manual_seed(most)
    sampled = generation(do_sample=True, temperature=3.0, top_k=0)
    found = generate_batch(
        model, PROMPTS, constraints["json"], max_new_tokens=most, generation_config=sampled, **options
    )
    for result in found:
        assert len(result.generated_tokens) <= most and GRAMMARS["json"][1](text_of(result.generated_tokens))
    with pytest.raises(dv.LimitError):
        generate_batch(model, PROMPTS, constraints["json"], max_new_tokens=2, generation_config=sampled, **options)


def test_requests_that_are_put_off(model: Any, constraints: dict[str, dv.Constraint], checked: Any) -> None:
    """The cache is too small for all: texts become part of their prompts, and prefills come in parts."""
    torch.manual_seed(0)
    prompts = [prompt * 3 for prompt in PROMPTS * 4]
    names = [name for name in GRAMMARS for _ in range(5)]
    found = generate_batch(
        model,
        prompts,
        [constraints[name] for name in names],
        max_new_tokens=50,
        generation_config=generation(do_sample=True, temperature=2.0, top_k=0),
        continuous_batching_config=config(num_blocks=20, page_size=8, max_batch_tokens=24, allow_block_sharing=False),
    )
    assert checked["put off"]
    for name, result in zip(names, found):
        assert GRAMMARS[name][1](text_of(result.generated_tokens))


def test_what_transformers_gives_up(model: Any, constraints: dict[str, dv.Constraint]) -> None:
    """A cache that is too small for one text."""
    with pytest.raises(dv.ModelError, match="can be scheduled"):
        generate_batch(
            model,
            PROMPTS[:1],
            dv.compile(dv.Grammar.from_regex("a{100}"), VOCABULARY),
            generation_config=generation(),
            continuous_batching_config=config(num_blocks=8, page_size=8),
        )


def test_several_sequences_of_a_prompt(model: Any, constraints: dict[str, dv.Constraint], checked: Any) -> None:
    torch.manual_seed(0)
    manager = model.init_continuous_batching(
        generation(do_sample=True, temperature=2.0, top_k=0, num_return_sequences=3), config()
    )
    batching = ConstrainedBatching(manager, VOCABULARY)
    manager.start()
    for name in GRAMMARS:
        batching.add_request(PROMPTS[0], constraints[name], request_id=name, max_new_tokens=50)
    texts: dict[str, list[bytes]] = {name: [] for name in GRAMMARS}
    while sum(map(len, texts.values())) < 3 * len(GRAMMARS):
        result = manager.get_result(timeout=10)
        assert result is not None
        texts[result.request_id.split("__")[0]].append(text_of(result.generated_tokens))
    manager.stop()
    for name, found in texts.items():
        assert len(found) == 3 and all(map(GRAMMARS[name][1], found))


def test_sampling_of_each_request_comes_behind_the_mask(model: Any, constraints: dict[str, dv.Constraint]) -> None:
    """With top-k of 1 before it, the mask would leave nothing."""
    sampled = generation(do_sample=True, temperature=2.0, top_k=50, top_p=0.99)
    manager = model.init_continuous_batching(sampled, config(per_request_processors=True))
    batching = ConstrainedBatching(manager, VOCABULARY)
    manager.start()
    for at, prompt in enumerate(PROMPTS):
        batching.add_request(
            prompt, constraints["json"], request_id=str(at), max_new_tokens=40, top_k=1, temperature=0.5, top_p=0.9
        )
    found = {}
    while len(found) < len(PROMPTS):
        result = manager.get_result(timeout=10)
        assert result is not None
        found[result.request_id] = result.generated_tokens
    manager.stop()
    greedy = generate_batch(
        model,
        PROMPTS,
        constraints["json"],
        max_new_tokens=40,
        generation_config=generation(),
        continuous_batching_config=config(),
    )
    assert [found[str(at)] for at in range(len(PROMPTS))] == [each.generated_tokens for each in greedy]


def test_streams_names_that_come_again_and_cancelled_requests(
    model: Any, constraints: dict[str, dv.Constraint], checked: Any
) -> None:
    manager = model.init_continuous_batching(generation(), config())
    batching = ConstrainedBatching(manager, VOCABULARY)
    manager.start()
    for round in range(3):
        batching.add_request(PROMPTS[1], constraints["words"], request_id="cancelled", max_new_tokens=30)
        manager.cancel_request("cancelled")
        name = list(GRAMMARS)[round]
        batching.add_request(PROMPTS[round], constraints[name], request_id="again", max_new_tokens=40, streaming=True)
        lengths: list[int] = []
        while True:
            result = manager.get_result(timeout=10)
            assert result is not None
            if result.request_id != "again":
                continue
            lengths.append(len(result.generated_tokens))
            if result.is_finished():
                break
        assert GRAMMARS[name][1](text_of(result.generated_tokens)) and lengths == sorted(lengths) and len(lengths) > 1
    manager.stop()
    assert not batching.errors


def test_a_mask_that_cannot_be_made_ends_its_text_alone(
    model: Any, constraints: dict[str, dv.Constraint], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = dv.compile(dv.Grammar.from_regex("[ab]{20}"), VOCABULARY)
    fill = transformers_batching.fill_mask_ids

    def filled(matchers: list[Any], ids: Any, table: Any) -> int:
        if any(each.constraint is broken and each.tokens_left == 37 for each in matchers):
            raise dv.LimitError("too much work", 2, 1)
        return fill(matchers, ids, table)

    monkeypatch.setattr(transformers_batching, "fill_mask_ids", filled)
    manager = model.init_continuous_batching(generation(), config())
    batching = ConstrainedBatching(manager, VOCABULARY)
    manager.start()
    batching.add_request(PROMPTS[0], broken, request_id="broken", max_new_tokens=40)
    batching.add_request(PROMPTS[1], constraints["json"], request_id="json", max_new_tokens=40)
    found = {}
    while len(found) < 2:
        result = manager.get_result(timeout=10)
        assert result is not None
        found[result.request_id] = text_of(result.generated_tokens)
    manager.stop()
    assert re.fullmatch(b"[ab]{3,}", found["broken"]) and GRAMMARS["json"][1](found["json"])
    [(name, error)] = batching.errors.items()
    assert name == "broken" and isinstance(error, dv.LimitError)
    with pytest.raises(dv.LimitError, match="too much work"):
        generate_batch(
            model,
            PROMPTS[:1],
            broken,
            max_new_tokens=40,
            generation_config=generation(),
            continuous_batching_config=config(),
        )


def test_refusals(model: Any, constraints: dict[str, dv.Constraint]) -> None:
    manager = model.init_continuous_batching(generation(), config())
    for wrong in ("x", None):
        with pytest.raises(dv.ArgumentError, match="vocabulary"):
            ConstrainedBatching(manager, wrong)  # type: ignore[arg-type]
    wide = dv.Vocabulary.from_bytes([b"%d" % at for at in range(5000)], eos=[0])
    with pytest.raises(dv.MatcherError, match=r"5,?000"):
        ConstrainedBatching(manager, wide)
    batching = ConstrainedBatching(manager, VOCABULARY)
    other = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
    with pytest.raises(dv.MatcherError, match="another vocabulary"):
        batching.add_request([1], dv.compile(dv.Grammar.from_regex("a"), other))
    warm = dv.compile(dv.Grammar.from_regex("a+").with_temperature(0.5), VOCABULARY)
    with pytest.raises(dv.MatcherError, match="temperatures"):
        batching.add_request([1], warm)
    with pytest.raises(dv.LimitError):
        batching.add_request([1], constraints["json"], max_new_tokens=1)
    with pytest.raises(dv.ArgumentError):
        batching.add_request([1], "x")  # type: ignore[arg-type]
    for given in ([constraints["json"]], [None, None], "x"):
        with pytest.raises(dv.ArgumentError):
            generate_batch(model, PROMPTS[:2], given)  # type: ignore[arg-type]
    manager.start()
    manager.stop(keep_for_next_session=True)
    with pytest.raises(dv.MatcherError, match="has been started"):
        ConstrainedBatching(manager, VOCABULARY)
    model.destroy_cached_continuous_batching_manager()
    manager = model.init_continuous_batching(generation(), config())
    manager.continuous_batching_config.use_async_batching = True
    with pytest.raises(dv.MatcherError, match="use_async_batching=False"):
        ConstrainedBatching(manager, VOCABULARY)


def test_the_plain_processor_is_declined() -> None:
    """transformers drops it with a warning: it is shown one token of each row, and not whose row it is."""
    from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessorList
    from transformers.generation.logits_process import LogitsProcessorList

    ours = DerivableLogitsProcessor(dv.compile(dv.Grammar.from_regex("a"), VOCABULARY))
    assert len(ContinuousBatchingLogitsProcessorList(LogitsProcessorList([ours])).logits_processor) == 0
