"""MLX-LM itself, on a CPU: `generate`, batches and speculation, each mask compared with that of a matcher of its own.

`test_hosts.py` tests the adapter with arrays of MLX alone.
"""
# ruff: noqa: E402 -- nothing of the library is imported where it is not installed

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

mx: Any = pytest.importorskip("mlx.core", reason="MLX is not installed: make test-hosts installs it")
mlx_lm: Any = pytest.importorskip("mlx_lm")

from mlx_lm.generate import BatchGenerator, batch_generate, generate, stream_generate
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.models.llama import Model, ModelArgs
from mlx_lm.sample_utils import make_sampler

import derivable as dv
from derivable.integrations.mlx import Processor, Processors
from derivable.tiny.export import export

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROMPT = "A person as JSON:\n"
PROMPTS = (PROMPT, "A date: ", "JSON: ", "A person as JSON:")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return mlx_lm.load(str(export(tmp_path_factory.mktemp("model"))))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def model(loaded: tuple[Any, Any]) -> Any:
    return loaded[0]


@pytest.fixture(scope="module")
def tokenizer(loaded: tuple[Any, Any]) -> Any:
    return loaded[1]


@pytest.fixture(scope="module")
def other(model: Any) -> Any:
    """A model of random weights, for drafts that are mostly wrong."""
    mx.random.seed(0)
    args = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 32}
    return Model(
        ModelArgs(**args, num_attention_heads=1, rms_norm_eps=1e-5, vocab_size=model.args.vocab_size)  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def vocabulary(model: Any, tokenizer: Any) -> dv.Vocabulary:
    return dv.Vocabulary.from_transformers(tokenizer._tokenizer, size=model.args.vocab_size)


@pytest.fixture(scope="module")
def person(vocabulary: dv.Vocabulary) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(PERSON), vocabulary)


@pytest.fixture(scope="module")
def date(vocabulary: dv.Vocabulary) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex(r"\d{4}-\d\d-\d\d"), vocabulary)


class Checked(Processor):
    """Compares each mask with that of a new matcher, for one generation, and counts the tokens taken back."""

    def __init__(self, constraint: dv.Constraint, max_tokens: int | None = None) -> None:
        super().__init__(constraint, max_tokens)
        self.most = max_tokens
        self.calls: list[list[int]] = []

    def __call__(self, tokens: Any, logits: Any) -> Any:
        self.calls.append(np.array(tokens).tolist())
        matcher = self._follower.constraint.matcher(self.most)
        for token in self.calls[-1][len(self.calls[0]) :]:
            if matcher.is_finished:
                break
            matcher.advance(token)
        masked = super().__call__(tokens, logits)
        finite = np.flatnonzero(np.isfinite(np.array(masked.astype(mx.float32))[0]))
        ends = list(self._follower.constraint.vocabulary.eos_ids)  # behind the end MLX-LM computes one more step
        assert finite.tolist() == (ends if matcher.is_finished else matcher.allowed_tokens().tolist())
        return masked

    @property
    def steps_back(self) -> int:
        return sum(len(after) <= len(before) for before, after in zip(self.calls, self.calls[1:]))


def is_person(text: str) -> bool:
    value = json.loads(text)
    return set(value) == {"name", "age"} and isinstance(value["age"], int)


def is_date(text: str) -> bool:
    return len(text) == 10 and text[4] == text[7] == "-" and text.replace("-", "").isdigit()


def sampler(temperature: float) -> Callable[[Any], Any]:
    return make_sampler(temp=temperature)  # type: ignore[no-any-return]


# One sequence


def test_generate(model: Any, tokenizer: Any, person: dv.Constraint) -> None:
    found = set()
    for seed in range(6):
        mx.random.seed(seed)
        checked = Checked(person, 40)
        options: dict[str, Any] = {"logits_processors": [checked], "max_tokens": 40, "sampler": sampler(1.5)}
        pieces = list(stream_generate(model, tokenizer, PROMPT, **options))
        assert pieces[-1].finish_reason == "stop"
        found.add("".join(piece.text for piece in pieces))
        assert len(checked.calls) >= pieces[-1].generation_tokens and not checked.steps_back
    assert all(map(is_person, found)) and len(found) > 1


@pytest.mark.parametrize("most", [12, 15, 30])
def test_texts_are_complete_within_max_tokens(model: Any, tokenizer: Any, vocabulary: Any, most: int) -> None:
    constraint = dv.compile(dv.Grammar.builtin("json"), vocabulary)
    ours = Processor(constraint, max_tokens=most)
    for seed in range(4):  # with the same prompt, one after the other
        mx.random.seed(seed)
        options: dict[str, Any] = {"logits_processors": [ours], "max_tokens": most, "sampler": sampler(3.0)}
        *_, last = pieces = list(stream_generate(model, tokenizer, PROMPT, **options))
        assert last.finish_reason == "stop" and last.generation_tokens <= most
        json.loads("".join(piece.text for piece in pieces))


def test_a_chat_goes_on_from_its_last_text(model: Any, tokenizer: Any, person: dv.Constraint) -> None:
    """Its next prompt begins with the last one and its text: a new generation, also where only one token is new."""
    ours = Processor(person)
    ids = tokenizer.encode(PROMPT)
    for more in ("\nAnother person as JSON:\n", "\n", " "):
        text = generate(model, tokenizer, ids, logits_processors=[ours], max_tokens=60)
        assert is_person(text)
        ids = [*ids, *tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        ids += tokenizer.encode(more, add_special_tokens=False)
    assert is_person(generate(model, tokenizer, ids, logits_processors=[ours], max_tokens=60))


def test_a_prompt_cache(model: Any, tokenizer: Any, person: dv.Constraint) -> None:
    """Processors are shown the new part of the prompt alone."""
    cache = make_prompt_cache(model)
    for more in (PROMPT, "\nAnother:\n", "\nAnother:\n"):
        checked = Checked(person, 40)
        options: dict[str, Any] = {"logits_processors": [checked], "max_tokens": 40, "prompt_cache": cache}
        assert is_person(generate(model, tokenizer, more, **options))
        assert checked.calls[0] == tokenizer.encode(more)


# Speculation


@pytest.mark.parametrize("drafts", [1, 2, 5])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_speculation(
    model: Any, other: Any, tokenizer: Any, person: dv.Constraint, drafts: int, temperature: float
) -> None:
    """Processors are shown tokens that nobody has verified, but each was chosen under their mask; some are taken back.
    Greedy texts are those without drafts."""
    plain = generate(model, tokenizer, PROMPT, logits_processors=[Processor(person, 40)], max_tokens=40)
    for draft_model in (model, other):
        for seed in range(3):
            mx.random.seed(seed)
            checked = Checked(person, 40)
            pieces = list(
                stream_generate(
                    model,
                    tokenizer,
                    PROMPT,
                    draft_model=draft_model,
                    num_draft_tokens=drafts,
                    logits_processors=[checked],
                    max_tokens=40,
                    sampler=sampler(temperature),
                )
            )
            text = "".join(piece.text for piece in pieces)
            assert is_person(text) and (temperature or text == plain) and pieces[-1].finish_reason == "stop"
            assert checked.steps_back
            if draft_model is model and not temperature:
                assert sum(piece.from_draft for piece in pieces) >= len(pieces) // 3


def test_speculation_one_after_the_other(model: Any, other: Any, tokenizer: Any, person: dv.Constraint) -> None:
    """With one processor: each generation begins with the last token of its prompt, which may be the same."""
    ours = Processor(person, 40)
    for seed, prompt in enumerate((PROMPT, PROMPT, "JSON:\n", "x", PROMPT)):
        mx.random.seed(seed)
        options: dict[str, Any] = {"logits_processors": [ours], "max_tokens": 40, "sampler": sampler(1.0)}
        assert is_person(generate(model, tokenizer, prompt, draft_model=(model, other)[seed % 2], **options))


# Batches


def test_batch_generate(model: Any, tokenizer: Any, person: dv.Constraint, date: dv.Constraint) -> None:
    prompts = [tokenizer.encode(prompt) for prompt in PROMPTS]
    for temperature in (0.0, 1.0):
        mx.random.seed(1)
        made = batch_generate(
            model,
            tokenizer,
            prompts,
            max_tokens=[40, 12, 9, 30],
            logits_processors=Processors([person, date, None, person], [40, 12, 9, 30]),
            sampler=sampler(temperature),
        )
        assert is_person(made.texts[0]) and is_date(made.texts[1]) and is_person(made.texts[3])
    free = batch_generate(model, tokenizer, prompts[2:3], max_tokens=9, sampler=sampler(0.0))
    greedy = batch_generate(
        model, tokenizer, prompts[:3], max_tokens=40, logits_processors=Processors([person, date, None])
    )
    assert greedy.texts[2].startswith(free.texts[0])
    for text, prompt, constraint in zip(greedy.texts, prompts, (person, date)):
        assert text == generate(model, tokenizer, prompt, logits_processors=[Processor(constraint)], max_tokens=40)


def test_one_constraint_for_all_sequences(model: Any, tokenizer: Any, person: dv.Constraint) -> None:
    prompts = [tokenizer.encode(prompt) for prompt in (*PROMPTS, PROMPT)]
    ours = Processors(person, max_tokens=25)
    made = batch_generate(model, tokenizer, prompts, max_tokens=25, logits_processors=ours, sampler=sampler(1.0))
    assert all(map(is_person, made.texts)) and len(made.texts) == 5


def test_continuous_batching(model: Any, tokenizer: Any, person: dv.Constraint, date: dv.Constraint) -> None:
    """Sequences come and go, and each has a processor of its own."""
    generator = BatchGenerator(
        model,
        max_tokens=40,
        stop_tokens=[[token] for token in tokenizer.eos_token_ids],
        completion_batch_size=3,
        prefill_batch_size=2,
        sampler=sampler(1.0),
    )
    waiting = [
        (tokenizer.encode(PROMPTS[at % 4]), [Checked(person, 40), Checked(date, 40), None][at % 3]) for at in range(12)
    ]
    texts: dict[int, list[int]] = {}
    kinds: dict[int, Any] = {}
    ended: set[int] = set()
    while waiting or len(ended) < len(kinds):
        if waiting and len(kinds) - len(ended) < 5:
            prompt, processor = waiting.pop()
            [uid] = generator.insert([prompt], logits_processors=[[processor] if processor else []])
            kinds[uid], texts[uid] = processor, []
        for response in generator.next_generated():
            if response.finish_reason != "stop":
                texts[response.uid].append(response.token)
            if response.finish_reason:
                ended.add(response.uid)
    generator.close()
    assert len(kinds) == 12
    for uid, ids in texts.items():
        if kinds[uid] is not None:
            fits = is_person if kinds[uid]._follower.constraint is person else is_date
            assert fits(tokenizer.decode(ids)) and not kinds[uid].steps_back


def test_one_processor_for_several_sequences_is_refused(model: Any, tokenizer: Any, person: dv.Constraint) -> None:
    prompts = [tokenizer.encode(prompt) for prompt in PROMPTS]
    ours = Processor(person)
    with pytest.raises(dv.MatcherError, match=r"take turns.*Processors"):
        batch_generate(model, tokenizer, prompts, logits_processors=[ours], max_tokens=40)
    ours.reset()
    with pytest.raises(dv.MatcherError, match="take turns"):  # of one prompt too, once they fall out of step
        batch_generate(model, tokenizer, prompts[:1] * 3, logits_processors=[ours], max_tokens=40, sampler=sampler(1.0))


def test_processors_of_the_same_prompt_that_fall_out_of_step(person: dv.Constraint) -> None:
    ours = Processor(person)
    logits = mx.zeros((1, person.vocabulary.size))
    ids = [5, 6, 7]
    for token in person.vocabulary.encode_bytes_greedy(b'{"name": "A'):
        ours(mx.array(ids), logits)
        ids.append(token)
    ours(mx.array([5, 6, 7]), logits)
    with pytest.raises(dv.MatcherError, match="take turns"):
        ours(mx.array(ids), logits)


def test_processors_of_a_batch_that_are_used_otherwise(
    model: Any, tokenizer: Any, person: dv.Constraint, date: dv.Constraint
) -> None:
    prompts = [tokenizer.encode(prompt) for prompt in PROMPTS]
    with pytest.raises(dv.MatcherError, match=r"has begun.*\[Processor"):
        generate(model, tokenizer, PROMPT, logits_processors=Processors(person), max_tokens=40)
    with pytest.raises(dv.MatcherError, match="more sequences than the 2"):
        batch_generate(model, tokenizer, prompts, logits_processors=Processors([person, date]), max_tokens=40)
    ours = Processors(date)
    batch_generate(model, tokenizer, prompts[:2], logits_processors=ours, max_tokens=14)
    with pytest.raises(dv.MatcherError, match="make new ones"):
        batch_generate(model, tokenizer, prompts[:2], logits_processors=ours, max_tokens=14)
    with pytest.raises(dv.LimitError):
        Processors([person, date], max_tokens=3)
    for wrong in ({"constraint": "x"}, {"constraint": [person], "max_tokens": [3, 4]}, {"constraint": [5]}):
        with pytest.raises(dv.ArgumentError):
            Processors(**wrong)


def test_a_token_that_the_mask_refused(person: dv.Constraint) -> None:
    ours = Processor(person)
    logits = mx.zeros((1, person.vocabulary.size))
    [x] = person.vocabulary.encode_bytes_greedy(b"x")
    ours(mx.array([5, 6, 7]), logits)
    with pytest.raises(dv.TokenRejectedError, match="does not heed"):
        ours(mx.array([5, 6, 7, x]), logits)


def test_files(tmp_path: Path) -> None:
    """A folder that the embedded model was written to is one that MLX-LM loads."""
    loaded, _ = mlx_lm.load(str(export(tmp_path, dtype="float16")))
    assert loaded.args.model_type == "llama"
