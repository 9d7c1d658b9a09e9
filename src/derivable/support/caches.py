"""What a process remembers between grammars, within one budget of bytes: `derivable.cache`.

| store | share | holds |
|---|---|---|
| `index` | half, for each vocabulary | the level-1 and level-2 index of scannerless grammars, shared by all of them |
| `automata` | half | the automata of terminals |
| `constraints`, `grammars` | none | those in use, so that the same text or schema is a look-up. Not kept alive by it |
| `recent` | none | the last eight constraints that `generate` was given as a grammar, schema or type |

What front ends find out about single patterns is remembered by `by_length`: many short ones, few long ones.

A store that is full forgets what was used longest ago; the index of a vocabulary is begun anew. What is in use lives on
until its users drop it. Sizes are estimates, by counts of states, nodes and characters.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from .arguments import integer

__all__ = ["Cache", "Store", "by_length", "cache", "remembered", "text_of"]

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

_DEFAULT = 2 << 30
_RECENT = 8
_MOST_SPELLED = 1 << 24
"""Bytes."""

_LONG = 256
_LONG_ONES = 32
"""Calls that are remembered with more than `_LONG` characters and items in their arguments. What is made of a pattern
takes some 30 bytes for each of its characters and more, and clients choose how long it is."""


class Store:
    """Values by key, the least recently used forgotten first. Safe to share between threads.

    Invariant: the sizes in it add up to `bytes`, which is at most the store's share after every `put`.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.on_clear: list[Callable[[], object]] = []
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self.lock = Lock()
        self.bytes = 0

    @property
    def share(self) -> int:
        """Bytes that it may take."""
        return self._cache.limit // 2

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any:
        """The value, or `None`."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:  # noqa: SIM105 -- PERF: no lock, and no context manager, which takes as long as all the rest
            self._entries.move_to_end(key)
        except KeyError:  # another thread has dropped it meanwhile
            pass
        return entry[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Remembers a value of about so many bytes, unless it alone is larger than the store, or the key is known."""
        dropped = []  # freed after the lock is released: what is dropped may take its time
        with self.lock:
            if key in self._entries:  # made by two threads at once
                return
            self._entries[key] = (value, size)
            self.bytes += size
            share = self.share
            while self.bytes > share:
                _, entry = self._entries.popitem(last=False)
                self.bytes -= entry[1]
                dropped.append(entry)

    def clear(self) -> None:
        """Forgets everything."""
        with self.lock:
            dropped, self._entries = self._entries, OrderedDict()
            self.bytes = 0
        dropped.clear()
        for forget in self.on_clear:
            forget()


class _Index(Protocol):
    """A vocabulary of the kernel."""

    @property
    def shared_bytes(self) -> int: ...
    def set_shared_budget(self, size: int) -> None: ...
    def forget_shared(self) -> None: ...


class Cache:
    """The stores of this process, and their budget.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", None], eos=[1])
        >>> constraint = dv.compile(dv.Grammar.from_regex("a+"), vocab)
        >>> constraint is dv.compile(dv.Grammar.from_regex("a+"), vocab)
        True
        >>> dv.cache.bytes > 0
        True
        >>> dv.cache.clear()
        >>> dv.cache.bytes
        0
    """

    def __init__(self, limit: int = _DEFAULT) -> None:
        self._limit = integer("limit", limit)
        self._indexes: WeakSet[Any] = WeakSet()
        self.constraints: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self.grammars: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self.automata = Store(self)
        self.recent: OrderedDict[Hashable, Any] = OrderedDict()

    def keep(self, key: Hashable, constraint: Any) -> None:
        """Keeps a constraint alive while it is one of the last eight that were kept."""
        self.recent[key] = constraint
        while len(self.recent) > _RECENT:
            try:
                self.recent.popitem(last=False)
            except KeyError:  # another thread has
                break

    @property
    def limit(self) -> int:
        """Bytes that the automata and the index of one vocabulary together may take. 0: nothing is remembered."""
        return self._limit

    @limit.setter
    def limit(self, size: int) -> None:
        size = integer("limit", size)
        if size < self._limit:
            self.clear()
        self._limit = size
        for holder in self._indexes:
            holder.kernel.set_shared_budget(size // 2)

    @property
    def bytes(self) -> int:
        """About how many bytes are remembered now."""
        indexes: int = sum(holder.kernel.shared_bytes for holder in self._indexes)
        return self.automata.bytes + indexes

    def clear(self) -> None:
        """Forgets everything. Grammars and constraints in use are not affected; new ones are made from nothing."""
        self.constraints.clear()
        self.grammars.clear()
        self.recent.clear()
        self.automata.clear()
        for holder in self._indexes:
            holder.kernel.forget_shared()

    def add_index(self, kernel: _Index) -> object:
        """Counts the index of a vocabulary for as long as the object that is returned lives."""
        kernel.set_shared_budget(self._limit // 2)
        holder = _Holder(kernel)
        self._indexes.add(holder)
        return holder


class _Holder:
    """Something that can be referred to weakly, as objects of the kernel cannot."""

    def __init__(self, kernel: _Index) -> None:
        self.kernel = kernel


cache = Cache()


def remembered(key: tuple[Any, ...], make: Callable[[], _T]) -> _T:
    """The grammar that was made of the same text with the same options before, or what is made of it now.

    Args:
        key: the front end, the text (or bytes; anything else is not remembered), and all options.
    """
    if not isinstance(key[1], str | bytes):
        return make()
    try:
        known: _T | None = cache.grammars.get(key)
    except TypeError:  # an option of the wrong kind: the front end says which
        return make()
    if known is None:
        known = cache.grammars[key] = make()
    return known


def text_of(value: Any) -> str | bytes | None:
    """Bytes that are equal only for equal JSON values (order, and numbers of different types, count).

    `None` if they are too many, as of a small value whose parts are shared.
    """
    from .. import _kernel

    return value if isinstance(value, str) else _kernel.spelled(value, _MOST_SPELLED)


def by_length(most: int) -> Callable[[_F], _F]:
    """Remembers what a function returned, as `functools.lru_cache` does: for so many calls with short arguments, and
    for the last few with long ones, which are many times as large.

    Args:
        most: how many calls with short arguments.
    """

    def decorate(function: _F) -> _F:
        short, long = lru_cache(most)(function), lru_cache(min(most, _LONG_ONES))(function)

        @wraps(function)
        def found(*args: Any) -> Any:
            return short(*args) if _size(args) <= _LONG else long(*args)

        return found  # type: ignore[return-value]

    return decorate


def _size(values: tuple[Any, ...]) -> int:
    """Characters and items, however deep in tuples; no more than tells that they are many."""
    total = len(values)
    for value in values:
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, tuple):
            total += _size(value)
        if total > _LONG:
            break
    return total
