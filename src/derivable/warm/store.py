"""A store of artifacts that many processes share: one compiles, all others start warm.

An entry is a file whose name is the digest of all that it depends on, so there is nothing to invalidate: what changed
has another name. Entries are written beside their place and renamed, so readers see all of one or none; what is
damaged, cut off or of another format is a miss, and is written anew. When entries take more than the budget, those that
were used longest ago leave. No process waits for another: at worst two compile the same grammar, and write the same
entry.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ArgumentError, ArtifactError
from ..support import files
from ..support.arguments import integer

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["ArtifactStore", "store_at"]

_BUDGET = 4 << 30
_SUFFIX = ".derivable"
_ABANDONED = 3600.0
"""Seconds after which a file that was begun and not finished is its writer's no more."""

_ROOM = 0.9
"""What may be left of the budget when entries have to leave, so that not every write makes some leave."""


class _Place(Protocol):
    """Where entries lie. Names are those of files, without folders; all raise `OSError` (or a kind of it)."""

    def read(self, name: str) -> bytes | mmap: ...
    def write(self, name: str, data: bytes) -> None: ...
    def mark(self, name: str) -> None: ...
    def remove(self, name: str) -> None: ...
    def entries(self) -> Iterable[tuple[str, int, float]]:
        """Name, bytes, and when it was last used or written (seconds since 1970)."""
        ...


class _Folder:
    """A folder of this machine, or one that it mounts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> bytes | mmap:
        return files.mapped(self.path / name)

    def write(self, name: str, data: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        files.replace(self.path / name, data)

    def mark(self, name: str) -> None:
        os.utime(self.path / name)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def entries(self) -> Iterable[tuple[str, int, float]]:
        with os.scandir(self.path) as found:
            for entry in found:
                try:
                    facts = entry.stat()
                except FileNotFoundError:  # another process has removed it
                    continue
                yield entry.name, facts.st_size, facts.st_mtime


class _FileSystem:
    """A folder of any file system that `fsspec` knows."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise ArtifactError(
                f"store={url!r} is a URL, which takes the library fsspec. Install it with "
                "`pip install derivable[store]` (and what fsspec needs for that kind of URL), or give a folder."
            ) from None
        try:
            self.system, path = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:  # an unknown kind of URL, or one whose library is missing
            raise ArtifactError(f"store={url!r} cannot be opened ({error}). Give another URL, or a folder.") from error
        self.path = str(path).rstrip("/")

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def read(self, name: str) -> bytes:
        data: bytes = self.system.cat_file(self._at(name))
        return data

    def write(self, name: str, data: bytes) -> None:
        self.system.makedirs(self.path, exist_ok=True)
        beside = self._at(f"{name}.{os.urandom(16).hex()}{files.UNFINISHED}")
        self.system.pipe_file(beside, data)
        self.system.mv(beside, self._at(name))

    def mark(self, name: str) -> None:
        self.system.touch(self._at(name), truncate=False)

    def remove(self, name: str) -> None:
        self.system.rm_file(self._at(name))

    def entries(self) -> Iterable[tuple[str, int, float]]:
        self.system.invalidate_cache(self.path)
        for facts in self.system.ls(self.path, detail=True):
            name = str(facts["name"]).rsplit("/", 1)[-1]
            yield name, int(facts.get("size") or 0), _when(facts)


def _when(facts: dict[str, Any]) -> float:
    """File systems have different words for it."""
    for word in ("mtime", "LastModified", "last_modified", "updated", "modified", "created"):
        value = facts.get(word)
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, datetime):
            return value.timestamp()
    return 0.0


class ArtifactStore:
    """Saved constraints in a folder or at a URL, for `compile(..., store=)`. Safe for many threads and processes.

    Whoever can write there decides what others' masks are: a store is as trusted as the code that is run. A damaged or
    hostile entry is refused when it is read (and made anew), but one that was made with care can say that a token is
    allowed which is not.

    Args:
        path: a folder, made at the first write; or a URL (``"s3://bucket/folder"``, ``"memory://x"``), with `fsspec`.
        budget: bytes that the entries may take together. Past it those leave that were used longest ago (on file
            systems that cannot mark a use: that were written longest ago).

    Raises:
        ArgumentError: no path, or no number.
        ArtifactError: a URL without `fsspec`, or of a kind that it does not know.

    Example:
        >>> import derivable as dv, tempfile
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> store = dv.ArtifactStore(tempfile.mkdtemp())
        >>> constraint = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab, store=store)
        >>> store.stats()["writes"]
        1
        >>> dv.cache.clear()  # as in another process
        >>> dv.compile(dv.Grammar.from_regex("(ab)+"), vocab, store=store).matcher().allowed_tokens().tolist()
        [0]
        >>> store.stats()["hits"]
        1
    """

    def __init__(self, path: str | os.PathLike[str], *, budget: int = _BUDGET) -> None:
        try:
            text = os.fspath(path)
        except TypeError:
            text = None
        if not isinstance(text, str) or not text or "\0" in text:
            raise ArgumentError("store", "a folder, a URL, or an ArtifactStore", path)
        self.path = text
        self.budget = integer("budget", budget)
        self._place: _Place = _FileSystem(text) if "://" in text else _Folder(Path(text))
        self._room = -1  # bytes that may be written before anybody looks how much there is
        self._counts = {"hits": 0, "misses": 0, "damaged": 0, "writes": 0, "removed": 0, "failures": 0}

    def find(self, key: str, read: Callable[[bytes | mmap], Any]) -> Any:
        """What `read` makes of an entry; `None` if there is none, or none that it takes (it raises `ArtifactError`).

        Cost: reading a file, or mapping one of this machine.
        """
        name = key + _SUFFIX
        try:
            data = self._place.read(name)
        except FileNotFoundError:
            self._count("misses")
            return None
        except Exception as error:  # file systems raise what they like
            self._count("misses")
            self._complain("read from", error)
            return None
        try:
            found = read(data)
        except ArtifactError:
            self._count("damaged")
            self._quietly(lambda: self._place.remove(name))
            return None
        self._count("hits")
        self._quietly(lambda: self._place.mark(name))
        return found

    def keep(self, key: str, data: bytes) -> None:
        """Writes an entry, and makes room for it. What cannot be written is a warning, not an error."""
        if len(data) > self.budget:
            return
        try:
            self._place.write(key + _SUFFIX, data)
        except Exception as error:
            self._complain("write to", error)
            return
        self._count("writes")
        self._room -= len(data)
        if self._room < 0:
            self._quietly(self._shrink)

    def _shrink(self) -> None:
        """Makes room, and says how much there is.

        PERF: 4 us for each entry, so not at every write: of 10,000 entries a write would take 40 ms. Others write, too,
        so only a part of what is left is anybody's.
        """
        now = time.time()
        kept = []
        for name, size, used in self._place.entries():
            if name.endswith(_SUFFIX):
                kept.append((used, size, name))
            elif name.endswith(files.UNFINISHED) and now - used > _ABANDONED:
                self._quietly(lambda name=name: self._place.remove(name))  # type: ignore[misc]
        total = sum(size for _, size, _ in kept)
        self._room = (self.budget - total) // 16
        if total <= self.budget:
            return
        for _, size, name in sorted(kept):
            if total <= self.budget * _ROOM:
                break
            self._place.remove(name)
            self._count("removed")
            total -= size
        self._room = (self.budget - total) // 16

    def stats(self) -> dict[str, int]:
        """Of this object: `hits`, `misses`, `damaged` (misses that were entries), `writes`, `removed`, `failures`."""
        return dict(self._counts)

    def _count(self, what: str) -> None:
        self._counts[what] += 1  # of two threads at once perhaps one: nothing depends on it

    def _complain(self, action: str, error: Exception) -> None:
        self._count("failures")
        warnings.warn(
            f"the store {self.path!r} cannot be {action}: {type(error).__name__}: {error}. Grammars are compiled "
            "without it; mend it, or leave out store=.",
            RuntimeWarning,
            stacklevel=4,
        )

    def _quietly(self, act: Callable[[], object]) -> None:
        """Marks and removals are for later; whoever else shares the store may have come first."""
        with suppress(Exception):
            act()

    def __repr__(self) -> str:
        return f"ArtifactStore({self.path!r}, budget={self.budget:,})"


_stores: dict[str, ArtifactStore] = {}


def store_at(store: str | os.PathLike[str] | ArtifactStore) -> ArtifactStore:
    """The store of a path: one for each in a process."""
    if isinstance(store, ArtifactStore):
        return store
    key = store if isinstance(store, str) else os.fspath(store) if isinstance(store, os.PathLike) else ""
    if key not in _stores:
        _stores[key] = ArtifactStore(store)
    return _stores[key]
