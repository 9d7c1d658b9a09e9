"""Artifacts in files that are mapped: what a process holds does not depend on what becomes of the file."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import derivable as dv
from derivable import _kernel
from derivable.support import files
from derivable.warm.artifact import _LENGTH, _MAGIC, _PREFIX, VERSION

VOCABULARY = dv.Vocabulary.from_bytes(
    [*(bytes([byte]) for byte in range(256)), b"ab", b"))", b");", b" = ", b"(a", b"f(", None], eos=[262]
)
GRAMMAR = """
start: stmt+
stmt: NAME " = " expr ";"
expr: NAME | NAME "(" expr ")" | "(" expr ")"
NAME: /[a-z]+/
"""
TEXTS = ["ab = f(ab);", "a = (f((a)));x = y;"]
OTHER = "y = f(g((ab)));"


def filled() -> dv.Constraint:
    dv.cache.clear()
    return dv.compile(dv.Grammar.from_lark(GRAMMAR, lexing="longest"), VOCABULARY, ahead_of_time=TEXTS)


def masks(constraint: dv.Constraint, text: str = OTHER) -> list[list[int]]:
    matcher, found = constraint.matcher(), []
    for byte in text.encode():
        found.append(matcher.allowed_tokens().tolist())
        matcher.advance(byte)
    return found


EXPECTED = masks(dv.compile(dv.Grammar.from_lark(GRAMMAR, lexing="longest"), VOCABULARY))


def test_a_loaded_constraint_keeps_what_was_there_when_another_is_saved_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "one.constraint"
    filled().save(path)
    before = path.stat().st_ino
    loaded = dv.Constraint.load(path, VOCABULARY)
    dv.compile(dv.Grammar.from_regex("a"), VOCABULARY).save(path)
    assert path.stat().st_ino != before
    assert masks(loaded) == EXPECTED
    assert dv.Constraint.load(path, VOCABULARY).matcher().allowed_tokens().tolist() == [ord("a")]
    path.unlink()
    assert masks(loaded, TEXTS[1]) == masks(filled(), TEXTS[1])
    assert os.listdir(tmp_path) == []


def test_matchers_keep_the_bytes_that_their_constraint_was_loaded_from(tmp_path: Path) -> None:
    path = tmp_path / "one.constraint"
    filled().save(path)
    for load in (
        lambda: dv.Constraint.load(path, VOCABULARY),
        lambda: dv.Constraint.from_bytes(path.read_bytes(), VOCABULARY),
    ):
        matcher, found = load().matcher(), []
        dv.cache.clear()
        gc.collect()
        for byte in OTHER.encode():
            found.append(matcher.allowed_tokens().tolist())
            matcher.advance(byte)
        assert found == EXPECTED


@pytest.mark.parametrize("shift", [1, 2, 3, 4])
def test_splits_that_do_not_lie_as_words_do_are_copied(shift: int) -> None:
    data = filled().to_bytes()
    start = len(_MAGIC) + _PREFIX.size
    (size,) = _LENGTH.unpack_from(data, start)
    text, rest = data[start + _LENGTH.size :][:size], data[start + _LENGTH.size + size :]
    assert json.loads(text)["splits"] > 0
    rest = _LENGTH.pack(size + shift) + text + b" " * shift + rest
    shifted = _MAGIC + _PREFIX.pack(VERSION, _kernel.checksum(rest)) + rest
    assert masks(dv.Constraint.from_bytes(shifted, VOCABULARY)) == EXPECTED


def test_it_is_saved_again_from_where_it_was_loaded_from(tmp_path: Path) -> None:
    path = tmp_path / "one.constraint"
    filled().save(path)
    data = path.read_bytes()
    dv.Constraint.load(path, VOCABULARY).save(path)
    assert path.read_bytes() == data


def test_what_cannot_be_mapped_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(dv.ArtifactError, match="not a saved constraint"):
        dv.Constraint.load(tmp_path / "empty", VOCABULARY)
    with pytest.raises(dv.ArtifactError, match="cannot be read"):
        dv.Constraint.load(tmp_path, VOCABULARY)
    if os.name == "posix":
        read, write = os.pipe()
        with os.fdopen(write, "wb") as file:
            file.write(dv.compile(dv.Grammar.from_regex("a"), VOCABULARY).to_bytes())
        loaded = dv.Constraint.load(f"/dev/fd/{read}", VOCABULARY)
        os.close(read)
        assert loaded.matcher().allowed_tokens().tolist() == [ord("a")]


@pytest.mark.skipif(os.name != "posix", reason="links and devices")
def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"before")
    link.symlink_to(real)
    real.chmod(0o600)
    files.replace(link, b"after")
    assert link.is_symlink()
    assert (real.read_bytes(), real.stat().st_mode & 0o777) == (b"after", 0o600)
    files.replace(tmp_path / ("x" * 250), b"long")
    assert (tmp_path / ("x" * 250)).read_bytes() == b"long"
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen([sys.executable, "-c", f"print(open({str(tmp_path / 'pipe')!r}).read())"], stdout=-1)
    files.replace(tmp_path / "pipe", b"through")
    assert reader.communicate(timeout=60)[0].strip() == b"through"
    with pytest.raises(FileNotFoundError):
        files.replace(tmp_path / "none" / "file", b"")


def test_a_process_can_end_while_files_are_mapped(tmp_path: Path) -> None:
    path = tmp_path / "one.constraint"
    filled().save(path)
    code = (
        "import sys, threading, derivable as dv\n"
        "merged = [b'ab', b'))', b');', b' = ', b'(a', b'f(']\n"
        "v = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), *merged, None], eos=[262])\n"
        "constraint = dv.Constraint.load(sys.argv[1], v)\n"
        "m = constraint.matcher()\n"
        "def go():\n"
        "    while True:\n"
        "        other = dv.Constraint.load(sys.argv[1], v).matcher()\n"
        "        for byte in b'y = f(g(': other.allowed_tokens(); other.advance(byte)\n"
        "for _ in range(2): threading.Thread(target=go, daemon=True).start()\n"
        "import time; time.sleep(0.3)\n"
        "print(len(m.allowed_tokens()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0
