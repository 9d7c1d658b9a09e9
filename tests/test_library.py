"""The built-in grammars: snippets that each accepts and rejects, the language's own implementation, and real programs.

`testdata/library/<name>/accepted.txt` and `rejected.txt` hold snippets between lines of `%%%%`; the line break before
such a line is not part of the snippet. Every snippet is also put to the real implementation of the language where one
is installed (`tests/references.py`), so the data cannot be wrong about the language. Where the grammar deliberately
differs, the snippet stands in `deviations-accepted.txt` or `deviations-rejected.txt`; `docs/library.md` says why.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from references import REFERENCES
from shared_data import program_texts

import derivable as dv
from derivable.frontends.builtin import BUILTIN

DATA = Path(__file__).parent.parent / "testdata" / "library"
PROGRAMS = {"java": "java", "go": "go", "python": "python", "javascript": "javascript"}


@cache
def constraint(name: str) -> dv.Constraint:
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    return dv.compile(dv.Grammar.builtin(name), vocabulary)


def accepts(name: str, text: bytes) -> bool:
    """The text one byte after the other, and then the end."""
    m = constraint(name).matcher()
    for byte in text:
        try:
            m.advance(byte)
        except dv.TokenRejectedError:
            return False
    return m.is_accepting


def snippets(name: str, kind: str) -> list[bytes]:
    file = DATA / name / f"{kind}.txt"
    if not file.exists():
        return []
    parts = file.read_bytes().split(b"%%%%\n")
    assert parts[0] == b"" and parts[-1] == b"", f"{file} begins and ends with a line of %%%%"
    return [part.removesuffix(b"\n") for part in parts[1:-1]]


def cases(kind: str) -> list[tuple[str, bytes]]:
    return [(name, text) for name in BUILTIN for text in snippets(name, kind)]


@pytest.mark.parametrize(("name", "text"), cases("accepted"))
def test_accepted(name: str, text: bytes) -> None:
    assert accepts(name, text)


@pytest.mark.parametrize(("name", "text"), cases("rejected"))
def test_rejected(name: str, text: bytes) -> None:
    assert not accepts(name, text)


@pytest.mark.parametrize("name", BUILTIN)
def test_the_snippets_are_what_the_language_says(name: str) -> None:
    reference = REFERENCES[name]()
    for kind in ("accepted", "rejected"):
        texts = snippets(name, kind)
        assert texts
        wrong = [t.decode(errors="replace") for t, ok in zip(texts, reference(texts)) if ok != (kind == "accepted")]
        assert wrong == []


@pytest.mark.parametrize("kind", ["accepted", "rejected"])
@pytest.mark.parametrize("name", BUILTIN)
def test_deviations_are_deviations(name: str, kind: str) -> None:
    """What the grammar accepts or rejects although the language says otherwise."""
    texts = snippets(name, f"deviations-{kind}")
    assert [accepts(name, text) for text in texts] == [kind == "accepted"] * len(texts)
    assert REFERENCES[name]()(texts) == [kind == "rejected"] * len(texts)


@pytest.mark.parametrize("name", sorted(BUILTIN.keys() & PROGRAMS.keys()))
def test_real_programs(name: str) -> None:
    """Every program that the language's implementation accepts, the grammar accepts."""
    reference = REFERENCES[name]()
    texts = [text.encode() for text in program_texts(PROGRAMS[name])]
    valid = [text for text, ok in zip(texts, reference(texts)) if ok]
    assert len(valid) > 0.9 * len(texts)
    wrong = []
    for text in valid:
        m = constraint(name).matcher()
        try:
            m.advance_bytes(text)
        except dv.TokenRejectedError:
            wrong.append(text.decode())
        else:
            if not m.is_accepting:
                wrong.append(text.decode())
    assert wrong == []


def test_unknown_names_are_refused() -> None:
    with pytest.raises(dv.GrammarError, match=r"no built-in grammar 'cobol'(.|\n)*json"):
        dv.Grammar.builtin("cobol")


def test_a_grammar_is_read_once() -> None:
    assert dv.Grammar.builtin("json") is dv.Grammar.builtin("json")
