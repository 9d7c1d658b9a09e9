"""SGLang's own classes, as far as they run without a GPU: its plugins, arguments, registry, `GrammarManager`, sampling
information and trees of drafts, with this backend. Its scheduler's loop needs CUDA; a stand-in asks for grammars.

`test_hosts.py` tests the adapter where SGLang is not installed.
"""
# ruff: noqa: E402 -- nothing of SGLang is imported where it is not installed

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("sglang", reason="SGLang is not installed: make test-hosts installs it")
from transformers import AutoProcessor, AutoTokenizer  # noqa: F401 -- before the stand-in, which it would ask for

# SGLang takes transformations of pictures from it at import; the registry's torchvision is built for CUDA.
for name in ("torchvision", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.io"):
    sys.modules.setdefault(name, MagicMock(__spec__=ModuleSpec(name, None), __path__=[], __version__="0"))

import numpy as np
import torch
from sglang.srt import plugins, server_args
from sglang.srt.constrained import base_grammar_backend as host
from sglang.srt.constrained.grammar_manager import GrammarManager
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.runtime_context import get_context, get_parallel
from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
from sglang.srt.sampling.sampling_params import SamplingParams
from sglang.srt.speculative.spec_utils import GrammarTree, build_grammar_vocab_mask
from small_llama import write_model, write_tokenizer

import derivable as dv

SCHEMA = {"type": "object", "properties": {"n": {"enum": [1, 22]}}, "required": ["n"], "additionalProperties": False}
LIST = 'root ::= "[" (root ("," root)*)? "]" | "1"'
TAG = {"structures": [{"begin": "<f>", "schema": {"enum": [1, 2]}, "end": "</f>"}], "triggers": ["<f>"]}


@pytest.fixture(scope="module", autouse=True)
def plugged() -> None:
    plugins.load_plugins()  # as the server's processes do


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_model(folder, write_tokenizer(folder) + 7, bos=0, eos=1)  # logits are wider than the tokenizer
    return folder


@pytest.fixture(scope="module")
def tokenizer(model: Path) -> Any:
    return AutoTokenizer.from_pretrained(model)


def manager_of(model: Path, tokenizer: Any, *options: str) -> Iterator[GrammarManager]:
    """As the scheduler makes it, from arguments that were read from a command line."""
    given = server_args.prepare_server_args(
        ["--model-path", str(model), "--grammar-backend", "derivable", "--device", "cpu", *options]
    )
    assert given.grammar_backend == "derivable"
    config = SimpleNamespace(vocab_size=len(tokenizer) + 7, hf_eos_token_id={1}, think_end_ids=None)
    group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
    scheduler = SimpleNamespace(
        server_args=given,
        tokenizer=tokenizer,
        model_config=config,
        dp_tp_cpu_group=None,
        dp_tp_group=group,
        pp_group=None,
    )
    with get_context().override_server_args(grammar_backend="derivable"), get_parallel().override(pp_rank=0):
        yield GrammarManager(scheduler)


@pytest.fixture(scope="module")
def manager(model: Path, tokenizer: Any) -> Iterator[GrammarManager]:
    yield from manager_of(model, tokenizer)


@pytest.fixture(scope="module")
def thinking(model: Path, tokenizer: Any) -> Iterator[GrammarManager]:
    yield from manager_of(model, tokenizer, "--reasoning-parser", "qwen3")


class Request:
    """What `GrammarManager` reads and writes of a request."""

    def __init__(self, reasons: bool = False, most: int = 50, **kind: Any) -> None:
        self.sampling_params = SamplingParams(max_new_tokens=most, **kind)
        self.origin_input_ids, self.require_reasoning, self.grammar_wait_ct = [0], reasons, 0
        self.grammar: Any = None
        self.grammar_key: Any = None
        self.aborted: str | None = None
        self.rid = "1"

    def set_finish_with_abort(self, message: str) -> None:
        self.aborted = message

    def finished(self) -> bool:
        return self.aborted is not None


def asked(manager: GrammarManager, **kind: Any) -> Request:
    """A request that has got its grammar, or its refusal."""
    request = Request(**kind)
    if manager.process_req_with_grammar(request):
        ready: list[Any] = []
        while not ready:
            ready = manager.get_ready_grammar_requests()
        assert ready == [request]
        manager.grammar_queue.clear()  # which the end of get_ready_grammar_requests does for what it returns
    return request


def masked(manager: GrammarManager, grammars: list[Any]) -> torch.Tensor:
    """The logits of a batch after SGLang's own way from grammars to a mask, `[rows, vocabulary]`."""
    size = manager.grammar_backend.vocabulary.size
    batch: Any = SimpleNamespace(grammars=grammars, temperatures=[1.0] * len(grammars), vocab_size=size, device="cpu")
    SamplingBatchInfo.update_regex_vocab_mask(batch)
    logits = torch.zeros(len(grammars), size)
    batch.grammar_mask.apply(logits)
    return logits


def allowed(row: torch.Tensor) -> list[int]:
    return np.flatnonzero(np.isfinite(row.numpy())).tolist()


def written(manager: GrammarManager, tokenizer: Any, request: Request, seed: int) -> str:
    """A text that is sampled token by token through SGLang's masks, to its end."""
    ids: list[int] = []
    rng = np.random.default_rng(seed)
    closing = manager.grammar_backend.vocabulary.encode_bytes_greedy(b'"')
    closing += manager.grammar_backend.vocabulary.encode_bytes_greedy(b"}")
    while not request.grammar.is_terminated():
        assert len(ids) < 400
        choices = allowed(masked(manager, [request.grammar])[0])
        ends = [token for token in (1, *closing) if token in choices]
        ids.append(ends[0] if ends and rng.random() < 0.5 else int(rng.choice(choices)))
        request.grammar.accept_token(ids[-1])
    assert ids.pop() == 1
    return bytes(manager.grammar_backend.vocabulary.decode(ids)).decode()


def test_it_is_registered_by_the_entry_point() -> None:
    found = plugins.load_plugins_by_group(plugins.GENERAL_PLUGINS_GROUP)
    assert found["derivable"][0].__module__ == "derivable.integrations.sglang"
    assert "derivable" in host.GRAMMAR_BACKEND_REGISTRY


def test_classes(manager: GrammarManager) -> None:
    backend = manager.grammar_backend
    assert isinstance(backend, host.BaseGrammarBackend) and type(backend).__module__.startswith("derivable.")
    request = asked(manager, regex="x")
    assert isinstance(request.grammar, host.BaseGrammarObject)
    vocabulary = backend.vocabulary
    assert vocabulary.size == manager.scheduler.model_config.vocab_size and vocabulary.eos_ids == (1,)


@pytest.mark.parametrize(
    ("kind", "fits"),
    [
        ({"json_schema": json.dumps(SCHEMA)}, lambda text: json.loads(text) in ({"n": 1}, {"n": 22})),
        ({"regex": "[0-9]{3}-x"}, lambda text: len(text) == 5 and text.endswith("-x")),
        ({"ebnf": 'root ::= "a" "b"* "c"'}, lambda text: text.strip("b") == "ac" or text[1:-1].strip("b") == ""),
        ({"structural_tag": json.dumps(TAG)}, lambda text: text.count("<f>") == text.count("</f>")),
        ({"json_schema": "$$ANY$$"}, lambda text: isinstance(json.loads(text), dict)),
    ],
)
def test_texts(manager: GrammarManager, tokenizer: Any, kind: dict[str, str], fits: Any) -> None:
    for seed in range(3):
        request = asked(manager, **kind)
        assert request.aborted is None and fits(written(manager, tokenizer, request, seed))


def test_a_grammar_that_is_kept_begins_anew(manager: GrammarManager) -> None:
    """The manager keeps what was compiled, and copies it for the next request."""
    first = asked(manager, regex="[ab]c")
    first.grammar.accept_token(manager.grammar_backend.vocabulary.encode_bytes_greedy(b"a")[0])
    second = Request(regex="[ab]c")
    assert not manager.process_req_with_grammar(second)
    logits = masked(manager, [first.grammar, None, second.grammar])
    begins = [bytes(manager.grammar_backend.vocabulary.token_bytes(token) or b"") for token in allowed(logits[0])]
    assert begins == [b"c"] and len(allowed(logits[1])) == logits.shape[1]
    assert all(
        bytes(manager.grammar_backend.vocabulary.token_bytes(token) or b"")[:1] in b"ab" for token in allowed(logits[2])
    )


@pytest.mark.parametrize(
    "kind", [{"json_schema": '{"type": "never"}'}, {"regex": "("}, {"ebnf": "root ::= x"}, {"structural_tag": "{}"}]
)
def test_refusals_reach_the_request_and_are_kept(manager: GrammarManager, kind: dict[str, str]) -> None:
    for request in (asked(manager, **kind), asked(manager, **kind)):
        assert request.aborted is not None and "Failed to compile" in request.aborted
        assert request.aborted.split("grammar: ")[1] != "Unknown grammar error"


def test_rows_that_have_ended(manager: GrammarManager) -> None:
    """SGLang leaves their rows out; such a row is free."""
    one, two = asked(manager, regex="x"), asked(manager, regex="y")
    [x] = manager.grammar_backend.vocabulary.encode_bytes_greedy(b"x")
    one.grammar.accept_token(x)
    assert allowed(masked(manager, [one.grammar])[0]) == [1]
    one.grammar.accept_token(1)
    assert one.grammar.is_terminated()
    logits = masked(manager, [one.grammar, two.grammar])
    assert len(allowed(logits[0])) == logits.shape[1] and len(allowed(logits[1])) == 1


def test_a_token_that_is_not_allowed(manager: GrammarManager) -> None:
    """The processor of results catches a ValueError and ends the request."""
    request = asked(manager, regex="x")
    with pytest.raises(ValueError, match="not allowed"):
        request.grammar.accept_token(5)
    assert len(allowed(masked(manager, [request.grammar])[0])) == 1


def test_trees_of_drafts(manager: GrammarManager) -> None:
    """SGLang walks a tree by `accept_token`, `fill_vocab_mask` and `rollback`; a row is the mask behind its node."""
    vocabulary = manager.grammar_backend.vocabulary
    [a], [b], [c] = (vocabulary.encode_bytes_greedy(each) for each in (b"a", b"b", b"c"))
    request = asked(manager, regex="a(b|c)c?")
    # Node 0 was chosen by the model; b, c and a are its children (a is not allowed), and c stands behind b.
    tree = GrammarTree.from_host(
        torch.tensor([[1, 3, -1, -1, -1]]),
        torch.tensor([[-1, 2, 4, -1, -1]]),
        torch.tensor([[a, b, c, c, a]]),
    )
    request.grammar.accept_token(a)
    info: Any = SimpleNamespace(vocab_size=vocabulary.size, grammar_mask="left over")
    mask = build_grammar_vocab_mask(reqs=[request], tree=tree, sampling_info=info, device="cpu", barrier=None)
    assert mask is not None and info.grammar_mask is None
    logits = torch.zeros(5, vocabulary.size)
    mask.apply(logits)
    wanted = dv.compile(dv.Grammar.from_regex("a(b|c)c?"), vocabulary)
    for row, ids in enumerate(([a], [a, b], [a, c], [a, b, c])):
        matcher = wanted.matcher()
        for token in ids:
            matcher.advance(token)
        assert allowed(logits[row]) == matcher.allowed_tokens().tolist(), ids
    assert request.grammar.rollback(1) is None
    request.grammar.accept_token(a)  # the walk has left the grammar where it was


# Reasoning


THINK, END = 2, 3  # of the tokenizer's special tokens


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [12, 60])
def test_reasoning_ends_with_a_text(thinking: GrammarManager, tokenizer: Any, seed: int, most: int) -> None:
    """What SGLang's own parser splits off is free, the rest is in the grammar, and both are complete in time."""
    request = asked(thinking, reasons=True, most=most, json_schema=json.dumps(SCHEMA))
    rng = np.random.default_rng(seed)
    ids: list[int] = [THINK] if seed % 2 else []
    for token in ids:
        request.grammar.accept_token(token)
    while not request.grammar.is_terminated():
        choices = allowed(masked(thinking, [request.grammar])[0])
        assert END not in ids or END not in choices
        is_ended = END in ids or (END in choices and rng.random() < 0.1)
        ids.append(END if is_ended and END not in ids else int(rng.choice(choices)))
        request.grammar.accept_token(ids[-1])
    assert len(ids) <= most and ids.pop() == 1
    text = tokenizer.decode(ids, skip_special_tokens=False)
    split = ReasoningParser(model_type="qwen3", force_reasoning=True).detector.detect_and_parse(text)
    assert json.loads(split.normal_text) in ({"n": 1}, {"n": 22})
    assert "<think>" not in split.reasoning_text and "<tool_call>" not in split.reasoning_text


def test_masks_behind_the_mark_are_those_of_the_grammar(thinking: GrammarManager, manager: GrammarManager) -> None:
    vocabulary = thinking.grammar_backend.vocabulary
    for kind in ({"regex": "[ab]c"}, {"ebnf": 'root ::= "x" | "y"'}, {"structural_tag": json.dumps(TAG)}):
        plain = masked(manager, [asked(manager, **kind).grammar])[0]
        for reasons in (True, False, True):  # kept by the manager for both ways
            request = asked(thinking, reasons=reasons, **kind)
            if reasons:
                first = allowed(masked(thinking, [request.grammar])[0])
                assert {THINK, END} <= set(first) and 1 not in first and len(first) > 900
                for token in (*vocabulary.encode_bytes_greedy(b"Hm."), END):
                    request.grammar.accept_token(token)
            assert allowed(masked(thinking, [request.grammar])[0]) == allowed(plain)


def test_a_request_bounds_its_reasoning(thinking: GrammarManager) -> None:
    for budget in (0, 2, 2, 5):
        request = asked(thinking, reasons=True, regex="[ab]c", custom_params={"thinking_budget": budget})
        for _ in range(budget):
            choices = allowed(masked(thinking, [request.grammar])[0])
            request.grammar.accept_token(next(token for token in choices if token > 10))
        assert allowed(masked(thinking, [request.grammar])[0])[-1] == END


def test_turns_say_themselves_where_a_reasoning_ends(thinking: GrammarManager) -> None:
    turn = {"type": "turn", "model": "qwen-3", "response": {"enum": [1]}, "reasoning": "none"}
    request = asked(thinking, reasons=True, structural_tag=json.dumps(turn))
    vocabulary = thinking.grammar_backend.vocabulary
    assert allowed(masked(thinking, [request.grammar])[0]) == vocabulary.encode_bytes_greedy(b"1")


def test_a_request_without_room_behind_its_reasoning(thinking: GrammarManager) -> None:
    assert asked(thinking, reasons=True, most=4, regex="[a-c]{40}").aborted is not None
    assert asked(thinking, reasons=True, most=50, regex="[a-c]{40}").aborted is None


def test_parsers_that_read_more_than_marks_are_refused(model: Path, tokenizer: Any) -> None:
    for parser, fits in (("deepseek-r1", True), ("glm45", True), ("gpt-oss", False), ("kimi_k3", False)):
        given = SimpleNamespace(reasoning_parser=parser)
        with get_context().override_server_args(grammar_backend="derivable"):
            if fits:
                assert host.create_grammar_backend(given, tokenizer, 2000, {1}, [3]) is not None
                continue
            with pytest.raises(ValueError, match=f"{parser}.*turn"):
                host.create_grammar_backend(given, tokenizer, 2000, {1}, [3])


# What the scheduler does to grammars


@pytest.mark.parametrize("seed", range(60))
def test_schedules(thinking: GrammarManager, seed: int) -> None:
    """Batched masks, trees of drafts under SGLang's own walk, and requests that are retracted and begin anew: each text
    is the one that comes out alone."""
    kinds: list[dict[str, Any]] = [
        {"regex": "[ab]{2,9}c"},
        {"json_schema": json.dumps(SCHEMA), "reasons": True},
        {
            "ebnf": 'root ::= "[" (root ("," root)*)? "]" | "1"',
            "reasons": True,
            "custom_params": {"thinking_budget": 4},
        },
        {"structural_tag": json.dumps(TAG)},
    ]
    rng = np.random.default_rng(seed)

    def choice(number: int, at: int, choices: list[int]) -> int:
        mixed = np.random.default_rng([number, at])
        return END if END in choices and mixed.random() < 0.2 else int(mixed.choice(choices))

    def alone(number: int) -> list[int]:
        matcher = asked(thinking, most=30, **kinds[number % 4]).grammar.matcher
        ids: list[int] = []
        while not matcher.is_finished:
            ids.append(choice(number, len(ids), matcher.allowed_tokens().tolist()))
            matcher.advance(ids[-1])
        return ids

    numbers = [int(number) for number in rng.integers(0, 1000, 5)]
    running = {number: asked(thinking, most=30, **kinds[number % 4]) for number in numbers}
    wanted = {number: alone(number) for number in numbers}
    written: dict[int, list[int]] = {number: [] for number in numbers}
    while running:
        batch = [number for number in running if rng.random() < 0.8]
        steps = {number: rng.choice(["plain", "tree", "retract"], p=[0.6, 0.35, 0.05]) for number in batch}
        plain = [number for number in batch if steps[number] == "plain"]
        if plain:
            logits = masked(thinking, [running[number].grammar for number in plain])
            for number, row in zip(plain, logits):
                written[number].append(choice(number, len(written[number]), allowed(row)))
                running[number].grammar.accept_token(written[number][-1])
        for number in (number for number in batch if steps[number] == "tree" and written[number]):
            written[number] += verified(thinking, running[number], number, written[number], wanted[number], choice, rng)
        for number in (number for number in batch if steps[number] == "retract"):
            running[number] = asked(thinking, most=30, **kinds[number % 4])
            for token in written[number]:
                running[number].grammar.accept_token(token)
        for number in list(running):
            assert written[number] == wanted[number][: len(written[number])]
            if running[number].grammar.is_terminated():
                assert written[number] == wanted[number] and running[number].grammar.current_token == 1
                del running[number]


def verified(
    manager: GrammarManager, request: Request, number: int, ids: list[int], wanted: list[int], choice: Any, rng: Any
) -> list[int]:
    """What is accepted of a tree of drafts, and the token behind it."""
    size = int(rng.integers(2, 8))
    parents = [-1, *(int(rng.integers(0, node)) for node in range(1, size))]
    depth = [0] * size
    for node in range(1, size):
        depth[node] = depth[parents[node]] + 1
    tokens = [ids[-1]]
    for node in range(1, size):
        at = len(ids) + depth[node] - 1
        guess = wanted[at] if at < len(wanted) and rng.random() < 0.7 else int(rng.integers(0, 1000))
        tokens.append(guess)
    children = [[node for node in range(1, size) if parents[node] == parent] for parent in range(size)]
    first = [nodes[0] if nodes else -1 for nodes in children]
    sibling = [-1] * size
    for nodes in children:
        for one, other in pairwise(nodes):
            sibling[one] = other
    tree = GrammarTree.from_host(torch.tensor([first]), torch.tensor([sibling]), torch.tensor([tokens]))
    width = manager.grammar_backend.vocabulary.size
    info: Any = SimpleNamespace(vocab_size=width, grammar_mask=None)
    mask = build_grammar_vocab_mask(reqs=[request], tree=tree, sampling_info=info, device="cpu", barrier=None)
    assert mask is not None
    logits = torch.zeros(size, width)
    mask.apply(logits)
    accepted: list[int] = []
    node = 0
    while node >= 0 and not request.grammar.is_terminated():
        accepted.append(choice(number, len(ids) + len(accepted), allowed(logits[node])))
        request.grammar.accept_token(accepted[-1])
        node = next((each for each in children[node] if tokens[each] == accepted[-1]), -1)
    return accepted
