"""The built-in grammars: snippets that each accepts and rejects, the language's own implementation, and real programs.

`testdata/library/<name>/accepted.txt` and `rejected.txt` hold snippets between lines of `%%%%`; the line break before
such a line is not part of the snippet. Every snippet is also put to the real implementation of the language where one
is installed (`tests/support/references.py`), so the data cannot be wrong about the language. Where the grammar
deliberately differs, the snippet stands in `deviations-accepted.txt` or `deviations-rejected.txt`; `docs/library.md`
says why.
"""

from __future__ import annotations

import importlib.util
import random
import re
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from paths import TESTDATA
from references import REFERENCES
from sentences import Sentences
from shared_data import program_texts
from walks import Walker

import derivable as dv
from derivable.frontends.builtin import BUILTIN
from derivable.tiny.tokenizer import tokenizer_path

DATA = TESTDATA / "library"
PROGRAMS = {"java": "java", "go": "go", "python": "python", "javascript": "javascript", "typescript": "javascript"}


@cache
def constraint(name: str, version: str | None = None) -> dv.Constraint:
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    return dv.compile(dv.Grammar.builtin(name, version=version), vocabulary)


def accepts(name: str, text: bytes) -> bool:
    return is_accepted(constraint(name), text)


def is_accepted(compiled: dv.Constraint, text: bytes) -> bool:
    """The text one byte after the other, and then the end."""
    m = compiled.matcher()
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


@pytest.mark.parametrize("name", [name for name in BUILTIN if name != "xml"])
def test_samples(name: str) -> None:
    """What an index is filled along: texts of the language."""
    samples = [text.encode() for text in dv.Grammar.builtin(name).samples]
    assert samples
    assert [accepts(name, text) for text in samples] == REFERENCES[name]()(samples) == [True] * len(samples)


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


@pytest.mark.parametrize("name", ["json", "java", "go", "sql", "postgresql", "toml"])
def test_random_sentences_are_syntax(name: str) -> None:
    """What the rules derive, the language accepts. (Not so for `javascript` and `c`: `docs/library.md`.)"""
    reference = REFERENCES[name]()
    sentences = Sentences(dv.Grammar.builtin(name))
    texts = [sentences.text(random.Random(seed), 6 + seed % 9) for seed in range(200)]
    assert all(accepts(name, text) for text in texts)
    assert [text.decode() for text, ok in zip(texts, reference(texts)) if not ok] == []


def test_declarations_in_typescript() -> None:
    """Those in the wheel that brings the reference: Bokeh's own, and TypeScript's of browsers and the language."""
    reference = REFERENCES["typescript"]()
    folder = Path(importlib.util.find_spec("bokeh").origin).parent
    texts = [file.read_bytes() for file in sorted(folder.glob("server/static/**/*.d.ts"))]
    texts = [text for text in texts if len(text) < 100_000]
    assert len(texts) > 700 and all(reference(texts))
    compiled = constraint("typescript")
    for text in texts:
        m = compiled.matcher()
        m.advance_bytes(text)
        assert m.is_accepting, text[:200]


def test_random_sentences_of_typescript_are_syntax() -> None:
    """Those without `yield`, which is an early error in most places. Line breaks may not end what they should."""
    reference = REFERENCES["typescript"]()
    lines = {name: [b"\n"] for name in ("LINE", "MEMBER_LINE", "STOP_LINE", "HEAD_LINE")}
    templates = {"TEMPLATE_HEAD": [b"`a${"], "TEMPLATE_MIDDLE": [b"}b${"], "TEMPLATE_TAIL": [b"}`"]}
    raw = {"RAW_HEAD": [b"`\\u${"], "RAW_MIDDLE": [b"}\\x${"], "RAW_TAIL": [b"}\\1`"]}
    others = {"REGEX": [b"/a/"], "SHEBANG": [b"#!a\n"]}
    sentences = Sentences(dv.Grammar.builtin("typescript"), {**lines, **templates, **raw, **others})
    texts = [sentences.text(random.Random(seed), 6 + seed % 9) for seed in range(400)]
    texts = [text for text in texts if b"yield" not in text and accepts("typescript", text)]
    assert len(texts) > 250
    assert [text.decode() for text, ok in zip(texts, reference(texts)) if not ok] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", "java", "go", "sql", "postgresql", "python", "toml", "yaml"])
def test_random_walks_are_syntax(name: str) -> None:
    """What the masks allow, the language's implementation accepts; and where the text may end, it says so, too.

    `python tests/support/walks.py` does the same for as many characters as one likes, with real vocabularies.
    """
    reference = REFERENCES[name]()
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    version = "3.11" if name == "python" else None
    walker = Walker(dv.compile(dv.Grammar.builtin(name, version=version), vocabulary))
    walks = [walker.walk(seed, 500) for seed in range(100)]
    pieces = [(w.complete, True) for w in walks if w.complete] + [cut for w in walks for cut in w.cuts]
    # Half a line break and blank texts are deviations of `python`, comments that end with the text one of `sql`.
    pieces = [(text, said) for text, said in pieces if text.strip() and not text.endswith(b"\r")]
    if name == "sql":
        pieces = [(text, said) for text, said in pieces if said or text.rfind(b"/*") <= text.rfind(b"*/")]
    if name == "postgresql":  # which bounds the length of operators
        pieces = [(text, said) for text, said in pieces if not re.search(rb"[-~!@#^&|`?+*/%<>=]{64}", text)]
    if name == "yaml":  # a key of 1,024 characters; a last line without a line break that is empty or a comment
        pieces = [(text, said) for text, said in pieces if max(map(len, text.split(b"\n"))) < 1_000]
        pieces = [(text, said) for text, said in pieces if said or not re.search(rb"(?:^|\n) *(?:#[^\n]*)?\Z", text)]
    if name == "python":  # joined lines, in fields and at the end
        pieces = [(text, said) for text, said in pieces if not re.search(rb"[{][^\n]*\\\r?\n|\\\r\n\Z", text)]
    verdicts = reference([text for text, _ in pieces])
    assert [text.decode() for (text, said), ok in zip(pieces, verdicts) if ok != said] == []


@pytest.mark.parametrize("name", ["c", "go", "java", "javascript", "postgresql", "python", "sql", "typescript"])
def test_masks_do_not_depend_on_masks_before(name: str) -> None:
    """What walks over other stacks have settled is what a walk over this one would find."""
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    grammar = dv.Grammar.builtin(name)
    keeps = dv.compile(grammar, vocabulary)
    forgets = dv.compile(grammar, vocabulary, limits=dv.Limits(cache_bytes=0))
    texts = snippets(name, "accepted")[:60]
    if name in ("go", "java", "sql"):
        sentences = Sentences(grammar)
        texts += [sentences.text(random.Random(seed), 6 + seed % 9)[:400] for seed in range(30)]
    for text in texts:
        mine, other = keeps.matcher(), forgets.matcher()
        for start in range(0, len(text), 2):
            assert np.array_equal(mine.allowed_tokens(), other.allowed_tokens()), text[:start]
            mine.advance_bytes(text[start : start + 2])
            other.advance_bytes(text[start : start + 2])
    assert keeps.stats()["walk_nodes"] < 0.6 * forgets.stats()["walk_nodes"]


def test_identifiers_beyond_ascii() -> None:
    """The classes are those of Unicode: letters and digits that no version is likely to change."""
    frames = {
        "go": "package {}",
        "java": "class {} {{}}",
        "javascript": "{}",
        "typescript": "let a: {}",
        "c": "int {};",
    }
    for name, frame in frames.items():
        for text in ("é", "ñandú", "变量", "переменная", "a\u0301" if name != "go" else "ǆ", "𝒳"):
            assert accepts(name, frame.format(text).encode()), (name, text)
        for text in ("\u0301a", "²", "a→b", "½", "€" if name != "java" else "%"):
            assert not accepts(name, frame.format(text).encode()), (name, text, unicodedata.name(text[0]))


def test_no_comment_where_the_line_cannot_end() -> None:
    """A comment goes on to the end of the line, so it is a dead end wherever the line must go on."""
    for text in (b"if n % i", b"while a != len", b"x = n %", b"for i in x", b"class A"):
        m = constraint("python").matcher()
        m.advance_bytes(text)
        assert ord("#") not in m.next_bytes(), text
    for text in (b"if n % i:", b"if (n % i", b"x = n", b"if x: ", b"x = n \\\n"):
        m = constraint("python").matcher()
        m.advance_bytes(text)
        assert ord("#") in m.next_bytes(), text


def test_keywords_of_postgresql_are_its_own() -> None:
    """The words that are no names, or names in some places only, are those of the parser."""
    keywords = pytest.importorskip("pglast.keywords", reason="pglast is not installed")
    reserved, columns, types = keywords.RESERVED_KEYWORDS, keywords.COL_NAME_KEYWORDS, keywords.TYPE_FUNC_NAME_KEYWORDS
    for word in reserved | columns | types | keywords.UNRESERVED_KEYWORDS:
        assert accepts("postgresql", f"TABLE {word}".encode()) == (word not in reserved | types), word
        assert accepts("postgresql", f"SELECT 1::{word}.t".encode()) == (word not in reserved | columns), word
        assert accepts("postgresql", f"SELECT a.{word} AS {word}".encode()), word


@pytest.mark.parametrize("name", ["python", "toml", "yaml"])
def test_what_is_saved_can_be_loaded(name: str) -> None:
    grammar = dv.Grammar.builtin(name)
    vocabulary = constraint(name).vocabulary
    saved = dv.compile(grammar, vocabulary, ahead_of_time=[grammar.samples[0][:80]]).to_bytes()
    m = dv.Constraint.from_bytes(saved, vocabulary).matcher()
    for byte in grammar.samples[0].encode():
        assert m.allows(byte)
        m.advance(byte)
    assert m.is_accepting


def test_unknown_names_are_refused() -> None:
    with pytest.raises(dv.GrammarError, match=r"no built-in grammar 'cobol'(.|\n)*json"):
        dv.Grammar.builtin("cobol")


def test_a_grammar_is_read_once() -> None:
    assert dv.Grammar.builtin("json") is dv.Grammar.builtin("json")


def test_masks_are_found_again_whatever_the_numbers_of_stack_nodes() -> None:
    """Go's stacks fork. After a collection nodes have other numbers, and equal stacks must still look equal."""
    compiled = dv.compile(dv.Grammar.builtin("go"), constraint("go").vocabulary)

    def misses() -> int:
        before = compiled.stats()
        for text in snippets("go", "accepted"):
            m = compiled.matcher()
            for byte in text:
                m.allowed_tokens()
                m.advance(byte)
        after = compiled.stats()
        return after["masks"] - before["masks"] - (after["mask_hits"] - before["mask_hits"])

    assert misses() > 1000
    compiled.matcher().advance_bytes(b"package p\nfunc f() {\n" + b"a(" * 40_000)
    assert compiled.stats()["stack_nodes"] > 1 << 14  # the next step collects them
    assert misses() == 0
