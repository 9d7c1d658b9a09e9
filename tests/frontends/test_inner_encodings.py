"""Encodings that only grammars use which hold others: texts as they are, but for some."""

from __future__ import annotations

import ast
import json
import random

import pytest

from derivable.encodings import encoding, without


def test_texts_without_others() -> None:
    rng = random.Random(1)
    for _ in range(300):
        texts = ["".join(rng.choices("ab<", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 3))]
        encoded = encoding(without(texts))
        for _ in range(20):
            text = "".join(rng.choices("ab<", k=rng.randint(0, 8)))
            found = encoded.decode(text.encode())
            assert found == (None if any(each in text for each in texts) else text.encode()), (texts, text)


def test_code_of_fences() -> None:
    rng = random.Random(2)
    fenced = encoding("fenced")
    for _ in range(3000):
        text = "".join(rng.choices(["`", "``", " ", "\n", "a", "   ", "\t", "```"], k=rng.randint(0, 8)))
        held = not any(
            line[:6].lstrip(" ").startswith("```") and not line.startswith("    ") for line in text.split("\n")
        )
        assert fenced.decode(text.encode()) == (text.encode() if held else None), text


def test_all_but_the_empty_text() -> None:
    some = encoding("some")
    assert some.decode(b"") is None and some.decode(b"a") == b"a" and some.decode("é\n".encode()) == "é\n".encode()


@pytest.mark.parametrize("key", ["json literal", "json literal spec"])
def test_literals_of_json_and_python(key: str) -> None:
    literal = encoding(key)
    for value in ["", 'a"\\\n', "é😀", "\x00\x7f", "/"]:
        for ascii_only in (True, False):
            written = json.dumps(value, ensure_ascii=ascii_only)
            found = literal.decode(written[1:-1].encode())
            assert found in (None, value.encode())
            assert (found is None) == (ascii_only and "😀" in value), written
            if found is not None:
                assert ast.literal_eval(written) == json.loads(written) == value
    assert literal.decode(rb"\/") is None and literal.decode(rb"\ud83d\ude00") is None
