"""A store of artifacts: what one process compiles, others load; damage is a miss; what is used least leaves."""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from words import BYTES

import derivable as dv
from derivable.warm.content import grammar_digest
from derivable.warm.store import store_at

SCHEMA = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    dv.cache.clear()
    yield
    dv.cache.clear()


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def compiled(store: Any, grammar: dv.Grammar | None = None, **options: Any) -> dv.Constraint:
    dv.cache.clear()
    return dv.compile(grammar or dv.Grammar.from_json_schema(SCHEMA), BYTES, store=store, **options)


def walked(constraint: dv.Constraint) -> list[list[int]]:
    """Masks along one text."""
    matcher = constraint.matcher()
    masks = [matcher.allowed_tokens().tolist()]
    while not matcher.is_finished and len(masks) < 40:
        matcher.advance(masks[-1][len(masks) % len(masks[-1])])
        masks.append(matcher.allowed_tokens().tolist())
    return masks


def test_one_compiles_and_the_next_loads(tmp_path: Path) -> None:
    store = dv.ArtifactStore(tmp_path / "in" / "deep")
    first = compiled(store)
    second = compiled(store)
    assert first is not second and second.grammar is not None
    assert walked(first) == walked(second)
    assert store.stats() == {"hits": 1, "misses": 1, "damaged": 0, "writes": 1, "removed": 0, "failures": 0}
    assert len(entries(tmp_path / "in" / "deep")) == 1


def test_what_is_loaded_was_not_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(tmp_path)
    monkeypatch.setattr(sys.modules["derivable.compile"], "lower", None)
    assert walked(compiled(tmp_path))
    with pytest.raises(TypeError):
        compiled(tmp_path, dv.Grammar.from_regex("a+"))


@pytest.mark.parametrize(
    "grammar",
    [
        dv.Grammar.from_regex("(ab|c)+d?"),
        dv.Grammar.from_lark('start: (NAME | "let")+\nNAME: /[a-z]+/\n%ignore " "'),
        dv.Grammar.from_gbnf('root ::= "[" [0-9]+ ("," [0-9]+)* "]"'),
        dv.Grammar.builtin("json"),
        dv.Grammar.from_choices(["yes", "no"]),
    ],
)
def test_grammars_of_every_kind(grammar: dv.Grammar, tmp_path: Path) -> None:
    masks = walked(compiled(tmp_path, grammar))
    store = dv.ArtifactStore(tmp_path)
    assert walked(compiled(store, grammar)) == masks
    assert store.stats()["hits"] == 1


def test_another_process_finds_it(tmp_path: Path) -> None:
    """Hashes of texts, and which parts of a grammar are one object, differ there."""
    program = (
        "import sys, json, derivable as dv\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from words import BYTES\n"
        "store = dv.ArtifactStore(sys.argv[1])\n"
        "dv.compile(dv.Grammar.from_json_schema(json.loads(sys.argv[3])), BYTES, store=store)\n"
        "dv.compile(dv.Grammar.builtin('json'), BYTES, store=store)\n"
        "print(store.stats()['hits'], store.stats()['writes'])\n"
    )
    here = str(ROOT / "tests" / "support")
    seen = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", program, str(tmp_path), here, json.dumps(SCHEMA)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        seen.append(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split())
    assert seen == [["0", "2"], ["2", "0"]]


def test_what_differs_has_another_place(tmp_path: Path) -> None:
    grammar = dv.Grammar.from_regex("(ab)+")
    other = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
    named = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2], special={"<end>": 2})
    for vocabulary in (BYTES, other, named):
        dv.cache.clear()
        dv.compile(grammar, vocabulary, store=tmp_path)
    for options in ({"lookahead": 1}, {"limits": dv.Limits(max_parses=7)}, {"ahead_of_time": 5}):
        compiled(tmp_path, grammar, **options)
    compiled(tmp_path, grammar.with_lexing("scannerless"))
    assert len(entries(tmp_path)) == 6


@pytest.mark.parametrize("left", [0, 10, 60, 200, -1])
def test_a_damaged_entry_is_a_miss(left: int, tmp_path: Path) -> None:
    compiled(tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    entry.write_bytes(whole[:left] if left >= 0 else whole[:-40] + bytes(byte ^ 0xFF for byte in whole[-40:]))
    store = dv.ArtifactStore(tmp_path)
    assert walked(compiled(store)) == walked(dv.compile(dv.Grammar.from_json_schema(SCHEMA), BYTES))
    assert store.stats()["damaged"] == 1
    assert entry.read_bytes()[: len(whole)] == whole


def test_another_constraint_under_its_name_is_a_miss(tmp_path: Path) -> None:
    other = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
    compiled(tmp_path)
    (entry,) = entries(tmp_path)
    entry.write_bytes(dv.compile(dv.Grammar.from_regex("a+"), other).to_bytes())
    store = dv.ArtifactStore(tmp_path)
    assert walked(compiled(store))
    assert store.stats()["damaged"] == 1


def test_what_was_used_longest_ago_leaves(tmp_path: Path) -> None:
    grammars = [dv.Grammar.from_regex(f"a{{{n}}}b+") for n in range(1, 7)]
    for i, grammar in enumerate(grammars[:5]):
        before = set(entries(tmp_path))
        compiled(tmp_path, grammar)
        (new,) = set(entries(tmp_path)) - before
        os.utime(new, (1000 + i, 1000 + i))
    oldest = min(entries(tmp_path), key=lambda path: path.stat().st_mtime)
    compiled(tmp_path, grammars[0])  # is used again
    size = sum(path.stat().st_size for path in entries(tmp_path))
    compiled(dv.ArtifactStore(tmp_path, budget=size), grammars[5])
    assert oldest in entries(tmp_path)
    assert sum(path.stat().st_size for path in entries(tmp_path)) <= size
    used = sorted(int(path.stat().st_mtime) for path in entries(tmp_path))
    assert 1001 not in used and 1004 in used


def test_what_is_larger_than_the_budget_is_not_kept(tmp_path: Path) -> None:
    compiled(dv.ArtifactStore(tmp_path, budget=10))
    assert entries(tmp_path) == []


def test_what_writers_left_unfinished_is_removed(tmp_path: Path) -> None:
    left, new = tmp_path / "x.part", tmp_path / "y.part"
    for path in (left, new):
        path.write_bytes(b"half")
    os.utime(left, (1000, 1000))
    compiled(tmp_path)
    assert not left.exists() and new.exists()


def test_many_threads_and_one_budget(tmp_path: Path) -> None:
    failures = []

    def work(which: int) -> None:
        try:
            store = dv.ArtifactStore(tmp_path, budget=20_000)
            for n in range(1, 12):
                grammar = dv.Grammar.from_regex(f"[ab]{{{n}}}c{{{which % 2}}}")
                assert dv.compile(grammar, BYTES, store=store).matcher().allows(97)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not [path for path in entries(tmp_path) if path.suffix == ".part"]


def test_a_store_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.warns(RuntimeWarning, match="cannot be"):
        assert walked(compiled(file))


@pytest.mark.parametrize("bad", [5, b"x", "", "a\0b", ["x"]])
def test_no_path(bad: Any) -> None:
    with pytest.raises(dv.ArgumentError, match="store"):
        compiled(bad)


def test_urls() -> None:
    fsspec = pytest.importorskip("fsspec")
    store = dv.ArtifactStore("memory://derivable/tests")
    masks = walked(compiled(store))
    assert walked(compiled(store)) == masks
    assert store.stats()["hits"] == 1 and store.stats()["failures"] == 0
    names = fsspec.filesystem("memory").ls("/derivable/tests", detail=False)
    assert len(names) == 1
    size = fsspec.filesystem("memory").size(names[0])
    small = dv.ArtifactStore("memory://derivable/tests", budget=size + 1)
    compiled(small, dv.Grammar.from_regex("(ab)+"))
    assert len(fsspec.filesystem("memory").ls("/derivable/tests", detail=False)) == 1
    with pytest.raises(dv.ArtifactError, match="Give another URL"):
        compiled("nosuchthing://x")


def test_urls_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "fsspec":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(dv.ArtifactError, match=r"pip install derivable\[store\]"):
        dv.ArtifactStore("s3://bucket/x")
    assert walked(compiled(tmp_path))


def test_one_store_a_path(tmp_path: Path) -> None:
    assert store_at(tmp_path) is store_at(str(tmp_path))


def test_the_compiler_uses_it(tmp_path: Path) -> None:
    grammar = dv.Grammar.from_regex("(ab)+")
    dv.Compiler(BYTES, store=tmp_path).compile(grammar)
    dv.cache.clear()
    store = dv.ArtifactStore(tmp_path)
    assert dv.Compiler(BYTES, store=store).submit(grammar).result().matcher().allows(97)
    assert store.stats()["hits"] == 1


def test_digests_are_of_the_contents() -> None:
    a, b = dv.Grammar.from_gbnf('root ::= "a" x\nx ::= "b"'), dv.Grammar.from_gbnf('root  ::=  "a"   x\nx ::= "b" ')
    assert a is not b and grammar_digest(a) == grammar_digest(b)
    texts = ['root ::= "a" x\nx ::= "c"']
    texts += ['root ::= "a" x "a"\nx ::= "b"', 'root ::= "a" x\nx ::= [b]+', 'root ::= "ax"']
    digests = {grammar_digest(dv.Grammar.from_gbnf(text)) for text in texts}
    assert len(digests) == 4 and grammar_digest(a) not in digests


def test_digests_tell_tallies_apart(tmp_path: Path) -> None:
    """Objects in any order differ in what is counted of them, and their rules may be the same."""
    schema: dict[str, Any] = {"properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False}
    needed = [dv.Grammar.from_json_schema({**schema, "minProperties": n}, key_order="any") for n in (1, 2)]
    assert len(set(map(grammar_digest, needed))) == 2
    for grammar, ends in zip(needed, (True, False), strict=True):
        matcher = dv.Compiler(BYTES, store=tmp_path).compile(grammar).matcher()
        matcher.advance_bytes(b'{"b":0')
        assert matcher.allows(ord("}")) is ends
    orders: list[Any] = ["any", "preferred"]
    assert len({grammar_digest(dv.Grammar.from_json_schema(schema, key_order=order)) for order in orders}) == 2


def test_a_write_does_not_look_at_all_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10,000 entries that would take longer than compiling."""
    store = dv.ArtifactStore(tmp_path)
    looks = []
    place = store._place
    monkeypatch.setattr(place, "entries", lambda found=place.entries: looks.append(1) or found())
    for number in range(30):
        compiled(store, dv.Grammar.from_regex(f"a{{{number}}}b"))
    assert store.stats()["writes"] == 30 and len(looks) == 1
