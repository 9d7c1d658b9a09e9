"""The real implementations that the built-in grammars are measured against: texts in, "is this syntax?" out.

Each entry of `REFERENCES` makes a function over a list of texts, or skips the test where the implementation is not installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

__all__ = ["REFERENCES", "Reference"]

Reference = Callable[[list[bytes]], list[bool]]


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def _each(command: list[str]) -> Reference:
    """A command that reads one text from its input and succeeds if it is syntax."""

    def run(text: bytes) -> bool:
        return subprocess.run(command, input=text, capture_output=True, timeout=60).returncode == 0

    def check(texts: list[bytes]) -> list[bool]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, texts))

    return check


def _json() -> Reference:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    def check(text: bytes) -> bool:
        try:
            json.loads(text.decode("utf-8"), parse_constant=refuse)
        except ValueError:
            return False
        return True

    return lambda texts: [check(text) for text in texts]


def _xml() -> Reference:
    return _each([_tool("xmllint"), "--noout", "--nonet", "--huge", "-"])


REFERENCES: dict[str, Callable[[], Reference]] = {"json": _json, "xml": _xml}
