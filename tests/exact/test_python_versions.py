"""Does the grammar take the format strings and names of characters that Python 3.11 and 3.12 take?

`testdata/library/python/<version>-*.txt` are as the files in `test_library.py`, whose format is described there. They
are put to the `ast.parse` of the Python that runs the tests if it is of that side of 3.12.
"""

from __future__ import annotations

import sys
import unicodedata

import pytest
from references import REFERENCES
from test_library import constraint, is_accepted, snippets

import derivable as dv
from derivable.automata import compile_expr
from derivable.frontends.builtin import PYTHON_VERSIONS
from derivable.frontends.lark import grammar_from_lark

KINDS = ("accepted", "rejected", "deviations-accepted", "deviations-rejected")


def accepts(version: str, text: bytes) -> bool:
    return is_accepted(constraint("python", version), text)


@pytest.mark.parametrize(
    ("version", "kind", "text"),
    [
        (version, kind, text)
        for version in PYTHON_VERSIONS
        for kind in KINDS
        for text in snippets("python", f"{version}-{kind}")
    ],
)
def test_snippets(version: str, kind: str, text: bytes) -> None:
    assert accepts(version, text) == kind.endswith("accepted")


@pytest.mark.parametrize("version", PYTHON_VERSIONS)
def test_the_snippets_are_what_python_says(version: str) -> None:
    if (version == "3.12") != (sys.version_info >= (3, 12)) or sys.version_info < (3, 11):
        pytest.skip(f"this Python is not {version}")
    for kind in KINDS:
        texts = snippets("python", f"{version}-{kind}")
        said = REFERENCES["python"]()(texts)
        assert [text for text, ok in zip(texts, said) if ok != (kind in ("accepted", "deviations-rejected"))] == []


def test_without_a_version_lines_may_end_in_fields() -> None:
    """All else is that of 3.11."""
    default = constraint("python")
    for text in snippets("python", "3.11-accepted") + snippets("python", "3.11-rejected"):
        taken = is_accepted(default, text)
        assert taken == accepts("3.11", text) or (taken and b"\n" in text), text
    lines = b"(f'{x\n}')"
    assert is_accepted(default, lines) and not accepts("3.11", lines) and accepts("3.12", lines)


def test_unknown_versions_are_refused() -> None:
    with pytest.raises(dv.GrammarError, match=r"no version '2\.7'(.|\n)*3\.11, 3\.12"):
        dv.Grammar.builtin("python", version="2.7")
    with pytest.raises(dv.GrammarError, match="Only python has versions"):
        dv.Grammar.builtin("json", version="3.12")


def test_names_of_characters_are_unicodes() -> None:
    """All that the grammar has are names, of one character each."""
    from derivable.frontends.builtin import LIBRARY

    text = "start: CHARACTER_NAME\n%import .unicode_names (CHARACTER_NAME)"
    grammar = grammar_from_lark(text, import_paths=[str(LIBRARY)])
    names = compile_expr(grammar.terminals["CHARACTER_NAME"].expr, leftmost_first=True)
    todo, found = [("", 0)], []
    while todo:
        name, state = todo.pop()
        if names.is_accepting(state):
            found.append(name)
        for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -":
            after = names.step(state, ord(char))
            if after >= 0:
                todo.append((name + char, after))
    assert len(found) == len(set(found)) > 21_000
    assert all(len(unicodedata.lookup(name)) == 1 for name in found)
