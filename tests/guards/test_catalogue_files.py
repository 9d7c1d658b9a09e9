"""Files of names that somebody changed, checksum mended: refused by a typed error, or used without harm."""

from __future__ import annotations

import random
import struct
from collections.abc import Hashable
from pathlib import Path

import pytest
from accepting import BYTES

import derivable as dv
from derivable import _kernel

PREFIX, HEADER = 16 + 12, 21
TEXTS = ["red", "green", "greenish", "blue", "b" * 300, *(f"item-{n}" for n in range(40)), *map(chr, range(97, 123))]


class Of(dv.Meaning):
    slots = ("NAME",)
    longest = 1 << 16

    def __init__(self, names: dv.Names) -> None:
        self._names = names

    def names(self, state: Hashable, slot: str) -> dv.Names:
        return self._names


GRAMMAR = dv.Grammar.from_lark('start: NAME ("," NAME)*\nNAME: /[a-z0-9-]+/')


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("names") / "names"
    dv.Names.build(TEXTS, path)
    return path.read_bytes()


def mended(data: bytes) -> bytes:
    """With the checksum that it should have."""
    return data[:20] + struct.pack("<Q", _kernel.checksum(data[PREFIX:])) + data[PREFIX:]


def used(names: dv.Names, seed: int) -> bool:
    """Whether that went without an error; it must be one that is typed."""
    rng = random.Random(seed)
    try:
        assert isinstance("item-7" in names, bool)
        constraint = dv.compile(GRAMMAR.with_meaning(Of(names)), BYTES)
        for budget in (None, 700):
            matcher = constraint.matcher(max_tokens=budget)
            for _ in range(30):
                allowed = matcher.allowed_tokens().tolist()
                if not allowed or matcher.is_finished:
                    break
                matcher.advance(rng.choice(allowed))
    except dv.DerivableError:
        return False
    return True


def test_what_was_written_is_opened(saved: bytes, tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(mended(saved))
    assert used(dv.Names.from_file(tmp_path / "names"), 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a file of names"),
        (b"red\ngreen\n", "not a file of names.*Names.build"),
        (b"derivable names\n", "not a file of names"),
        (b"derivable names\n" + bytes(40), "format version 0"),
        (b"derivable names\n\1\0\0\0" + bytes(40), "damaged"),
    ],
)
def test_other_files(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(data)
    with pytest.raises(dv.ArtifactError, match=message):
        dv.Names.from_file(tmp_path / "names")


def test_no_files(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(dv.ArtifactError, match="cannot be read"):
            dv.Names.from_file(path)
        with pytest.raises(dv.ArtifactError, match="cannot be read"):
            dv.Names.build(path, tmp_path / "names")
    for path in (tmp_path / "nowhere" / "names", tmp_path):
        with pytest.raises(dv.ArtifactError, match="cannot be written"):
            dv.Names.build(["a"], path)
    assert list(tmp_path.iterdir()) == []


def test_texts_that_are_no_names(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"red\n\xff\n")
    with pytest.raises(dv.ArtifactError, match="line 2 is not UTF-8"):
        dv.Names.build(tmp_path / "lines", tmp_path / "names")
    (tmp_path / "lines").write_bytes(b"a" * 65_536)
    with pytest.raises(dv.ArgumentError, match="at most 65,535 bytes"):
        dv.Names.build(tmp_path / "lines", tmp_path / "names")
    (tmp_path / "lines").write_bytes(b"a" * 5_000_000)
    with pytest.raises(dv.ArgumentError, match="at most 65,535 bytes"):
        dv.Names.build(tmp_path / "lines", tmp_path / "names")
    assert "a" * 65_535 in dv.Names.build(["a" * 65_535], tmp_path / "longest")

    def broken() -> list[str]:
        raise OSError("the database is away")

    with pytest.raises(OSError, match="the database is away"):
        dv.Names.build((name for _ in "a" for name in broken()), tmp_path / "names")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["lines", "longest"]


@pytest.mark.parametrize("seed", range(4))
def test_cut_off(seed: int, saved: bytes, tmp_path: Path) -> None:
    path = tmp_path / "names"
    for size in range(seed, len(saved), 4):
        path.write_bytes(saved[:size])
        with pytest.raises(dv.ArtifactError):
            dv.Names.from_file(path)
        if size >= PREFIX + HEADER:
            path.write_bytes(mended(saved[:size]))
            with pytest.raises(dv.ArtifactError, match=r"is (damaged|malformed)"):  # the root is last
                dv.Names.from_file(path)


@pytest.mark.parametrize("seed", range(60))
def test_forged(seed: int, saved: bytes, tmp_path: Path) -> None:
    """Bytes changed at random, most of them near the root or in the header."""
    rng = random.Random(seed)
    path = tmp_path / "names"
    for turn in range(12):
        data = bytearray(saved)
        for _ in range(rng.randrange(1, 4)):
            at = rng.choice([rng.randrange(PREFIX, len(data)), rng.randrange(len(data) - 120, len(data))])
            data[at] = rng.choice([0, 1, 255, rng.randrange(256)])
        path.write_bytes(mended(bytes(data)))
        try:
            names = dv.Names.from_file(path)
        except dv.ArtifactError:
            continue
        used(names, turn)


def test_a_file_that_changes_while_it_is_mapped(saved: bytes, tmp_path: Path) -> None:
    path, rng, refused = tmp_path / "names", random.Random(0), 0
    for turn in range(40):
        path.write_bytes(saved)
        names = dv.Names.from_file(path)
        with path.open("r+b") as file:
            for _ in range(40):
                file.seek(rng.randrange(PREFIX + HEADER, len(saved)))
                file.write(bytes([rng.randrange(256)]))
        refused += not used(names, turn)
    assert refused


def test_a_node_of_many_equal_children_is_gone_through_in_bounds(tmp_path: Path) -> None:
    """A chain in which each node leads twice to the next has 2**60 texts, and says that they are short."""
    leaf = bytes([0b1])
    nodes, last = bytearray(leaf), 0
    for _ in range(60):
        at = len(nodes)
        nodes += bytes([1 << 1, 0, 0, 1]) + b"ab" + bytes([at - last, at - last])
        last = at
    rest = struct.pack("<BQQI", 0, 60, last, 1) + bytes(nodes)
    path = tmp_path / "names"
    path.write_bytes(mended(b"derivable names\n" + struct.pack("<IQ", 1, 0) + rest))
    names = dv.Names.from_file(path)
    assert "ab" * 30 in names and "ab" * 29 not in names
    matcher = dv.compile(GRAMMAR.with_meaning(Of(names)), BYTES).matcher()
    assert matcher.allowed_tokens().tolist() == [ord("a"), ord("b")]
    bounded = dv.compile(GRAMMAR.with_meaning(Of(names)), BYTES).matcher(max_tokens=70)
    assert bounded.allowed_tokens().tolist() == [ord("a"), ord("b")]
