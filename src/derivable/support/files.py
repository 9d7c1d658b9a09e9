"""Files that are kept: constraints, names, counts of drafts, records of generations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING, BinaryIO

from ..errors import ArtifactError
from .arguments import file_path

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["UNFINISHED", "mapped", "replace", "replacing", "write"]

UNFINISHED = ".part"
"""How the name of a file ends that is being written."""


def write(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text as UTF-8.

    Raises:
        ArgumentError: no path.
        ArtifactError: it cannot be written.
    """
    file = file_path("path", path)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArtifactError(f"{file}: cannot be written ({error}). Give a path in a folder that exists.") from error


def replace(path: Path, data: bytes) -> None:
    """Writes a file beside its place and renames it: others read all of it or none, and who has mapped what was there
    keeps that. Links stay links, and who may read the file may read the new one.

    Raises:
        OSError: it cannot be written.
    """
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_bytes(data)
        return
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """The same part by part: a file to be written and read, which is put in its place if nothing is raised.

    Raises:
        OSError: it cannot be written.
    """
    path = path.resolve()
    beside = path.with_name(os.urandom(16).hex() + UNFINISHED)  # with the name it may be too long
    try:
        with beside.open("w+b") as file:
            yield file
        with suppress(FileNotFoundError):
            beside.chmod(S_IMODE(path.stat().st_mode))
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def mapped(path: Path) -> bytes | mmap:
    """What a file holds, in memory that all processes share which map it; read, where it cannot be mapped.

    Raises:
        OSError: it cannot be read.
    """
    from mmap import ACCESS_READ, mmap  # PERF: a library of its own, which only who loads artifacts needs

    with path.open("rb") as file:
        try:
            return mmap(file.fileno(), 0, access=ACCESS_READ)
        except (OSError, ValueError):  # a pipe, an empty file
            return file.read()
