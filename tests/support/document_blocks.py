"""The blocks of code in a page of the documentation, and a program that runs them in order in one namespace.

A block that cannot run here is marked in the page, on the line before it: `<!-- not run: vLLM -->`.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Block", "blocks"]

_BLOCK = re.compile(r"^(?:<!-- not run: (?P<why>[^\n]*?) -->\n)?```python\n(?P<code>.*?)^```$", re.M | re.S)
_NOT_INSTALLED = 77


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        line: of its first line of code, from 1.
        code: as printed.
        not_run: why it cannot run here; empty where it can.
    """

    line: int
    code: str
    not_run: str


def blocks(page: Path) -> list[Block]:
    """The blocks of Python in a page, without those that are sessions of an interpreter: doctest runs them."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        if not match["code"].startswith(">>> "):
            line = text.count("\n", 0, match.start("code")) + 1
            found.append(Block(line, match["code"], match["why"] or ""))
    return found


def _run(page: Path) -> None:
    """Ends with the code 77 if a package that a block imports is not installed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.not_run:
            continue
        source = "\n" * (block.line - 1) + block.code  # so that errors name the lines of the page
        code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        try:
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(eval(code, namespace))
            else:
                exec(code, namespace)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "derivable":
                raise
            print(error)
            raise SystemExit(_NOT_INSTALLED) from None


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
