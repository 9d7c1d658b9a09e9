"""Does the page of the papers name what exists: names of the library, tests, programs, pages and parts of pages?"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from paths import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "papers.md").read_text(encoding="utf-8")

TABLES = re.findall(r"^\| item \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for table in TABLES for line in table.splitlines()]
LINKS = sorted({(text, target) for text, target in re.findall(r"\[([^]]+)\]\(([^)]+)\)", PAGE) if "://" not in target})
NAMES = sorted(set(re.findall(r"`(derivable(?:\.\w+)+)`", PAGE)))


def test_every_row_has_something_that_runs() -> None:
    """A test or a program."""
    assert len(TABLES) == 4
    assert len(ROWS) > 50
    for row in ROWS:
        assert re.search(r"\]\(\.\./(tests|benchmarks)/[\w/]+\.py\)", row[2]), row


def test_nothing_is_missing() -> None:
    assert not re.search(r"not yet|not measured", PAGE)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_in_the_library(name: str) -> None:
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for at, part in enumerate(parts[size:], size):
            fields = getattr(value, "__annotations__", {})  # attributes of objects are said by their class
            documented = f"\n        {part}" in (getattr(value, "__doc__", None) or "")
            last = at == len(parts) - 1
            assert hasattr(value, part) or (last and (part in fields or documented)), f"{name}: {part}"
            value = getattr(value, part, None)
        return
    raise AssertionError(name)


@pytest.mark.parametrize(("text", "target"), LINKS)
def test_links_lead_somewhere(text: str, target: str) -> None:
    path, _, anchor = target.partition("#")
    file = (DOCS / path).resolve() if path else DOCS / "papers.md"
    assert file.is_file(), target
    if text.startswith("`test_"):
        assert re.search(rf"^def {text.strip('`')}\(", file.read_text(encoding="utf-8"), re.MULTILINE), target
    if anchor:
        assert anchor in anchors(file), target


@cache
def anchors(file: Path) -> set[str]:
    """Names of the parts of a page, as GitHub and MyST make them of headings."""
    heads = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
