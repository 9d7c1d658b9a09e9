"""The shape of the kernel: which file may include which, and how much a room holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paths import ROOT

KERNEL = ROOT / "src" / "kernel"

ROOMS = {
    "support": 0,
    "automata": 1,
    "parsing": 1,
    "json": 2,
    "costs": 2,
    "tokens": 2,
    "lexing": 3,
    "liveness": 4,
    "index": 4,
    "sequence": 5,
    "masks": 6,
    "budgets": 7,
    "matching": 8,
    "python": 9,
}
"""The floor that each room of the kernel stands on. A file may include files of lower floors and neighbours in its own
room; only `python` knows the interpreter."""


def included(path: Path) -> list[str]:
    """The files of the kernel that a file of it includes, as `room/file.hpp`."""
    return re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)


def kernel_files() -> list[str]:
    return sorted(path.relative_to(KERNEL).as_posix() for path in KERNEL.rglob("*.[ch]pp"))


def test_every_room_of_the_kernel_has_a_floor() -> None:
    assert {path.name for path in KERNEL.iterdir() if path.is_dir()} == set(ROOMS)
    assert all("/" in file for file in kernel_files())


@pytest.mark.parametrize("file", kernel_files())
def test_no_include_goes_upwards(file: str) -> None:
    room = file.split("/")[0]
    for other in included(KERNEL / file):
        assert (KERNEL / other).is_file(), f"{file} includes {other}, which is not there"
        floor = ROOMS[other.split("/")[0]]
        assert other.startswith(f"{room}/") or floor < ROOMS[room], f"{file} includes {other}, which is not below it"


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "python"])
def test_a_room_of_the_kernel_is_seen_in_one_look(room: str) -> None:
    """At most 16 headers, and as many as 8 of them stand on one another."""
    beside = {
        file: [other for other in included(KERNEL / file) if other.startswith(f"{room}/")]
        for file in kernel_files()
        if file.startswith(f"{room}/") and file.endswith(".hpp")
    }
    assert len(beside) <= 16
    height: dict[str, int] = {}
    while len(height) < len(beside):
        height |= {
            file: 1 + max((height[other] for other in others), default=0)
            for file, others in beside.items()
            if file not in height and all(other in height for other in others)
        }
    assert max(height.values()) <= 8


@pytest.mark.parametrize("file", [file for file in kernel_files() if not file.startswith("python/")])
def test_algorithms_see_no_python(file: str) -> None:
    assert not re.search(r"#include <(nanobind|Python)", (KERNEL / file).read_text(encoding="utf-8"))
