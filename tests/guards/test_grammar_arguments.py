# ruff: noqa: E501 -- tables
"""Grammars and vocabularies, made of arguments of the wrong kind: a typed error says what was given."""

from __future__ import annotations

from typing import Any

import pytest
from wrong_arguments import (
    GRAMMAR,
    NO_INTEGERS,
    NO_OBJECTS,
    NO_TEXTS,
    VOCABULARY,
    A,
    Call,
    kind_of,
    refused,
)

import derivable as dv
from derivable.expr import Alt, Bytes, Chars, Concat, Ref, Repeat

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
    "from_lark-lexing": lambda x: dv.Grammar.from_lark('start: "a"', lexing=x or 1),
    "from_lark-dialect": lambda x: dv.Grammar.from_lark('start: "a"', dialect=x or 1),
    "from_lark-profile": lambda x: dv.Grammar.from_lark("start: %json true", profile=x),
    "capture": lambda x: GRAMMAR.capture(x),
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
    "from_lark-grammars": (lambda x: dv.Grammar.from_lark("start: @a", grammars=x), [5, "x", [], {"a": 5}, {5: "start:"}, {"a": None}]),
    "from_lark-declared": (lambda x: dv.Grammar.from_lark('start: A\n%declare A', declared=x), [5, "A", ["A"], {"A": 5}, {"A": None}]),
    "from_lark-indentation": (lambda x: dv.Grammar.from_lark('start: "a"', indentation=x), [5, "x", ("a", "b", "c")]),
    "structural_tag": (dv.Grammar.structural_tag, [None, 5, "x", "[]", b"{}", [], {}, {"format": 5}, object()]),
    "from_structural_tag": (lambda x: dv.Grammar.from_structural_tag({"type": "any_text"}, special_tokens=x), [None, 5, "x", []]),
    "capture": (GRAMMAR.capture, [None, 5, b"x", []]),
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
    "from_json_schema-contents": (lambda x: dv.Grammar.from_json_schema({}, contents=x), [5, "x", b"builtin", [], {5: "json"}, {"json": "json"}, {"text/x": 5}, {"text/x": "x"}]),
    "from_tools-contents": (lambda x: dv.Grammar.from_tools([], "qwen-3", contents=x), [5, "x", [], {"text/x": None}]),
    "Language": (lambda x: dv.Language(x), [None, 5, "x", b"python", [], {}, object()]),
    "Language-media_type": (lambda x: dv.Language("json", x), [None, 5, b"text/x", []]),
    "encoded": (GRAMMAR.encoded, ["x", "indented"]),
    "recursive": (dv.Grammar.recursive, [None, 5, "x", b"x", [], lambda me: None, lambda me: "x", lambda me: me]),
    "recursive-depth": (lambda x: dv.Grammar.recursive(lambda me: me + "x", depth=x, innermost=""), ["1", 1.5, True, 0, -1, [], 65, 2**70]),
    "recursive-innermost": (lambda x: dv.Grammar.recursive(lambda me: me + "x", depth=1, innermost=x), [None, 5, b"x", [], "\ud800"]),
    "fenced": (dv.Grammar.fenced, [None, 5, "x", b"python", [], {}, [5], {"a": 5}, {5: "json"}, {"a b": "json"}, object()]),
    "fenced-others": (lambda x: dv.Grammar.fenced("json", others=x), [None, 5, "x"]),
    "fenced-min": (lambda x: dv.Grammar.fenced("json", min=x), [None, "1", 1.5, True, -1, []]),
    "fenced-max": (lambda x: dv.Grammar.fenced("json", max=x), ["1", 1.5, True, -1, []]),
    "fenced-backticks": (lambda x: dv.Grammar.fenced("json", backticks=x), [None, "3", 1.5, True, 2, 17, []]),
    "from_turn": (dv.Grammar.from_turn, [None, 5, "x", b"x", []]),
    "from_turn-tools": (lambda x: dv.Grammar.from_turn("qwen-3", tools=x), [None, 5, "x", b"x", {}, [5], [None]]),
    "from_turn-choice": (lambda x: dv.Grammar.from_turn("qwen-3", tool_choice=x), [5, "x", b"x", [], {}, True]),
    "from_turn-parallel": (lambda x: dv.Grammar.from_turn("qwen-3", parallel=x), [None, 5, "x"]),
    "from_turn-response": (lambda x: dv.Grammar.from_turn("qwen-3", response=x), [5, "x", b"x", [], {"type": "json_schema"}, {"type": 5}]),
    "from_turn-reasoning": (lambda x: dv.Grammar.from_turn("qwen-3", reasoning=x), [None, 5, "x", [], {}]),
    "from_turn-reasoning_tokens": (lambda x: dv.Grammar.from_turn("qwen-3", reasoning_tokens=x), ["1", 1.5, True, -1, [], 2**70]),
    "from_turn-prompt": (lambda x: dv.Grammar.from_turn("qwen-3", prompt=x), [5, b"x", [], {}]),
    "from_turn-profile": (lambda x: dv.Grammar.from_turn("qwen-3", profile=x), [None, 5, []]),
    "from_turn-special": (lambda x: dv.Grammar.from_turn("qwen-3", special_tokens=x), [None, 5, "x", []]),
    "from_turn-limits": (lambda x: dv.Grammar.from_turn("qwen-3", limits=x), NO_OBJECTS),
    "from_turn-relax": (lambda x: dv.Grammar.from_turn("qwen-3", relax=x), [None, 5, "x", [5]]),
    "from_turn-contents": (lambda x: dv.Grammar.from_turn("qwen-3", response={}, contents=x), [5, "x", [], {"text/x": None}]),
    "after_reasoning": (GRAMMAR.after_reasoning, [None, 5, "x", b"qwen-3", []]),
    "after_reasoning-reasoning": (lambda x: GRAMMAR.after_reasoning("qwen-3", reasoning=x), [None, 5, "x", []]),
    "after_reasoning-max_tokens": (lambda x: GRAMMAR.after_reasoning("qwen-3", max_tokens=x), ["1", 1.5, True, -1, [], 2**70]),
    "after_reasoning-special": (lambda x: GRAMMAR.after_reasoning("qwen-3", special_tokens=x), [None, 5, "x", []]),
    "after_reasoning-limits": (lambda x: GRAMMAR.after_reasoning("qwen-3", limits=x), NO_OBJECTS),
    "repeat-min": (GRAMMAR.repeat, [None, "1", 1.5, True, -1, []]),
    "with_max_blanks": (lambda x: dv.Grammar.builtin("json").with_max_blanks(x), [None, "1", 1.5, True, -1, [], 2**70]),
    "with_temperature": (dv.Grammar.from_regex("a").with_temperature, [None, "1", True, -1, float("nan"), float("inf"), [], {"root": None}, {5: 5}, {"nowhere": 5}]),
    "with_max_tokens": (dv.Grammar.from_regex("a").with_max_tokens, [None, "1", 1.5, True, 0, -1, [], 2**70, {"root": None}, {5: 5}, {"nowhere": 5}]),
    "free_text-max_tokens": (lambda x: dv.Grammar.free_text("a", max_tokens=x), ["1", 1.5, True, -1, [], 2**70]),
    "from_tools-reasoning_tokens": (lambda x: dv.Grammar.from_tools([], "qwen-3", reasoning=True, reasoning_tokens=x), ["1", 1.5, True, -1, [], 2**70]),
    "Terminal-max_tokens": (lambda x: dv.Grammar({"s": Ref("A")}, {"A": dv.Terminal(Bytes(b"a"), max_tokens=x)}, "s"), ["1", 1.5, True, 0, -1, [], 2**70]),
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
    "decoded": (VOCABULARY.decoded, [*NO_TEXTS, "x", "indented x", "without x"]),
    "encode_bytes_greedy": (VOCABULARY.encode_bytes_greedy, [None, 5, "ab", [97], b"x", object()]),
    "encode_forced": (VOCABULARY.encode_forced, [None, 5, "ab", [97], b"x", object()]),
    "split_forced-data": (lambda x: VOCABULARY.split_forced(x, b"a"), [None, 5, "ab", [97]]),
    "split_forced-following": (lambda x: VOCABULARY.split_forced(b"a", x), [None, 5, "ab", [97]]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, (_, values) in VOCABULARIES.items() for at in range(len(values))]
)
def test_no_vocabulary(name: str, at: int) -> None:
    call, values = VOCABULARIES[name]
    refused(lambda: call(values[at]))
