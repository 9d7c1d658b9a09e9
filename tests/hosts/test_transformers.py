"""The transformers adapter: every way of decoding stays inside the grammar, and greedy search is a naive loop's.

The model is a random two-layer Llama over a small byte-level vocabulary: it has no reason to keep to any grammar. The
embedded model is used too where its weights are.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from transformers_models import (  # noqa: E402
    BOS,
    EOS,
    GRAMMARS,
    JSON,
    PAD,
    SIZE,
    VOCABULARY,
    batch,
    check,
    constraint_of,
    generate,
    make_model,
    naive_greedy,
    one_thread,  # noqa: F401
    texts,
    without_end,
)

import derivable as dv  # noqa: E402
from derivable.integrations.transformers import DerivableLogitsProcessor  # noqa: E402


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model(1)


@pytest.fixture(scope="module", params=GRAMMARS)
def case(request: pytest.FixtureRequest) -> tuple[dv.Constraint, Any]:
    make, accepts = GRAMMARS[request.param]
    return dv.compile(make(), VOCABULARY), accepts


@pytest.mark.parametrize("prompt", [b"", b"an address: ", b'{"a": "b", "ab": [12, 345]} and again '])
def test_greedy_is_the_naive_loop(model: Any, case: Any, prompt: bytes) -> None:
    inputs = batch(prompt)
    output = generate(model, DerivableLogitsProcessor(case[0]), inputs)
    check(case, inputs, output)
    expected = naive_greedy(model, case[0], inputs["input_ids"][0].tolist(), 40)
    assert output[0, inputs["input_ids"].shape[1] :].tolist() == expected


def test_batch_with_left_padding(model: Any, case: Any) -> None:
    prompts = [b"a", b"some longer text: ", b"", b'{"ab": ']
    inputs = batch(*prompts)
    output = generate(model, DerivableLogitsProcessor(case[0]), inputs)
    check(case, inputs, output)
    for prompt, row in zip(prompts, output[:, inputs["input_ids"].shape[1] :].tolist()):
        assert without_end(row) == without_end(naive_greedy(model, case[0], [BOS, *prompt], 40))


@pytest.mark.parametrize(
    "how",
    [
        {"do_sample": True},
        {"do_sample": True, "top_k": 3, "temperature": 2.0},
        {"do_sample": True, "top_p": 0.8},
        {"do_sample": True, "num_return_sequences": 5},
        {"num_beams": 4},
        {"num_beams": 4, "num_return_sequences": 2, "length_penalty": 2.0},
        {"num_beams": 3, "early_stopping": True, "repetition_penalty": 1.5},
        {"num_beams": 4, "do_sample": True},
        {"do_sample": True, "renormalize_logits": True, "eta_cutoff": 1e-3},
        {"cache_implementation": "static"},
        {"use_cache": False, "do_sample": True},
    ],
    ids=str,
)
def test_every_way_of_decoding(model: Any, case: Any, how: dict[str, Any]) -> None:
    inputs = batch(b"x", b"one more: ")
    for seed in range(3):
        check(case, inputs, generate(model, DerivableLogitsProcessor(case[0]), inputs, seed=seed, **how))


def test_beams_find_the_best(model: Any) -> None:
    """With as many beams as continuations, beam search is exhaustive search."""
    constraint = dv.compile(dv.Grammar.from_regex("[ab]{3}"), VOCABULARY)
    inputs = batch(b"go ")
    output = generate(model, DerivableLogitsProcessor(constraint), inputs, num_beams=60, length_penalty=0.0)
    spellings = [
        path
        for n in range(1, 4)
        for path in itertools.product([97, 98, VOCABULARY.tokens.index(b"ab")], repeat=n)
        if re.fullmatch(b"[ab]{3}", VOCABULARY.decode(path))
    ]

    def score(path: tuple[int, ...]) -> float:
        ids = torch.cat([inputs["input_ids"], torch.tensor([[*path, EOS]])], dim=1)
        with torch.no_grad():
            logp = model(ids).logits.float().log_softmax(-1)[0]
        start = inputs["input_ids"].shape[1]
        return sum(float(logp[at - 1, ids[0, at]]) for at in range(start, ids.shape[1]))

    best = max(spellings, key=score)
    assert output[0, inputs["input_ids"].shape[1] :].tolist() == [*best, EOS]


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("kind", ["assistant", "lookup"])
def test_assisted_generation(model: Any, case: Any, kind: str, sample: bool) -> None:
    inputs = batch(b'{"ab": [12, 345]} 192.168.1.1 abc ab no. yes {"ab": [12')
    assistant = make_model(2)
    assistant.generation_config.num_assistant_tokens = 6
    how = {"assistant_model": assistant} if kind == "assistant" else {"prompt_lookup_num_tokens": 5}
    processor = DerivableLogitsProcessor(case[0])
    for seed in range(3):
        output = generate(model, processor, inputs, seed=seed, do_sample=sample, **how)
        check(case, inputs, output)
        if not sample:
            assert torch.equal(output, generate(model, DerivableLogitsProcessor(case[0]), inputs))


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("copy", [False, True])
def test_drafts_that_nobody_verified(case: Any, sample: bool, logits: bool, copy: bool) -> None:
    """A proposer without a grammar: tokens of a draft are refused, what lies beyond is asked about, nothing breaks."""
    candidates = pytest.importorskip("transformers.generation.candidate_generator")
    model = make_model(1)
    rng = np.random.default_rng(0)
    constraint, _ = case

    class Proposer(candidates.CandidateGenerator):  # type: ignore[misc]
        def get_candidates(self, input_ids: Any, **_: Any) -> tuple[Any, Any]:
            matcher = constraint.matcher()
            for token in input_ids[0, start:].tolist():
                matcher.advance(token)
            draft = []
            for _step in range(5):  # a few legal tokens, then anything
                allowed = matcher.allowed_tokens()
                if rng.random() < 0.25 or not allowed.size:
                    draft.append(int(rng.integers(SIZE)))
                else:
                    draft.append(int(rng.choice(allowed)))
                if matcher.count_valid([draft[-1]]):
                    matcher.advance(draft[-1])
            out = torch.cat([input_ids, torch.tensor([draft])], dim=1)
            return out, torch.zeros(1, len(draft), SIZE) if logits else None

        def update_candidate_strategy(self, *_: Any) -> None:
            pass

    inputs = batch(b"text ")
    start = inputs["input_ids"].shape[1]
    if not hasattr(model, "_get_candidate_generator"):
        pytest.skip("this transformers has no hook for a proposer")
    model._get_candidate_generator = lambda **_: Proposer()
    for seed in range(4):
        processor: Any = DerivableLogitsProcessor(constraint, drafts=True if copy else None)
        hook = (lambda ids, scores, p=processor: p(ids.clone(), scores)) if copy else processor
        output = generate(model, hook, inputs, seed=seed, do_sample=sample, prompt_lookup_num_tokens=1)
        check(case, inputs, output)
        if not sample:
            expected = naive_greedy(model, constraint, inputs["input_ids"][0].tolist(), 40)
            assert output[0, start:].tolist() == expected


def test_a_constraint_of_another_vocabulary_is_refused(model: Any) -> None:
    """A model that has fewer tokens than the vocabulary has texts; ids past the logits would be masked in silence."""
    larger = dv.Vocabulary.from_bytes([*VOCABULARY.tokens, *[b"aa"] * 300], eos=[EOS])
    constraint = dv.compile(dv.Grammar.from_regex("a+"), larger)
    with pytest.raises(dv.MatcherError, match=f"for {SIZE} tokens.* of {SIZE + 300}"):
        generate(model, DerivableLogitsProcessor(constraint), batch(b"x"))
    with pytest.raises(dv.MatcherError, match=f"for {SIZE} tokens.* of {SIZE + 300}"):
        DerivableLogitsProcessor([constraint, None])(torch.tensor([[BOS]] * 2), torch.zeros(2, SIZE))


def test_scores_wider_than_the_vocabulary(case: Any) -> None:
    wide = make_model(3, width=SIZE + 61)
    inputs = batch(b"q", b"longer ")
    for how in ({}, {"do_sample": True}, {"num_beams": 3}):
        output = generate(wide, DerivableLogitsProcessor(case[0]), inputs, **how)
        assert int(output.max()) < SIZE
        check(case, inputs, output)


def test_reuse(model: Any, case: Any) -> None:
    """One processor for many prompts, also one that extends the former output, and the former prompt again."""
    processor = DerivableLogitsProcessor(case[0])
    first = batch(b"one: ")
    output = generate(model, processor, first)
    longer = torch.cat([output, torch.tensor([[*b" and then: "]])], dim=1)
    others = [batch(b"on")["input_ids"], first["input_ids"], batch(b"a", b"bc")["input_ids"]]
    for prompt in [first["input_ids"], longer, *others]:
        inputs = {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)}
        again = generate(model, processor, inputs)
        check(case, inputs, again)
        assert torch.equal(again, generate(model, DerivableLogitsProcessor(case[0]), inputs))


def test_turns_between_two_generations(case: Any) -> None:
    """Rows of two prompts asked about in turn (an assistant with its own ids does that) do not disturb each other."""
    processor = DerivableLogitsProcessor(case[0])
    prompts = [torch.tensor([[BOS, 65]]), torch.tensor([[BOS, 66, 67]])]
    texts: list[list[int]] = [[], []]
    rng = np.random.default_rng(1)
    for _ in range(12):
        for prompt, generated in zip(prompts, texts):
            matcher = case[0].matcher()
            for token in generated:
                matcher.advance(token)
            if matcher.is_finished:
                continue
            ids = torch.cat([prompt, torch.tensor([generated], dtype=torch.long)], dim=1)
            out = processor(ids, torch.zeros(1, SIZE))
            allowed = torch.isfinite(out[0]).nonzero()[:, 0].numpy()
            assert allowed.tolist() == matcher.allowed_tokens().tolist()
            generated.append(int(rng.choice(allowed)))


def test_a_text_may_be_continued(model: Any) -> None:
    """With `prompt_length`, a second call goes on where the limit cut the first."""
    constraint = constraint_of("json")
    inputs = batch(b"doc: ")
    whole = generate(model, DerivableLogitsProcessor(constraint), inputs, max_new_tokens=12)
    half = whole[:, : inputs["input_ids"].shape[1] + 5]
    pinned = DerivableLogitsProcessor(constraint, prompt_length=inputs["input_ids"].shape[1])
    rest = generate(model, pinned, {"input_ids": half, "attention_mask": torch.ones_like(half)}, max_new_tokens=7)
    assert torch.equal(rest, whole)
    with pytest.raises(dv.MatcherError, match="prompt_length"):
        DerivableLogitsProcessor(constraint, prompt_length=9)(torch.tensor([[BOS]]), torch.zeros(1, SIZE))


def test_scores_are_not_touched() -> None:
    processor = DerivableLogitsProcessor(constraint_of("choices"))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        scores = torch.randn(2, SIZE + 5).to(dtype)
        before = scores.clone()
        out = processor(torch.tensor([[BOS], [BOS]]), scores)
        assert torch.equal(scores, before) and out.dtype == dtype and out.data_ptr() != scores.data_ptr()
        finite = torch.isfinite(out[0]).nonzero()[:, 0].tolist()
        expected = sorted(VOCABULARY.tokens.index(t) for t in (b"y", b"ye", b"yes", b"n", b"no"))
        assert finite == expected and torch.equal(out[:, finite], before[:, finite])


def test_finished_rows_have_one_way_to_go() -> None:
    processor = DerivableLogitsProcessor(constraint_of("choices"))
    yes, no = VOCABULARY.tokens.index(b"yes"), VOCABULARY.tokens.index(b"no")
    processor(torch.tensor([[BOS], [BOS]]), torch.zeros(2, SIZE))
    processor(torch.tensor([[BOS, yes], [BOS, ord("n")]]), torch.zeros(2, SIZE))
    rows = torch.tensor([[BOS, yes, EOS], [BOS, ord("n"), ord("o")]])
    for filler in (PAD, EOS, no):
        out = processor(rows, torch.full((2, SIZE), float("-inf")).index_fill(1, torch.tensor([EOS]), 1.0))
        assert torch.isfinite(out[0]).nonzero()[:, 0].tolist() == [EOS]
        rows = torch.cat([rows, torch.tensor([[filler], [EOS]])], dim=1)


def test_several_end_ids_are_offered_in_turn() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", None, None], eos=[1, 2])
    processor = DerivableLogitsProcessor(dv.compile(dv.Grammar.from_regex("a"), vocabulary))
    rows, offered = torch.tensor([[0]]), []
    for token in (0, 1, 1, 2, 1):
        out = processor(rows, torch.zeros(1, 3))
        offered.append(torch.isfinite(out[0]).nonzero()[:, 0].tolist())
        rows = torch.cat([rows, torch.tensor([[token]])], dim=1)
    assert offered == [[0], [1, 2], [1], [2], [1]]


def test_rows_that_the_host_stops(model: Any) -> None:
    """`stop_strings` and other criteria end one row of a batch before the grammar does; it is padded."""
    constraint = constraint_of("json")
    inputs = batch(b"a", b"bb", b"ccc")

    class AfterThree(transformers.StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            done = torch.zeros(input_ids.shape[0], dtype=torch.bool)
            done[0] = input_ids.shape[1] >= inputs["input_ids"].shape[1] + 3
            return done

    output = generate(model, DerivableLogitsProcessor(constraint), inputs, stopping_criteria=[AfterThree()])
    free = generate(model, DerivableLogitsProcessor(constraint), inputs)
    length = inputs["input_ids"].shape[1]
    assert output[0, : length + 3].tolist() == free[0, : length + 3].tolist()
    assert set(output[0, length + 3 :].tolist()) <= {PAD}
    width = min(output.shape[1], free.shape[1])
    assert torch.equal(output[1:, :width], free[1:, :width])


def test_a_refused_token_is_an_error() -> None:
    processor = DerivableLogitsProcessor(constraint_of("choices"))
    scores = torch.zeros(2, SIZE)
    processor(torch.tensor([[BOS, 1], [BOS, 2]]), scores)
    with pytest.raises(dv.TokenRejectedError, match=r"row 1, position 2") as caught:
        processor(torch.tensor([[BOS, 1, ord("y")], [BOS, 2, ord("q")]]), scores)
    assert caught.value.token_id == ord("q") and caught.value.token_bytes == b"q"
    # The state is as before: the right row is still understood.
    out = processor(torch.tensor([[BOS, 1, ord("y")], [BOS, 2, ord("n")]]), scores)
    assert torch.isfinite(out[1]).nonzero()[:, 0].tolist() == [ord("o")]
    # A slice of a longer tensor is a draft: its rows end, with a choice left.
    draft = torch.tensor([[BOS, *b"yqes"]])
    processor.reset()
    for length in range(1, 6):
        out = processor(draft[:, :length], scores[:1])
        assert torch.isfinite(out).any()
    assert torch.isfinite(out[0]).nonzero()[:, 0].tolist() == [EOS]
    strict = DerivableLogitsProcessor(constraint_of("choices"), drafts=False)
    strict(draft[:, :1], scores[:1])
    strict(draft[:, :2], scores[:1])
    with pytest.raises(dv.TokenRejectedError):
        strict(draft[:, :3], scores[:1])


def test_nothing_left_to_choose(model: Any) -> None:
    """Options that contradict the grammar are named; greedy search would quietly take token 0."""
    constraint = constraint_of("choices")
    for how in ({"min_new_tokens": 10}, {"suppress_tokens": [EOS]}, {"do_sample": True, "min_new_tokens": 10}):
        with pytest.raises(dv.MatcherError, match="min_new_tokens"):
            generate(model, DerivableLogitsProcessor(constraint), batch(b"x"), **how)
    with pytest.raises(dv.MatcherError, match="for 30 tokens"):
        DerivableLogitsProcessor(constraint)(torch.tensor([[BOS]]), torch.zeros(1, 30))
    endless = dv.Vocabulary.from_bytes([b"a", b"b"], eos=[])
    with pytest.raises(dv.MatcherError, match="no end-of-sequence"):
        processor = DerivableLogitsProcessor(dv.compile(dv.Grammar.from_regex("a"), endless))
        processor(torch.tensor([[1]]), torch.zeros(1, 2))
        processor(torch.tensor([[1, 0]]), torch.zeros(1, 2))
    with pytest.raises(dv.BitmaskShapeError):
        DerivableLogitsProcessor(constraint)(torch.tensor([[BOS]]), torch.zeros(2, SIZE))


def test_memory_is_bounded(model: Any) -> None:
    processor = DerivableLogitsProcessor(constraint_of("json"))
    for n in range(8):
        generate(model, processor, batch(bytes([65 + n]), b"cd"), num_beams=4)
    assert len(processor._generations) <= 4
    assert all(len(g.rows) <= 8 and len(g.before) <= 8 for g in processor._generations)


def test_continuous_batching_is_declined() -> None:
    assert DerivableLogitsProcessor.supports_continuous_batching is False


def test_embedded_model(tmp_path: Any) -> None:
    """The model that ships with the package, exported, writes JSON that parses in every way of decoding."""
    tiny = pytest.importorskip("derivable.tiny.export")
    try:
        folder = tiny.export(tmp_path / "model")
    except (FileNotFoundError, dv.DerivableError) as error:
        pytest.skip(f"no embedded weights: {error}")
    pytest.importorskip("tokenizers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    vocabulary = dv.Vocabulary.from_transformers(tokenizer, size=model.config.vocab_size)
    constraint = dv.compile(dv.Grammar.from_gbnf(JSON.replace("[a-c]{0,3}", '[^"\\\\\\x00-\\x1f]{0,20}')), vocabulary)
    inputs = dict(tokenizer(["A person as JSON:\n", "JSON:\n"], return_tensors="pt", padding=True))
    inputs.pop("token_type_ids", None)
    case = constraint, lambda text: isinstance(json.loads(text), dict)
    for how in ({}, {"do_sample": True, "num_return_sequences": 4}, {"num_beams": 4}):
        torch.manual_seed(0)
        output = model.generate(
            **inputs,
            logits_processor=[DerivableLogitsProcessor(constraint)],
            **({"max_new_tokens": 80, "do_sample": False} | how),
        )
        start = inputs["input_ids"].shape[1]
        for row in output[:, start:].tolist():
            ends = [at for at, token in enumerate(row) if token in vocabulary.eos_ids]
            text = vocabulary.decode(row[: ends[0]] if ends else row)
            if ends:
                assert case[1](text), text
            else:
                constraint.matcher().advance_bytes(text)
    prompt = tokenizer("A person as JSON:\n").input_ids
    one = {"input_ids": torch.tensor([prompt]), "attention_mask": torch.ones(1, len(prompt), dtype=torch.long)}
    output = model.generate(
        **one, logits_processor=[DerivableLogitsProcessor(constraint)], max_new_tokens=40, do_sample=False
    )
    assert output[0, len(prompt) :].tolist() == naive_greedy(model, constraint, prompt, 40)


@pytest.mark.parametrize("how", [{}, {"num_beams": 3, "num_return_sequences": 2}, {"do_sample": True, "seed": 3}])
def test_a_constraint_for_each_prompt(model: Any, how: dict[str, Any]) -> None:
    names = list(GRAMMARS)[:2]
    constraints = [constraint_of(name) for name in names]
    inputs = batch(b"", b"an address: ")
    processor = DerivableLogitsProcessor(constraints)
    output = generate(model, processor, inputs, **how)
    per_prompt = len(output) // 2
    for at, name in enumerate(names):
        check((constraints[at], GRAMMARS[name][1]), inputs, output[at * per_prompt : (at + 1) * per_prompt])
    if not how:
        for at, constraint in enumerate(constraints):
            alone = generate(model, DerivableLogitsProcessor(constraint), inputs)
            assert without_end(output[at].tolist()) == without_end(alone[at].tolist())


@pytest.mark.parametrize("how", [{}, {"num_beams": 3, "num_return_sequences": 2}, {"do_sample": True, "seed": 3}])
def test_rows_without_a_constraint(model: Any, how: dict[str, Any]) -> None:
    name = next(iter(GRAMMARS))
    constraint = constraint_of(name)
    inputs = batch(b"", b"an address: ", b"x")
    output = generate(model, DerivableLogitsProcessor([None, constraint, None]), inputs, **how)
    per_prompt = len(output) // 3
    check((constraint, GRAMMARS[name][1]), inputs, output[per_prompt : 2 * per_prompt])
    if not how:
        free = model.generate(**inputs, max_new_tokens=40, do_sample=False)
        for at in (0, 2):
            assert without_end(output[at].tolist()) == without_end(free[at].tolist())


def test_scores_of_a_row_without_a_constraint_stay() -> None:
    processor = DerivableLogitsProcessor([constraint_of("words"), None])
    ids, scores = torch.tensor([[BOS, 5], [BOS, 5]]), torch.randn(2, SIZE + 3)
    scores[1] = float("-inf")  # what others leave of it is their business
    masked = processor(ids, scores)
    assert torch.equal(masked[1], scores[1]) and bool(masked[0].isinf().any())
    assert repr(processor).count("None") == 1


def test_constraints_that_do_not_go_together() -> None:
    one = constraint_of(next(iter(GRAMMARS)))
    small = dv.compile(dv.Grammar.from_regex("a"), dv.Vocabulary.from_bytes([b"a", None], eos=[1]))
    with pytest.raises(dv.MatcherError, match="different vocabularies"):
        DerivableLogitsProcessor([one, small])
    for wrong in ([], None, [one, "x"], "xy", [None], [None, None]):
        with pytest.raises(dv.ArgumentError):
            DerivableLogitsProcessor(wrong)  # type: ignore[arg-type]
    with pytest.raises(dv.BitmaskShapeError, match="3 rows"):
        DerivableLogitsProcessor([one, one])(torch.zeros(3, 1, dtype=torch.int64), torch.zeros(3, 300))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"do_sample": True, "temperature": 3.0, "num_return_sequences": 3},
        {"num_beams": 4, "num_return_sequences": 2},
        {"do_sample": True, "num_beams": 3},
        {"prompt_lookup_num_tokens": 4},
    ],
    ids=str,
)
def test_every_text_is_complete_within_max_new_tokens(model: Any, case: Any, how: dict[str, Any]) -> None:
    constraint, accepts = case
    least = constraint.matcher(max_tokens=1000).least_tokens
    for most in (least, least + 3, 20):
        inputs = batch(b"a") if "prompt_lookup_num_tokens" in how else batch(b"a", b"some longer text: ")
        processor = DerivableLogitsProcessor(constraint, max_new_tokens=most)
        output = generate(model, processor, inputs, max_new_tokens=most, **how)
        for text, ended in texts(constraint, inputs, output):
            assert ended and accepts(text), (most, text)
    with pytest.raises(dv.LimitError, match=f"{least} tokens or more"):
        DerivableLogitsProcessor([constraint, None], max_new_tokens=least - 1)


def test_temperatures_of_the_grammar_scale_the_scores() -> None:
    grammar = dv.Grammar.from_lark('start: "a" hot cold\nhot[temperature=2]: /[bc]/\ncold[temperature=0]: /[bc]/')
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", b"c", None], eos=[3])
    ours = DerivableLogitsProcessor(dv.compile(grammar, vocabulary), temperature=0.5)
    ids, scores = torch.tensor([[7]]), torch.tensor([[4.0, 3.0, 2.0, 1.0]])
    seen = [ours(ids, scores)[0].tolist()]
    for token in (0, 2):
        ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
        seen.append(ours(ids, scores)[0].tolist())
    none = float("-inf")
    assert seen == [[4.0, none, none, none], [none, 0.75, 0.5, none], [none, 3.0, none, none]]
    with pytest.raises(dv.ArgumentError, match="temperature"):
        DerivableLogitsProcessor(dv.compile(grammar, vocabulary), temperature=0)
