"""Text files that are kept: counts of drafts, records of generations."""

from __future__ import annotations

import os

from .arguments import file_path
from .errors import ArtifactError

__all__ = ["write"]


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
