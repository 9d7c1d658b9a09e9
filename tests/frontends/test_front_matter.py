"""Front matter of `Grammar.fenced`: readers of Markdown find it where the grammar says, and it is in its language."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

import pytest
from accepting import BYTES, accepts
from embedded_model import needs_weights
from references import REFERENCES
from walks import Walker

import derivable as dv
from derivable.encodings import encoding, is_encoding, without_lines
from derivable.frontends.languages import FENCES
from derivable.tiny.tokenizer import tokenizer_path


def page(front_matter: Any = "yaml", **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.fenced("python", front_matter=front_matter, **options), BYTES)


def test_yaml() -> None:
    constraint = page()
    for text in [
        "---\ntitle: A page\n---",
        "---\ntitle: A page\ntags: [a, b]\n---\n",
        "---\r\ntitle: A page\r\n---\r\n# Hi",
        "---\ntext: |\n  ---\n  more\n---\n\nHi.\n```py\nprint(1)\n```",
        "---\na: --x\n---\n---\nthe line above is a thematic break\n---\n",
        "---\na: 1\n---\n\n---\nb: [\n---\n",
        "---\n---\nb: [\n---\n",  # it is empty
    ]:
        assert accepts(constraint, text), text
    for text in [
        "",
        "# Hi",
        "\n---\na: 1\n---\n",
        " ---\na: 1\n---\n",
        "----\na: 1\n----\n",
        "---\na: [\n---\n",
        "---\na: 1\n",
        "---\na: 1\n--- \n",
        "---\na: 1\n----\n",
        "---\na: 1\n---text",
        "---\na: 1\n---\n```py\nprint(\n```",
    ]:
        assert not accepts(constraint, text), text


def test_toml() -> None:
    constraint = page("toml")
    for text in ["+++\ntitle = 'A'\n+++", "+++\n+++\nHi", '+++\na = """\n---\n ++\n"""\n[b]\n+++\n```py\nx\n```\n']:
        assert accepts(constraint, text), text
    for text in ["---\na = 1\n---", '+++\na = """\n+++\n"""\n+++', "+++\na = 1 +++", "+++\na = 1 2\n+++"]:
        assert not accepts(constraint, text), text


def test_a_grammar() -> None:
    """Between hyphens: JSON that fits a schema is YAML for those who read it."""
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    constraint = page(dv.Grammar.from_json_schema(schema))
    assert accepts(constraint, '---\n{"title": "A"}\n---\nHi') and not accepts(
        constraint, '---\n{"name": "A"}\n---\nHi'
    )


def test_how_many_fences() -> None:
    matter, fence = "---\na: 1\n---", "\n```py\nx\n```"
    for low, high in [(0, None), (0, 0), (1, 1), (2, None)]:
        constraint = page(min=low, max=high)
        for count in range(4):
            held = low <= count and (high is None or count <= high)
            assert accepts(constraint, matter + fence * count) is held, (low, high, count)


def test_without_it_hyphens_are_prose() -> None:
    assert accepts(dv.compile(dv.Grammar.fenced("python"), BYTES), "---\na: [\n---\n")
    either = dv.Grammar.fenced("python", front_matter="yaml") | ("# " + dv.Grammar.fenced("python"))
    constraint = dv.compile(either, BYTES)
    assert accepts(constraint, "---\na: 1\n---\n") and accepts(constraint, "# A") and not accepts(constraint, "---\na")


def test_lines_that_end_it() -> None:
    key = without_lines(["---", "..."])
    assert is_encoding(key) and not is_encoding(key + "]")
    for text in [
        "",
        "a",
        "--\n-- -\n.. .",
        " ---",
        "a---",
        "\n\n...",
        "---",
        "a\n---",
        "a\n--\n----",
        "\r---",
        "\n...a",
    ]:
        held = not any(line.startswith(("---", "...")) for line in text.split("\n"))
        assert encoding(key).decode(text.encode()) == (text.encode() if held else None), text


def test_what_is_no_front_matter() -> None:
    for wrong in ("xml", "python", ""):
        with pytest.raises(dv.GrammarError, match="yaml, toml"):
            dv.Grammar.fenced("python", front_matter=wrong)
    with pytest.raises(dv.ArgumentError):
        dv.Grammar.fenced("python", front_matter={"type": "object"})  # type: ignore[arg-type]


@needs_weights
@pytest.mark.parametrize("language", ["yaml", "toml"])
def test_what_readers_find(language: Any) -> None:
    """Walks through the masks, read by markdown-it with its plugin for front matter, PyYAML and `tomllib`."""
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    plugins = pytest.importorskip("mdit_py_plugins.front_matter", reason="mdit-py-plugins is not installed")
    reference = REFERENCES[language]()
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    constraint = dv.compile(dv.Grammar.fenced("python", front_matter=language), vocabulary)
    matter = {"yaml": "---\ntitle: A page\ntags:\n  - a\n---\n", "toml": '+++\ntitle = "A"\ntags = ["a"]\n+++\n'}
    walker = Walker(constraint, [matter[language] + "Hi.\n```python\ndef f(a):\n    return a\n```\nThen\n"] * 3)
    texts = [walk.complete.decode() for seed in range(120) if (walk := walker.walk(seed, 150)).complete]
    assert len(texts) > 10
    reader = markdown_it.MarkdownIt().use(plugins.front_matter_plugin)
    found = 0
    for text in texts:
        if language == "toml":
            held, text = re.fullmatch(r"\+\+\+\r?\n((?:.|\n)*?)\+\+\+(?:\r?\n((?:.|\n)*))?", text).groups()
            tokens = reader.parse(text or "")
        else:
            first, *tokens = reader.parse(text)
            assert first.type == "front_matter", text
            held = first.content
        assert reference([held.encode()]) == [True], held
        for token in tokens:
            if token.type == "fence" and token.markup == "```":
                assert token.info.strip() in FENCES["python"], text
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ast.parse(token.content)
                found += 1
    assert found > 2
