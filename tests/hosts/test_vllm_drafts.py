"""vLLM with speculation: the texts are those without, whoever drafts, and drafts by grammar save forward passes."""
# ruff: noqa: E402 -- vLLM reads the environment when it is imported

from __future__ import annotations

import gc
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vllm_engine import require_vllm, write_llama

require_vllm()

from maskbench_schemas import schemas
from small_llama import SPECIAL
from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams as Asked

from derivable.tiny.export import export

METHODS: dict[str, Any] = {
    "ngram": {"method": "ngram", "prompt_lookup_max": 4, "prompt_lookup_min": 1},
    "grammar": {"method": "custom_class", "model": "derivable.integrations.vllm.GrammarProposer"},
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"type": "string"}},
    "required": ["name", "age", "city"],
}
ASKED = [
    Asked(json=PERSON),
    Asked(json={"type": "array", "items": PERSON, "minItems": 2, "maxItems": 4}),
    Asked(json={"type": "object", "properties": {"kind": {"enum": ["first", "second"]}, "tags": {"type": "array"}}}),
    Asked(regex=r"(item [0-9]+: (red|green|blue)\n){3,8}"),
    Asked(choice=["the first of them", "the second of them"]),
    Asked(grammar='root ::= ("<li>" [a-z]{2,6} "</li>\\n"){2,6}'),
]


class Failures(logging.Handler):
    """What vLLM says of tokens that a grammar did not take."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "Unexpected: grammar" in record.getMessage():
            self.messages.append(record.getMessage())


@pytest.fixture
def failures() -> Iterator[list[str]]:
    handler = Failures()
    logging.getLogger("vllm").addHandler(handler)
    yield handler.messages
    logging.getLogger("vllm").removeHandler(handler)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("derivable_demo", reason="the weights of the embedded model are not installed")
    return export(tmp_path_factory.mktemp("embedded"))


def engine(folder: Path, method: str | None, **options: Any) -> LLM:
    speculative = {} if method is None else {"speculative_config": {**METHODS[method], "num_speculative_tokens": 8}}
    settings = {"max_model_len": 1024, "max_num_seqs": 16, "dtype": "float32", "enforce_eager": True, "seed": 1}
    return LLM(str(folder), enable_prefix_caching=False, **{**settings, **speculative, **options})


class Run:
    """All requests at once, step by step: their tokens, and in how many forward passes they came."""

    def __init__(self, llm: LLM, asked: list[Any], prompt: str = "An example:\n", **options: Any) -> None:
        self.passes = 0
        self.made: list[Any] = [None] * len(asked)
        for number, each in enumerate(asked):
            params = SamplingParams(**{"max_tokens": 150, "temperature": 0.0, **options}, structured_outputs=each)
            llm.llm_engine.add_request(str(number), prompt, params)
        known = [0] * len(asked)
        while llm.llm_engine.has_unfinished_requests():
            for output in llm.llm_engine.step():
                at, tokens = int(output.request_id), output.outputs[0].token_ids
                self.passes += len(tokens) > known[at]
                known[at] = len(tokens)
                if output.finished:
                    self.made[at] = output.outputs[0]
        self.tokens = sum(known)

    @property
    def texts(self) -> list[list[int]]:
        return [list(each.token_ids) for each in self.made]


@pytest.fixture(scope="module")
def plain(model: Path) -> Iterator[dict[str, Run]]:
    """Greedy, without speculation."""
    llm = engine(model, None)
    yield {"asked": Run(llm, ASKED), "maskbench": Run(llm, asked_of_maskbench(llm))}
    del llm
    gc.collect()


def asked_of_maskbench(llm: LLM) -> list[Any]:
    """Requests for schemas of MaskBench of which a text fits; none where the data is not there."""
    try:
        found = [Asked(json=schema) for schema in schemas(24)]
    except pytest.skip.Exception:
        return []
    return [each for each in found if fits(llm, each)]


def fits(llm: LLM, asked: Asked) -> bool:
    try:
        llm.llm_engine.input_processor._validate_params(
            SamplingParams(max_tokens=150, structured_outputs=asked), ("generate",)
        )
    except ValueError:
        return False
    return True


def texts_are_the_same(model: Path, plain: dict[str, Run], failures: list[str], method: str) -> None:
    llm = engine(model, method)
    try:
        again = Run(llm, ASKED)
        assert again.texts == plain["asked"].texts and plain["asked"].passes == plain["asked"].tokens
        assert again.passes < 0.8 * again.tokens
        assert all(each.finish_reason == "stop" for each in again.made)
        for seed in range(8 if method == "grammar" else 1):  # no text twice: what was drafted is refused in part
            hot = Run(llm, [*ASKED, None] * 2, temperature=1.0, seed=seed)
            assert {each.finish_reason for at, each in enumerate(hot.made) if at % 7 < 6} == {"stop"}, hot.made
            json.loads(hot.made[0].text)
            assert re.fullmatch(r"(item [0-9]+: (red|green|blue)\n){3,8}", hot.made[3].text)
        assert failures == []
    finally:
        del llm
        gc.collect()


def test_texts_are_those_without_drafts_by_grammar(model: Path, plain: dict[str, Run], failures: list[str]) -> None:
    texts_are_the_same(model, plain, failures, "grammar")


def test_forward_passes_on_schemas_of_maskbench(model: Path, plain: dict[str, Run], failures: list[str]) -> None:
    before = plain["maskbench"]
    if not before.made:
        pytest.skip("the shared data is not there")
    llm = engine(model, "grammar")
    try:
        asked = asked_of_maskbench(llm)
        first, second = Run(llm, asked), Run(llm, asked)
        assert first.texts == second.texts == before.texts and failures == []
        assert first.passes <= 0.62 * first.tokens  # every schema for the first time
        assert second.passes <= 0.35 * second.tokens  # what each of them writes has been learnt
    finally:
        del llm
        gc.collect()


def test_drafts_by_grammar_behind_a_reasoning(tmp_path: Path, failures: list[str]) -> None:
    """The grammar begins where vLLM's parser says that the reasoning has ended, and drafts begin there, too."""
    write_llama(tmp_path)
    think, end = SPECIAL.index("<think>"), SPECIAL.index("</think>")
    llm = engine(
        tmp_path, "grammar", structured_outputs_config={"backend": "xgrammar", "reasoning_parser": "deepseek_r1"}
    )
    try:
        asked = [Asked(regex="(ab){30}") for _ in range(40)]
        made = Run(llm, asked, prompt="Say: <think>", temperature=1.0, max_tokens=200)
        ended = [each for each in made.texts if end in each[:150]]
        assert ended, "no reasoning has ended: nothing was constrained"
        for tokens in ended:
            after = llm.get_tokenizer().decode(tokens[tokens.index(end) + 1 :], skip_special_tokens=True)
            assert after == "ab" * 30 and think not in tokens[tokens.index(end) + 1 :]
        assert made.passes < made.tokens and failures == []
    finally:
        del llm
        gc.collect()


def test_texts_are_those_without_ngrams(model: Path, plain: dict[str, Run], failures: list[str]) -> None:
    """The last one here: in a process where numba is loaded, which this does, vLLM 0.32 makes no other engine
    (`triton_utils.dispatcher` trips over an object of llvmlite)."""
    texts_are_the_same(model, plain, failures, "ngram")
