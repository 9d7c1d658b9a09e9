"""What others constrain with: llama.cpp's grammars, llguidance's masks, and Guidance's own loop, beside our masks.

A *checker* says which tokens may come next. `decoded` is one loop for all of them, so two methods differ in what makes
the mask and in nothing else. It has llama.cpp's two orders: the mask first, or *opportunistic*: the token first, which
is checked alone, and the mask only if it is refused. llama.cpp's own tools do the latter. Noise is that of
`dv.generate`, so at any temperature checkers of the same language choose the same texts.

`GuidanceLoop` is Guidance's own decoding (its engine, its parser, its sampling); only the model's passes are ours.

Needs `llama-cpp-python`, `guidance` (which brings `llguidance`) and `transformers`.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import process_time, thread_time
from typing import Any, Protocol

import numpy as np
from ggml import loaded
from numpy.typing import NDArray

import derivable as dv
from derivable.decoding.generation import Stats
from derivable.decoding.sampling import Sampling

Flags = NDArray[np.bool_]


class Checker(Protocol):
    """What knows which tokens may come next."""

    def restart(self) -> None:
        """To the start of a text."""

    def allows(self, token: int) -> bool:
        """Whether one token may come next."""

    def allowed(self) -> Flags:
        """Which tokens may, bool [V]."""

    def accept(self, token: int) -> None:
        """Takes a token."""


class OurChecker:
    """Our own masks."""

    def __init__(self, constraint: dv.Constraint) -> None:
        self._constraint, self._size = constraint, constraint.vocabulary.size
        self._bitmask = dv.allocate_bitmask(1, self._size)
        self.restart()

    def restart(self) -> None:
        """To the start of a text."""
        self._matcher = self._constraint.matcher()

    def allows(self, token: int) -> bool:
        """Whether one token may come next."""
        return self._matcher.allows(token)

    def allowed(self) -> Flags:
        """Which tokens may, bool [V]."""
        self._matcher.fill_bitmask(self._bitmask)
        return _bits(self._bitmask, self._size)

    def accept(self, token: int) -> None:
        """Takes a token."""
        self._matcher.advance(token)


class LlguidanceChecker:
    """Masks of llguidance, which Guidance uses.

    Args:
        tokenizer: its `LLTokenizer`.
        grammar: what `guidance.lark(...).ll_grammar()` or the like gives.
    """

    def __init__(self, tokenizer: Any, grammar: str) -> None:
        self._first = import_module("llguidance").LLMatcher(tokenizer, grammar)
        if self._first.is_error():
            raise SystemExit(self._first.get_error())
        self._size, self._end = int(tokenizer.vocab_size), int(tokenizer.eos_token)
        self._bitmask = np.zeros((1, (self._size + 31) // 32), np.int32)
        self.restart()

    def restart(self) -> None:
        """To the start of a text."""
        self._matcher = self._first.deep_copy()

    def allows(self, token: int) -> bool:
        """Whether one token may come next."""
        return bool(self._matcher.is_accepting() if token == self._end else self._matcher.validate_tokens([token]))

    def allowed(self) -> Flags:
        """Which tokens may, bool [V]."""
        self._matcher.unsafe_compute_mask_ptr(self._bitmask.ctypes.data, self._bitmask.nbytes)
        return _bits(self._bitmask, self._size)

    def accept(self, token: int) -> None:
        """Takes a token."""
        self._matcher.consume_token(token)


class _Candidates(ctypes.Structure):
    """`llama_token_data_array`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    ]


class LlamaChecker:
    """llama.cpp's grammar, as a sampler of its library has it.

    Args:
        vocabulary: a GGUF file, of which only the vocabulary is read.
        gbnf: the grammar.
        size: tokens of the vocabulary.
    """

    def __init__(self, vocabulary: Path, gbnf: str, size: int) -> None:
        self._library: Any = import_module("llama_cpp.llama_cpp")
        self._model = loaded(vocabulary, vocabulary_only=True)
        vocab = self._library.llama_model_get_vocab(self._model)
        self._first = self._library.llama_sampler_init_grammar(vocab, gbnf.encode(), b"root")
        if not self._first:
            raise SystemExit("llama.cpp does not read the grammar")
        kind = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        self._all, self._one = np.zeros(size, kind), np.zeros(1, kind)
        self._all["id"] = np.arange(size)
        self._type = ctypes.POINTER(self._library.llama_token_data_array)
        self._grammar: Any = None
        self.restart()

    def restart(self) -> None:
        """To the start of a text."""
        if self._grammar:
            self._library.llama_sampler_free(self._grammar)
        self._grammar = self._library.llama_sampler_clone(self._first)

    def _applied(self, candidates: NDArray[Any]) -> Flags:
        candidates["logit"] = 0
        array = _Candidates(candidates.ctypes.data, len(candidates), -1, False)
        self._library.llama_sampler_apply(self._grammar, ctypes.cast(ctypes.byref(array), self._type))
        flags: Flags = candidates["logit"] == 0
        return flags

    def allows(self, token: int) -> bool:
        """Whether one token may come next."""
        self._one["id"] = token
        return bool(self._applied(self._one)[0])

    def allowed(self) -> Flags:
        """Which tokens may, bool [V]."""
        return self._applied(self._all)

    def accept(self, token: int) -> None:
        """Takes a token."""
        self._library.llama_sampler_accept(self._grammar, token)


def _bits(bitmask: NDArray[np.int32], size: int) -> Flags:
    return np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:size].view(bool)


class Timed:
    """A model whose passes are timed, and counted by their tokens behind the prompt."""

    def __init__(self, model: Any) -> None:
        self.model, self.passes, self.seconds, self.calls = model, Counter[int](), 0.0, 0
        self.vocabulary, self.context, self.encode = model.vocabulary, model.context, model.encode

    def start(self) -> TimedState:
        """A state without tokens."""
        return TimedState(self.model.start(), self)


class TimedState:
    """A sequence in it."""

    def __init__(self, state: Any, counts: Timed) -> None:
        self._state, self._counts, self.truncate = state, counts, state.truncate

    @property
    def length(self) -> int:
        """Number of tokens."""
        return int(self._state.length)

    def append(self, token_ids: Sequence[int]) -> Any:
        """As the model's own."""
        counts = self._counts
        counts.passes[len(token_ids)] += self._state.length > 0
        started = thread_time()  # a mask may be made meanwhile, by another thread
        found = self._state.append(token_ids)
        counts.seconds += thread_time() - started
        counts.calls += 1
        return found


def decoded(
    model: Timed,
    prompt: str,
    checker: Checker | None,
    *,
    most: int,
    temperature: float,
    seed: int,
    opportunistic: bool,
) -> dv.Generation:
    """A text, token by token."""
    sampling = Sampling(temperature=temperature, seed=seed)
    state, ids, masks, spent = model.start(), list[int](), 0, 0.0
    row, end = state.append(model.encode(prompt))[-1], model.vocabulary.eos_ids[0]
    ended = False
    while len(ids) < most:
        scores, noise = sampling.scores(row, ids), sampling.noise(len(ids), len(row))
        token = sampling.choose(scores, noise) if opportunistic or checker is None else -1
        if checker is not None:
            started = process_time()
            if token < 0 or not checker.allows(token):
                allowed = checker.allowed()
                spent += process_time() - started
                masks += 1
                token = sampling.choose(scores, noise, allowed)
                started = process_time()
            if token != end:
                checker.accept(token)
            spent += process_time() - started
        ended = token == end
        if ended:
            break
        ids.append(token)
        row = state.append([token])[-1]
    stats = Stats(
        steps=len(ids) + ended,
        tokens=len(ids),
        masks=masks,
        mask_seconds=spent,
        model_calls=model.calls,
        model_seconds=model.seconds,
    )
    text = model.vocabulary.decode(ids)
    return dv.Generation(ids, text, "stop" if ended else "length", stats, is_complete=ended)


class GuidanceLoop:
    """Guidance's decoding of a grammar, over passes of a model of ours.

    Args:
        tokenizer: a tokenizer.json.
        begin, end: the ids of its tokens that begin and end a text.
    """

    def __init__(self, tokenizer: Path, begin: int, end: int) -> None:
        made = import_module("tokenizers").Tokenizer.from_file(str(tokenizer))
        wrapped = import_module("transformers").PreTrainedTokenizerFast(
            tokenizer_object=made, bos_token=made.id_to_token(begin), eos_token=made.id_to_token(end)
        )
        self.tokenizer: Any = import_module("guidance.models._transformers").TransformersTokenizer(wrapped)
        engines: Any = import_module("guidance.models._engine")
        loop = self

        def get_logits(engine: Any, token_ids: list[int], include_all_uncached_tokens: bool = False) -> dict[str, Any]:
            return loop._pass(token_ids)

        kind = type("Engine", (engines.Engine,), {"get_logits": get_logits})
        self._engine = kind(self.tokenizer, enable_monitoring=False)
        self._state_class: Any = import_module("guidance.models._engine._state").EngineState
        self._state: Any = None
        self._known, self._row = list[int](), np.zeros((1, 1), np.float32)

    def _pass(self, token_ids: list[int]) -> dict[str, Any]:
        """The logits behind the last token; those of the same beginning are kept, as Guidance's own engines do."""
        same, known = 0, self._known
        if token_ids[: len(known)] == known:
            same = len(known)
        else:
            while known[same] == token_ids[same]:
                same += 1
        same = min(same, len(token_ids) - 1)
        self._state.truncate(same)
        self._row = self._state.append(token_ids[same:])[-1:]
        self._known = list(token_ids)
        return {"logits": self._row, "n_tokens": len(token_ids), "n_cached": same}

    def __call__(self, model: Timed, prompt: str, grammar: str, seed: int) -> dv.Generation:
        """A text of a grammar, of what `ll_grammar()` gives, in which temperature and length are said."""
        np.random.seed(seed)
        self._state, self._known = model.start(), []
        state = self._state_class()
        state.prompt = prompt
        ids, data = list[int](), b""
        running = self._engine(state, grammar)
        end = model.vocabulary.eos_ids[0]
        ended = False
        while True:
            try:
                part = next(running)
            except StopIteration as stop:
                usage = stop.value
                break
            data += part.new_bytes
            if part.backtrack and ids:
                del ids[-part.backtrack :]
            for token in part.tokens:
                ended = token.token_id == end
                if not token.is_backtracked and not ended:
                    ids.append(token.token_id)
        stats = Stats(
            steps=len(ids) + ended,
            tokens=len(ids),
            masks=len(usage.mask_times_ms),
            mask_seconds=sum(usage.mask_times_ms) / 1e3,
            forced=usage.ff_tokens,
            model_calls=model.calls,
            model_seconds=model.seconds,
        )
        return dv.Generation(ids, data, "stop", stats, is_complete=True)
