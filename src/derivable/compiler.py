"""Constraints for a server: each compiled once, beside the work of others, and kept while there is room.

`compile` remembers a constraint only as long as somebody uses it; between two requests its masks are gone. A `Compiler`
keeps constraints with all that their matchers have made, within one budget of bytes, and forgets what was used longest
ago.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from time import perf_counter_ns
from typing import Any

from .arguments import instance, integer
from .compile import Constraint, compile
from .errors import VocabularyError
from .grammar import Grammar
from .index.store import ArtifactStore, store_at
from .limits import Limits
from .vocabulary import Vocabulary

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


class Compiler:
    """Compiles for one vocabulary, and keeps what it has compiled. Safe to share between threads.

    Args:
        vocabulary: the model's.
        budget: bytes that the constraints kept may take, with their masks. One that is used elsewhere lives on after it
            is forgotten here.
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
        self._kept: OrderedDict[Hashable, tuple[Grammar, Future[Constraint]]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}  # of the automata: what a constraint has before its first mask
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
            if known is not None and not known[1].cancelled():
                self._kept.move_to_end(key)
                self._counts["hits"] += 1
                return key, known[1], False
            future: Future[Constraint] = Future()
            self._kept[key] = (grammar, future)
            self._counts["misses"] += 1
            return key, future, True

    def _begin_in_child(self) -> None:
        """After a fork: the threads are the parent's, and so is what they were compiling, and a lock that they held."""
        self._process, self._threads, self._lock = os.getpid(), None, Lock()
        self._kept = OrderedDict((key, entry) for key, entry in self._kept.items() if entry[1].done())

    def _make(self, key: Hashable, grammar: Grammar, future: Future[Constraint]) -> None:
        try:
            if not future.set_running_or_notify_cancel():
                self._drop(key, future)
                return
            begin = perf_counter_ns()
            constraint = compile(grammar, self.vocabulary, **self._options)
            size = len(constraint.to_bytes())
        except BaseException as error:
            self._drop(key, future)
            with self._lock:
                self._counts["refused"] += 1
            future.set_exception(error)
            return
        self._sizes[key] = size
        with self._lock:
            longest = max(self._counts["longest_compile_ns"], perf_counter_ns() - begin)
            self._counts["longest_compile_ns"] = longest
        future.set_result(constraint)
        self._shrink()

    def _drop(self, key: Hashable, future: Future[Constraint]) -> None:
        with self._lock:
            if self._kept.get(key, (None, None))[1] is future:
                del self._kept[key]

    def _shrink(self) -> None:
        """Forgets what was used longest ago, but for what is being compiled and what was used last."""
        with self._lock:
            done = [key for key, (_, future) in self._kept.items() if future.done()]
            sizes = {key: self._size(key) for key in done}
            total = sum(sizes.values())
            dropped = []  # freed after the lock is released
            for key in done[:-1] if self.budget else done:
                if total <= self.budget:
                    break
                total -= sizes[key]
                dropped.append(self._kept.pop(key))
                _add(self._masks, dropped[-1][1])
                del self._sizes[key]
                self._counts["forgotten"] += 1

    def _size(self, key: Hashable) -> int:
        future = self._kept[key][1]
        if not future.done() or future.cancelled() or future.exception() is not None:
            return 0
        return self._sizes.get(key, 0) + int(future.result().stats()["run_bytes"])

    def clear(self) -> None:
        """Forgets all. Constraints in use are not affected."""
        with self._lock:
            dropped, self._kept = self._kept, OrderedDict()
            for _, future in dropped.values():
                _add(self._masks, future)
            self._sizes.clear()
        dropped.clear()

    def stats(self) -> dict[str, int]:
        """For monitoring: counts so far, and what is there now.

        Of grammars: `hits`, `misses`, `refused`, `forgotten`, `longest_compile_ns`. Of their masks: `masks`,
        `mask_hits`, `miss_ns` and `longest_miss_ns`, as `Constraint.stats` has them (of what was forgotten, up to
        then). Now: `kept`, `compiling`, `bytes`.
        """
        with self._lock:
            compiling = sum(not future.done() for _, future in self._kept.values())
            size = sum(self._size(key) for key in self._kept)
            masks = dict(self._masks)
            for _, future in self._kept.values():
                _add(masks, future)
            now = {"kept": len(self._kept) - compiling, "compiling": compiling, "bytes": size}
            return {**self._counts, **masks, **now}


_MASKS = ("masks", "mask_hits", "miss_ns", "longest_miss_ns")


def _add(total: dict[str, int], future: Future[Constraint]) -> None:
    if not future.done() or future.cancelled() or future.exception() is not None:
        return
    stats = future.result().stats()
    for name in _MASKS:
        longest = name == "longest_miss_ns"
        total[name] = max(total[name], int(stats[name])) if longest else total[name] + int(stats[name])
