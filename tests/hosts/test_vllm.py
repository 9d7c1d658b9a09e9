"""vLLM's own engine with a small model: what it generates is in the language, whichever way the constraint came."""
# ruff: noqa: E402 -- vLLM reads the environment when it is imported

from __future__ import annotations

import gc
import json
import re
import shutil
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from vllm_engine import require_vllm, write_llama

require_vllm()

import vllm
from maskbench_schemas import schemas
from shared_data import require_shared
from small_llama import SPECIAL, write_model
from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams as Asked

import derivable as dv
from derivable.integrations.vllm import Backend, RequestRefusedError

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["x", "y"]}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[0-9]{3}"},
             "end": "</tool_call>"}
        ],
    },
}  # fmt: skip
FIRST_TAG = {"structures": [{"begin": "<f>", "schema": {"enum": [1, 2]}, "end": "</f>"}], "triggers": ["<f>"]}


def engine(folder: Path, **options: Any) -> LLM:
    settings = {"max_model_len": 512, "max_num_seqs": 64, "dtype": "float32", "enforce_eager": True, "seed": 1}
    return LLM(str(folder), enable_prefix_caching=False, **{**settings, **options})


def run(llm: LLM, *requests: Any, prompt: str = "Say:", **options: Any) -> list[Any]:
    """The first completion of each request."""
    settings = {"max_tokens": 100, "temperature": 1.0, **options}
    params = [
        SamplingParams(**settings, **({"structured_outputs": each} if isinstance(each, Asked) else each))
        for each in requests
    ]
    return [found.outputs[0] for found in llm.generate([prompt] * len(params), params, use_tqdm=False)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama")
    write_llama(path)
    return path


@pytest.fixture(scope="module")
def llm(folder: Path) -> Iterator[LLM]:
    made = engine(folder, structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True})
    yield made
    del made
    gc.collect()


KINDS: dict[str, tuple[Any, Any]] = {
    "json": (Asked(json=SCHEMA), lambda text: set(json.loads(text)) == {"name", "n"}),
    "json as text": (Asked(json=json.dumps(SCHEMA)), lambda text: json.loads(text)["n"] <= 99),
    "regex": (Asked(regex=r"(ab){1,5}[^\W\d_]"), lambda text: re.fullmatch(r"(ab){1,5}[^\W\d_]", text)),
    "choice": (Asked(choice=["yes", 'a "quoted" one', "é\n"]), lambda text: text in ["yes", 'a "quoted" one', "é\n"]),
    "ebnf": (Asked(grammar='root ::= "x" [0-9]{3} tail\ntail ::= "!" | "?"'), lambda t: re.fullmatch(r"x\d{3}[!?]", t)),
    "lark": (Asked(grammar='start: "x" /[0-9]{3}/ ("!" | "?")'), lambda text: re.fullmatch(r"x\d{3}[!?]", text)),
    "tag": (Asked(structural_tag=json.dumps(TAG)), lambda text: re.fullmatch("[0-9]{3}", text)),
    "a regex of its own": ({"extra_args": {"derivable": {"regex": "[0-9]{3}"}}}, lambda t: re.fullmatch("[0-9]{3}", t)),
    "as text": ({"extra_args": {"derivable": '{"json": {"enum": [1, "a"]}}'}}, lambda t: json.loads(t) in [1, "a"]),
    "gbnf": ({"extra_args": {"derivable": {"gbnf": 'root ::= "a"{2,4}'}}}, lambda text: re.fullmatch("a{2,4}", text)),
}  # fmt: skip


def test_every_kind_in_one_batch(llm: LLM) -> None:
    """With a request between them that nothing constrains, so that rows of the batch differ."""
    asked: list[Any] = [request for kind in KINDS.values() for request in (kind[0], {})]
    for (kind, (_, holds)), found in zip(KINDS.items(), run(llm, *asked)[::2]):
        assert found.finish_reason == "stop", (kind, found)
        assert holds(found.text), (kind, found.text)


def test_every_text_is_complete_within_max_tokens(llm: LLM) -> None:
    for most in (12, 20, 40):
        asked = [Asked(json_object=True), Asked(regex="[ab ]*c"), {"extra_args": {"derivable": {"builtin": "json"}}}]
        for heat in (0.0, 1.0, 2.0):
            found = run(llm, *asked, max_tokens=most, temperature=heat)
            assert all(each.finish_reason == "stop" and len(each.token_ids) <= most for each in found), found
            assert isinstance(json.loads(found[0].text), dict) and re.fullmatch("[ab ]*c", found[1].text)
            json.loads(found[2].text)


def test_json_object_and_triggered_tags_stay_prefixes(llm: LLM) -> None:
    vocabulary = dv.Vocabulary.from_transformers(llm.get_tokenizer(), eos=[1])
    cases = {
        "object": (Asked(json_object=True), dv.Grammar.from_json_schema({"type": "object"})),
        "tag": (Asked(structural_tag=json.dumps(FIRST_TAG)), dv.Grammar.from_structural_tag(FIRST_TAG)),
        "builtin": ({"extra_args": {"derivable": {"builtin": "sql"}}}, dv.Grammar.builtin("sql")),
    }
    for (kind, (_, grammar)), found in zip(cases.items(), run(llm, *(asked for asked, _ in cases.values()))):
        matcher = dv.compile(grammar, vocabulary).matcher()
        assert matcher.count_valid(found.token_ids) == len(found.token_ids), (kind, found.text)


def test_tokens_of_the_request_end_the_text(llm: LLM) -> None:
    """`stop_token_ids` may be tokens of text: they come where the text may end, and nowhere before."""
    [token] = llm.get_tokenizer().encode("b", add_special_tokens=False)
    [found] = run(llm, Asked(regex="[ab]{20}"), stop_token_ids=[token], logit_bias={token: 50.0})
    assert found.finish_reason == "stop" and found.stop_reason == token, found
    assert token not in found.token_ids[:-1] and re.fullmatch("[ab]{20}", found.text), found


@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        (Asked(json={"type": "object", "minimum": "x"}), {}, "minimum"),
        (Asked(json="{"), {}, "json"),
        (Asked(json={"type": "string", "pattern": r"(a)\1"}), {}, "back reference"),
        (Asked(json={"allOf": [{"type": "string"}, {"type": "integer"}]}), {}, "no JSON value"),
        (Asked(regex="("), {}, "regex"),
        (Asked(grammar="root ::= x"), {}, "grammar"),
        (Asked(grammar="start: x"), {}, "grammar"),
        (Asked(structural_tag="{"), {}, "structural_tag|JSON|Expecting"),
        (Asked(structural_tag=json.dumps({"format": {"type": "token", "token": "<|never|>"}})), {}, "never"),
        (Asked(regex="a"), {"ignore_eos": True}, "ignore_eos"),
        (Asked(regex="[a-c]{90}x{90}"), {"max_tokens": 20}, "max_tokens=20 is too little"),
        ({"extra_args": {"derivable": {"regex": "[a-c]{90}x{90}"}}}, {"max_tokens": 20}, "max_tokens=20 is too little"),
        (Asked(json=SCHEMA, whitespace_pattern="[ ]"), {}, "whitespace_pattern"),
        ({"extra_args": {"derivable": {"regex": "("}}}, {}, "regex"),
        ({"extra_args": {"derivable": "["}}, {}, "JSON"),
        ({"extra_args": {"derivable": 5}}, {}, "one kind"),
        ({"extra_args": {"derivable": {"type": "perl"}}}, {}, "perl"),
        ({"extra_args": {"derivable": {"regex": "a"}}}, {"min_tokens": 5}, "min_tokens"),
        ({"extra_args": {"derivable": {"regex": "a"}}}, {"allowed_token_ids": [7]}, "allowed_token_ids"),
        ({"extra_args": {"derivable": {"regex": "a"}}}, {"bad_words": ["a"]}, "bad_words"),
        ({"extra_args": {"derivable": {"regex": "a"}}}, {"structured_outputs": Asked(regex="a")}, "not both"),
    ],
)  # fmt: skip
def test_refused_when_it_comes_in(llm: LLM, asked: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message) as refused:
        run(llm, asked, **options)
    assert isinstance(refused.value, RequestRefusedError | vllm.exceptions.VLLMValidationError)
    [found] = run(llm, Asked(choice=["still here"]))  # the engine goes on
    assert found.text == "still here"


def test_additional_properties_may_be_closed(llm: LLM) -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}}
    found = run(llm, *[Asked(json=schema, disable_additional_properties=True) for _ in range(4)])
    assert all(set(json.loads(each.text)) <= {"a"} for each in found if each.finish_reason == "stop")
    assert any(each.finish_reason == "stop" for each in found)


def test_beams(llm: LLM) -> None:
    params = vllm.sampling_params.BeamSearchParams(beam_width=3, max_tokens=20, structured_outputs=None)
    params.structured_outputs = asked = Asked(regex="[ab]{4}")
    asked._backend = "xgrammar"
    [found] = llm.beam_search([{"prompt": "Say:"}], params)
    assert found.sequences
    for sequence in found.sequences:
        assert re.search("[ab]{4}(</s>)?$", sequence.text), sequence.text


def test_the_same_masks_with_a_backend_that_is_asked_directly(llm: LLM) -> None:
    config = llm.llm_engine.vllm_config
    backend = Backend(config, llm.get_tokenizer(), config.model_config.get_vocab_size())
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    state = backend.compile_grammar(StructuredOutputOptions.REGEX, "(ab)+", {1})
    bitmask = backend.allocate_token_bitmask(3)
    assert bitmask.shape == (3, (config.model_config.get_vocab_size() + 31) // 32)
    a, b = (llm.get_tokenizer().encode(text, add_special_tokens=False)[0] for text in "ab")
    assert state.validate_tokens([a, b, b]) == [a, b]
    assert not state.accept_tokens("r", [a, b, b]) and state.accept_tokens("r", [a, b])  # all of them, or none
    state.fill_bitmask(bitmask, 2)
    row = bitmask[2].numpy().view("uint32")
    allowed = {at for at in range(config.model_config.get_vocab_size()) if row[at // 32] >> (at % 32) & 1}
    assert {a, 1} <= allowed and b not in allowed and not bitmask[:2].any()
    assert state.accept_tokens("r", [1, 7]) and state.is_terminated() and state.validate_tokens([a]) == []
    state.rollback(1)
    assert not state.is_terminated() and state.validate_tokens([a]) == [a]
    state.reset()
    assert state.validate_tokens([1]) == []


def test_speculation_and_reasoning(folder: Path) -> None:
    """Drafts of n-grams; and a mask that begins when the reasoning has ended. White space is free here."""
    made = engine(
        folder,
        speculative_config={"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3},
        structured_outputs_config={"backend": "xgrammar", "reasoning_parser": "deepseek_r1"},
    )
    try:
        think = SPECIAL.index("</think>")
        found = run(made, *[Asked(regex="(ab){30}") for _ in range(8)], prompt="</think>abababab")
        assert all(re.fullmatch("(ab){30}", each.text) for each in found), found
        found = run(made, Asked(choice=["yes", "no"]), Asked(regex="[0-9]{40}"), prompt="<think>0123456789 </think>")
        assert found[0].text in ("yes", "no") and re.fullmatch("[0-9]{40}", found[1].text)
        many = run(made, *[Asked(regex="(ab){30}") for _ in range(40)], prompt="<think>", max_tokens=200)
        ended = [each.token_ids for each in many if think in each.token_ids]  # until then: anything
        for tokens in ended:
            after = made.get_tokenizer().decode(tokens[tokens.index(think) + 1 :], skip_special_tokens=True)
            assert ("ab" * 30).startswith(after), after
        assert ended, "no reasoning has ended: nothing was constrained"
        for asked, message in [
            ({"extra_args": {"derivable": {"regex": "a"}}}, "speculation"),
            (Asked(json=SCHEMA, disable_any_whitespace=True), "disable_any_whitespace"),
        ]:
            with pytest.raises(RequestRefusedError, match=message):
                run(made, asked)
    finally:
        del made
        gc.collect()


def exact(text: str) -> int | float:
    """A number with a fraction or an exponent: an integer where it is one, however large (`1e999` is no infinity)."""
    try:
        value = Decimal(text)
    except InvalidOperation:  # its exponent has more digits than those of Decimal
        mantissa, _, exponent = text.lower().partition("e")
        value = Decimal(f"{mantissa}e{'-300' if exponent.startswith('-') else '3000'}")
    if value != value.to_integral_value():
        return float(text)
    return int(value) if value.adjusted() < 2000 else 10**2000 * (-1 if value < 0 else 1)


def test_many_schemas_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 requests with 64 schemas and a vocabulary of 128,000 tokens, the engine in a process of its own."""
    import jsonschema

    for file in require_shared("data", "tokenizers", "llama-3").iterdir():
        shutil.copyfile(file, tmp_path / file.name)
    write_model(tmp_path, 128256, 128000, [128001, 128009])
    vocabulary = dv.Vocabulary.from_tokenizer_json(tmp_path)
    asked = [schema for schema in schemas(64) if fits(schema, vocabulary, 200)]
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    made = engine(tmp_path, max_model_len=1024)
    # A model of random weights loves white space.
    blank = {at: -50.0 for at, token in enumerate(vocabulary.tokens) if token and not token.strip()}
    found = run(made, *(Asked(json=schema) for schema in asked), prompt="JSON: ", max_tokens=200, logit_bias=blank)
    assert len(found) > 32, "hardly a schema has a text that fits"
    for schema, each in zip(asked, found):
        assert each.finish_reason == "stop", (schema, each.text)
        jsonschema.Draft202012Validator(schema).validate(json.loads(each.text, parse_float=exact))
        matcher = dv.compile(dv.Grammar.from_json_schema(schema), vocabulary).matcher()
        assert matcher.count_valid(each.token_ids) == len(each.token_ids), (schema, each.text)


def fits(schema: Any, vocabulary: dv.Vocabulary, most: int) -> bool:
    """A text of a schema takes so few tokens."""
    try:
        dv.compile(dv.Grammar.from_json_schema(schema), vocabulary).matcher(max_tokens=most)
    except dv.LimitError:
        return False
    return True
