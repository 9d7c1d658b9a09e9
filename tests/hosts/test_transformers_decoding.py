"""The decoding loop for `model.generate`: what it gives is what masked decoding gives."""

from __future__ import annotations

import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from transformers_models import BOS, EOS, GRAMMARS, IPV4, PAD, VOCABULARY, make_model, one_thread  # noqa: E402, F401

import derivable as dv  # noqa: E402
from derivable.integrations.transformers import DerivableLogitsProcessor  # noqa: E402
from derivable.integrations.transformers_decoding import (  # noqa: E402
    DerivableCandidateGenerator,
    DerivableDecoding,
)

PROMPT = torch.tensor([[BOS, 97, 98, 99, 32, 49, 50]])


def compiled(name: str) -> dv.Constraint:
    return dv.compile(GRAMMARS[name][0](), VOCABULARY)


def masked(model: Any, constraint: dv.Constraint, prompt: Any = PROMPT, **options: Any) -> list[list[int]]:
    """The ordinary loop with the processor: the definition."""
    processor = DerivableLogitsProcessor(constraint, max_new_tokens=options["max_new_tokens"])
    made = model.generate(prompt, logits_processor=[processor], **options)
    rows: list[list[int]] = made.tolist()
    return rows


@pytest.mark.parametrize("name", GRAMMARS)
def test_greedy_is_the_ordinary_loop(name: str) -> None:
    constraint = compiled(name)
    for seed in range(4):
        model = make_model(seed)
        expected = masked(model, constraint, max_new_tokens=40, do_sample=False)
        for options in ({"speculate": 0}, {"speculate": 6}, {"speculate": 6}, {"speculate": 3, "opportunistic": False}):
            decoding = DerivableDecoding(constraint, forced=False, **options)
            made = model.generate(PROMPT, custom_generate=decoding, max_new_tokens=40, do_sample=False)
            assert made.tolist() == expected, options
        assert decoding.decoders[0].counts.model_calls <= decoding.decoders[0].counts.steps


def test_a_constraint_of_another_vocabulary_is_refused() -> None:
    """Also where the grammar forces all of the text, so that no logits are ever asked for."""
    larger = dv.Vocabulary.from_bytes([*VOCABULARY.tokens, *[b"yes"] * 300], eos=[EOS])
    for pattern in ("yes", "a+"):
        decoding = DerivableDecoding(dv.compile(dv.Grammar.from_regex(pattern), larger))
        with pytest.raises(dv.MatcherError, match=f"for {VOCABULARY.size} tokens.* of {larger.size}"):
            make_model(1).generate(PROMPT, custom_generate=decoding, max_new_tokens=10)


def test_drafts_are_accepted_and_compose() -> None:
    constraint, model = compiled("json"), make_model(1)
    expected = masked(model, constraint, max_new_tokens=60, do_sample=False)
    small = make_model(1)  # an assistant that is always right
    for assistant, options in ((small, {}), (None, {"prompt_lookup_num_tokens": 4}), (None, {})):
        decoding = DerivableDecoding(constraint, forced=False, assistant_model=assistant)
        made = model.generate(PROMPT, custom_generate=decoding, max_new_tokens=60, do_sample=False, **options)
        assert made.tolist() == expected
        counts = decoding.decoders[0].counts
        if assistant is not None:
            assert counts.accepted == counts.drafted > 0 and counts.model_calls < counts.steps / 3
        elif not options:
            assert counts.accepted > 0 and counts.model_calls < counts.steps  # learned in the first two runs


def test_sampling_stays_in_the_grammar_and_follows_the_seed() -> None:
    constraint, model = compiled("ipv4"), make_model(2)
    decoding = DerivableDecoding(constraint)
    made = []
    options: dict[str, Any] = {"do_sample": True, "temperature": 1.3, "top_k": 20, "top_p": 0.9, "max_new_tokens": 40}
    for seed in (1, 1, 2, 3):
        torch.manual_seed(seed)
        made.append(model.generate(PROMPT, custom_generate=decoding, repetition_penalty=1.1, **options)[0].tolist())
        text = VOCABULARY.decode(t for t in made[-1][PROMPT.shape[1] :] if t < 256 + 35)
        assert re.fullmatch(IPV4, text.decode())
    assert made[0] == made[1] and len({tuple(one) for one in made}) == 3


def test_batches_with_padding_and_a_grammar_a_row() -> None:
    model, names = make_model(3), ["ipv4", "words", "json"]
    constraints = [compiled(name) for name in names]
    prompt = torch.tensor([[PAD, PAD, BOS, 97], [BOS, 97, 98, 99], [PAD, BOS, 49, 50]])
    mask = (prompt != PAD).long()
    decoding = DerivableDecoding(constraints, forced=False)
    made = model.generate(prompt, attention_mask=mask, custom_generate=decoding, max_new_tokens=30, do_sample=False)
    assert made.shape[0] == 3 and (made[:, :4] == prompt).all()
    for row, constraint in enumerate(constraints):
        alone = masked(model, constraint, prompt[row][mask[row].bool()][None], max_new_tokens=30, do_sample=False)
        kept = int(mask[row].sum())
        tokens = made[row, 4:].tolist()
        assert tokens[: len(alone[0]) - kept] == alone[0][kept:]
        assert set(tokens[len(alone[0]) - kept :]) <= {PAD}
    with pytest.raises(dv.ArgumentError, match="list of 3"):
        short = DerivableDecoding(constraints[:2])
        model.generate(prompt, attention_mask=mask, custom_generate=short, max_new_tokens=30)


def test_rows_without_a_constraint() -> None:
    model, constraint = make_model(3), compiled("json")
    prompt = torch.tensor([[BOS, 97, 98, 99], [BOS, 49, 50, 51]])
    decoding = DerivableDecoding([None, constraint], forced=False)
    made = model.generate(prompt, custom_generate=decoding, max_new_tokens=30, do_sample=False)
    free = model.generate(prompt[:1], max_new_tokens=30, do_sample=False)
    assert made[0].tolist()[: free.shape[1]] == free[0].tolist()
    bound = masked(model, constraint, prompt[1:], max_new_tokens=30, do_sample=False)
    assert made[1].tolist()[: len(bound[0])] == bound[0]
    assert decoding.decoders[0].matcher is None
    for wrong in ([None], [], [constraint, "x"]):
        with pytest.raises(dv.ArgumentError, match="constraint"):
            DerivableDecoding(wrong)  # type: ignore[arg-type]


def test_criteria_streamers_processors_and_outputs() -> None:
    model, constraint = make_model(4), compiled("json")
    plain = model.generate(PROMPT, custom_generate=DerivableDecoding(constraint), max_new_tokens=40, do_sample=False)
    seen: list[int] = []

    class Streamer:
        def put(self, value: Any) -> None:
            seen.extend(value.flatten().tolist())

        def end(self) -> None:
            seen.append(-1)

    out = model.generate(
        PROMPT,
        custom_generate=DerivableDecoding(constraint, streamer=Streamer()),
        max_new_tokens=40,
        do_sample=False,
        return_dict_in_generate=True,
    )
    assert out.sequences.tolist() == plain.tolist() and seen == [*plain[0, PROMPT.shape[1] :].tolist(), -1]

    class Third(transformers.StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            return torch.full((input_ids.shape[0],), input_ids.shape[1] >= PROMPT.shape[1] + 3)

    cut = model.generate(
        PROMPT,
        custom_generate=DerivableDecoding(constraint),
        max_new_tokens=40,
        do_sample=False,
        stopping_criteria=[Third()],
    )
    assert cut.tolist() == plain[:, : PROMPT.shape[1] + 3].tolist()
    short = model.generate(PROMPT, custom_generate=DerivableDecoding(constraint, finish=False), max_new_tokens=2)
    assert short.shape[1] == 9
    brace = [123]
    banned = model.generate(
        PROMPT,
        custom_generate=DerivableDecoding(constraint, forced=False),
        max_new_tokens=5,
        do_sample=False,
        bad_words_ids=[brace],
    )
    assert banned[0, PROMPT.shape[1]] != 123


def test_what_the_loop_does_not_do() -> None:
    model, constraint = make_model(5), compiled("json")
    for options, named in (
        ({"num_beams": 2}, "num_beams"),
        ({"output_scores": True, "return_dict_in_generate": True}, "output_scores"),
        ({"do_sample": True, "typical_p": 0.5}, "TypicalLogitsWarper"),
    ):
        with pytest.raises(dv.DerivableError, match=named):
            model.generate(PROMPT, custom_generate=DerivableDecoding(constraint), max_new_tokens=5, **options)
    for arguments in (
        {"constraint": 5},
        {"constraint": constraint, "speculate": -1},
        {"constraint": constraint, "speculator": 1},
    ):
        with pytest.raises(dv.ArgumentError):
            DerivableDecoding(**arguments)


def test_candidates_for_assisted_decoding() -> None:
    model, constraint = make_model(6), compiled("json")
    expected = masked(model, constraint, max_new_tokens=60, do_sample=False)
    generator = DerivableCandidateGenerator(constraint)
    drafted = []

    class Counting(DerivableCandidateGenerator):
        def get_candidates(self, input_ids: Any, **options: Any) -> Any:
            ids, logits = super().get_candidates(input_ids, **options)
            drafted.append(ids.shape[1] - input_ids.shape[1])
            probe = constraint.matcher()
            assert probe.count_valid(ids[0, PROMPT.shape[1] :].tolist()) == ids.shape[1] - PROMPT.shape[1]
            return ids, logits

    for _ in range(3):
        generator = Counting(constraint)
        model._get_candidate_generator = lambda generator=generator, **_: generator
        made = model.generate(
            PROMPT,
            logits_processor=[DerivableLogitsProcessor(constraint, drafts=True)],
            prompt_lookup_num_tokens=3,
            max_new_tokens=60,
            do_sample=False,
        )
        assert made.tolist() == expected
    assert sum(drafted) > 0
    with pytest.raises(dv.DerivableError, match="one row"):
        generator.get_candidates(PROMPT.repeat(2, 1))
    generator.reset()
    ids, _ = generator.get_candidates(PROMPT)
    assert ids.shape[1] >= PROMPT.shape[1]
    assert EOS not in ids[0].tolist()


# Batches of `generate`, in common forward passes


class Counted:
    """A model and how often it ran, on how many rows."""

    def __init__(self, model: Any) -> None:
        self.rows: list[int] = []
        forward = model.forward

        def counting(*args: Any, **options: Any) -> Any:
            self.rows.append(len(options["input_ids"]))
            return forward(*args, **options)

        counting.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
        model.forward = counting


def language_model(seed: int) -> Any:
    """A `TransformersLanguageModel` without a tokenizer of its own."""
    from derivable.decoding.models import TransformersLanguageModel
    from derivable.decoding.output_layer import OutputLayer

    made = TransformersLanguageModel.__new__(TransformersLanguageModel)
    made._torch, made._model, made._tokenizer = torch, make_model(seed).eval(), None
    made._output = OutputLayer(made._model, torch)
    made._takes_positions, made.vocabulary, made.context = True, VOCABULARY, None
    return made


@pytest.mark.parametrize("speculate", [0, 5])
def test_rows_of_a_batch_share_their_passes(speculate: int) -> None:
    names = ["ipv4", "words", "json", "json"]
    constraints = [compiled(name) for name in names]
    prompts = [[BOS, 97], [BOS, 97, 98, 99, 32], [BOS, 49, 50], [BOS, 123]]
    for seed in range(3):
        model = language_model(seed)
        options: dict[str, Any] = {"temperature": 0, "max_tokens": 40, "speculate": speculate, "heal": False}
        alone = [dv.generate(model, p, c, **options) for p, c in zip(prompts, constraints, strict=True)]
        counted = Counted(model._model)
        made = dv.generate(model, prompts, constraints, **options)
        assert [one.token_ids for one in made] == [one.token_ids for one in alone]
        assert [one.finish_reason for one in made] == [one.finish_reason for one in alone]
        longest = max(one.stats.model_calls for one in made)
        assert counted.rows[:4] == [1, 1, 1, 1] and max(counted.rows) == 4
        assert len(counted.rows) == longest - 1 + 4  # one pass for all behind the prompts'


def test_what_was_not_taken_is_asked_for_in_the_states_of_a_batch() -> None:
    grammar = dv.Grammar.from_json_schema({"enum": ["abc", "abd", "b", "axe"]}, profile="practical")
    constraint, model = dv.compile(grammar, VOCABULARY), language_model(2)
    prompts = [[BOS, 97], [BOS, 97, 98, 99, 32], [BOS, 49, 50]]
    options: dict[str, Any] = {"temperature": 1, "max_tokens": 40, "heal": False, "forced": False, "choices": "exact"}
    made = dv.generate(model, prompts, constraint, seed=[5, 6, 7], **options)
    for prompt, seed, row in zip(prompts, (5, 6, 7), made, strict=True):
        alone = dv.generate(model, prompt, constraint, seed=seed, **options)
        assert row.token_ids == alone.token_ids and row.choices[""].chosen == row.value
        for value, mass in row.choices[""].items():
            assert abs(mass - alone.choices[""][value]) < 1e-3


def test_states_join_leave_and_forget() -> None:
    """Whatever the order, logits are those of the tokens before."""
    model = language_model(5)
    generator = torch.Generator().manual_seed(0)

    def some(count: int) -> list[int]:
        return torch.randint(1, 90, (count,), generator=generator).tolist()

    states, tokens = [model.start() for _ in range(4)], [list[int]() for _ in range(4)]
    for state, own in zip(states, tokens, strict=True):
        own += some(3)
        state.append(own)
    for turn in range(30):
        chosen = [0, 1, 2, 3] if turn % 3 else [turn % 4, (turn + 1) % 4]
        new = [some(1 + (turn + row) % 4) for row in chosen]
        found = model.append_batch([states[row] for row in chosen], new)
        for row, ids, rows in zip(chosen, new, found, strict=True):
            tokens[row] += ids
            fresh = model.start().append(tokens[row])[-len(ids) :]
            torch.testing.assert_close(torch.tensor(rows), torch.tensor(fresh), atol=2e-4, rtol=1e-4)
            assert states[row].length == len(tokens[row])
            if turn % 2:
                keep = max(1, len(tokens[row]) - (turn + row) % 5)
                states[row].truncate(keep)
                del tokens[row][keep:]
        if turn % 7 == 0:
            tokens[1] += (ids := some(2))
            states[1].append(ids)


def test_every_text_is_complete_within_max_new_tokens() -> None:
    """Whichever way `generate` is told, in a batch, sampled or not."""
    model = make_model(2)
    prompt = torch.tensor([[BOS, 97, 98, 99], [BOS, 49, 50, 51]])
    for name, (_, accepts) in GRAMMARS.items():
        constraint = compiled(name)
        least = constraint.matcher(max_tokens=1000).least_tokens
        assert least is not None
        for most in (least, least + 2, 12):
            for how in ({"max_new_tokens": most}, {"max_length": 4 + most}):
                for sampled in ({"do_sample": False}, {"do_sample": True, "temperature": 3.0}):
                    made = model.generate(prompt, custom_generate=DerivableDecoding(constraint), **how, **sampled)
                    for row in made[:, 4:].tolist():
                        assert EOS in row and accepts(VOCABULARY.decode(row[: row.index(EOS)])), (name, most, row)
        with pytest.raises(dv.LimitError, match=f"{least} tokens or more"):
            model.generate(prompt, custom_generate=DerivableDecoding(constraint), max_new_tokens=least - 1)
