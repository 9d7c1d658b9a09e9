"""`Grammar.fenced`: texts are accepted as a reader of Markdown, written from the definition, says."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable
from functools import cache

import pytest
from accepting import BYTES, accepts
from embedded_model import needs_weights
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import TESTDATA
from walks import Walker

import derivable as dv
from derivable.frontends.languages import FENCES
from derivable.frontends.text_ends import always_ends_a_line, may_be_empty
from derivable.tiny.tokenizer import tokenizer_path

AB = dv.Grammar.from_regex("(ab|`)+")
LINES = dv.Grammar.from_lark('start: line*\nline: /[ab]+/ "\\n"')


def read(text: str, code: dict[str, Callable[[str], bool]], others: bool = False) -> int | None:
    """How many fences a text has, all of which are held; `None`: it is refused. `code` judges what stands in one."""
    found, lines = 0, text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        opening = re.fullmatch(r"```([^`\r]*)\r?", line)
        if opening is None:
            if "```" in line or "~~~" in line:
                return None
            at += 1
            continue
        name = opening[1].rstrip(" \t")
        inner: list[str] = []
        at += 1
        while at < len(lines) and not re.match(" {0,3}```", lines[at]):
            inner.append(lines[at])
            at += 1
        if at == len(lines) or not re.fullmatch(r"```[ \t]*\r?", lines[at]):
            return None
        if name in code:
            if not code[name]("".join(f"{each}\n" for each in inner)):
                return None
        elif not others or name.lower().split()[:1] in [[known] for known in code]:
            return None
        found, at = found + 1, at + 1
    return found


def in_lines(code: str) -> bool:
    return re.fullmatch("([ab]+\n)*", code) is not None


def in_ab(code: str) -> bool:
    return re.fullmatch("(ab|`)+\r?\n", code) is not None


@cache
def _fenced(others: bool) -> dv.Constraint:
    return dv.compile(dv.Grammar.fenced({"ab": AB, "lines": LINES}, others=others), BYTES)


PIECES = [
    "```",
    "`",
    "ab",
    "lines",
    "AB",
    "\n",
    "\n```\n",
    "```ab\n",
    "\n```lines\n",
    " ",
    "b",
    "~~~",
    "x",
    "```x y\n",
    "\r",
    "\r\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), st.booleans())
@settings(max_examples=1500, deadline=None)
def test_as_a_reader_says(text: str, others: bool) -> None:
    expected = read(text, {"ab": in_ab, "lines": in_lines}, others) is not None
    assert accepts(_fenced(others), text) is expected


def test_a_page() -> None:
    constraint = dv.compile(dv.Grammar.fenced("python"), BYTES)
    for text in [
        "",
        "No code.\n\n    indented ` or `` here",
        "Look:\n\n```python\nprint(1)\n```\n\nThat is `all`.",
        "```py  \nif x:\n    y\n```  \n```python3\n```\n",
        "```py\nx = '```'\n# ```\n```",
        '```py\ns = """\n    ```\n\t```\n"""\n```',
        "```py\n\n```",
    ]:
        assert accepts(constraint, text), text
    for text in [
        "```python\nprint(\n```",
        "```python\nprint(1)```",
        "```python\nprint(1)\n",
        "```python",
        "See: ```python\nprint(1)\n```",
        " ```python\nprint(1)\n```",
        "````python\nprint(1)\n````",
        "~~~python\nprint(\n~~~",
        "```java\nclass A {}\n```",
        "```\nprint(1)\n```",
        "```python\ns = '''\n```\n'''\n```",
        "```python\nif x:\n  ```",
    ]:
        assert not accepts(constraint, text), text


def test_others() -> None:
    constraint = dv.compile(dv.Grammar.fenced("python", others=True), BYTES)
    for text in ["```\n(\n```", "```bash -x\n(\n```", "```pyx\n(\n```", "```\n\n```", "```py\nx\n```\n```sh\n```"]:
        assert accepts(constraint, text), text
    for text in ["```py\n(\n```", "```Python\n(\n```", "```  python x\n(\n```", "```sh\n(", "```a`b\n```"]:
        assert not accepts(constraint, text), text


def test_pages_in_fences_of_pages() -> None:
    """A longer fence holds shorter ones; no line of its code begins with as many backticks as it has."""
    page = dv.Grammar.fenced({"ab": AB})
    for backticks in (4, 5):
        page = dv.Grammar.fenced({"ab": AB, "md": page}, backticks=backticks, others=backticks == 5)
    constraint = dv.compile(page, BYTES)
    inner = "a\n```ab\nab\n```\nb"
    middle = f"x\n````md\n{inner}\n````\n````ab\n```\n````"
    assert accepts(constraint, f"`````md\n{middle}\n`````")
    assert accepts(constraint, "`````sh\n````\n```\n`````") and accepts(constraint, "`````ab\n````\n`````")
    for text in (
        f"`````md\n{middle.replace('ab', 'abc')}\n`````",  # not in the language
        f"`````md\n{inner}\n`````",  # a fence of three where there are four
        f"````md\n{inner}\n````",
        "`````md\n````md\n   `````\n````\n`````",  # ends the outer one
        "`````sh\n``````\n`````",
        "``````ab\nab\n``````",
        "``` x",
    ):
        assert not accepts(constraint, text), text


def test_how_many() -> None:
    fence, prose = "```py\nx\n```", "Hm.\n"
    for low, high in [(0, 0), (0, 1), (0, 2), (1, 1), (1, None), (2, 3), (2, None)]:
        constraint = dv.compile(dv.Grammar.fenced("python", min=low, max=high), BYTES)
        for count in range(5):
            held = low <= count <= (9 if high is None else high)
            assert accepts(constraint, "\n".join([fence] * count)) is held, (low, high, count)
            assert accepts(constraint, "".join([f"{prose}{fence}\n"] * count) + prose) is held, (low, high, count)


def snippets(name: str) -> list[str]:
    parts = (TESTDATA / "library" / name / "accepted.txt").read_bytes().split(b"%%%%\n")
    found = [part.removesuffix(b"\n").decode(errors="replace") for part in parts[1:-1]]
    return [text for text in found if "\ufffd" not in text and not re.search("^ {0,3}```", text, re.MULTILINE)]


@pytest.mark.parametrize("name", FENCES)
def test_built_in_languages(name: str) -> None:
    """A last line break of theirs means nothing: it may stand before the fence, or another one beside it."""
    plain = dv.compile(dv.Grammar.builtin(name), BYTES)
    constraint = dv.compile(dv.Grammar.fenced(name), BYTES)
    texts = snippets(name)[:60]
    assert len(texts) > 15
    for text in texts:
        assert accepts(constraint, f"```{name}\n{text}\n```"), text
        if text.endswith("\n"):
            assert accepts(plain, text.removesuffix("\n").removesuffix("\r")), text
    for alias in FENCES[name]:
        assert accepts(constraint, f"```{alias}\n{texts[0]}\n```")


def test_any_language() -> None:
    constraint = dv.compile(dv.Grammar.fenced("any"), BYTES)
    assert accepts(constraint, "```js\nlet x = 1\n```\n\n```sql\nSELECT 1\n```\n```sh\n(\n```")
    assert not accepts(constraint, "```js\nlet = = 1\n```") and not accepts(constraint, "```go\nx\n```")


def test_what_names_no_languages() -> None:
    for wrong in ("pyton", ["python", "pyton"], [], {}, {"a b": AB}, {"": AB}, {"a`": AB}):
        with pytest.raises(dv.GrammarError):
            dv.Grammar.fenced(wrong)  # type: ignore[arg-type]
    for wrong in (3, {"a": 3}, [3]):
        with pytest.raises((dv.GrammarError, dv.ArgumentError)):
            dv.Grammar.fenced(wrong)  # type: ignore[arg-type]
    with pytest.raises(dv.GrammarError):
        dv.Grammar.fenced("python", min=2, max=1)


def test_how_texts_end() -> None:
    known = {
        'start: "a" "\\n"': (True, False),
        'start: ("a" "\\n")*': (True, True),
        'start: "a" "\\n"?': (False, False),
        'start: "a"? x\nx: "b" "\\n" | x "c"?': (False, False),
        "start: line+\nline: /a*\\n/ | /b\\n\\n/": (True, False),
        'start: "a" "\\n"\n%ignore " "': (False, False),
        "start: x?\nx: /b/": (False, True),
    }
    for text, (line, empty) in known.items():
        grammar = dv.Grammar.from_lark(text)
        assert (always_ends_a_line(grammar), may_be_empty(grammar)) == (line, empty), text
        plain = dv.Grammar.from_lark(text, lexing="scannerless")
        assert may_be_empty(plain) is empty, text
    assert may_be_empty(dv.Grammar.builtin("python")) and not may_be_empty(dv.Grammar.builtin("json"))
    assert may_be_empty(dv.Grammar.builtin("python").encoded("base64"))
    schema = dv.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    assert not may_be_empty(schema) and not always_ends_a_line(schema)


def is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError:
            return False
    return True


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@needs_weights
def test_walks() -> None:
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    constraint = dv.compile(dv.Grammar.fenced(["python", "json"], min=1), vocabulary)
    page = "Hi.\n```python\ndef f(a):\n    return a\n```\nThen\n```json\n[1]\n```\n"
    walker = Walker(constraint, [page] * 3)
    texts = [walk.complete.decode() for seed in range(60) if (walk := walker.walk(seed, 120)).complete]
    assert len(texts) > 10
    for text in texts:
        code = dict.fromkeys(FENCES["python"], is_python) | {"json": is_json}
        assert read(text, code), text
