"""Constraints for a server: each compiled once, beside the work of others, and kept while there is room.

`compile` remembers a constraint only as long as somebody uses it; between two requests its masks are gone. A `Compiler`
keeps constraints with all that their matchers have made, within one budget of bytes, and forgets what was used longest
ago.
"""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from time import perf_counter_ns
from typing import Any

from .compile import compile
from .constraint import Constraint
from .errors import VocabularyError
from .grammar import Grammar
from .limits import Limits
from .support.arguments import instance, integer
from .vocabulary import Vocabulary
from .warm.artifact import packed
from .warm.store import ArtifactStore, store_at

__all__ = ["Compiler", "compile_async"]


async def compile_async(grammar: Grammar, vocabulary: Vocabulary, **options: Any) -> Constraint:
    """`compile` in a thread, for programs of `asyncio`: others go on meanwhile, for the kernel needs no interpreter.

    Args:
        options: those of `compile`; `timeout` bounds it. Whoever cancels the task no longer waits for it, but what was
            begun goes on until it is done, or until its timeout.

    Raises:
        GrammarError, LimitError, VocabularyError: as `compile`.

    Example:
        >>> import asyncio, derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> asyncio.run(dv.compile_async(dv.Grammar.from_regex("(ab)+"), vocab)).matcher().allowed_tokens().tolist()
        [0]
    """
    import asyncio  # PERF: a sixth of importing this library, for those who have no loop

    return await asyncio.to_thread(compile, grammar, vocabulary, **options)


@dataclass
class _Kept:
    """A grammar's constraint, there or on its way."""

    grammar: Grammar  # alive: it is known by its identity
    future: Future[Constraint]
    automata: int = 0  # bytes: what a constraint has before its first mask
    bytes: int | None = None  # with its masks, when it was last looked at; `None` while it is being compiled


_LOOKED_AT = 4
"""Constraints whose size is looked at again whenever one was compiled: masks are made at any time."""


class Compiler:
    """Compiles for one vocabulary, and keeps what it has compiled. Safe to share between threads.

    Args:
        vocabulary: the model's.
        budget: bytes that the constraints kept may take, with their masks. One that is used elsewhere lives on after it
            is forgotten here. Masks that were made since are noticed bit by bit, as others are compiled.
        workers: threads that `submit` compiles in.
        limits: bounds on what each may cost.
        timeout: seconds that compiling one may take (`None`: any time).
        store: a store that is shared with other processes, as of `derivable.compile`.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> compiler = dv.Compiler(vocab)
        >>> future = compiler.submit(dv.Grammar.from_regex("(ab)+"))
        >>> future.result() is compiler.compile(dv.Grammar.from_regex("(ab)+"))
        True
        >>> compiler.stats()["hits"], compiler.stats()["misses"]
        (1, 1)
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        budget: int = 1 << 30,
        workers: int = 2,
        limits: Limits = Limits(),  # noqa: B008
        timeout: float | None = None,
        store: str | os.PathLike[str] | ArtifactStore | None = None,
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise VocabularyError(f"{type(vocabulary).__name__} is no vocabulary. Load one with Vocabulary.from_*.")
        instance("limits", limits, Limits, "Limits(...)")
        self.vocabulary = vocabulary
        self.budget = integer("budget", budget)
        shared = None if store is None else store_at(store)
        self._options: dict[str, Any] = {"limits": limits, "timeout": timeout, "store": shared}
        self._workers = integer("workers", workers, 1, 1024)
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._bytes = 0  # of those kept, as last looked at
        self._turns: deque[tuple[Hashable, _Kept]] = deque()  # whose size is looked at next; some are forgotten
        self._counts = {"hits": 0, "misses": 0, "refused": 0, "forgotten": 0, "longest_compile_ns": 0}
        self._masks = dict.fromkeys(_MASKS, 0)  # of the constraints that were forgotten

    def compile(self, grammar: Grammar) -> Constraint:
        """The constraint of a grammar. If another thread is compiling it, this one waits for it.

        Raises:
            GrammarError, LimitError, VocabularyError: as `derivable.compile`. What is refused is not remembered.
        """
        key, future, is_new = self._find(grammar)
        if is_new:
            self._make(key, grammar, future)
        return future.result()

    def submit(self, grammar: Grammar) -> Future[Constraint]:
        """As `compile`, in a thread of the compiler's. For `asyncio`: `await asyncio.wrap_future(...)`."""
        key, future, is_new = self._find(grammar)
        if is_new:
            with self._lock:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="derivable")
                threads = self._threads
            threads.submit(self._make, key, grammar, future)
        return future

    def _find(self, grammar: Grammar) -> tuple[Hashable, Future[Constraint], bool]:
        key = id(grammar)  # which is kept alive here; equal texts and schemas are one grammar while it lives
        if self._process != os.getpid():
            self._begin_in_child()
        with self._lock:
            known = self._kept.get(key)
            if known is not None and not known.future.cancelled():
                self._kept.move_to_end(key)
                self._counts["hits"] += 1
                return key, known.future, False
            future: Future[Constraint] = Future()
            self._kept[key] = _Kept(grammar, future)
            self._counts["misses"] += 1
            return key, future, True

    def _begin_in_child(self) -> None:
        """After a fork: the threads are the parent's, and so is what they were compiling, and a lock that they held."""
        self._process, self._threads, self._lock = os.getpid(), None, Lock()
        self._kept = OrderedDict((key, entry) for key, entry in self._kept.items() if entry.bytes is not None)

    def _make(self, key: Hashable, grammar: Grammar, future: Future[Constraint]) -> None:
        try:
            if not future.set_running_or_notify_cancel():
                self._drop(key, future)
                return
            begin = perf_counter_ns()
            constraint = compile(grammar, self.vocabulary, **self._options)
            size = len(packed(constraint._plan_now(), self.vocabulary.fingerprint))  # a meaning cannot be saved
        except BaseException as error:
            self._drop(key, future)
            with self._lock:
                self._counts["refused"] += 1
            future.set_exception(error)
            return
        with self._lock:
            longest = max(self._counts["longest_compile_ns"], perf_counter_ns() - begin)
            self._counts["longest_compile_ns"] = longest
        future.set_result(constraint)
        self._shrink(key, future, size)

    def _drop(self, key: Hashable, future: Future[Constraint]) -> None:
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None and entry.future is future:
                del self._kept[key]

    def _shrink(self, key: Hashable, future: Future[Constraint], automata: int) -> None:
        """Counts what was compiled, and forgets what was used longest ago, but for what was used last.

        Cost: that of looking at a few constraints, however many there are.
        """
        dropped = []  # freed after the lock is released
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None and entry.future is future:  # not cleared meanwhile
                entry.automata, entry.bytes = automata, 0
                self._measure(entry)
                self._turns.append((key, entry))
            for _ in range(min(_LOOKED_AT, len(self._turns))):
                turn = self._turns.popleft()
                if self._kept.get(turn[0]) is turn[1]:
                    self._measure(turn[1])
                    self._turns.append(turn)
            while self._bytes > self.budget and (oldest := self._oldest()) is not None:
                entry = self._kept[oldest]
                self._measure(entry)
                if self._bytes <= self.budget:
                    break
                del self._kept[oldest]
                self._bytes -= entry.bytes or 0
                _add(self._masks, entry)
                self._counts["forgotten"] += 1
                dropped.append(entry)

    def _oldest(self) -> Hashable | None:
        """What was used longest ago and is compiled, but for the last of these, if anything may be kept at all."""
        done = (key for key, entry in self._kept.items() if entry.bytes is not None)
        first = next(done, None)
        return first if not self.budget or next(done, None) is not None else None

    def _measure(self, entry: _Kept) -> None:
        size = entry.automata + int(entry.future.result().stats()["run_bytes"])
        self._bytes += size - (entry.bytes or 0)
        entry.bytes = size

    def clear(self) -> None:
        """Forgets all. Constraints in use are not affected."""
        with self._lock:
            dropped, self._kept = self._kept, OrderedDict()
            self._bytes = 0
            self._turns.clear()
            for entry in dropped.values():
                _add(self._masks, entry)
        dropped.clear()

    def stats(self) -> dict[str, int]:
        """For monitoring: counts so far, and what is there now.

        Of grammars: `hits`, `misses`, `refused`, `forgotten`, `longest_compile_ns`. Of their masks: `masks`,
        `mask_hits`, `miss_ns` and `longest_miss_ns`, as `Constraint.stats` has them (of what was forgotten, up to
        then). Now: `kept`, `compiling`, `bytes`.
        """
        with self._lock:
            done = [entry for entry in self._kept.values() if entry.bytes is not None]
            masks = dict(self._masks)
            for entry in done:
                self._measure(entry)
                _add(masks, entry)
            now = {"kept": len(done), "compiling": len(self._kept) - len(done), "bytes": self._bytes}
            return {**self._counts, **masks, **now}


_MASKS = ("masks", "mask_hits", "miss_ns", "longest_miss_ns")


def _add(total: dict[str, int], entry: _Kept) -> None:
    if entry.bytes is None:
        return
    stats = entry.future.result().stats()
    for name in _MASKS:
        longest = name == "longest_miss_ns"
        total[name] = max(total[name], int(stats[name])) if longest else total[name] + int(stats[name])
