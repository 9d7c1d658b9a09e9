"""llama-cpp-python itself, with small models of random weights: masks, drafts, forced tokens, vocabularies, its traps.

`test_llama_cpp.py` and `test_hosts.py` test the adapters where the library is not installed.
"""
# ruff: noqa: E402 -- nothing of the library is imported where it is not installed

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

llama_cpp: Any = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: make test-hosts builds it")
pytest.importorskip("gguf")
pytest.importorskip("tokenizers")

from llama_cpp.llama_chat_format import Jinja2ChatFormatter
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding
from shared_data import require_shared
from small_gguf import write_gguf
from small_llama import write_tokenizer

import derivable as dv
from derivable.decoding.drafters import PromptLookup
from derivable.decoding.llama_cpp import LlamaCppLanguageModel
from derivable.integrations.llama_cpp import processors

PERSON = r'\{"name": "(Ann|Bob)", "married": (true|false), "age": (7|34|110)\}'
GBNF = r"""
root ::= "[" item ("," " "? item)* "]"
item ::= "\"" [a-z]{1,4} "\"" | [0-9]{1,3}
"""
PROMPT = "A person as JSON: "


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gguf")
    write_tokenizer(folder)
    write_gguf(folder / "small.gguf", folder / "tokenizer.json", "</s>", padding=5)
    return folder


def load(path: Path, **options: Any) -> Any:
    return llama_cpp.Llama(str(path), n_ctx=256, verbose=False, seed=1, **options)


@pytest.fixture(scope="module")
def llama(files: Path) -> Iterator[Any]:
    # A cache of 16 bits, which is the default, rounds otherwise where tokens come one by one: logits differ by 0.002.
    full = {"type_k": llama_cpp.GGML_TYPE_F32, "type_v": llama_cpp.GGML_TYPE_F32}
    made = load(files / "small.gguf", logits_all=True, **full)
    yield made
    made.close()
    gc.collect()


@pytest.fixture(scope="module")
def vocabulary(llama: Any) -> dv.Vocabulary:
    return dv.Vocabulary.from_gguf(llama)


@pytest.fixture(scope="module")
def constraint(vocabulary: dv.Vocabulary) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex(PERSON), vocabulary)


# Vocabularies


def test_a_vocabulary_is_the_same_from_model_file_and_tokenizer(files: Path, vocabulary: dv.Vocabulary) -> None:
    of_file = dv.Vocabulary.from_gguf(files / "small.gguf")
    of_tokenizer = dv.Vocabulary.from_tokenizer_json(files / "tokenizer.json", size=vocabulary.size)
    assert vocabulary == of_file == of_tokenizer and vocabulary.eos_ids == (1,)
    assert vocabulary.special_ids == of_file.special_ids
    assert {text: vocabulary.special_ids[text] for text in of_tokenizer.special_ids} == of_tokenizer.special_ids
    assert vocabulary.size == of_tokenizer.size and vocabulary.tokens[-5:] == (None,) * 5
    for text in ("hello world", '{"a": 12345}', "  x\n\ny", "é日本", "a<tool_call>b"):
        assert vocabulary.encode(text) == of_tokenizer.encode(text)
    assert of_file.encode_forced(b"hello") and pickle.loads(pickle.dumps(vocabulary)) == vocabulary


def test_llama_3s_vocabulary(tmp_path: Path) -> None:
    tokenizer = require_shared("data", "tokenizers", "llama-3") / "tokenizer.json"
    path = write_gguf(tmp_path / "l3.gguf", tokenizer, "<|end_of_text|>", "llama-bpe", hidden=32)
    llama = load(path)
    found = dv.Vocabulary.from_gguf(llama)
    wanted = dv.Vocabulary.from_tokenizer_json(tokenizer)
    assert found.tokens[:128_008] == wanted.tokens[:128_008]  # the longest of 128 bytes among them
    assert dict(found.special_ids) == dict(wanted.special_ids)
    assert found.eos_ids == (128001, 128008, 128009)  # where llama.cpp ends
    texts = ("Hello, world! 12345", "def f(x):\n\treturn x", "don't", "naïve 日本語 🎉", " " * 100)
    assert all(found.encode(text) == wanted.encode(text) for text in texts)
    constraint = dv.compile(dv.Grammar.from_regex(PERSON), found)
    made = llama(PROMPT, logits_processor=processors(constraint), max_tokens=60, temperature=1.0, seed=1)
    assert set(json.loads(made["choices"][0]["text"])) == {"name", "married", "age"}


def test_vocabularies_that_cannot_be_read(files: Path) -> None:
    class Closed:
        model_path = "x.gguf"

    with pytest.raises(dv.VocabularyError, match=r"x\.gguf"):
        dv.Vocabulary.from_gguf(Closed())


# The logits processor


def test_texts_of_create_completion(llama: Any, constraint: dv.Constraint) -> None:
    free = llama(PROMPT, max_tokens=40, temperature=1.0, seed=3)["choices"][0]["text"]
    with pytest.raises(ValueError):
        json.loads(free)
    found = set()
    ours = processors(constraint)
    for seed in range(8):  # one after the other with the same processors
        made = llama(PROMPT, logits_processor=ours, max_tokens=60, temperature=1.0, seed=seed)["choices"][0]
        value = json.loads(made["text"])
        assert made["finish_reason"] == "stop" and value["name"] in ("Ann", "Bob") and value["age"] in (7, 34, 110)
        found.add(made["text"])
    assert len(found) > 1
    pieces = llama(PROMPT, logits_processor=ours, max_tokens=60, temperature=1.0, seed=2, stream=True)
    assert json.loads("".join(piece["choices"][0]["text"] for piece in pieces))["married"] in (True, False)


def test_texts_are_complete_within_max_tokens(llama: Any, vocabulary: dv.Vocabulary) -> None:
    constraint = dv.compile(dv.Grammar.builtin("json"), vocabulary)
    for most in (4, 9, 20):
        ours = processors(constraint, llama, max_tokens=most)
        for seed in range(4):
            made = llama(PROMPT, logits_processor=ours, max_tokens=most, temperature=2.0, seed=seed)["choices"][0]
            assert made["finish_reason"] == "stop"
            json.loads(made["text"])


def test_a_chat(llama: Any, constraint: dv.Constraint) -> None:
    """Its next prompt goes on from the last one."""
    prompt = llama.tokenize(PROMPT.encode())
    for given in (llama, None):
        ours = processors(constraint, given)
        first = llama(prompt, logits_processor=ours, max_tokens=60, temperature=1.0)["choices"][0]["text"]
        second = [*prompt, *llama.tokenize(f"{first}\nAnother: ".encode(), add_bos=False)]
        if given is None:
            ours.reset()
        for _ in range(2):
            made = llama(second, logits_processor=ours, stopping_criteria=ours.stop, max_tokens=60, temperature=1.0)
            assert json.loads(made["choices"][0]["text"])["age"] in (7, 34, 110)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("failure", [dv.MatcherError, KeyboardInterrupt])
def test_what_fails_ends_the_generation(
    llama: Any, constraint: dv.Constraint, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    """An exception of a processor is printed and forgotten by ctypes; the generation must not go on without a mask."""
    ours = processors(constraint, llama)
    mask, calls = ours._follower.mask, iter(range(100))

    def fails(ids: Any, width: int) -> Any:
        if next(calls) % 7 == 5:
            raise failure("too much work")
        return mask(ids, width)

    monkeypatch.setattr(ours._follower, "mask", fails)
    made = llama(PROMPT, logits_processor=ours, max_tokens=60, temperature=1.0)
    assert made["usage"]["completion_tokens"] <= 6 and isinstance(ours.error, failure)
    ours.reset()
    with pytest.raises(failure, match="too much work"):
        llama(PROMPT, logits_processor=ours, stopping_criteria=ours.stop, max_tokens=60, temperature=1.0)
    assert ours.error is None


def test_processors_stay_beside_logit_bias(llama: Any, vocabulary: dv.Vocabulary) -> None:
    """llama-cpp-python keeps what `list.extend` returns, which of a plain list is `None`."""
    constraint = dv.compile(dv.Grammar.from_choices(["yes", "no"]), vocabulary)
    [n] = vocabulary.encode("n")
    no = [token for token in range(vocabulary.size) if (vocabulary.tokens[token] or b"").startswith(b"n")]
    for bias, wanted in ((100.0, "no"), (-100.0, "yes")):
        made = llama(
            "Is it? ",
            logits_processor=processors(constraint),
            logit_bias=dict.fromkeys(no, bias),
            max_tokens=9,
            temperature=1.0,
        )
        assert made["choices"][0]["text"] == wanted and n in no


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_draft_model_is_refused(files: Path, constraint: dv.Constraint) -> None:
    """With one, processors are shown ids that nobody has verified."""
    drafting = load(files / "small.gguf", draft_model=LlamaPromptLookupDecoding(num_pred_tokens=4))
    with pytest.raises(dv.DerivableError, match="draft model"):
        LlamaCppLanguageModel(drafting)
    with pytest.raises(dv.MatcherError, match="draft model"):
        processors(constraint, drafting)
    ours = processors(constraint)  # which does not know
    prompt = 'A: {"name": "Ann", "married": true, "age": 7} A: {"name": "Ann", "married": true, "age": 7} A: '
    with pytest.raises(dv.MatcherError, match="drafts"):
        for seed in range(20):
            drafting(prompt, logits_processor=ours, stopping_criteria=ours.stop, max_tokens=60, seed=seed)


TOOL = {
    "type": "object",
    "properties": {"city": {"enum": ["Rome", "Paris"]}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": TOOL}}]
ANSWER = {"type": "object", "properties": {"rain": {"type": "boolean"}}, "required": ["rain"]}
MESSAGES = [{"role": "user", "content": "What is the weather?"}]
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{{ tools | tojson }}\nassistant: "


@pytest.fixture(scope="module")
def chat(files: Path) -> Iterator[Any]:
    """As of a file whose template knows tools."""
    formatter = Jinja2ChatFormatter(TEMPLATE, "</s>", "<s>")
    made = llama_cpp.Llama(
        str(files / "small.gguf"), n_ctx=1024, verbose=False, chat_handler=formatter.to_chat_handler()
    )
    yield made
    made.close()
    gc.collect()


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "get_weather"}}])
@pytest.mark.parametrize("stream", [False, True])
def test_chats_with_tools(chat: Any, vocabulary: dv.Vocabulary, choice: Any, stream: bool) -> None:
    """The grammar is that of the turn, and the message is read from the processors: llama-cpp-python leaves special
    tokens out of its text. A named tool goes to the grammar alone."""
    response = ANSWER if choice == "auto" else None
    grammar = dv.Grammar.from_turn("qwen-3", tools=TOOLS, tool_choice=choice, response=response, parallel=False)
    constraint = dv.compile(grammar, vocabulary)
    ours = processors(constraint, chat, max_tokens=200)
    called = answered = 0
    for seed in range(6):
        made = chat.create_chat_completion(
            MESSAGES,
            tools=TOOLS,
            tool_choice=choice if isinstance(choice, str) else "auto",
            logits_processor=ours,
            max_tokens=200,
            temperature=1.0,
            seed=seed,
            stream=stream,
        )
        if stream:
            text = "".join(piece["choices"][0]["delta"].get("content") or "" for piece in made)
        else:
            text = made["choices"][0]["message"]["content"]
            assert made["choices"][0]["finish_reason"] == "stop"
        assert ours.error is None
        message = constraint.read(ours.text)
        assert not message.unfinished and "<tool_call>" not in text
        assert all(call.name == "get_weather" and call.arguments["city"] in ("Rome", "Paris") for call in message.calls)
        assert bool(message.calls) or (choice == "auto" and set(message.answer) == {"rain"})
        called, answered = called + bool(message.calls), answered + (message.answer is not None)
    assert called and (choice != "auto" or answered)


def test_arguments_of_a_named_tool(chat: Any, vocabulary: dv.Vocabulary) -> None:
    """Where llama-cpp-python is given the name, its own grammar is that of the arguments, and so must ours be."""
    constraint = dv.compile(dv.Grammar.from_json_schema(TOOL), vocabulary)
    ours = processors(constraint, chat, max_tokens=60)
    made = chat.create_chat_completion(
        MESSAGES,
        tools=TOOLS,
        tool_choice={"type": "function", "function": {"name": "get_weather"}},
        logits_processor=ours,
        max_tokens=60,
        temperature=1.0,
        seed=1,
    )["choices"][0]
    [call] = made["message"]["tool_calls"]
    assert ours.error is None and call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == constraint.read(ours.text)


def test_llama_cpps_own_grammars_are_read_alike(llama: Any, vocabulary: dv.Vocabulary) -> None:
    """What llama.cpp writes under a GBNF text is in the language that is read from the same text here."""
    constraint = dv.compile(dv.Grammar.from_gbnf(GBNF), vocabulary)
    own = llama_cpp.LlamaGrammar.from_string(GBNF, verbose=False)
    complete = 0
    for seed in range(6):
        theirs = llama("List: ", grammar=own, max_tokens=40, temperature=1.0, seed=seed)["choices"][0]
        matcher = constraint.matcher()
        matcher.advance_bytes(theirs["text"].encode())
        assert theirs["finish_reason"] == "length" or matcher.is_accepting
        complete += theirs["finish_reason"] == "stop"
        both = llama("List: ", grammar=own, logits_processor=processors(constraint), max_tokens=40, temperature=1.0)
        assert both["choices"][0]["text"].startswith("[")
    assert complete


# Its own loop: drafts, forced tokens, speculation


def test_states(llama: Any) -> None:
    model = LlamaCppLanguageModel(llama)
    ids = model.encode("one two three four five six")
    state = model.start()
    rows = np.asarray(state.append(ids))
    assert rows.shape == (len(ids), model.vocabulary.size) and state.length == len(ids)
    singly = model.start()
    for at, token in enumerate(ids):
        np.testing.assert_allclose(np.asarray(singly.append([token]))[0], rows[at], atol=1e-4)
    singly.truncate(3)
    np.testing.assert_allclose(np.asarray(singly.append(ids[3:])), rows[3:], atol=1e-4)
    singly.truncate(2)
    other = np.asarray(singly.append([ids[0]]))
    assert np.abs(other[0] - rows[2]).max() > 1e-2  # the cache holds the other token


def test_generation_with_and_without_drafts(llama: Any, constraint: dv.Constraint) -> None:
    model = LlamaCppLanguageModel(llama, constraint.vocabulary)
    plain: dict[str, Any] = {"max_tokens": 60, "forced": False, "opportunistic": False, "speculate": 0}
    counts = dv.Speculator()
    for seed in range(6):
        dv.generate(model, PROMPT, constraint, seed=100 + seed, speculator=counts, max_tokens=60)
    counts.freeze()
    saved = forced = 0
    for seed in range(6):
        options: dict[str, Any] = {"seed": seed, "temperature": 0.0 if seed == 0 else 1.0}
        wanted = dv.generate(model, PROMPT, constraint, **plain, **options)
        assert (
            set(json.loads(wanted.text)) == {"name", "married", "age"}
            and wanted.stats.model_calls >= wanted.stats.steps
        )
        for change in ({"opportunistic": True}, {"speculate": 8, "speculator": counts}, {"drafters": [PromptLookup()]}):
            made = dv.generate(model, PROMPT, constraint, **(plain | change), **options)
            assert made.token_ids == wanted.token_ids, change
            saved += wanted.stats.model_calls - made.stats.model_calls
        made = dv.generate(model, PROMPT, constraint, seed=seed, max_tokens=60, speculator=counts)
        assert json.loads(made.text)["name"] in ("Ann", "Bob")
        forced += made.stats.forced
    assert saved >= 5 and forced >= 10


def test_greedy_is_what_create_completion_writes(llama: Any, constraint: dv.Constraint) -> None:
    theirs = llama(PROMPT, logits_processor=processors(constraint), max_tokens=60, temperature=0.0, repeat_penalty=1.0)
    options: dict[str, Any] = {"temperature": 0.0, "forced": False, "heal": False, "max_tokens": 60}
    ours = dv.generate(LlamaCppLanguageModel(llama), PROMPT, constraint, **options)
    assert ours.text == theirs["choices"][0]["text"]


def test_forced_text_is_tokenized_by_the_model(llama: Any, vocabulary: dv.Vocabulary) -> None:
    constraint = dv.compile(dv.Grammar.from_regex("The grammar of the tokens is [0-9]"), vocabulary)
    made = dv.generate(LlamaCppLanguageModel(llama), PROMPT, constraint, heal=False)
    canonical = llama.tokenize(b"The grammar of the tokens is", add_bos=False)
    assert made.token_ids[: len(canonical) - 1] == canonical[:-1] and made.stats.forced >= len(canonical) - 1
