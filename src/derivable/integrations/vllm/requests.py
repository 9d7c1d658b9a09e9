"""What requests of vLLM ask for, as constraints."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock
from time import perf_counter
from typing import Any
from weakref import WeakSet

from ...compiler import Compiler
from ...constraint import Constraint
from ...errors import DerivableError
from ...grammar import Grammar
from ...support.caches import cache
from ...vocabulary import Vocabulary
from .. import specs
from ..metrics import shared

try:
    from vllm.exceptions import VLLMValidationError
except ImportError:  # before 0.12: what its server tells a client is a ValueError
    VLLMValidationError = ValueError

__all__ = ["METRICS", "Constraints", "RequestRefusedError", "constraints_of", "grammar_of"]

METRICS = shared()
"""The counters of this process (`derivable.integrations.metrics`); vLLM brings prometheus_client."""

_LOG = logging.getLogger("vllm.derivable")
"""Beneath vLLM's own logger, which is set up as `VLLM_LOGGING_LEVEL` says."""


class RequestRefusedError(DerivableError, VLLMValidationError):
    """A request that cannot be enforced exactly, or whose mask vLLM would drop. Servers answer it with status 400."""


_NAMED = 20
"""Features that the log names of one grammar that does not enforce them."""

_ENDS = 8
"""Sets of tokens that end a text, for each of which there is a vocabulary: requests choose them (`stop_token_ids`)."""


def grammar_of(kind: str, spec: Any, *, compact: bool = False) -> Grammar:
    """The grammar that a request asks for.

    Args:
        kind: a field of vLLM's `StructuredOutputsParams`, or another of `KINDS`.
        spec: its value; JSON Schemas, choices and tags also as text.
        compact: JSON without white space (vLLM's `disable_any_whitespace`).

    Raises:
        RequestRefusedError: there is no such kind, or the grammar cannot be used.
    """
    try:
        return specs.grammar_of(kind, spec, **({"whitespace": "none", "separators": (",", ":")} if compact else {}))
    except DerivableError as error:
        raise RequestRefusedError(f"{kind}: {error}") from error


class Constraints:
    """The constraints of one model, each compiled once: when a request comes in, or in the engine's own process.

    `DERIVABLE_VLLM_CACHE_MB` (1024) bounds what is kept for each set of tokens that end a text, and what the process
    remembers between grammars (`derivable.cache`). One grammar may take `DERIVABLE_VLLM_TIMEOUT` seconds (10).
    `DERIVABLE_VLLM_STORE` is a store to share with other processes.

    Args:
        tokenizer: vLLM's, which is one of transformers.
        size: the width of the logits.
    """

    def __init__(self, tokenizer: Any, size: int) -> None:
        self._vocabulary = Vocabulary.from_transformers(tokenizer, size=size)
        self._compilers: OrderedDict[tuple[int, ...], Compiler] = OrderedDict()
        self._lock = Lock()
        self._told = WeakSet[Constraint]()  # what has been counted, and logged
        self._budget = int(os.environ.get("DERIVABLE_VLLM_CACHE_MB", "1024")) << 20
        self._timeout = float(os.environ.get("DERIVABLE_VLLM_TIMEOUT", "10"))
        # What a process remembers between grammars would else be two gigabytes more, whatever was asked for.
        cache.limit = min(cache.limit, self._budget)
        self._store = os.environ.get("DERIVABLE_VLLM_STORE") or None

    @property
    def size(self) -> int:
        """The width of a mask."""
        return self._vocabulary.size

    def compile(self, grammar: Grammar, ends: Iterable[int] | None = None) -> Constraint:
        """The constraint of a grammar, whose texts are ended by these tokens (by default the tokenizer's).

        Raises:
            RequestRefusedError: it cannot be used with this model, or within the time.
        """
        begin = perf_counter()
        try:
            constraint = self._compiler(ends).compile(grammar)
        except DerivableError as error:
            raise RequestRefusedError(str(error)) from error
        with self._lock:
            is_new = constraint not in self._told
            self._told.add(constraint)
        if is_new:
            relaxed = grammar.relaxed
            METRICS.compiled(perf_counter() - begin, relaxed=bool(relaxed))
            if relaxed:
                # As Python spells them: names of tools are anybody's, and may have line breaks.
                _LOG.info(
                    "a grammar does not enforce %s",
                    f"{list(relaxed[:_NAMED])}{' and others' * (len(relaxed) > _NAMED)}",
                )
        return constraint

    def stats(self) -> dict[str, int]:
        """Sums of what `Compiler.stats` says."""
        with self._lock:
            compilers = list(self._compilers.values())
        total: dict[str, int] = {}
        for compiler in compilers:
            for name, count in compiler.stats().items():
                total[name] = total.get(name, 0) + count
        return total

    def _compiler(self, ends: Iterable[int] | None) -> Compiler:
        key = tuple(sorted(set(ends or self._vocabulary.eos_ids)))
        with self._lock:
            known = self._compilers.get(key)
            if known is None:
                known = self._compilers[key] = Compiler(
                    self._ended_by(key), budget=self._budget, timeout=self._timeout, store=self._store
                )
                if len(self._compilers) > _ENDS:
                    self._compilers.popitem(last=False)
            self._compilers.move_to_end(key)
            return known

    def _ended_by(self, ends: tuple[int, ...]) -> Vocabulary:
        """These tokens end a text, and are none: vLLM stops at them wherever they come."""
        base = self._vocabulary
        if ends == base.eos_ids and all(base.tokens[token] is None for token in ends):
            return base
        tokens = list(base.tokens)
        for token in ends:
            if not 0 <= token < len(tokens):
                raise RequestRefusedError(
                    f"the token {token}, which is to end the text, is not one of {len(tokens):,}. Leave it out."
                )
            tokens[token] = None
        return Vocabulary.from_bytes(tokens, eos=ends, special=dict(base.special_ids))


@lru_cache(maxsize=4)
def constraints_of(tokenizer: Any, size: int) -> Constraints:
    """One for each tokenizer of this process: what is checked when a request comes in is not compiled again."""
    return Constraints(tokenizer, size)


def spec_of(given: Any) -> tuple[str, Any]:
    """What `extra_args["derivable"]` asks for: one kind and its value, as a `dict` or as JSON text.

    Raises:
        RequestRefusedError: it is neither.
    """
    try:
        return specs.spec_of(given)
    except DerivableError as error:
        raise RequestRefusedError(f"extra_args['derivable']: {error}") from error
