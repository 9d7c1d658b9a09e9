"""Files of names, which are mapped and not read: how they are built, from more names than fit into memory, and opened.

A file is a line that says what it is, a version, a checksum of the rest, and the rest: how many names there are, where
their tree begins, and the tree (src/kernel/automata/catalogue.hpp). The checksum keeps out accidents. A file that
somebody forged may have any names, and cannot do more harm than that: the kernel checks each node when it comes to it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from .. import _kernel
from ..errors import ArgumentError, ArtifactError
from . import files
from .arguments import file_path

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["Catalogue", "build"]

_MAGIC = b"derivable names\n"
_VERSION = 1
_PREFIX = struct.Struct("<IQ")
_HEADER = struct.Struct("<BQQI")
_REST = len(_MAGIC) + _PREFIX.size
_NODES = _REST + _HEADER.size
_IGNORES_CASE = 1

_SORTED_AT_ONCE = 64 << 20
"""Bytes of names, and of what sorting them takes. Memory is taken for twice as many, or a little more."""

_BLOCK, _AT_ONCE = 1 << 20, 10_000
"""Bytes of a text file, and names of an iterable, that are read at once."""


class Catalogue:
    """The names in a file. Equal files are equal catalogues, wherever they lie.

    Attributes:
        path: of the file.
        ignore_case: of ASCII letters.
        shortest: bytes of the shortest name; 0 if there is none.
        names: what the kernel walks through.
    """

    def __init__(self, path: Path) -> None:
        """
        Raises:
            ArtifactError: no such file, no file of names, another version, or damaged.
        """
        self.path = path
        try:
            data = files.mapped(path)
        except OSError as error:
            raise ArtifactError(f"{path}: cannot be read ({error}). Build the file with Names.build(...).") from error
        if data[: len(_MAGIC)] != _MAGIC or len(data) < _NODES:
            raise ArtifactError(
                f"{path}: this is not a file of names. Build one from a list of names, or from a text file with one in "
                "each line, by Names.build(names, path)."
            )
        version, checksum = _PREFIX.unpack_from(data, len(_MAGIC))
        if version != _VERSION:
            raise ArtifactError(
                f"{path}: format version {version}, but this version of Derivable reads {_VERSION}. Build it again."
            )
        if _kernel.checksum(memoryview(data)[_REST:]) != checksum:
            raise ArtifactError(f"{path}: the file is damaged (its checksum is wrong). Copy or build it again.")
        self._size: int
        self.shortest: int
        flags, self._size, root, self.shortest = _HEADER.unpack_from(data, _REST)
        if flags & ~_IGNORES_CASE or self._size > len(data):
            raise ArtifactError(f"{path}: its header is malformed. Build it again.")
        self.ignore_case = bool(flags & _IGNORES_CASE)
        self._key = (checksum, len(data), self._size, self.ignore_case)
        nodes = memoryview(data)[_NODES:]
        self.names = _kernel.Catalogue(nodes, root, self.ignore_case) if self._size else None

    def __len__(self) -> int:
        return self._size

    def __contains__(self, text: object) -> bool:
        if self.names is None or not isinstance(text, str):
            return False
        return self.names.contains(text.encode("utf-8", "surrogatepass"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalogue) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def build(
    texts: Iterable[str] | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    ignore_case: bool = False,
    progress: Callable[[int, int], object] | None = None,
    sorted_at_once: int = _SORTED_AT_ONCE,
) -> Path:
    """Writes the names of an iterable, or of a text file with one in each line, to a file.

    Args:
        progress: called with (names read, bytes written).
        sorted_at_once: bytes of names, and of what sorting them takes.

    Returns:
        where it lies.

    Raises:
        ArgumentError: no texts or no path; a name is too long.
        ArtifactError: a file cannot be read or written, or is no text in UTF-8.
    """
    place = file_path("path", path)
    if progress is not None and not callable(progress):
        raise ArgumentError("progress", "a function, or None", progress)
    if isinstance(texts, bytes | bytearray) or not isinstance(texts, Iterable | os.PathLike):
        raise ArgumentError("texts", "an iterable of texts, or the path of a text file", texts)
    builder = _kernel.CatalogueBuilder(sorted_at_once, bool(ignore_case))
    told = progress or (lambda read, written: None)
    from tempfile import TemporaryFile  # not for a first mask

    count, runs = 0, []
    with ExitStack() as stack:
        with _writing(place):
            file = stack.enter_context(files.replacing(place))
            # Beside the file, since there is room for about as much.
            beside = stack.enter_context(TemporaryFile(dir=place.resolve().parent))
        for number in _added(builder, texts):
            count += number
            if builder.is_full():
                with _writing(place):
                    runs.append(_spilled(builder, beside))
            told(count, 0)
        with _writing(place):
            runs.append(_spilled(builder, beside))
            _merge(builder, runs, beside, file, sorted_at_once // len(runs), lambda written: told(count, written))
            _write_header(builder, file, ignore_case)
            stack.close()
    return place


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"{place}: cannot be written ({error}). Choose another place.") from error


def _added(builder: _kernel.CatalogueBuilder, texts: Iterable[str] | str | os.PathLike[str]) -> Iterator[int]:
    """Adds some at a time, and says how many."""
    if not isinstance(texts, str | os.PathLike):
        rest = iter(texts)
        while some := list(islice(rest, _AT_ONCE)):
            builder.add(some)
            yield len(some)
        return
    file, line = file_path("texts", texts), 0
    for block in _blocks(file):
        try:
            block.decode()
        except UnicodeDecodeError as error:
            at = line + block.count(b"\n", 0, error.start) + 1
            raise ArtifactError(f"{file}: line {at:,} is not UTF-8 ({error.reason}). Convert the file.") from None
        builder.add_lines(block)
        number = block.count(b"\n")
        line += number
        yield number


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines."""
    try:
        with path.open("rb") as file:
            rest = file.read(3).removeprefix(b"\xef\xbb\xbf")
            while block := file.read(_BLOCK):
                lines, newline, begun = block.rpartition(b"\n")
                if newline:
                    yield rest + lines + newline
                    rest = begun
                else:
                    rest += begun
                if len(rest) > 2 * _BLOCK:
                    raise ArgumentError("texts", "a file of lines of at most 65,535 bytes", rest[:80])
            if rest:
                yield rest + b"\n"
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error}).") from error


def _spilled(builder: _kernel.CatalogueBuilder, beside: BinaryIO) -> tuple[int, int]:
    """Where in the file beside a run begins and ends."""
    begin = beside.tell()
    while part := builder.spill():
        beside.write(part)
    return begin, beside.tell()


def _merge(
    builder: _kernel.CatalogueBuilder,
    runs: list[tuple[int, int]],
    beside: BinaryIO,
    file: BinaryIO,
    at_once: int,
    told: Callable[[int], object],
) -> None:
    file.write(bytes(_NODES))
    builder.begin_merge(len(runs))
    while not builder.is_done():
        run = builder.merge()
        if run is not None:
            begin, end = runs[run]
            beside.seek(begin)
            data = beside.read(min(end - begin, at_once + 1))
            runs[run] = begin + len(data), end
            builder.feed(data)
            continue
        file.write(builder.take())
        told(file.tell())


def _write_header(builder: _kernel.CatalogueBuilder, file: BinaryIO, ignore_case: bool) -> None:
    size, shortest, root = builder.found()
    file.seek(_REST)
    file.write(_HEADER.pack(_IGNORES_CASE * bool(ignore_case), size, root, shortest))
    file.flush()
    with memoryview(_mapped(file)) as data:
        checksum = _kernel.checksum(data[_REST:])
    file.seek(0)
    file.write(_MAGIC + _PREFIX.pack(_VERSION, checksum))


def _mapped(file: BinaryIO) -> mmap:
    from mmap import ACCESS_READ, mmap  # PERF: as in `files`

    return mmap(file.fileno(), 0, access=ACCESS_READ)
