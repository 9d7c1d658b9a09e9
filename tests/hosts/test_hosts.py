"""Hosts that show a callable the ids so far, or ask an object of theirs: the calls that each of them makes."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import derivable as dv
from derivable.integrations.following import Follower
from derivable.integrations.llama_cpp import Processors, processors
from derivable.integrations.specs import grammar_of, spec_of

VOCABULARY = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", b"c", None, b"</s>"], eos=[5])
CONSTRAINT = dv.compile(dv.Grammar.from_regex("(ab)+c"), VOCABULARY)
PROMPT = [4, 3, 3]


def allowed(row: Any) -> list[int]:
    return np.flatnonzero(np.isfinite(np.asarray(row, np.float64))).tolist()


def words(tokens: list[int]) -> int:
    return sum(1 << token for token in tokens)


# The state behind all of them


def test_a_generation_is_followed() -> None:
    follower = Follower(CONSTRAINT)
    masks = [follower.mask([*PROMPT, *said], 6)[0, 0] for said in ([], [0], [0, 1], [0, 1, 3], [0, 1, 3, 5])]
    assert masks == [words(t) for t in ([0, 2], [1], [0, 2, 3], [5], [5])]
    assert follower.mask([*PROMPT, 0, 1, 3, 5, 5, 4], 6)[0, 0] == words([5])  # padding
    assert follower.mask([*PROMPT, 0, 1], 6)[0, 0] == words([0, 2, 3])  # taken back
    assert follower.mask([*PROMPT, 2, 2], 6)[0, 0] == words([0, 2, 3])  # another way
    assert follower.mask(np.array(PROMPT[:2]), 6)[0, 0] == words([0, 2])  # another prompt
    assert follower.mask([1, 1, 1, 1], 6)[0, 0] == words([0, 2])


def test_refusals_of_what_follows() -> None:
    follower = Follower(CONSTRAINT, steps=1)
    follower.mask(PROMPT, 6)
    with pytest.raises(dv.TokenRejectedError, match="does not heed"):
        follower.mask([*PROMPT, 1], 6)
    assert follower.mask([*PROMPT, 0], 6)[0, 0] == words([1])
    with pytest.raises(dv.MatcherError, match="drafts"):
        follower.mask([*PROMPT, 0, 1, 2], 6)
    follower.reset()
    assert follower.mask([*PROMPT, 0, 1, 2], 6)[0, 0] == words([0, 2])
    for wrong in ([[1]], 5):
        with pytest.raises(dv.ArgumentError):
            follower.mask(wrong, 6)
    with pytest.raises(dv.ArgumentError):
        Follower("x")  # type: ignore[arg-type]


def test_a_constraint_of_another_vocabulary_is_refused_by_every_host() -> None:
    """A model with fewer tokens than the vocabulary has texts is another one; the message has both numbers."""
    both = r"for 3 tokens.* of 6"
    with pytest.raises(dv.MatcherError, match=both):
        Follower(CONSTRAINT).mask(PROMPT, 3)
    made = processors(CONSTRAINT)
    with pytest.raises(dv.MatcherError, match=both):
        made(np.array(PROMPT, np.intc), np.zeros(3, np.single))
    with pytest.raises(dv.MatcherError, match=both):
        made.stop([], [])
    torch = pytest.importorskip("torch")
    from derivable.integrations.tensorrt_llm import Processor

    with pytest.raises(dv.MatcherError, match=both):
        Processor(CONSTRAINT)(7, torch.zeros(1, 1, 3), [PROMPT], None, None)
    mx = pytest.importorskip("mlx.core")
    from derivable.integrations.mlx import Processor as OfMlx

    with pytest.raises(dv.MatcherError, match=both):
        OfMlx(CONSTRAINT)(mx.array(PROMPT), mx.ones((1, 3)))


def test_special_tokens_may_lie_past_the_logits() -> None:
    """Some tokenizers name special tokens that their models lack."""
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"</s>", *[None] * 40], eos=[1])
    follower = Follower(dv.compile(dv.Grammar.from_regex("a"), vocabulary))
    assert follower.mask([0], 2).tolist() == [[1]]
    without_ends = dv.Vocabulary.from_bytes([b"a", b"", b"</s>"], eos=[2])
    with pytest.raises(dv.MatcherError, match="for 2 tokens"):
        Follower(dv.compile(dv.Grammar.from_regex("a"), without_ends)).mask([0], 2)


# llama-cpp-python


def test_llama_cpp() -> None:
    """`Llama.generate` calls the list with int32 ids and float32 scores of the model's width, and uses what returns."""
    made = processors(CONSTRAINT)
    ids = np.array(PROMPT, np.intc)
    for token, wanted in ((0, [0, 2]), (1, [1]), (3, [0, 2, 3]), (5, [5])):
        scores = np.zeros(8, np.single)
        assert allowed(made(ids, scores)) == wanted
        ids = np.append(ids, np.intc(token))
    assert allowed(made(np.array([1], np.intc), np.zeros(8, np.single))) == [0, 2]


def test_llama_cpp_tells_the_text_with_its_special_tokens() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", None, b"</s>"], eos=[2], special={"<call>": 1})
    made = processors(dv.compile(dv.Grammar.from_lark('start: <call> "a" <call>'), vocabulary))
    assert made.text == ""
    for ids in ([5, 6], [5, 6, 1], [5, 6, 1, 0], [5, 6, 1, 0, 1]):
        made(np.array(ids, np.intc), np.zeros(3, np.single))
    assert made.text == "<call>a<call>"
    made(np.array([5, 6, 1, 0, 1, 2], np.intc), np.zeros(3, np.single))
    assert made.text == "<call>a<call>"


def test_llama_cpp_keeps_processors_beside_logit_bias() -> None:
    """It does `processors = processors.extend([...])`."""
    made: Any = processors(CONSTRAINT)
    made = made.extend([lambda ids, scores: scores + 1])
    assert isinstance(made, Processors) and len(made) == 2
    scores = made(np.array(PROMPT, np.intc), np.zeros(8, np.single))
    assert allowed(scores) == [0, 2] and scores[0] == 1


def test_llama_cpp_refuses_drafts() -> None:
    made = processors(CONSTRAINT)
    made(np.array(PROMPT, np.intc), np.zeros(8, np.single))
    with pytest.raises(dv.MatcherError, match="draft model"):
        made(np.array([*PROMPT, 0, 1], np.intc), np.zeros(8, np.single))


def test_llama_cpp_keeps_a_budget() -> None:
    """That of `max_tokens`, and of the context behind the prompt."""

    def written(made: Processors, prompt: list[int]) -> list[int]:
        ids = list(prompt)
        while ids[-1] != 5:
            ids.append(allowed(made(np.array(ids, np.intc), np.zeros(6, np.single)))[0])
        return ids[len(prompt) :]

    llama = SimpleNamespace(draft_model=None, n_ctx=lambda: 12)
    for most in (3, 4, 6, 9):
        assert len(written(processors(CONSTRAINT, max_tokens=most), PROMPT)) <= most
    assert len(written(processors(CONSTRAINT, llama), PROMPT)) <= 9
    assert len(written(processors(CONSTRAINT, llama, max_tokens=5), PROMPT)) <= 5
    with pytest.raises(dv.LimitError, match="3 tokens or more"):
        processors(CONSTRAINT, max_tokens=2)
    for wrong in ("x", -1, 2.5):
        with pytest.raises(dv.ArgumentError, match="max_tokens"):
            processors(CONSTRAINT, llama, max_tokens=wrong)  # type: ignore[arg-type]
    made = processors(CONSTRAINT, llama)
    with pytest.raises(dv.LimitError):
        made(np.array([3] * 10, np.intc), np.zeros(6, np.single))
    with pytest.raises(dv.LimitError):
        made.stop([], [])


# MLX-LM


def test_mlx() -> None:
    mx = pytest.importorskip("mlx.core")
    from derivable.integrations.mlx import Processor

    processor = Processor(CONSTRAINT)
    for dtype in (mx.float32, mx.bfloat16, mx.float16):
        for width in (6, 70):
            processor.reset()
            for said, wanted in (([], [0, 2]), ([2], [0, 2, 3]), ([2, 3], [5]), ([2], [0, 2, 3]), ([0], [1])):
                logits = mx.ones((1, width), dtype=dtype)
                out = processor(mx.array([*PROMPT, *said]), logits)
                assert out.dtype == dtype and out.shape == (1, width)
                assert allowed(np.array(out.astype(mx.float32))[0]) == wanted
                assert mx.all(logits == 1).item()


# TensorRT-LLM


def test_tensorrt_llm() -> None:
    torch = pytest.importorskip("torch")
    from derivable.integrations.tensorrt_llm import Processor

    processor = Processor(CONSTRAINT)

    def step(request: int, beams: list[list[int]]) -> list[list[int]]:
        logits = torch.zeros(1, len(beams), 10)
        processor(request, logits, [[*PROMPT, *beam] for beam in beams], None, None)
        return [allowed(row.numpy()) for row in logits[0]]

    assert step(7, [[]]) == [[0, 2]] and step(8, [[]]) == [[0, 2]]
    assert step(7, [[0]]) == [[1]] and step(8, [[2]]) == [[0, 2, 3]] and step(7, [[0, 1]]) == [[0, 2, 3]]
    assert step(9, [[], []]) == [[0, 2], [0, 2]]
    assert step(9, [[0], [2]]) == [[1], [0, 2, 3]] and step(9, [[2, 3], [0, 1]]) == [[5], [0, 2, 3]]
    with pytest.raises(dv.BitmaskShapeError, match="beams"):
        processor(7, torch.zeros(1, 10), [[1]], None, None)


def test_tensorrt_llm_keeps_a_budget() -> None:
    torch = pytest.importorskip("torch")
    from derivable.integrations.tensorrt_llm import Processor

    processor = Processor(CONSTRAINT, max_tokens=3)
    for said, wanted in (([], [2]), ([2], [3]), ([2, 3], [5])):
        logits = torch.zeros(1, 1, 10)
        processor(1, logits, [[*PROMPT, *said]], None, None)
        assert allowed(logits[0, 0].numpy()) == wanted
    with pytest.raises(dv.LimitError):
        Processor(CONSTRAINT, max_tokens=2)


# SGLang


class _Base:
    def __init__(self) -> None:
        self.finished = False


class _Invalid(_Base):
    def __init__(self, error_message: str = "") -> None:
        super().__init__()
        self.error_message = error_message


class _Manager:
    """Has a grammar at once where it is in its cache, and else later."""

    def process_req_with_grammar(self, req: Any) -> bool:
        return not req.cached

    def get_ready_grammar_requests(self) -> list[Any]:
        return [req for req in self.ready if not req.cached]

    ready: list[Any]


@pytest.fixture
def sglang(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules with the names that the adapter uses, as SGLang 0.5 has them."""
    registered: dict[str, Any] = {}
    choices: list[str] = []
    host: Any = ModuleType("sglang.srt.constrained.base_grammar_backend")
    host.BaseGrammarObject, host.InvalidGrammarObject = _Base, _Invalid
    host.BaseGrammarBackend = type("BaseGrammarBackend", (), {"__init__": lambda self: None})
    host.register_grammar_backend = registered.__setitem__
    arguments: Any = ModuleType("sglang.srt.server_args")
    arguments.add_grammar_backend_choices = choices.extend
    packages: dict[str, Any] = {name: ModuleType(name) for name in ("sglang", "sglang.srt", "sglang.srt.constrained")}
    packages["sglang.srt.constrained"].base_grammar_backend = host
    asking: Any = ModuleType("sglang.srt.constrained.grammar_manager")
    asking.GrammarManager = type("GrammarManager", (_Manager,), {"ready": []})
    packages[asking.__name__] = asking
    packages["sglang.srt"].server_args = arguments
    for name, module in (packages | {host.__name__: host, arguments.__name__: arguments}).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "derivable.integrations.sglang", raising=False)
    module = importlib.import_module("derivable.integrations.sglang")
    module.register()
    assert choices == ["derivable"]
    monkeypatch.setattr(module.Vocabulary, "from_transformers", lambda tokenizer, size, eos: BYTES)
    yield registered["derivable"]
    del sys.modules["derivable.integrations.sglang"]


BYTES = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
TURN = {"type": "turn", "model": "qwen-3", "response": {"type": "integer"}}
TAG = {"structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}], "triggers": ["<f"]}


def test_sglang(sglang: Any) -> None:
    torch = pytest.importorskip("torch")
    backend = sglang(SimpleNamespace(reasoning_parser=None), object(), 257, {256})
    one, two = backend.dispatch_regex("ab"), backend.dispatch_json('{"type": "integer"}')
    mask = one.allocate_vocab_mask(257, 3, "cuda")
    assert mask.dtype == torch.int32 and mask.shape == (3, 9) and (mask == -1).all()
    one.fill_vocab_mask(mask, 0)
    two.fill_vocab_mask(mask, 2)
    logits = torch.zeros(3, 257)
    one.apply_vocab_mask(logits, one.move_vocab_mask(mask, "cpu"))
    assert allowed(logits[0]) == [97] and len(allowed(logits[1])) == 257
    assert set(b"-0123456789") <= set(allowed(logits[2])) and 256 not in allowed(logits[2])
    assert one.try_jump_forward(object()) == ([], "ab") and one.jump_forward_str_state(([], "ab")) == ("ab", -1)
    one.accept_token(97)
    with pytest.raises(ValueError, match="not allowed"):
        one.accept_token(97)
    one.jump_and_retokenize([97], [97, 98], -1)
    one.accept_token(256)
    one.accept_token(0)  # padding
    assert one.is_terminated() and not one.copy().is_terminated()
    one.fill_vocab_mask(mask, 1)
    assert mask[1].tolist() == [0] * 8 + [1]
    one.rollback(1)
    assert not one.is_terminated()
    rows = [SimpleNamespace(grammar=two, row=0), SimpleNamespace(grammar=one, row=2)]
    one.reset_vocab_mask(mask)
    one.fill_vocab_mask_batched(rows, mask)
    assert (mask[1] == -1).all() and mask[2].tolist() == [0] * 8 + [1] and mask[0].tolist() != [-1] * 9
    one.reset_vocab_mask(mask)
    assert (mask == -1).all()


@pytest.mark.parametrize(
    ("kind", "text", "begin"),
    [
        ("json", "$$ANY$$", b"{"),
        ("ebnf", 'root ::= "x"', b"x"),
        ("structural_tag", json.dumps(TAG), b"<f>1</f>"),
        ("structural_tag", json.dumps(TURN), b"<think>Hm.</think>\n\n1"),
    ],
)
def test_sglang_kinds(sglang: Any, kind: str, text: str, begin: bytes) -> None:
    backend = sglang(SimpleNamespace(reasoning_parser=None), object(), 257, {256})
    found = getattr(backend, f"dispatch_{kind}")(text)
    for byte in begin:
        found.accept_token(byte)


@pytest.mark.parametrize("cached", [False, True])
def test_sglang_keeps_max_new_tokens(sglang: Any, cached: bool) -> None:
    pytest.importorskip("torch")
    backend = sglang(SimpleNamespace(reasoning_parser=None), object(), 257, {256})
    sglang(SimpleNamespace(reasoning_parser=None), object(), 257, {256})  # a second one changes nothing more
    manager = sys.modules["sglang.srt.constrained.grammar_manager"].GrammarManager()
    compiled = backend.dispatch_regex("[ab]{3,}")

    def request(most: int | None) -> Any:
        refusals: list[str] = []
        return SimpleNamespace(
            cached=cached,
            grammar=compiled.copy(),
            sampling_params=SimpleNamespace(max_new_tokens=most),
            refusals=refusals,
            set_finish_with_abort=refusals.append,
            finished=lambda: bool(refusals),
        )

    manager.ready = requests = [request(most) for most in (4, 9, 3, None)]
    assert [manager.process_req_with_grammar(each) for each in requests] == [not cached] * 4
    assert len(manager.get_ready_grammar_requests()) == (0 if cached else 4)
    for each, most in zip(requests[:2], (4, 9), strict=True):
        taken = 0
        while not each.grammar.is_terminated():
            mask = each.grammar.allocate_vocab_mask(257, 1, "cpu")
            each.grammar.fill_vocab_mask(mask, 0)
            bits = np.unpackbits(mask.numpy()[0].view(np.uint8), bitorder="little")
            each.grammar.accept_token(int(np.flatnonzero(bits)[0]))
            taken += 1
        assert taken == most and not each.refusals
    [message] = requests[2].refusals
    assert "max_new_tokens=3" in message and "4 tokens or more" in message
    assert requests[3].grammar.matcher.tokens_left is None and not requests[3].refusals


@pytest.mark.parametrize(
    ("kind", "text"), [("json", "{"), ("regex", "("), ("ebnf", "root ::= x"), ("structural_tag", "{")]
)
def test_sglang_refuses_with_the_reason(sglang: Any, kind: str, text: str) -> None:
    backend = sglang(SimpleNamespace(reasoning_parser=None), object(), 257, {256})
    found = getattr(backend, f"dispatch_{kind}")(text)
    assert isinstance(found, _Invalid) and len(found.error_message) > 10


class _Detector:
    think_start_token, think_end_token, tool_start_token, think_start_self_label = "<think>", "</think>", None, ""

    def detect_and_parse(self, text: str) -> None: ...

    def get_answer_frame(self) -> None: ...


class _Framed(_Detector):
    def detect_and_parse(self, text: str) -> None: ...


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch, sglang: Any) -> None:
    module: Any = ModuleType("sglang.srt.parser.reasoning_parser")
    module.BaseReasoningFormatDetector = _Detector
    module.ReasoningParser = lambda model_type, **_: SimpleNamespace(
        detector={"plain": _Detector, "framed": _Framed}[model_type]()
    )
    monkeypatch.setitem(sys.modules, "sglang.srt.parser", ModuleType("sglang.srt.parser"))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_sglang_reasons(sglang: Any, parsers: None) -> None:
    """A text of either kind, by what the request says when it begins."""
    backend = sglang(SimpleNamespace(reasoning_parser="plain"), object(), 257, {256})
    for kind, text, begins in (("json", '{"enum": [1]}', b"1\n"), ("regex", "1", b"1")):
        for budget, reasons, most in ((None, True, 99), (None, False, 0), (3, True, 3)):
            key = backend.get_request_grammar_key((kind, text), input_ids=[1], thinking_budget=budget)
            found = backend._init_value_dispatch(key, reasons)
            for again in (found, found.copy()):
                again.maybe_init_reasoning(reasons)
                if reasons:
                    for byte in b"<think>" + b"x" * min(most, 5) + b"</think>":
                        again.accept_token(byte)
                assert set(again.matcher.allowed_tokens().tolist()) == set(begins if reasons else b"1")
                again.maybe_init_reasoning(not reasons)
                assert set(b"1") <= set(again.matcher.allowed_tokens().tolist())
    with pytest.raises(ValueError, match="not allowed"):
        found = backend._init_value_dispatch(("regex:thinking_budget=3", "1"), True)
        for byte in b"xxxx":
            found.accept_token(byte)
    turn = backend._init_value_dispatch(("structural_tag", json.dumps(TURN)), True)
    assert turn.matcher.allows(b"1"[0])  # says by itself where a reasoning ends


@pytest.mark.parametrize("name", ["framed", "unknown"])
def test_sglang_refuses_parsers_that_read_more_than_marks(sglang: Any, parsers: None, name: str) -> None:
    with pytest.raises(ValueError, match=f"--reasoning-parser {name}.*turn"):
        sglang(SimpleNamespace(reasoning_parser=name), object(), 257, {256})
    with pytest.raises(ValueError, match="strict"):
        sglang(SimpleNamespace(reasoning_parser="plain", enable_strict_thinking=True), object(), 257, {256})


def test_sglang_jumps_forward(sglang: Any) -> None:
    """Over texts of whole characters, and with the tokens of a text that was tokenized anew."""
    backend = sglang(SimpleNamespace(reasoning_parser=None), object(), 257, {256})
    found = backend.dispatch_regex("a\u00e9\u00e9[xy]|b\u20ac|b\u20ad")
    assert found.try_jump_forward(None) is None
    found.accept_token(ord("a"))
    helper = found.try_jump_forward(None)
    assert found.jump_forward_str_state(helper) == ("\u00e9\u00e9", -1)
    found.accept_token(0xC3)
    assert found.try_jump_forward(None) is None  # within a character
    assert found.current_token == 0xC3
    found.jump_and_retokenize([*b"a\xc3"], [*"a\u00e9\u00e9".encode()], -1)
    assert set(found.matcher.allowed_tokens().tolist()) == set(b"xy")
    found.jump_and_retokenize([*"a\u00e9\u00e9".encode()], [*b"b"], -1)
    assert found.matcher.forced_bytes() and found.try_jump_forward(None) is None  # the first bytes of a character
    with pytest.raises(ValueError, match="not allowed"):
        found.jump_and_retokenize([*b"b"], [*b"bx"], -1)


# The end of a process


def test_objects_that_a_host_keeps_to_the_end_are_no_noise() -> None:
    """torch and vLLM keep what they refer to beyond the interpreter's end."""
    code = (
        "import ctypes, derivable as dv\n"
        "v = dv.Vocabulary.from_bytes([b'a', None], eos=[1])\n"
        "m = dv.compile(dv.Grammar.from_regex('a+'), v).matcher()\n"
        "ctypes.pythonapi.Py_IncRef(ctypes.py_object(m))\n"
    )
    paths = ":".join([str(Path(dv.__file__).parents[1]), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={"PYTHONPATH": paths}
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_turns_as_plain_data() -> None:
    """As rows of data sets and requests carry them."""
    asked = {"turn": {"model": "qwen-3", "response": {"type": "integer"}, "reasoning": "none"}}
    for given in (asked, json.dumps(asked)):
        matcher = dv.compile(grammar_of(*spec_of(given)), BYTES).matcher()
        assert set(matcher.allowed_tokens().tolist()) == set(b"-0123456789")
    for wrong in ({"turn": {}}, {"turn": "x"}, {"turn": {"model": "qwen-3", "tool": []}}):
        with pytest.raises(dv.DerivableError):
            grammar_of(*spec_of(wrong))
