# ruff: noqa: E501 -- tables
"""Every public function, called with arguments of the wrong kind: a typed error says what was given, and nothing changes."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import derivable as dv
from derivable.expr import Alt, Bytes, Chars, Concat, Ref, Repeat

VOCABULARY = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos=[3])
GRAMMAR = dv.Grammar.from_regex("(ab)+")
CONSTRAINT = dv.compile(GRAMMAR, VOCABULARY)
A = dv.Terminal(Bytes(b"a"))
Call = Callable[[Any], object]


class Odd:
    """Something whose description fails, too."""

    def __repr__(self) -> str:
        raise RuntimeError("no description")


NO_INTEGERS: list[Any] = [None, "1", b"1", 1.0, float("nan"), True, np.bool_(True), [1], (), {}, object(), Odd(), np.array([1, 2])]  # fmt: skip
NO_TEXTS: list[Any] = [None, 1, True, b"a", bytearray(b"a"), ["a"], {}, object()]
NO_OBJECTS: list[Any] = [None, 1, "x", b"x", [], {}, object()]


def kind_of(value: Any) -> str:
    """The name of a parameter: pytest would spell numbers that Python does not, and ask `Odd` to describe itself."""
    return value if isinstance(value, str) and value.isascii() and value.isprintable() else type(value).__name__


def refused(call: Callable[[], object], kind: type[BaseException] = dv.DerivableError) -> dv.DerivableError:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, dv.DerivableError), repr(caught.value)
    message = str(caught.value)
    message.encode("utf-8")
    assert message and len(message) < 2_000
    return caught.value


def state(matcher: dv.Matcher) -> tuple[Any, ...]:
    return matcher.length, matcher.is_accepting, matcher.is_finished, matcher.allowed_tokens().tolist()


# Matchers


MATCHER_CALLS: dict[str, Callable[[dv.Matcher, Any], object]] = {
    "advance": lambda m, x: m.advance(x),
    "allows": lambda m, x: m.allows(x),
    "explain": lambda m, x: m.explain(x),
    "count_valid-item": lambda m, x: m.count_valid([0, x]),
    "rollback": lambda m, x: m.rollback(x),
    "fill_bitmask-row": lambda m, x: m.fill_bitmask(dv.allocate_bitmask(1, 4), x),
    "fill_bitmask-row-by-name": lambda m, x: m.fill_bitmask(bitmask=dv.allocate_bitmask(1, 4), row=x),
    "forced_bytes": lambda m, x: m.forced_bytes(x),
    "situation": lambda m, x: m.situation(x),
    "context": lambda m, x: m.context(x),
}


@pytest.mark.parametrize("name", MATCHER_CALLS)
@pytest.mark.parametrize("value", NO_INTEGERS, ids=kind_of)
def test_no_integers(name: str, value: Any) -> None:
    matcher = CONSTRAINT.matcher()
    matcher.advance(0)
    before = state(matcher)
    error = refused(lambda: MATCHER_CALLS[name](matcher, value), dv.ArgumentError)
    assert isinstance(error, TypeError)
    assert f"an integer, not {type(value).__name__}" in str(error)
    assert state(matcher) == before


@pytest.mark.parametrize(
    "number", [4, 10**7, -1, 2**31, 2**32, 2**63, -(2**63) - 1, 2**64, 10**30, 10**5000, -(10**5000)], ids=kind_of
)
def test_numbers_out_of_range(number: int) -> None:
    matcher = CONSTRAINT.matcher()
    matcher.advance(0)
    before = state(matcher)
    assert matcher.count_valid([1, number, 1]) == 1
    for name in ("advance", "allows", "explain"):
        error = refused(lambda name=name: MATCHER_CALLS[name](matcher, number), dv.TokenRejectedError)  # type: ignore[misc]
        assert error.token_id == number and "4 tokens" in str(error)  # type: ignore[attr-defined]
    refused(lambda: matcher.rollback(number), dv.RollbackError)
    refused(lambda: matcher.fill_bitmask(dv.allocate_bitmask(2, 4), number), dv.BitmaskShapeError)
    assert state(matcher) == before


@pytest.mark.parametrize("kind", [int, np.int8, np.uint8, np.int32, np.int64, np.uint64, lambda n: np.array(n)])
def test_integers_of_every_kind(kind: Callable[[int], Any]) -> None:
    matcher = CONSTRAINT.matcher()
    assert matcher.allows(kind(2)) and matcher.count_valid([kind(0), kind(1)]) == 2
    matcher.advance(kind(0))
    assert matcher.explain(kind(1)).allowed
    matcher.advance(kind(1))
    matcher.fill_bitmask(dv.allocate_bitmask(2, 4), kind(1))
    matcher.rollback(kind(2))
    assert matcher.length == 0
    assert matcher.count_valid(np.array([0, 1, 1])) == 2


@pytest.mark.parametrize("value", [None, 5, 1.5, "01", b"\0\1", bytearray(b"\0"), object(), np.array(5)], ids=kind_of)
def test_no_lists_of_tokens(value: Any) -> None:
    refused(lambda: CONSTRAINT.matcher().count_valid(value), dv.ArgumentError)
    refused(lambda: dv.advance([CONSTRAINT.matcher()], value), dv.ArgumentError)
    refused(lambda: CONSTRAINT.matcher().fill_draft(value, dv.allocate_bitmask(3, 4)), dv.ArgumentError)


@pytest.mark.parametrize(
    "value", [*NO_TEXTS[:3], "ab", bytearray(b"ab"), memoryview(b"ab"), ["a"], np.array([97])], ids=kind_of
)
def test_no_bytes(value: Any) -> None:
    matcher = CONSTRAINT.matcher()
    error = refused(lambda: matcher.advance_bytes(value), dv.ArgumentError)
    assert "data must be bytes" in str(error) and matcher.length == 0


def read_only() -> Any:
    mask = dv.allocate_bitmask(1, 4)
    mask.flags.writeable = False
    return mask


BITMASKS: list[Any] = [
    *NO_OBJECTS,
    np.zeros((1, 1), np.int64),
    np.zeros((1, 1), np.float32),
    np.zeros((1, 1), np.uint32),
    np.zeros((1, 1), ">i4"),
    np.zeros((1, 1), bool),
    np.zeros(1, np.int32),
    np.zeros((1, 1, 1), np.int32),
    np.zeros((), np.int32),
    np.zeros((1, 0), np.int32),
    np.zeros((0, 1), np.int32),
    np.zeros((4, 8), np.int32)[:, ::2],
    np.asfortranarray(np.zeros((4, 8), np.int32)),
    np.zeros((1, 1), "i4,i4"),
    np.array([[None]], object),
    np.array([["x"]]),
    memoryview(bytearray(4)),
    read_only(),
]


@pytest.mark.parametrize("at", range(len(BITMASKS)))
def test_no_bitmasks(at: int) -> None:
    matcher = CONSTRAINT.matcher()
    refused(lambda: matcher.fill_bitmask(BITMASKS[at]), dv.BitmaskShapeError)
    refused(lambda: dv.fill_bitmasks([matcher], BITMASKS[at]), dv.BitmaskShapeError)
    refused(lambda: matcher.fill_draft([], BITMASKS[at]), dv.BitmaskShapeError)
    assert matcher.length == 0


@pytest.mark.parametrize(
    "value", [None, 5, "x", b"x", [CONSTRAINT], ["m"], [CONSTRAINT.matcher(), "m"], {1: 2}], ids=kind_of
)
def test_no_matchers(value: Any) -> None:
    mask = dv.allocate_bitmask(4, 4)
    refused(lambda: dv.fill_bitmasks(value, mask), dv.ArgumentError)
    refused(lambda: dv.advance(value, [0]), dv.ArgumentError)
    assert not mask.any()


@pytest.mark.parametrize("value", [-1, "2", 1.5, True, 2**64, [1]], ids=kind_of)
def test_no_number_of_threads(value: Any) -> None:
    refused(
        lambda: dv.fill_bitmasks([CONSTRAINT.matcher()], dv.allocate_bitmask(1, 4), threads=value), dv.ArgumentError
    )


def test_more_threads_than_matchers() -> None:
    mask = dv.allocate_bitmask(20, 4)
    dv.fill_bitmasks([CONSTRAINT.matcher() for _ in range(20)], mask, threads=10**9)
    assert mask.ravel().tolist() == [0b101] * 20


def test_matchers_are_made_by_constraints() -> None:
    for value in NO_OBJECTS:
        refused(lambda value=value: dv.Matcher(value), dv.ArgumentError)  # type: ignore[misc]
        refused(lambda value=value: dv.Constraint(value, VOCABULARY), dv.ArgumentError)  # type: ignore[misc]
    for function in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises((TypeError, pickle.PicklingError)):
            function(CONSTRAINT.matcher())


@pytest.mark.parametrize("value", [None, "1", 1.5, True, []], ids=kind_of)
def test_no_size_of_a_bitmask(value: Any) -> None:
    refused(lambda: dv.allocate_bitmask(value, 4), dv.ArgumentError)
    refused(lambda: dv.allocate_bitmask(1, value), dv.ArgumentError)


@pytest.mark.parametrize(("batch", "size"), [(-1, 4), (1, 0), (1, -4), (2**62, 2**40), (2**40, 2**40), (2**44, 32)])
def test_sizes_out_of_range(batch: int, size: int) -> None:
    refused(lambda: dv.allocate_bitmask(batch, size), dv.BitmaskShapeError)


@pytest.mark.parametrize(
    "value",
    [*NO_OBJECTS, [1.0, 2.0], np.zeros(4, int), np.zeros((2, 4)), np.zeros((1, 1, 4)), np.zeros(4, "U1")],
    ids=kind_of,
)
def test_no_logits(value: Any) -> None:
    refused(lambda: dv.apply_bitmask(value, dv.allocate_bitmask(1, 4)))


@pytest.mark.parametrize(
    "value",
    [*NO_OBJECTS, [[1], [1, 2]], np.zeros((1, 1)), np.zeros((2, 1), np.int32), np.zeros((1, 1, 1), np.int32)],
    ids=kind_of,
)
def test_no_bitmask_to_apply(value: Any) -> None:
    logits = np.zeros(4)
    refused(lambda: dv.apply_bitmask(logits, value))
    assert not logits.any()


# Compiling, saving, loading


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_grammar_no_vocabulary_no_limits(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    CONSTRAINT.save(path)
    refused(lambda: dv.compile(value, VOCABULARY))
    refused(lambda: dv.compile(GRAMMAR, value))
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, limits=value), dv.ArgumentError)
    refused(lambda: dv.Constraint.load(path, value), dv.ArgumentError)
    refused(lambda: dv.Constraint.load(path, VOCABULARY, limits=value), dv.ArgumentError)
    if not isinstance(value, str):
        refused(lambda: dv.Constraint.load(value, VOCABULARY), dv.ArgumentError)
        refused(lambda: CONSTRAINT.save(value), dv.ArgumentError)


@pytest.mark.parametrize("value", [*NO_OBJECTS[:3], b"", b"x", CONSTRAINT.to_bytes()[:-1], "x"], ids=kind_of)
def test_no_bytes_of_a_constraint(value: Any) -> None:
    refused(lambda: dv.Constraint.from_bytes(value, VOCABULARY))
    refused(lambda: dv.Constraint.from_bytes(CONSTRAINT.to_bytes(), value), dv.ArgumentError)
    refused(lambda: dv.Constraint.from_bytes(CONSTRAINT.to_bytes(), VOCABULARY, limits=value), dv.ArgumentError)


@pytest.mark.parametrize("value", ["a\0b", b"a", "", "/", "/nowhere/x"], ids=kind_of)
def test_no_path(value: Any) -> None:
    refused(lambda: dv.Constraint.load(value, VOCABULARY))
    refused(lambda: CONSTRAINT.save(value))


@pytest.mark.parametrize("value", ["1", 1.5, True, [], -1, 2**32, 2**70, 10**5000], ids=kind_of)
def test_no_lookahead(value: Any) -> None:
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, lookahead=value))


@pytest.mark.parametrize("value", [None, "1", 1.5, [], -1, 2**70], ids=kind_of)
def test_no_number_of_situations(value: Any) -> None:
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, ahead_of_time=value), dv.ArgumentError)
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, ahead_of_time=True, progress=5), dv.ArgumentError)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [5, b"a", "", "a\0b", [], object()], ids=kind_of)
def test_no_store(value: Any) -> None:
    refused(lambda: dv.ArtifactStore(value), dv.ArgumentError)
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, store=value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, "1", 1.5, True, [], -1], ids=kind_of)
def test_no_budget_of_a_store(value: Any) -> None:
    refused(lambda: dv.ArtifactStore("folder", budget=value), dv.ArgumentError)


@pytest.mark.parametrize("value", [None, 5, "x", []], ids=kind_of)
def test_no_yes_or_no(value: Any) -> None:
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, prefetch=value), dv.ArgumentError)
    refused(lambda: dv.compile(GRAMMAR, VOCABULARY, canonical=value), dv.ArgumentError)


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_rules(value: Any) -> None:
    refused(lambda: dv.Grammar.of(value), dv.ArgumentError)


@pytest.mark.parametrize("value", ["1", True, [], -1, -0.5, float("nan"), object()], ids=kind_of)
def test_no_seconds_of_a_slow_mask(value: Any) -> None:
    refused(lambda: dv.warn_of_slow_masks(value), dv.ArgumentError)


@pytest.mark.parametrize("name", list(inspect.signature(dv.Limits).parameters))
@pytest.mark.parametrize("value", [None, "1", 1.5, float("inf"), True, -1, 2**63, 10**5000, []], ids=kind_of)
def test_no_limit(name: str, value: Any) -> None:
    assert name in str(refused(lambda: dv.Limits(**{name: value}), dv.ArgumentError))


@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_no_compiler(value: Any) -> None:
    refused(lambda: dv.Compiler(value))
    refused(lambda: dv.Compiler(VOCABULARY, limits=value), dv.ArgumentError)
    refused(lambda: dv.Compiler(VOCABULARY, budget=value) if type(value) is not int else dv.Compiler(value))
    refused(lambda: dv.Compiler(VOCABULARY).compile(value))
    refused(lambda: dv.Compiler(VOCABULARY).submit(value).result())
    refused(lambda: asyncio.run(dv.compile_async(value, VOCABULARY)))


@pytest.mark.parametrize("value", [None, "1", 1.5, True, -1, 2**70], ids=kind_of)
def test_no_size_of_the_cache(value: Any) -> None:
    before = dv.cache.limit
    refused(lambda: dv.Cache(value), dv.ArgumentError)
    with pytest.raises(dv.ArgumentError):
        dv.cache.limit = value
    assert dv.cache.limit == before


# Grammars


TEXTS: dict[str, Call] = {
    "from_regex": lambda x: dv.Grammar.from_regex(x),
    "from_gbnf": lambda x: dv.Grammar.from_gbnf(x),
    "from_gbnf-start": lambda x: dv.Grammar.from_gbnf('root ::= "a"', start=x),
    "from_ebnf": lambda x: dv.Grammar.from_ebnf(x),
    "from_ebnf-start": lambda x: dv.Grammar.from_ebnf('root ::= "a"', start=x),
    "from_ebnf-root": lambda x: dv.Grammar.from_ebnf('root ::= "a"', root=x),
    "from_lark": lambda x: dv.Grammar.from_lark(x),
    "from_lark-start": lambda x: dv.Grammar.from_lark('start: "a"', start=x),
    "from_lark-lexing": lambda x: dv.Grammar.from_lark('start: "a"', lexing=x),
    "with_lexing": lambda x: GRAMMAR.with_lexing(x),
    "builtin": lambda x: dv.Grammar.builtin(x),
    "from_choices-item": lambda x: dv.Grammar.from_choices(["a", x]),
    "free_text-item": lambda x: dv.Grammar.free_text(["a", x]),
    "concatenate": lambda x: dv.Grammar.concatenate(GRAMMAR, x),
    "alternate": lambda x: dv.Grammar.alternate(GRAMMAR, x),
    "from_json_schema-draft": lambda x: dv.Grammar.from_json_schema({}, draft=x or 1),
    "from_json_schema-key_order": lambda x: dv.Grammar.from_json_schema({}, key_order=x),
    "from_json_schema-formats": lambda x: dv.Grammar.from_json_schema({}, formats=x),
    "Grammar-start": lambda x: dv.Grammar({"s": Bytes(b"a")}, {}, x),
    "Grammar-lexing": lambda x: dv.Grammar({"s": Bytes(b"a")}, {}, "s", lexing=x),
    "Grammar-ignore-item": lambda x: dv.Grammar({"s": Bytes(b"a")}, {}, "s", ignore=(x,)),
    "from_lark-path": lambda x: dv.Grammar.from_lark('start: "a"', import_paths=[x]),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", NO_TEXTS, ids=kind_of)
def test_no_text(name: str, value: Any) -> None:
    refused(lambda: TEXTS[name](value))


OPTIONS: dict[str, tuple[Call, list[Any]]] = {
    "from_regex-flags": (lambda x: dv.Grammar.from_regex("a", flags=x), [None, "i", 1.5, -1, 2**70, True]),
    "from_choices": (dv.Grammar.from_choices, [None, 5, "ab", b"ab", [], {}, object()]),
    "from_lark-paths": (lambda x: dv.Grammar.from_lark('start: "a"', import_paths=x), [None, 5, "ab", b"ab"]),
    "from_lark-declared": (lambda x: dv.Grammar.from_lark('start: A\n%declare A', declared=x), [5, "A", ["A"], {"A": 5}, {"A": None}]),
    "from_lark-indentation": (lambda x: dv.Grammar.from_lark('start: "a"', indentation=x), [5, "x", ("a", "b", "c")]),
    "structural_tag": (dv.Grammar.structural_tag, [None, 5, "x", "[]", b"{}", [], {}, {"format": 5}, object()]),
    "from_structural_tag": (lambda x: dv.Grammar.from_structural_tag({"type": "any_text"}, special_tokens=x), [None, 5, "x", []]),
    "with_special_tokens": (GRAMMAR.with_special_tokens, [None, 5, "x", [], b"token"]),
    "from_tools": (lambda x: dv.Grammar.from_tools(x, "qwen-3"), [None, 5, "x", b"x", {}, [5], [None], ["f"], [{}], [{"name": 5}], [[]]]),
    "from_tools-parameters": (lambda x: dv.Grammar.from_tools([{"name": "f", "parameters": x}], "qwen-3"), [5, [], "x", b"x"]),
    "from_tools-model": (lambda x: dv.Grammar.from_tools([], x), [None, 5, "x", b"x", []]),
    "from_tools-choice": (lambda x: dv.Grammar.from_tools([], "qwen-3", tool_choice=x), [5, "x", b"x", [], {}, {"function": 5}, True]),
    "from_tools-parallel": (lambda x: dv.Grammar.from_tools([], "qwen-3", parallel=x), [None, 5, "x"]),
    "from_tools-reasoning": (lambda x: dv.Grammar.from_tools([], "qwen-3", reasoning=x), [None, 5, "x", []]),
    "from_tools-special": (lambda x: dv.Grammar.from_tools([], "qwen-3", special_tokens=x), [None, 5, "x", []]),
    "from_tools-profile": (lambda x: dv.Grammar.from_tools([{"name": "f"}], "qwen-3", profile=x), [None, 5, "x", []]),
    "from_json_schema-profile": (lambda x: dv.Grammar.from_json_schema({}, profile=x), [5, "x", [], b"spec"]),
    "from_json_schema": (dv.Grammar.from_json_schema, [None, 5, 1.5, "x", [], object()]),
    "from_json_schema-relax": (lambda x: dv.Grammar.from_json_schema({}, relax=x), [None, 5, "abc", [5]]),
    "repeat-min": (GRAMMAR.repeat, [None, "1", 1.5, True, -1, []]),
    "repeat-max": (lambda x: GRAMMAR.repeat(0, x), ["1", 1.5, True, -1, []]),
    "free_text": (dv.Grammar.free_text, [None, 5, b"x", "", [""], [b"x"]]),
    "Grammar-rules": (lambda x: dv.Grammar(x, {}, "s"), [None, 5, "s", ["s"], {}, {"s": 5}, {"s": None}, {"s": "a"}]),
    "Grammar-terminals": (lambda x: dv.Grammar({"s": Bytes(b"a")}, x, "s"), [None, 5, ["A"], {"A": 5}, {"A": Bytes(b"a")}]),
    "Grammar-indentation": (lambda x: dv.compile(dv.Grammar({"s": Ref("A")}, {"A": A}, "s", lexing="longest", indentation=x), VOCABULARY),
                            [5, "x", dv.Indentation("A", "B", "C"), dv.Indentation("A", "A", "A")]),
    "Indentation": (lambda x: dv.Indentation(x, "B", "C"), [None, 5, b"A"]),
    "Indentation-tab": (lambda x: dv.Indentation("A", "B", "C", tab=x), [None, "8", 1.5, True, -1]),
    "Indentation-brackets": (lambda x: dv.Indentation("A", "B", "C", brackets=x), [None, 5, "xy", ["x"], [("x",)], [("x", 5)], [5]]),
    "Grammar-distinct": (lambda x: dv.Grammar({"s": Ref("A")}, {"A": A}, "s", distinct=x), [5, ("B",), (5,)]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (_, values) in OPTIONS.items() for value in values], ids=kind_of
)
def test_no_option(name: str, value: Any) -> None:
    refused(lambda: OPTIONS[name][0](value))


@pytest.mark.parametrize(
    "name", ["from_regex", "from_choices", "from_gbnf", "from_ebnf", "from_lark", "structural_tag", "from_json_schema"]
)
@pytest.mark.parametrize("value", NO_OBJECTS, ids=kind_of)
def test_limits_of_another_kind(name: str, value: Any) -> None:
    source: Any = {"from_choices": ["a"], "structural_tag": {"type": "any_text"}, "from_json_schema": {}}.get(name, "a")
    refused(lambda: getattr(dv.Grammar, name)(source, limits=value), dv.ArgumentError)


MALFORMED: list[Any] = [
    5, None, "a", Bytes("a"), Bytes(None), Concat([Bytes(b"a")]), Concat((5,)), Alt(("a",)), Alt(None), Repeat(Bytes(b"a"), -1, None),  # type: ignore[arg-type]
    Repeat(Bytes(b"a"), "1", None), Repeat(Bytes(b"a"), 2, 1), Repeat(5, 0, 1), Chars(((5, 1),)), Chars(((0, 0x110000),)), Chars("az"),  # type: ignore[arg-type]
    Chars(None), Ref("nowhere"), Ref(5),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(MALFORMED)))
def test_malformed_expressions(at: int) -> None:
    expr = MALFORMED[at]
    refused(lambda: dv.compile(dv.Grammar({"s": expr}, {}, "s"), VOCABULARY))
    refused(lambda: dv.compile(dv.Grammar({"s": Concat((Bytes(b"a"), expr))}, {}, "s"), VOCABULARY))
    refused(lambda: dv.compile(dv.Grammar({"s": Ref("A")}, {"A": dv.Terminal(expr)}, "s"), VOCABULARY))
    refused(
        lambda: dv.compile(dv.Grammar({"s": Ref("A")}, {"A": dv.Terminal(expr)}, "s", lexing="longest"), VOCABULARY)
    )


# Vocabularies


VOCABULARIES: dict[str, tuple[Call, list[Any]]] = {
    "Vocabulary": (lambda x: dv.Vocabulary(x), NO_OBJECTS),
    "from_bytes": (lambda x: dv.Vocabulary.from_bytes(x, eos=[]), [None, 5, "ab", b"ab", [], [1], ["a"], [b"a", 5], object()]),
    "from_bytes-eos": (lambda x: dv.Vocabulary.from_bytes([b"a"], eos=x), [1.5, [1.5], [None], [True], [7], [-1], [2**70], ["x"], object()]),
    "from_bytes-size": (lambda x: dv.Vocabulary.from_bytes([b"a"], eos=[], size=x), ["5", 1.5, True, -1, 0, 2**70, []]),
    "from_bytes-special": (lambda x: dv.Vocabulary.from_bytes([b"a", None], eos=[], special=x),
                           [5, "x", ["x"], {"x": "y"}, {"x": 1.5}, {"x": 0}, {"x": 9}, {5: 1}, {"x": None}]),
    "from_tokenizer_json": (dv.Vocabulary.from_tokenizer_json, [None, 5, b"x", "", "/nowhere", "a\0b", [], object()]),
    "from_transformers": (dv.Vocabulary.from_transformers, NO_OBJECTS),
    "from_tiktoken": (dv.Vocabulary.from_tiktoken, NO_OBJECTS),
    "from_sentencepiece": (dv.Vocabulary.from_sentencepiece, [*NO_OBJECTS, "", "a\0b", "/nowhere"]),
    "from_gguf": (dv.Vocabulary.from_gguf, [*NO_OBJECTS, "", "a\0b", "/nowhere"]),
    "token_bytes": (VOCABULARY.token_bytes, [*NO_INTEGERS, -1, 4, 2**70, 10**5000]),
    "decode": (VOCABULARY.decode, [None, 5, "ab", ["a"], [1.5], [True], [-1], [2**70], [None]]),
    "encode": (VOCABULARY.encode, NO_TEXTS),
    "encode_bytes_greedy": (VOCABULARY.encode_bytes_greedy, [None, 5, "ab", [97], b"x", object()]),
    "encode_forced": (VOCABULARY.encode_forced, [None, 5, "ab", [97], b"x", object()]),
    "extension_start-data": (lambda x: VOCABULARY.extension_start(x, b"a"), [None, 5, "ab", [97]]),
    "extension_start-following": (lambda x: VOCABULARY.extension_start(b"a", x), [None, 5, "ab", [97]]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, (_, values) in VOCABULARIES.items() for at in range(len(values))]
)
def test_no_vocabulary(name: str, at: int) -> None:
    call, values = VOCABULARIES[name]
    refused(lambda: call(values[at]))


class Model:
    """Always the same logits."""

    vocabulary, context = VOCABULARY, None

    class State:
        length = 0

        def append(self, token_ids: Any) -> Any:
            self.length += len(token_ids)
            return np.zeros((len(token_ids), 4), np.float32)

        def truncate(self, length: int) -> None:
            self.length = length

    def start(self) -> Any:
        return self.State()


NO_NUMBERS: list[Any] = [None, "1", [1], {}, object(), True, Odd(), -1, float("nan"), float("inf")]
GENERATE: dict[str, list[Any]] = {
    "model": [*NO_OBJECTS, "", "tiny\0", Odd()],
    "prompt": [None, 1, b"a", "text", [], {}, object(), [1.5], [None], ["a"], [-1], [2**70], [[0], 5], Odd()],
    "grammar": [1, "x", b"x", [], 1.5, object(), Odd(), len],
    "max_tokens": [*NO_INTEGERS, -1, 2**70],
    "temperature": NO_NUMBERS,
    "top_k": [*NO_INTEGERS[1:], 0, -1],
    "top_p": [*NO_NUMBERS[1:], 0, 2],
    "min_p": [*NO_NUMBERS[1:], 2],
    "repetition_penalty": [*NO_NUMBERS, 0],
    "logit_bias": [1, "a", [1], object(), {"a": 1}, {0: "a"}, {0: None}],
    "seed": [*NO_INTEGERS[1:], -1, 2**200],
    "stop": [None, 1, b"a", "", [""], [1], [None], object()],
    "speculate": [*NO_INTEGERS, -1],
    "speculator": [1, "x", object()],
    "drafters": [None, 1, "x", [1], object()],
}


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, values in GENERATE.items() for at in range(len(values))])
def test_no_generation(name: str, at: int) -> None:
    given: dict[str, Any] = {"model": Model(), "prompt": [0], "grammar": CONSTRAINT, "max_tokens": 3}
    refused(lambda: dv.generate(**(given | {name: GENERATE[name][at]})))


DECODING: dict[str, tuple[Call, list[Any]]] = {
    "fill_tree-matcher": (lambda x: dv.fill_tree(x, [], [], dv.allocate_bitmask(1, 4)), NO_OBJECTS),
    "fill_tree-tokens": (lambda x: dv.fill_tree(CONSTRAINT.matcher(), x, [-1], dv.allocate_bitmask(2, 4)), [None, 1, "a", [None], [-1], [2**70], [[0]]]),
    "fill_tree-parents": (lambda x: dv.fill_tree(CONSTRAINT.matcher(), [0], x, dv.allocate_bitmask(2, 4)), [None, 1, "a", [None], [0], [-2], [-1, 0], []]),
    "fill_tree-bitmask": (lambda x: dv.fill_tree(CONSTRAINT.matcher(), [0], [-1], x), [*NO_OBJECTS, dv.allocate_bitmask(1, 4), np.zeros((2, 1))]),
    "sequence_bitmask": (lambda x: dv.sequence_bitmask(x, [0]), NO_OBJECTS),
    "sequence_bitmask-tokens": (lambda x: dv.sequence_bitmask(CONSTRAINT, x), [None, 1, "a", [None], [-1], [99], [2**70], [1]]),
    "Speculator": (lambda x: dv.Speculator(threshold=x), ["a", None, True, 2, -1, float("nan")]),
    "Speculator.hops": (lambda x: dv.Speculator(hops=x), [*NO_INTEGERS, -2]),
    "Speculator.load": (dv.Speculator.load, [*NO_OBJECTS, "a\0b", "/nowhere"]),
    "Speculator.save": (dv.Speculator().save, [None, 1, [], {}, object(), "a\0b", "/nowhere/x"]),
    "Speculator.merge": (dv.Speculator().merge, [*NO_OBJECTS, dv.Speculator(hops=9)]),
    "Trace.load": (dv.Trace.load, [*NO_OBJECTS, "a\0b", "/nowhere"]),
    "Trace.save": (dv.Trace().save, [None, 1, [], {}, object(), "a\0b", "/nowhere/x"]),
    "Trace.from_jsonl": (dv.Trace.from_jsonl, [None, 1, b"a", "a", "", "[]", "{}", "1"]),
    "Template": (dv.Template, [None, 1, b"a", []]),
    "Template-hole": (lambda x: dv.Template("{a}", a=x), [None, 1, b"a", {}, object(), "(", [1]]),
    "Template-form": (lambda x: dv.Template("a").grammar(x), [None, 1, "b", []]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, (_, values) in DECODING.items() for at in range(len(values))]
)
def test_no_decoding(name: str, at: int) -> None:
    call, values = DECODING[name]
    refused(lambda: call(values[at]))


def test_everything_public_that_can_be_called_is_tried() -> None:
    """A new public function must be added here, or is known to take no arguments that could be wrong."""
    text = Path(__file__).read_text(encoding="utf-8")
    takes_none = {"Explanation", "Generation", "Lexing", "cache", "Indentation", "Terminal"} | {
        n for n in dv.__all__ if n.endswith("Error")
    }
    for name in set(dv.__all__) - takes_none:
        assert f"dv.{name}" in text, name
    for owner, known in ((dv.Grammar, {"of_known_names", "optional"}), (dv.Vocabulary, {"describe"}), (dv.Constraint, {"matcher", "stats", "canonically"}),
                         (dv.Matcher, {"allowed_tokens", "fork", "prefetch", "forced_tokens", "next_bytes", "unfolded", "reset", "threads"})):  # fmt: skip
        for name in dir(owner):
            if not name.startswith("_") and callable(getattr(owner, name)) and name not in known:
                assert f".{name}" in text or f'"{name}"' in text, f"{owner.__name__}.{name}"
