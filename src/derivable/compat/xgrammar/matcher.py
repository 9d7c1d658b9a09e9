"""Matchers, one or many, and bitmasks as tensors."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ...apply import apply_bitmask
from ...batch import fill_bitmasks
from ...errors import DerivableError, RollbackError, TokenRejectedError, UnsupportedFeatureError
from ...matcher import Matcher as EngineMatcher
from .compiler import CompiledGrammar
from .exception import runtime_errors

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment, unused-ignore]

__all__ = [
    "BatchGrammarMatcher",
    "GrammarMatcher",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "get_bitmask_shape",
    "reset_token_bitmask",
]

bitmask_dtype: Any = torch.int32 if torch is not None else np.int32
"""int32, of torch where it is installed, else of numpy."""


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """(batch_size, ceil(vocab_size / 32))."""
    return (batch_size, (vocab_size + 31) // 32)


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """A bitmask that allows everything: a tensor on the CPU where torch is installed, else an array of numpy."""
    shape = get_bitmask_shape(batch_size, vocab_size)
    return torch.full(shape, -1, dtype=torch.int32) if torch is not None else np.full(shape, -1, dtype=np.int32)


def reset_token_bitmask(bitmask: Any) -> None:
    """Everything is allowed."""
    bitmask[...] = -1


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Any = None,
    backend: Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"] = "auto",
) -> None:
    """Logits of tokens that are not allowed become minus infinity.

    Args:
        logits: [batch, W] or [W], a tensor on any device or an array of numpy.
        bitmask: int32 [batch, words] or [words], on the same device.
        vocab_size: only the first so many logits are looked at; by default as many as the bitmask has bits. Those past
            it stay as they are, which `derivable.apply_bitmask` does not do.
        indices: only these rows.
        backend: accepted. The kernel on the CPU, torch elsewhere.
    """
    if getattr(bitmask, "device", None) != getattr(logits, "device", None):
        raise ValueError(
            f"logits and bitmask should be on the same device. But got logits.device: {logits.device}, "
            f"bitmask.device: {bitmask.device}"
        )
    if backend not in ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"):
        raise ValueError(f"Unknown backend: {backend}.")
    if backend == "cpu" and torch is not None and isinstance(logits, torch.Tensor) and not logits.is_cpu:
        raise ValueError("logits must be on CPU")
    if str(bitmask.dtype).removeprefix("torch.") != "int32":
        raise ValueError("bitmask must be of type int32")
    covered = bitmask.shape[-1] * 32
    if vocab_size is None:
        if covered < logits.shape[-1]:
            warnings.warn(
                f"The bitmask covers only {covered} tokens but logits have {logits.shape[-1]}, so "
                f"logits[..., {covered}:] are left unmasked. Allocate the bitmask with the full vocab size, or pass "
                "vocab_size explicitly.",
                stacklevel=2,
            )
        vocab_size = min(logits.shape[-1], covered)
    if vocab_size > covered or vocab_size > logits.shape[-1]:
        raise RuntimeError(f"vocab_size={vocab_size} is more than the bitmask ({covered}) or the logits have.")
    rows = None if indices is None else [int(index) for index in indices]
    part = logits if vocab_size == logits.shape[-1] else logits[..., :vocab_size]
    words = bitmask[..., : (vocab_size + 31) // 32]
    with runtime_errors():
        apply_bitmask(part, words, rows=rows)


def _host_rows(bitmask: Any) -> Any:
    """A bitmask with a dimension for its rows. PERF: a tensor as an array takes 1 us; by DLPack it is 10."""
    if torch is not None and isinstance(bitmask, torch.Tensor) and bitmask.is_cpu:
        bitmask = bitmask.numpy()
    return bitmask[None] if len(bitmask.shape) == 1 else bitmask


class GrammarMatcher:
    """One sequence being generated.

    Args:
        compiled_grammar: made by a `GrammarCompiler`.
        override_stop_tokens: tokens that end the text, instead of the tokenizer's.
        terminate_without_stop_token: it is terminated as soon as the text is complete, and its masks have no stop
            tokens.
        max_rollback_tokens: without effect: any number of steps can be undone.
        default_temperature: what `temperature` says where the grammar says nothing.
    """

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: int | list[int] | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
    ) -> None:
        if not isinstance(compiled_grammar, CompiledGrammar):
            raise ValueError("The grammar should be compiled before passing it to GrammarMatcher.")
        if max_rollback_tokens != -1:
            warnings.warn(
                "max_rollback_tokens is deprecated. You don't need to set it and it's always unlimited (-1).",
                DeprecationWarning,
                stacklevel=2,
            )
        if isinstance(override_stop_tokens, int):
            override_stop_tokens = [override_stop_tokens]
        self._tokenizer_info = compiled_grammar.tokenizer_info
        self._stops = compiled_grammar.tokenizer_info.stop_token_ids
        if override_stop_tokens is not None:
            self._stops = list(override_stop_tokens)
        self._without_stop = terminate_without_stop_token
        ends = [] if terminate_without_stop_token else override_stop_tokens
        with runtime_errors():
            self._matcher = compiled_grammar.constraint(ends).matcher()
        self._taken: list[int | bytes] = []  # step by step
        self._temperature = None if default_temperature is None else float(default_temperature)
        if self._temperature is not None and not 0 <= self._temperature < math.inf:
            raise RuntimeError("default_temperature must be a finite non-negative number")
        self._whole_words, rest = divmod(self._matcher.constraint.vocabulary.size, 32)
        self._last_word = (1 << rest) - 1  # where all of its tokens are allowed; 0: there is none

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        """Takes a token. False, and nothing has changed, if it is not allowed."""
        try:
            self._matcher.advance(token_id)
            self._taken.append(int(token_id))
        except TokenRejectedError:
            if debug_print:
                self._show(f"token {token_id} is refused")
            return False
        except DerivableError as error:
            raise RuntimeError(str(error)) from error
        if debug_print:
            self._show(f"token {token_id} is accepted")
        return True

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """Takes a text, as one step. False, and nothing has changed, if it is not a prefix of anything allowed."""
        data = input_str.encode("utf-8", "surrogatepass") if isinstance(input_str, str) else bytes(input_str)
        if self._matcher.is_finished:
            return False
        try:
            self._matcher.advance_bytes(data)
            self._taken.append(data)
        except TokenRejectedError:
            if debug_print:
                self._show(f"{data!r} is refused")
            return False
        except DerivableError as error:
            raise RuntimeError(str(error)) from error
        if debug_print:
            self._show(f"{data!r} is accepted")
        return True

    def _show(self, what: str) -> None:
        print(f"{what}: {self._debug_print_internal_state()}", file=sys.stderr)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool:
        """Writes the mask of the next token into a row of a bitmask on the CPU.

        Returns:
            Whether something is not allowed, so that the mask has to be applied.

        Raises:
            RuntimeError: the bitmask is not int32, on the CPU, and wide enough; or the matcher has terminated.
        """
        matcher = self._matcher
        if matcher.is_finished:
            raise RuntimeError(
                "GrammarMatcher has terminated after accepting the stop token, but is trying to find the next token "
                "mask. Ask is_terminated() before, or use reset() or rollback()."
            )
        rows = _host_rows(bitmask)
        try:
            matcher.fill_bitmask(rows, index)
        except DerivableError as error:
            raise RuntimeError(str(error)) from error
        if debug_print:
            self._show("mask filled")
        row = rows[index]
        # PERF: the first word nearly always says it; all 4,008 of a large vocabulary take as long as the mask itself.
        if row[0] not in (-1, self._last_word):
            return True
        return bool((row[: self._whole_words] != -1).any()) or (
            self._last_word != 0 and int(row[self._whole_words]) != self._last_word
        )

    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any = None,
    ) -> bool:
        """Fills the masks of a tree of drafts: row i with the mask after node i, whose root, node 0, is the state now.

        Args:
            retrieve_next_token, retrieve_next_sibling: of each node its first child and its next sibling, or -1.
            draft_tokens: of each node the token.
            token_bitmask: int32 [nodes, words]. Rows of nodes that are refused, or end the text, are cleared.
            time_threshold: seconds after which no more nodes are visited; 0 or less: none.
            temperatures: float32 [nodes], filled with `temperature` or -1.

        Returns:
            Whether all nodes were visited.
        """
        given = (retrieve_next_token, retrieve_next_sibling, draft_tokens)
        if any(len(each.shape) != 1 or not str(each.dtype).endswith("int64") for each in given):
            raise RuntimeError("the tree's tensors must be int64, of one dimension")
        children, siblings, tokens = ([int(node) for node in each] for each in given)
        if not len(children) == len(siblings) == len(tokens):
            raise RuntimeError("the tree's tensors are not of one length")
        if len(token_bitmask.shape) != 2 or token_bitmask.shape[0] != len(tokens):
            raise RuntimeError("token_bitmask must have a row for each node")
        if siblings and siblings[0] != -1:
            raise RuntimeError("the root of the draft tree has a sibling")
        order, parents = _visited(children, siblings)
        if temperatures is not None:
            temperatures[...] = -1.0
        masks = _host_rows(token_bitmask)
        begin = time.monotonic()
        nodes: dict[int, EngineMatcher] = {}
        for node in order:
            parent = nodes.get(parents[node])
            if node != 0 and time_threshold > 0 and parent and time.monotonic() - begin > time_threshold:
                return False
            here = self._matcher.fork() if node == 0 else self._after(parent, tokens[node])
            if here is None or here.is_finished:
                masks[node] = 0
                continue
            nodes[node] = here
            with runtime_errors():
                here.fill_bitmask(masks, node)
            if temperatures is not None and (heat := self._temperature_of(here)) is not None:
                temperatures[node] = heat
        return True

    @staticmethod
    def _after(parent: EngineMatcher | None, token: int) -> EngineMatcher | None:
        if parent is None:
            return None
        here = parent.fork()
        try:
            here.advance(token)
        except TokenRejectedError:
            return None
        return here

    def find_jump_forward_string(self) -> str:
        """The text that must come next, as far as there is no choice. Bytes of a character in part are left out."""
        with runtime_errors():
            return self._matcher.forced_bytes().decode("utf-8", "ignore")

    def find_jump_forward_tokens(self) -> list[int]:
        """Tokens for the text that must come next: the longest that fits, one after the other, without the last if a
        longer token begins with it. Special tokens and ends of sequence are not among them, and the tokenizer may
        write the text otherwise: `derivable.Matcher.forced_tokens` gives its own tokens.
        """
        matcher = self._matcher
        with runtime_errors():
            forced = b"" if matcher.is_finished or matcher.is_accepting else matcher.forced_bytes()
        spelled = self._tokenizer_info.ordinary_tokens
        found: list[int] = []
        at = 0
        while at < len(forced):
            token = spelled.longest(forced, at)
            if token is None:
                break
            at += len(spelled.tokens[token])
            if at == len(forced) and spelled.goes_on(token):
                break
            found.append(spelled.ids[token])
        return found

    def rollback(self, num_tokens: int = 1) -> None:
        """Undoes steps.

        Raises:
            RuntimeError: there are not so many.
        """
        with runtime_errors():
            self._matcher.rollback(num_tokens)
        del self._taken[len(self._taken) - num_tokens :]

    def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]:
        """What the captured rules of the grammar matched so far, each as soon as it is complete whatever follows.

        Raises:
            RuntimeError: `deduplicate` is false: other readings than the one that counts are not recorded.
        """
        if not deduplicate:
            problem = "captures of readings that do not count are not recorded. Leave `deduplicate` out."
            raise RuntimeError(problem) from UnsupportedFeatureError("deduplicate", problem)
        matcher = self._matcher
        taken = self._taken[:-1] if matcher.is_finished and not self._without_stop else self._taken
        spelled = self._tokenizer_info.spelled
        with runtime_errors():
            text: Any = taken
            if not all(isinstance(part, int) for part in taken):
                text = b"".join([spelled(part) if isinstance(part, int) else part for part in taken])
            found = matcher.constraint.captures(text, is_whole=matcher.is_accepting)  # type: ignore[attr-defined]
        return [(name, part.encode("utf-8", "surrogateescape")) for name, part in found.listed]

    def is_terminated(self) -> bool:
        """A stop token was accepted; or, without stop tokens, the text is complete."""
        with runtime_errors():
            return self._matcher.is_accepting if self._without_stop else self._matcher.is_finished

    def is_completed(self) -> bool:
        """The text so far is one of the grammar's."""
        with runtime_errors():
            return self._matcher.is_accepting

    def reset(self) -> None:
        """Goes back to the beginning."""
        self._matcher.reset()
        self._taken.clear()

    def fork(self) -> GrammarMatcher:
        """A second matcher at the same place. Cost: a list of the tokens so far, which captures are read from."""
        copy = GrammarMatcher.__new__(GrammarMatcher)
        copy.__dict__ |= self.__dict__ | {"_matcher": self._matcher.fork(), "_taken": [*self._taken]}
        return copy

    @property
    def max_rollback_tokens(self) -> int:
        """-1: any number."""
        return -1

    @property
    def temperature(self) -> float | None:
        """The temperature that the next token is to be drawn with: that of the grammar, else `default_temperature`."""
        return self._temperature_of(self._matcher)

    def _temperature_of(self, matcher: EngineMatcher) -> float | None:
        with runtime_errors():
            said = matcher.temperature
        return self._temperature if said is None else said

    @property
    def stop_token_ids(self) -> list[int]:
        """The tokens that end the text."""
        return list(self._stops)

    def _debug_print_internal_state(self) -> str:
        return f"{self._matcher!r}, next bytes {self._matcher.next_bytes()[:64]!r}"


def _visited(children: Sequence[int], siblings: Sequence[int]) -> tuple[list[int], dict[int, int]]:
    """The nodes from the root on, parents before children, and the parent of each.

    Raises:
        RuntimeError: an index is out of range, or a node is reached twice.
    """
    parents, order = {0: -1} if children else {}, [0] if children else []
    for node in order:
        child = children[node]
        while child != -1:
            if not 0 < child < len(children) or child in parents:
                raise RuntimeError(f"the draft tree is no tree: node {child} is out of range, or has two parents")
            parents[child] = node
            order.append(child)
            child = siblings[child]
    return order, parents


class BatchGrammarMatcher:
    """Many matchers at once.

    Args:
        max_threads: at most so many; masks that are known are filled by the thread that asks.
    """

    def __init__(self, max_threads: int | Literal["auto"] = "auto") -> None:
        if max_threads != "auto" and max_threads < 1:
            raise RuntimeError("max_threads must be at least 1")
        self._threads: int | None = None if max_threads == "auto" else max_threads

    def batch_fill_next_token_bitmask(
        self,
        matchers: list[GrammarMatcher],
        bitmask: Any,
        indices: list[int] | None = None,
        debug_print: bool = False,
    ) -> None:
        """Writes the mask of each matcher into row `indices[i]`, or row i.

        Raises:
            RuntimeError: the bitmask or the indices do not fit, or a matcher has terminated.
        """
        if indices is not None and len(indices) != len(matchers):
            raise RuntimeError("the sizes of matchers and indices do not match")
        for row, matcher in enumerate(matchers):
            if matcher._matcher.is_finished:
                raise RuntimeError(f"matcher {row} of the batch has terminated after accepting the stop token.")
        with runtime_errors():
            fill_bitmasks(
                [matcher._matcher for matcher in matchers], _host_rows(bitmask), rows=indices, threads=self._threads
            )

    @staticmethod
    def batch_fill_temperature(
        matchers: list[GrammarMatcher], temperatures: Any, indices: list[int] | None = None
    ) -> None:
        """Writes the temperature of each matcher, or -1."""
        at = list(range(len(matchers))) if indices is None else list(indices)
        if len(at) != len(matchers):
            raise RuntimeError("the sizes of matchers and indices do not match")
        if len(temperatures.shape) != 1 or str(temperatures.dtype).removeprefix("torch.") != "float32":
            raise RuntimeError("temperatures must be float32 of one dimension, on the CPU")
        if any(not 0 <= index < temperatures.shape[0] for index in at):
            raise RuntimeError("an index is outside of the temperatures")
        for index, matcher in zip(at, matchers):
            temperatures[index] = -1.0 if matcher.temperature is None else matcher.temperature

    @staticmethod
    def batch_accept_token(matchers: list[GrammarMatcher], tokens: list[int], debug_print: bool = False) -> list[bool]:
        """`accept_token` of each."""
        if len(matchers) != len(tokens):
            raise RuntimeError("the sizes of matchers and tokens do not match")
        return [matcher.accept_token(token, debug_print=debug_print) for matcher, token in zip(matchers, tokens)]

    @staticmethod
    def batch_accept_string(
        matchers: list[GrammarMatcher], strings: Sequence[str | bytes], debug_print: bool = False
    ) -> list[bool]:
        """`accept_string` of each."""
        if len(matchers) != len(strings):
            raise RuntimeError("the sizes of matchers and strings do not match")
        return [matcher.accept_string(text, debug_print=debug_print) for matcher, text in zip(matchers, strings)]

    @staticmethod
    def batch_rollback(matchers: list[GrammarMatcher], num_tokens: list[int] | int = 1) -> None:
        """`rollback` of each, by one number or by a number for each: of all of them, or of none.

        Raises:
            RuntimeError: one has not so many steps, or the sizes do not match.
        """
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else list(num_tokens)
        if len(counts) != len(matchers):
            raise RuntimeError("the sizes of matchers and num_tokens do not match")
        for matcher, count in zip(matchers, counts):
            if not 0 <= count <= matcher._matcher.length:
                raise RuntimeError(str(RollbackError(f"cannot roll back {count} of {matcher._matcher.length} steps")))
        for matcher, count in zip(matchers, counts):
            matcher.rollback(count)
