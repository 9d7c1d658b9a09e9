"""Properties of characters, against `regress`, Python's `unicodedata` and the definitions."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import derivable
from derivable.frontends import code_points
from derivable.frontends.code_points import category_names, characters_with

FILE = Path(code_points.__file__).with_name("code_points.txt")
LINES = [line.partition(": ")[0].split() for line in FILE.read_text(encoding="ascii").splitlines() if line[0] != "#"]
PREFIXES = {"gc": ["", "gc=", "General_Category="], "is": [""], "sc": ["sc=", "Script="]}
PREFIXES["scx"] = ["scx=", "Script_Extensions="]
EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)
RAW = EVERY.encode()


def held(name: str) -> frozenset[str]:
    ranges = characters_with(name)
    assert ranges is not None, name
    codes = [code for low, high in ranges for code in range(low, high + 1) if not 0xD800 <= code <= 0xDFFF]
    assert codes == sorted(set(codes)), name
    return frozenset(map(chr, codes))


def held_by_regress(name: str) -> frozenset[str]:
    regress = pytest.importorskip("regress")
    spans = (found.range() for found in regress.Regex(rf"\p{{{name}}}+", "u").find_iter(EVERY))
    return frozenset("".join(RAW[span.start : span.stop].decode() for span in spans))


def test_all_names_of_a_property_are_one() -> None:
    for kinds, *names in LINES:
        for kind in kinds.split(","):
            assert len({characters_with(prefix + name) for prefix in PREFIXES[kind] for name in names}) == 1, names
    assert characters_with("Qaai") is None and characters_with("sc=Qaai") == characters_with("sc=Inherited")


def check_against_regress(lines: list[list[str]]) -> None:
    """It may know another version of Unicode: characters that it has no category for do not count."""
    regress = pytest.importorskip("regress")
    unknown = held_by_regress("Cn")
    for kinds, *names in lines:
        for kind in kinds.split(","):
            name = PREFIXES[kind][-1] + names[-1]
            try:
                other = held_by_regress(name)
            except regress.RegressError:
                assert held(name) <= unknown, name  # a new script
                continue
            assert len((held(name) ^ other) - unknown) <= 6, name


def test_some_agree_with_another_engine() -> None:
    check_against_regress(LINES[::12])


@pytest.mark.slow
def test_all_agree_with_another_engine() -> None:
    check_against_regress(LINES)


def test_categories_are_those_of_python() -> None:
    """But for characters that one of the two does not know."""
    known = [char for char in EVERY if unicodedata.category(char) != "Cn"]
    mine = {
        char: names[0] for kinds, *names in LINES if kinds == "gc" and len(names[0]) == 2 for char in held(names[0])
    }
    mine |= {char: name for name in ("Lu", "Ll", "Lt") for char in held(name)}  # and not LC
    assert mine.keys() == set(EVERY)
    assert sum(mine[char] != unicodedata.category(char) for char in known) < 20
    assert {"L", "Letter", "Lu", "Combining_Mark", "Cs"} <= {*category_names()}


def test_what_normalization_and_case_folding_change() -> None:
    """A property that `tools/code_points.py` derives, by its definition."""
    mine = held("Changes_When_NFKC_Casefolded")
    ignorable = held("Default_Ignorable_Code_Point")

    def folded(text: str) -> str:
        once = unicodedata.normalize("NFKC", text).casefold()
        return unicodedata.normalize("NFKC", "".join(char for char in once if char not in ignorable))

    for char in EVERY:
        if unicodedata.category(char) not in ("Cn", "Co", "Lo", "So"):
            assert (folded(folded(char)) != char) is (char in mine), hex(ord(char))


def test_others() -> None:
    assert characters_with("Any") == ((0, 0x10FFFF),) and characters_with("ASCII") == ((0, 0x7F),)
    assert characters_with("Surrogate") == characters_with("gc=Cs") == ((0xD800, 0xDFFF),)
    assert held("Assigned") == frozenset(EVERY) - held("Cn")
    assert any(low <= 0xD800 and high >= 0xDFFF for low, high in characters_with("C") or ())
    for name in ("", "l", "lu", "Greek", "gc=Alphabetic", "sc=", "Script", "is=Alphabetic", "gc=Any", "sc=Lu", "=L"):
        assert characters_with(name) is None, name


def test_the_first_use_takes_little_time() -> None:
    """All of it in a process of its own, five categories and more; 20 ms on an idle machine, 576 ms once."""
    code = (
        "import time\n"
        "from derivable.frontends.code_points import characters_with as c\n"
        "t = time.process_time()\n"
        "[c(n) for n in 'L Lu Ll N P S Z C Alphabetic ID_Start sc=Greek scx=Latn Emoji Assigned'.split()]\n"
        "assert time.process_time() - t < 0.1\n"
    )
    source = str(Path(derivable.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, timeout=60, check=True)
