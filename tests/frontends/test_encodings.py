"""Encodings against what reads them: `json`, `ast`, `shlex` and a shell, a parser of XML, `base64`, `textwrap`."""

from __future__ import annotations

import ast
import base64
import json
import random
import shlex
import shutil
import subprocess
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html import escape
from xml.sax.saxutils import quoteattr

import pytest

import derivable as dv
from derivable.encodings import Encoding, encoding, encodings_of, is_encoding

LETTERS = "ab \n\t\r\"'\\/<>&]$`{}#é€😀\x00\x01\x1f\x7f\u2028\ud7ff\ue000\U00010000\U0010ffff"


def texts(seed: int, letters: str = LETTERS, count: int = 300) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(letters, k=rng.randrange(10))) for _ in range(count)]


def literal(how: Encoding, text: str) -> str:
    written = how.encode(text.encode())
    assert written is not None, text
    return (how.begin + written + how.end).decode()


READERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "python-single": ast.literal_eval,
    "python-double": ast.literal_eval,
    "base64": lambda written: base64.b64decode(written).decode(),
}


@pytest.mark.parametrize("spec", [False, True])
@pytest.mark.parametrize("name", READERS)
def test_what_is_written_is_read(name: str, spec: bool) -> None:
    [key] = encodings_of(name, spec=spec)
    for text in texts(1):
        assert READERS[name](literal(encoding(key), text)) == text


@pytest.mark.parametrize("ascii_only", [False, True])
def test_what_json_dumps_writes(ascii_only: bool) -> None:
    for text in texts(2):
        assert encoding("json").decode(json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode()) == text.encode()


def test_what_repr_writes() -> None:
    for text in texts(3, LETTERS.replace("\U0010ffff", "").replace("\U00010000", "")):
        written = repr(text)
        how = encoding("python-single" if written[0] == "'" else "python-double")
        assert how.decode(written[1:-1].encode()) == text.encode()


def test_long_strings_of_python() -> None:
    how = encoding("python-long")
    for text in texts(4, 'ab\n"\\'):
        assert ast.literal_eval(literal(how, text)) == text
    assert how.decode(b'a"') is None  # it would end the string one quotation mark too soon


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize("name", ["shell-single", "shell-double"])
def test_words_of_a_shell(name: str) -> None:
    all_texts = texts(5, LETTERS.replace("\x00", ""), 60)
    script = ";".join(f"printf '%s\\0' {literal(encoding(name), text)}" for text in all_texts)
    read = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    assert read.decode().split("\0")[:-1] == all_texts
    if name == "shell-single":
        assert all(encoding(name).decode(shlex.quote(f"'{text}")[1:-1].encode()) is not None for text in all_texts)


@pytest.mark.parametrize("name", ["xml", "xml-attribute"])
def test_xml(name: str) -> None:
    how = encoding(name)
    for text in texts(6, "".join(c for c in LETTERS if c not in how.unwritable)):
        written = literal(how, text)
        element = ElementTree.fromstring(f"<a>{written}</a>" if name == "xml" else f"<a b={written}/>")
        assert ((element.text or "") if name == "xml" else element.get("b")) == text
    for text in texts(7, "ab<>&\"' "):
        if name == "xml":
            assert how.decode(escape(text).encode()) == text.encode()
        elif (quoted := quoteattr(text))[0] == '"':
            assert how.decode(quoted[1:-1].encode()) == text.encode()
    assert how.decode(b"<") is None and encoding("xml").decode(b"]]>") is None


def test_lines() -> None:
    how = encoding("indented 4")
    for text in texts(8, "ab\n"):
        written = literal(how, text)
        if text and not text.endswith("\n"):
            assert written == textwrap.indent(text, " " * 4)
    assert how.decode(b"    a\n   b") is None


def test_keys() -> None:
    assert is_encoding("indented 12") and not is_encoding("indented") and not is_encoding("indented -1")
    assert is_encoding("json spec") and not is_encoding("no such one") and not is_encoding("without {")
    with pytest.raises(dv.GrammarError, match="there is no encoding"):
        dv.Grammar.from_regex("a").encoded("no such one")
    with pytest.raises(dv.GrammarError, match="Give columns="):
        dv.Grammar.from_regex("a").encoded("indented")
    with pytest.raises(dv.UnsupportedFeatureError, match="stands for itself"):
        dv.Grammar.from_gbnf('root ::= "a" <|end|>').encoded("json")


@pytest.mark.parametrize("name", ["shell-single", "xml"])
def test_what_cannot_be_written_is_no_way_on(name: str) -> None:
    """A grammar is not led to where only a character could follow that the encoding does not have."""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
    matcher = dv.compile(dv.Grammar.from_regex("ab\x00c|ad").encoded(name), vocabulary).matcher()
    matcher.advance_bytes(encoding(name).begin + b"a")
    assert matcher.allowed_tokens().tolist() == [ord("d")]


def test_what_cannot_be_written_keeps_no_lexemes_apart() -> None:
    """Behind a letter only a form feed would begin the second name, and XML has none."""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
    text = 'start: "(" (A B | C) ")"\nA: /[a-z-]+/\nB: /[a-z]+/\nC: /[0-9]+/\n%ignore /[\\f-]/'
    matcher = dv.compile(dv.Grammar.from_lark(text).encoded("xml"), vocabulary).matcher()
    matcher.advance_bytes(b"(")
    assert matcher.next_bytes() == b"0123456789"


@pytest.mark.parametrize("version", [None, "3.12"])
def test_python_in_xml(version: str | None) -> None:
    """Blanks that XML cannot write keep Python's lexemes apart where others do, and what is written parses."""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
    python = dv.Grammar.builtin("python", version=version)
    plain = dv.compile(python, vocabulary)
    written = dv.compile(python.encoded("xml"), vocabulary)
    same = set(range(0x20, 0x7F)) - set(b"<&>]\"'")  # what XML writes as it is, and in no other way
    for text in [
        "x = f'{a}b{ {1: 2}[1]:>3}' if x < 1 & y else '<'\n",
        "def f(a):\n  # <\n  return f\"{a!r:{n}}\" 'b'\n",
    ]:
        ast.parse(text)
        one, two = plain.matcher(), written.matcher()
        for char in text:
            assert same.intersection(one.next_bytes()) == same.intersection(two.next_bytes())
            assert 0x0C not in two.next_bytes()
            one.advance_bytes(char.encode())
            two.advance_bytes(escape(char, quote=False).encode())
        assert two.is_accepting
        assert encoding("xml").decode(escape(text, quote=False).encode()) == text.encode()
