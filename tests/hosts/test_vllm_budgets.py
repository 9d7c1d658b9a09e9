"""vLLM's requests end within `max_tokens`: the calls that its scheduler makes (version 0.32), without vLLM.

`test_vllm.py` runs vLLM's own engine where it is installed.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import derivable as dv

VOCABULARY = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None, None], eos=[256])
END, THOUGHT = 256, 257
REGEX = SimpleNamespace(name="REGEX")
TAG = SimpleNamespace(name="STRUCTURAL_TAG")


class Manager:
    """As vLLM's `StructuredOutputManager`: who makes the state of a request, and asks it."""

    def __init__(
        self,
        backend: Any,
        *,
        reasoner: Any = None,
        drafts: int = 0,
        context: int = 512,
        ours: bool = False,
    ) -> None:
        self._grammar_bitmask = Row()
        self.backend, self.reasoner_cls, self.enable_in_reasoning = backend, reasoner, False
        model = SimpleNamespace(max_model_len=context)
        proposer = SimpleNamespace(model="derivable.integrations.vllm.GrammarProposer") if ours else None
        self.vllm_config = SimpleNamespace(
            model_config=model, num_speculative_tokens=drafts, speculative_config=proposer
        )

    def _create_grammar(self, request: Any) -> Any:
        kind = TAG if request.pattern.startswith("{") else REGEX
        return self.backend.compile_grammar(kind, request.pattern, stop_token_ids={END})

    def _get_reasoner(self, request: Any) -> Any:
        return self.reasoner_cls()

    def _fill_bitmasks(self, batch: Any) -> None:
        for state, index, applies in batch:
            if applies:
                state.fill_bitmask(self._grammar_bitmask, index)
            else:
                self._grammar_bitmask.words[index] = -1

    def validate_tokens(self, request: Any, spec_tokens: list[int]) -> list[int]:
        state = request.structured_output_request.grammar
        return spec_tokens if state is None else state.validate_tokens(spec_tokens)

    def accept_tokens(self, request: Any, new_token_ids: list[int]) -> bool:
        return bool(request.structured_output_request.grammar.accept_tokens("r", new_token_ids))


class Request:
    """As vLLM's: its tokens, and whether its reasoning has ended."""

    trace_headers: dict[str, str] | None = None

    def __init__(self, pattern: str, max_tokens: int, prompt: int = 3) -> None:
        self.pattern, self.max_tokens, self.num_prompt_tokens = pattern, max_tokens, prompt
        self.output: list[int] = []
        self.structured_output_request = SimpleNamespace(reasoning_ended=None, grammar=None)

    @property
    def num_output_tokens(self) -> int:
        return len(self.output)

    @property
    def num_tokens(self) -> int:
        return self.num_prompt_tokens + len(self.output)

    @property
    def all_token_ids(self) -> list[int]:
        return [120] * self.num_prompt_tokens + self.output

    def says(self, state: Any, tokens: list[int]) -> None:
        """Tokens that were sampled: those of the text are taken by its state."""
        self.output += tokens
        structured = self.structured_output_request
        if structured.reasoning_ended is False:
            if THOUGHT not in tokens:
                return
            tokens = tokens[tokens.index(THOUGHT) + 1 :]
        structured.reasoning_ended = True
        assert state.accept_tokens("r", tokens)


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules with the names that the adapter uses, as vLLM 0.32 has them."""
    nothing = type("Nothing", (), {})
    backend = type("Backend", (), {"__init__": lambda self, *given: None})
    contents: dict[str, dict[str, Any]] = {
        "vllm": {},
        "vllm.exceptions": {"VLLMValidationError": type("VLLMValidationError", (ValueError,), {})},
        "vllm.v1": {},
        "vllm.v1.sample": {},
        "vllm.v1.sample.logits_processor": {},
        "vllm.v1.sample.logits_processor.interface": {"LogitsProcessor": nothing, "MoveDirectionality": nothing},
        "vllm.v1.structured_output": {"XgrammarBackend": nothing, "StructuredOutputManager": Manager},
        "vllm.v1.structured_output.backend_types": {
            "StructuredOutputBackend": backend,
            "StructuredOutputGrammar": nothing,
            "StructuredOutputOptions": nothing,
        },
        "vllm.v1.structured_output.backend_xgrammar": {
            "XgrammarBackend": nothing,
            "validate_xgrammar_grammar": lambda params: None,
        },
        "vllm.v1.structured_output.utils": {"xgr": None},
        "vllm.tokenizers": {"cached_tokenizer_from_config": lambda model_config: None},
    }
    for name, members in contents.items():
        module: Any = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
        if "." in name:
            parent, _, last = name.rpartition(".")
            monkeypatch.setattr(sys.modules[parent], last, module, raising=False)
    ours = [name for name in sys.modules if name.startswith("derivable.integrations.vllm")]
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    for name in ("_create_grammar", "_fill_bitmasks", "validate_tokens", "accept_tokens"):
        monkeypatch.setattr(Manager, name, getattr(Manager, name))  # put back when this has ended
    module = importlib.import_module("derivable.integrations.vllm")
    requests = importlib.import_module("derivable.integrations.vllm.requests")
    monkeypatch.setattr(dv.cache, "limit", dv.cache.limit)
    monkeypatch.setattr(requests.Vocabulary, "from_transformers", lambda tokenizer, size: VOCABULARY)
    requests.constraints_of.cache_clear()
    module.install()
    yield module
    for name in [name for name in sys.modules if name.startswith("derivable.integrations.vllm")]:
        del sys.modules[name]


def test_what_grammars_have_in_common_keeps_to_the_budget_of_what_is_kept(
    vllm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process forgets grammars of requests, and also the automata that others might share with them."""
    from derivable.integrations.vllm.requests import Constraints

    monkeypatch.setattr(dv.cache, "limit", 8 << 20)  # put back when this has ended
    for size, limit in (("32", 8 << 20), ("3", 3 << 20), ("0", 0)):
        monkeypatch.setenv("DERIVABLE_VLLM_CACHE_MB", size)
        Constraints(None, 258)
        assert dv.cache.limit == limit


def manager_of(vllm: Any, **options: Any) -> Manager:
    config = SimpleNamespace(structured_outputs_config=SimpleNamespace(disable_any_whitespace=False))
    return Manager(vllm.Backend(config, None, 258), **options)


class Row:
    """A tensor of torch, as far as it is asked here."""

    def __init__(self) -> None:
        self.words = dv.allocate_bitmask(1, 258)

    def numpy(self) -> Any:
        return self.words

    def allowed(self) -> list[int]:
        bits = np.unpackbits(self.words[0].view(np.uint8), bitorder="little")
        found: list[int] = np.flatnonzero(bits).tolist()
        return found


def written(request: Request, state: Any) -> str:
    """What a model writes that never wants to end, until vLLM ends it."""
    row, text = Row(), ""
    while request.num_output_tokens < request.max_tokens and not state.is_terminated():
        state.fill_bitmask(row, 0)
        token = min(row.allowed())
        request.says(state, [token])
        text += chr(token) if token < 256 else ""
    return text


def test_the_text_is_complete_within_max_tokens(vllm: Any) -> None:
    manager = manager_of(vllm)
    for most in range(6, 12):
        request = Request("[ab]{5,}", most)
        state = manager._create_grammar(request)
        assert written(request, state) == "a" * (most - 1) and state.is_terminated()
    request = Request("[ab]{5,}", 400)
    manager = manager_of(vllm, context=20)
    state = manager._create_grammar(request)
    assert len(written(request, state)) == 16 and state.is_terminated()  # behind a prompt of 3 tokens


def test_what_reasoning_has_spent_is_not_the_text_s(vllm: Any) -> None:
    manager = manager_of(vllm, reasoner=object)
    for spent in (0, 1, 5, 13):
        request = Request("[ab]{5,}", 20)
        state = manager._create_grammar(request)
        request.structured_output_request.reasoning_ended = False
        request.says(state, [120] * spent)
        request.says(state, [THOUGHT])
        assert written(request, state) == "a" * (18 - spent) and state.is_terminated()
        assert request.num_output_tokens == 20
    request = Request("[ab]{5,}", 20)  # reasoning takes so much that no text fits: it is cut off
    state = manager._create_grammar(request)
    request.structured_output_request.reasoning_ended = False
    request.says(state, [120] * 15 + [THOUGHT])
    assert written(request, state) == "aaaa" and not state.is_terminated()


def test_a_prompt_that_ends_the_reasoning(vllm: Any) -> None:
    manager = manager_of(vllm, reasoner=object, drafts=4)
    for most in (6, 9, 20):
        request = Request("[ab]{5,}", most)
        state = manager._create_grammar(request)  # nobody says that the reasoning has ended until tokens are taken
        assert written(request, state) == "a" * (most - 1) and state.is_terminated()


def test_reasoning_that_ends_within_a_draft(vllm: Any) -> None:
    """Its masks are filled before the draft is taken; whatever they allow is taken then."""
    manager, row = manager_of(vllm, reasoner=object, drafts=4), Row()
    for most in range(8, 24):
        request = Request("[ab]{5,}", most)
        state = manager._create_grammar(request)
        request.structured_output_request.reasoning_ended = False
        request.says(state, [120])
        state.fill_bitmask(row, 0)  # the row behind [120, THOUGHT], both drafted
        token = min(row.allowed())
        assert state.accept_tokens("r", [token])
        state.fill_bitmask(row, 0)
        state.rollback(1)
        request.says(state, [120, THOUGHT, token])
        text = chr(token) + written(request, state)
        assert request.num_output_tokens <= most
        if most >= 9:  # 3 tokens before, 5 and the end
            assert state.is_terminated() and len(text) == most - 4, (most, text)


def too_much_work(most: int) -> dv.Constraint:
    """Of which a mask takes thousands of units of work."""
    return dv.compile(dv.Grammar.builtin("json"), VOCABULARY, limits=dv.Limits(max_step_work=most))


def test_a_mask_that_takes_too_much_work_ends_its_request_alone(vllm: Any) -> None:
    """An error would end vLLM's engine, with all of its requests. The end is allowed instead, which is refused then."""
    row, limited = Row(), too_much_work(1)
    with pytest.raises(dv.LimitError):
        limited.matcher().fill_bitmask(row.words)
    state = vllm.RequestGrammar(limited)
    state.fill_bitmask(row, 0)
    assert row.allowed() == [END]
    assert state.validate_tokens([ord("{")]) == [] and state.matcher.length == 0
    assert not state.accept_tokens("r", [END]) and not state.is_terminated()


def test_a_mask_is_asked_for_again(vllm: Any) -> None:
    """What a step has found out is known the next time."""
    expected = Row()
    dv.compile(dv.Grammar.builtin("json"), VOCABULARY).matcher().fill_bitmask(expected.words)
    again = 0
    for most in (2**bits for bits in range(16)):
        row, limited = Row(), too_much_work(most)
        try:
            limited.matcher().fill_bitmask(row.words)
        except dv.LimitError:
            vllm.RequestGrammar(limited).fill_bitmask(row, 0)
            again += row.allowed() == expected.allowed()
        else:
            assert row.allowed() == expected.allowed()
    assert again


def test_other_rows_have_their_masks(vllm: Any) -> None:
    from derivable.integrations.filling import fill_or_end

    other = dv.compile(dv.Grammar.from_regex("ab"), VOCABULARY).matcher()
    words = dv.allocate_bitmask(3, 258)
    assert fill_or_end([too_much_work(1).matcher(), other], words, [2, 0]) == [0]
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    assert [np.flatnonzero(each).tolist() for each in bits] == [[ord("a")], [], [END]]


def test_requests_in_which_no_text_fits_are_refused(vllm: Any) -> None:
    plugin = importlib.import_module("derivable.integrations.vllm.plugin")
    constraint = dv.compile(dv.Grammar.from_regex("[ab]{5}"), VOCABULARY)
    for max_tokens, context in ((5, 512), (None, 5), (100, 5)):
        with pytest.raises(vllm.RequestRefusedError, match="takes 6 tokens") as refused:
            plugin._check_budget(constraint, max_tokens, context)
        assert isinstance(refused.value, ValueError)  # which vLLM's server answers with status 400
    for max_tokens, context in ((6, 512), (None, 6)):
        plugin._check_budget(constraint, max_tokens, context)


def test_a_turn_decides_itself_where_the_reasoning_ends(vllm: Any) -> None:
    """Whether the server has a reasoning parser or not; its gate waits for other requests."""
    turn = json.dumps({"type": "turn", "model": "qwen-3", "response": {"const": "a"}, "reasoning": "begun"})
    for reasoner in (None, object):
        manager = manager_of(vllm, reasoner=reasoner, drafts=4)
        request = Request(turn, 16)
        state = manager._create_grammar(request)
        ended = request.structured_output_request.reasoning_ended
        assert ended is True  # for vLLM: masks are filled and tokens taken from the first one on
        row = Row()
        state.fill_bitmask(row, 0)
        assert ord("<") in row.allowed() and ord('"') in row.allowed() and END not in row.allowed()
        text = written(request, state)
        assert text.endswith('</think>\n\n"a"') and state.is_terminated() and request.num_output_tokens <= 16
        other = Request('"{', 16)
        manager._create_grammar(other)
        assert other.structured_output_request.reasoning_ended is None


def test_turns_that_cannot_be_enforced_are_refused(vllm: Any) -> None:
    manager = manager_of(vllm)
    for asked, problem in (
        ({"model": "qwen-3", "response": {"type": "string", "pattern": r"(a)\1"}}, "the response"),
        ({"model": "nobody"}, "no form of a turn"),
        ({"model": "qwen-3", "think": True}, "an option of the turn must be one of model, tools"),
        ({"tools": []}, 'a mapping with a "model"'),
    ):
        with pytest.raises(vllm.RequestRefusedError, match=problem):
            manager._create_grammar(Request(json.dumps({"type": "turn", **asked}), 16))


def begun(manager: Manager, pattern: str, max_tokens: int, text: bytes = b"") -> Request:
    """A request that has said so much."""
    request = Request(pattern, max_tokens)
    request.structured_output_request.grammar = state = manager._create_grammar(request)
    if text:
        request.says(state, list(text))
    return request


def drafted(manager: Manager, request: Request) -> str:
    """What the manager gives vLLM to verify."""
    return bytes(manager.validate_tokens(request, [])).decode()


def test_drafts_are_made_by_the_grammar(vllm: Any) -> None:
    manager, pattern = manager_of(vllm, drafts=8, ours=True), '\\{"name":"(x|y)","other":[0-9]\\}'
    request = begun(manager, pattern, 40)
    state = request.structured_output_request.grammar
    assert drafted(manager, request) == '{"name":'
    request.says(state, list(b'{"name":"'))
    assert drafted(manager, request) == ""  # x or y
    request.says(state, list(b"x"))
    assert drafted(manager, request) == '","other'
    assert state.matcher.length == 10  # nothing was taken
    assert drafted(manager, begun(manager, pattern, 12, b'{"name":"')) == 'x"'  # one token is chosen behind it
    assert drafted(manager, begun(manager, pattern, 40, b'{"name":"')) == 'x","othe'  # as the first one chose
    assert drafted(manager, begun(manager, "[ab]{30}", 40, b"aabab"))[:2] == "ab"  # as after "ab" before


def test_the_proposer_wants_our_masks(vllm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vllm.GrammarProposer(None).propose([[1], [2, 3]], None, None, slot_mappings=None) == [[], []]
    monkeypatch.setattr(sys.modules["vllm.v1.structured_output"], "XgrammarBackend", object)
    with pytest.raises(dv.DerivableError, match="DERIVABLE_VLLM=1"):
        vllm.GrammarProposer(None)


def test_drafts_wait_for_the_end_of_the_reasoning(vllm: Any) -> None:
    manager = manager_of(vllm, reasoner=object, drafts=8, ours=True)
    request = begun(manager, "abcdef", 40)
    state = request.structured_output_request.grammar
    request.structured_output_request.reasoning_ended = False
    request.says(state, [120])
    assert drafted(manager, request) == ""
    request.says(state, [THOUGHT])
    assert drafted(manager, request) == "abcdef"
    plain = Request("", 40)
    plain.structured_output_request = None
    assert drafted(manager, plain) == ""


class Reasoner:
    """As vLLM's parser of a reasoning that a call ends, too."""

    reasoning_end_token_ids = frozenset({THOUGHT, ord("<")})

    def find_reasoning_end(self, tokens: list[int]) -> Any:
        return SimpleNamespace(implicit=tokens[0] == ord("<"))


@pytest.mark.parametrize(("pattern", "barred"), [("[ab]+", {END, ord("<")}), ("<a>", {END}), ("(<a>)?", set())])
def test_reasoning_does_not_end_without_a_text(vllm: Any, pattern: str, barred: set[int]) -> None:
    """Neither by the end of the turn nor by a token that cannot begin the text."""
    manager = manager_of(vllm, reasoner=Reasoner)
    request = Request(pattern, 20)
    state = manager._create_grammar(request)
    request.structured_output_request.reasoning_ended = False
    manager._fill_bitmasks([(state, 0, False)])
    assert set(range(258)) - set(manager._grammar_bitmask.allowed()) == barred
    request.says(state, [120, THOUGHT])
    manager._fill_bitmasks([(state, 0, False)])  # a row of padding
    assert len(manager._grammar_bitmask.allowed()) >= 258
    manager._fill_bitmasks([(state, 0, True)])
    row = Row()
    state.fill_bitmask(row, 0)
    assert manager._grammar_bitmask.allowed() == row.allowed()


@dataclass
class Asked:
    """As vLLM's `StructuredOutputsParams`."""

    structural_tag: str | None = None


class Params:
    """As vLLM's `SamplingParams`."""

    def __init__(self, asked: Asked | None) -> None:
        self.structured_outputs = asked

    def clone(self) -> Params:
        return Params(self.structured_outputs)


class Decoder:
    """A tokenizer whose tokens are characters."""

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        assert not skip_special_tokens
        return "".join(map(chr, ids))


@pytest.mark.parametrize(
    ("prompt", "end"),
    [("Say:", ""), ("Say:<think>", "<think>"), ("Say:<think>\n", "<think>"), ("<think>no</think>\n\n", "</think>")],
)
def test_a_turn_begins_where_its_prompt_ends(vllm: Any, prompt: str, end: str) -> None:
    with_prompt = importlib.import_module("derivable.integrations.vllm.prompts").with_prompt
    ids = [*map(ord, prompt)]
    params = Params(Asked(json.dumps({"type": "turn", "model": "qwen-3"})))
    told = json.loads(with_prompt(params, ids, Decoder()).structured_outputs.structural_tag)
    assert told == {"type": "turn", "model": "qwen-3", "prompt": end}
    assert "prompt" not in json.loads(params.structured_outputs.structural_tag)
    dv.Grammar.from_turn("qwen-3", prompt=end)
    others: list[Any] = [{"type": "turn", "model": "qwen-3", "prompt": "x"}, {"type": "turn", "model": "nobody"}]
    others += [{"type": "turn", "model": "qwen-3", "reasoning": "none"}, {"format": {"type": "any_text"}}]
    for tag in others:
        params = Params(Asked(json.dumps(tag)))
        assert with_prompt(params, ids, Decoder()) is params
    assert with_prompt(none := Params(None), ids, Decoder()) is none
