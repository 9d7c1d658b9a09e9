"""Strings that hold text of other languages: `contentMediaType`, `contentEncoding`, `contentSchema`, and `Language`."""

from __future__ import annotations

import ast
import base64
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple

import pytest
from accepting import BYTES, accepts
from embedded_model import needs_weights
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import require_shared
from walks import Walker

import derivable as dv
from derivable.tiny.tokenizer import tokenizer_path

pydantic = pytest.importorskip("pydantic")

PYTHON = {"type": "string", "contentMediaType": "text/x-python"}
CODE = {"type": "object", "properties": {"code": PYTHON}, "required": ["code"]}
PROGRAMS = ["", "x = 1", "x = 1\n", "if x:\n    y = 'é'\n", 'print("a", \'b\')  # "c"\n', "s = '''\n\\n'''"]
NO_PROGRAMS = ["x = ", "if x:\ny = 1", "print(", "'a\nb'", "def f()"]


@cache
def _of_text(schema: str, **options: Any) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_json_schema(schema, contents="builtin", **options), BYTES)


def valid(schema: Any, value: Any, **options: Any) -> bool:
    """Whether the text that `json.dumps` writes is allowed; it must not matter how it writes characters."""
    constraint = _of_text(json.dumps(schema), **options)
    found = {accepts(constraint, json.dumps(value, ensure_ascii=ascii_only)) for ascii_only in (True, False)}
    assert len(found) == 1
    return found.pop()


def refusal(schema: Any, **options: Any) -> dv.UnsupportedFeatureError:
    with pytest.raises(dv.UnsupportedFeatureError) as raised:
        dv.Grammar.from_json_schema(schema, **{"contents": "builtin", **options})
    return raised.value


def test_a_string_holds_a_program() -> None:
    for profile in ("practical", "spec"):
        assert all(valid(CODE, {"code": text}, profile=profile) for text in PROGRAMS)
        assert not any(valid(CODE, {"code": text}, profile=profile) for text in NO_PROGRAMS)
    assert accepts(_of_text(json.dumps(PYTHON), profile="spec"), r'"\u0078=\u0031"')
    assert not accepts(_of_text(json.dumps(PYTHON)), r'"\u0078=\u0031"')


def test_without_the_option_they_are_annotations() -> None:
    grammar = dv.Grammar.from_json_schema({**PYTHON, "contentEncoding": 3, "contentSchema": "nonsense"})
    assert accepts(dv.compile(grammar, BYTES), json.dumps("x = "))
    assert not grammar.warnings
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "contentMediaType": 3}
    assert not dv.Grammar.from_json_schema(old).warnings


@pytest.mark.parametrize(
    ("media_type", "good", "bad"),
    [
        ("application/sql", "SELECT 1", "SELEC 1"),
        ("text/javascript", "let x = 1;", "let = = 1"),
        ("application/javascript;charset=utf-8", "f()", "f("),
        ("text/x-typescript", "let x: A<B> = y!;", "let x: = 1"),
        ("text/x-java", "class A { }", "class A {"),
        ("text/x-go", "package main\n", "packag main\n"),
        ("Text/X-C", "int x;", "int x"),
        ("application/xml", "<a/>", "<a>"),
        ("image/svg+xml", "<svg/>", "<svg>"),
        ("application/json", '{"a": [1]}', "{"),
        ("application/problem+json", "1", ""),
    ],
)
def test_media_types(media_type: str, good: str, bad: str) -> None:
    schema = {"type": "string", "contentMediaType": media_type}
    assert valid(schema, good) and not valid(schema, bad)


def test_grammars_of_ones_own() -> None:
    grammar = dv.Grammar.from_regex("a+")
    contents: dict[str, Any] = {"text/x-a": grammar, "text/x-python": "python"}
    schema = {"properties": {"a": {"type": "string", "contentMediaType": "text/x-a"}, "code": PYTHON}}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, contents=contents), BYTES)
    assert accepts(constraint, '{"a": "aa", "code": "x"}')
    assert not accepts(constraint, '{"a": "ab"}') and not accepts(constraint, '{"code": "x ="}')
    for wrong in ("all", {"python": "python"}, {"text/x-python": 3}, ["text/x-python"]):
        with pytest.raises(dv.ArgumentError):
            dv.Grammar.from_json_schema(schema, contents=wrong)  # type: ignore[arg-type]
    with pytest.raises(dv.GrammarError, match="pyton"):
        dv.Grammar.from_json_schema(schema, contents={"text/x-python": "pyton"})


def test_equal_options_are_one_grammar_and_others_are_not() -> None:
    schema = '{"type": "string", "contentMediaType": "text/x-a"}'
    one, other = dv.Grammar.from_regex("a+"), dv.Grammar.from_regex("b+")
    made = dv.Grammar.from_json_schema(schema, contents={"text/x-a": one})
    assert dv.Grammar.from_json_schema(schema, contents={"text/x-a": one}) is made
    assert dv.Grammar.from_json_schema(schema, contents={"text/x-a": other}) is not made


def test_unknown_media_types_are_warned_of() -> None:
    grammar = dv.Grammar.from_json_schema({"contentMediaType": "text/css"}, contents="builtin")
    assert [warning.pointer for warning in grammar.warnings] == ["#/contentMediaType"]
    assert accepts(dv.compile(grammar, BYTES), '"<"')


def test_json_in_json() -> None:
    inner = {"type": "object", "properties": {"n": {"$ref": "#/$defs/count"}}, "required": ["n"]}
    schema = {
        "type": ["string", "null"],
        "contentMediaType": "application/json",
        "contentSchema": inner,
        "$defs": {"count": {"type": "integer", "minimum": 0}},
    }
    for text, ok in [('{"n": 1}', True), ('{"n": -1}', False), ('{"n": 1', False), ("{}", False), ("null", False)]:
        assert valid(schema, text) is ok
    assert valid(schema, None) and not valid(schema, 1)
    # Options of the schema around hold within.
    assert not valid(schema, '{"n":  1}') and valid(schema, '{"n":  1}', profile="spec")
    assert not valid(schema, '{"n": 1, "m": 1}') and valid(schema, '{"n": 1, "m": 1}', profile="spec")
    deeper = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"items": PYTHON}}
    assert valid(deeper, json.dumps(["x = 1"])) and not valid(deeper, json.dumps(["x = "]))


def test_json_without_instances() -> None:
    none = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"enum": []}}
    with pytest.raises(dv.GrammarError, match="no JSON value"):
        dv.Grammar.from_json_schema(none, contents="builtin")
    assert valid({"anyOf": [none, {"type": "integer"}]}, 1) and not valid({"anyOf": [none, {"type": "integer"}]}, "1")
    tool = {"name": "f", "parameters": {"properties": {"a": {"anyOf": [none, {"type": "integer"}]}}, "required": ["a"]}}
    for model, text in [
        ("llama-4", "[f(a=%s)]"),
        ("qwen-3", '<tool_call>\n{"name": "f", "arguments": {"a": %s}}\n</tool_call>'),
    ]:
        grammar = dv.Grammar.from_tools(
            [tool], model, tool_choice="required", special_tokens="text", contents="builtin"
        )
        assert accepts(dv.compile(grammar, BYTES), text % "1") and not accepts(dv.compile(grammar, BYTES), text % '"1"')


def test_json_that_holds_itself_is_refused() -> None:
    schema = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"$ref": "#"}}
    assert refusal(schema).feature == "contentSchema"


def test_base64() -> None:
    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    alone = {"type": "string", "contentEncoding": "base64"}
    assert valid(alone, encoded("x =")) and valid(alone, "") and not valid(alone, "x = 1")
    assert valid({**alone, "maxLength": 4}, "eCA9") and not valid({**alone, "maxLength": 4}, "eCA9eCA9")
    for text in PROGRAMS:
        assert valid({**PYTHON, "contentEncoding": "base64"}, encoded(text))
    for text in NO_PROGRAMS:
        assert not valid({**PYTHON, "contentEncoding": "base64"}, encoded(text))
    whole = {
        **PYTHON,
        "contentMediaType": "application/json",
        "contentEncoding": "BASE64",
        "contentSchema": {"const": 1},
    }
    assert valid(whole, encoded("1")) and not valid(whole, encoded("2")) and not valid(whole, "1")
    assert valid({"contentMediaType": "text/css", "contentEncoding": "base64"}, encoded("<"))
    assert not valid({"contentMediaType": "text/css", "contentEncoding": "base64"}, "<")


def test_encodings_that_change_nothing_and_others() -> None:
    assert not valid({**PYTHON, "contentEncoding": "8bit"}, "x =")
    error = refusal({"items": {**PYTHON, "contentEncoding": "quoted-printable"}})
    assert (error.feature, error.pointer) == ("contentEncoding", "#/items/contentEncoding")
    relaxed = dv.Grammar.from_json_schema(
        {**PYTHON, "contentEncoding": "quoted-printable"}, contents="builtin", relax=["contentEncoding"]
    )
    assert relaxed.relaxed == ("contentEncoding",)


@pytest.mark.parametrize(
    "beside",
    [
        {"maxLength": 3},
        {"minLength": 2},
        {"pattern": "a"},
        {"format": "date"},
        {"format": "regex"},
        {"not": {"const": "x"}},
        {"not": {"pattern": "a"}},
        {"allOf": [{"contentMediaType": "application/sql"}]},
        {"allOf": [{"pattern": "a"}]},
    ],
)
def test_what_cannot_be_enforced_beside_it(beside: dict[str, Any]) -> None:
    error = refusal({"items": {**PYTHON, **beside}})
    assert error.feature == "contentMediaType"
    assert error.pointer is not None and error.pointer.endswith("contentMediaType") and "relax" in str(error.hint)
    relaxed = dv.Grammar.from_json_schema(
        {"items": {**PYTHON, **beside}}, contents="builtin", relax=["contentMediaType"]
    )
    assert relaxed.relaxed == ("contentMediaType",)


def test_that_a_string_holds_none_is_refused() -> None:
    assert refusal({"type": "string", "not": {"contentMediaType": "text/x-python"}}).feature == "contentMediaType"
    assert refusal({"propertyNames": PYTHON}).feature == "contentMediaType"
    assert refusal({**PYTHON, "contentSchema": True}).feature == "contentSchema"


def test_what_says_nothing_beside_it() -> None:
    annotated = {**PYTHON, "title": "Code", "description": "A program", "default": "", "examples": ["x"]}
    for more in (
        {},
        {"pattern": ""},
        {"minLength": 0},
        {"allOf": [PYTHON, {"type": "string"}]},
        {"not": {"const": "x ="}},
    ):
        assert valid({**annotated, **more}, "x = 1") and not valid({**annotated, **more}, "x =")
    some = {**PYTHON, "minLength": 1}
    assert valid(some, "x = 1") and not valid(some, "") and not valid(some, "x =")
    for text, ok in [("", False), ("1", True), ("{", False)]:
        assert valid({"contentMediaType": "application/json", "minLength": 1}, text) is ok


def test_listed_values_are_filtered() -> None:
    schema = {"enum": ["x = 1", "x = ", 3, None], "contentMediaType": "text/x-python"}
    assert [valid(schema, value) for value in ("x = 1", "x = ", 3, None)] == [True, False, True, True]
    assert valid({"const": "x", **PYTHON}, "x")
    with pytest.raises(dv.GrammarError, match="no JSON value"):
        dv.Grammar.from_json_schema({"const": "x =", **PYTHON}, contents="builtin")
    encoded = {"enum": ["eCA9IDE=", "eCA9", "x = 1"], **PYTHON, "contentEncoding": "base64"}
    assert [valid(encoded, value) for value in ("eCA9IDE=", "eCA9", "x = 1")] == [True, False, False]
    listed = {"enum": ["1", "2", "x"], "contentMediaType": "application/json", "contentSchema": {"minimum": 2}}
    assert [valid(listed, value) for value in ("1", "2", "x")] == [False, True, False]


def test_branches() -> None:
    either = {"anyOf": [PYTHON, {"type": "integer"}, {"type": "array", "items": PYTHON, "uniqueItems": True}]}
    for value, ok in [
        ("x = 1", True),
        ("x =", False),
        (1, True),
        (["x", "y"], True),
        (["x", "x"], False),
        (["("], False),
    ]:
        assert valid(either, value) is ok
    tagged = {
        "oneOf": [
            {"properties": {"kind": {"const": kind}, "code": {"type": "string", "contentMediaType": media_type}}}
            for kind, media_type in [("py", "text/x-python"), ("sql", "application/sql")]
        ],
        "required": ["kind", "code"],
    }
    assert valid(tagged, {"kind": "py", "code": "x = 1"}) and valid(tagged, {"kind": "sql", "code": "SELECT 1"})
    assert not valid(tagged, {"kind": "py", "code": "SELECT 1"})
    for order in ("any", "preferred"):
        assert valid(tagged, {"code": "x = 1", "kind": "py"}, key_order=order)
        assert not valid(tagged, {"code": "x =", "kind": "py"}, key_order=order)


# Random values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(value=JSON, ascii_only=st.booleans(), spaced=st.booleans(), cut=st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_any_json_in_a_string(value: Any, ascii_only: bool, spaced: bool, cut: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(", ", ": ") if spaced else (",", ":"))
    schema = {"type": "string", "contentMediaType": "application/json"}
    assert valid(schema, text)
    broken = text[: cut % len(text)]
    try:
        json.loads(broken)
    except ValueError:
        assert not valid(schema, broken)


@given(st.lists(st.sampled_from([*"xy1'\"#:()\n\\ =", "if ", "    ", "é", "'''"]), max_size=12).map("".join))
@settings(max_examples=150, deadline=None)
def test_what_python_parses(text: str) -> None:
    plain = accepts(dv.compile(dv.Grammar.builtin("python"), BYTES), text)
    assert valid(PYTHON, text) is plain
    assert valid({**PYTHON, "contentEncoding": "base64"}, base64.b64encode(text.encode()).decode()) is plain


def is_python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `6and` is one
        ast.parse(text)


@needs_weights
@pytest.mark.parametrize(
    ("media_type", "check"), [("text/x-python", is_python), ("application/json", json.loads)], ids=["python", "json"]
)
def test_walks(media_type: str, check: Callable[[str], object]) -> None:
    schema = {
        "type": "object",
        "properties": {"t": {"type": "string", "contentMediaType": media_type}},
        "required": ["t"],
    }
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    walker = Walker(
        dv.compile(dv.Grammar.from_json_schema(schema, contents="builtin"), vocabulary),
        ['{"t": "def f(a):\\n    return a\\n"}', '{"t": "{\\"a\\": [1, true]}"}'],
    )
    texts = [walk.complete for seed in range(40) if (walk := walker.walk(seed, 50)).complete]
    assert len(texts) > 15
    for text in texts:
        check(json.loads(text)["t"])


# The suite


@pytest.mark.parametrize("folder", ["draft7/optional", "draft2019-09", "draft2020-12"])
def test_the_suite(folder: str) -> None:
    """In draft 7 its optional tests ask for what the option does; those of later drafts ask for annotations."""
    root = require_shared("data", "json-schema-test-suite")
    path = root / "tests" / folder / "content.json"
    for group in json.loads(path.read_text(encoding="utf-8")):
        draft = "draft7" if "draft7" in folder else folder.removeprefix("draft")
        options: dict[str, Any] = {"contents": "builtin"} if draft == "draft7" else {}
        grammar = dv.Grammar.from_json_schema(group["schema"], draft=draft, profile="spec", **options)  # type: ignore[arg-type]
        constraint = dv.compile(grammar, BYTES)
        for test in group["tests"]:
            assert accepts(constraint, json.dumps(test["data"])) is test["valid"], (group["description"], test)


# Types

Python = Annotated[str, dv.Language("python")]


class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    code: Python
    query: Annotated[str | None, dv.Language("sql")] = None
    more: list[Python] = []


@dataclass
class Data:
    code: Python


class Tuple(NamedTuple):
    code: Python


def run(code: Python) -> None:
    """Runs a program."""


@pytest.mark.parametrize("kind", [Model, Data, run], ids=["model", "dataclass", "function"])
def test_types(kind: Any) -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema(kind), BYTES)
    assert accepts(constraint, '{"code": "x = 1"}') and not accepts(constraint, '{"code": "x ="}')


def test_more_types() -> None:
    from typing_extensions import TypedDict

    class Typed(TypedDict):
        code: Annotated[str, dv.Language("python")]

    Typed.__annotations__["code"] = Python
    constraint = dv.compile(dv.Grammar.from_json_schema(Typed), BYTES)
    assert accepts(constraint, '{"code": "x = 1"}') and not accepts(constraint, '{"code": "x ="}')
    constraint = dv.compile(dv.Grammar.from_json_schema(Tuple), BYTES)
    assert accepts(constraint, '["x = 1"]') and not accepts(constraint, '["x ="]')
    constraint = dv.compile(dv.Grammar.from_json_schema(Model), BYTES)
    for value, ok in [
        ({"code": "", "query": None}, True),
        ({"code": "", "query": "SELECT 1"}, True),
        ({"code": "", "query": "SELEC 1"}, False),
        ({"code": "", "more": ["x", "y"]}, True),
        ({"code": "", "more": ["x", "("]}, False),
    ]:
        assert accepts(constraint, json.dumps(value)) is ok
    assert constraint.read('{"code": "x = 1"}') == Model(code="x = 1")


def test_the_schema_of_a_type_says_it() -> None:
    schema = Model.model_json_schema()
    assert schema["properties"]["code"]["contentMediaType"] == "text/x-python"
    assert accepts(dv.compile(dv.Grammar.from_json_schema(schema), BYTES), '{"code": "x ="}')
    assert not accepts(dv.compile(dv.Grammar.from_json_schema(schema, contents="builtin"), BYTES), '{"code": "x ="}')


def test_languages_of_ones_own() -> None:
    one, other = dv.Grammar.from_regex("a+"), dv.Grammar.from_regex("b+")

    def pair(a: Annotated[str, dv.Language(one)], b: Annotated[str, dv.Language(other)]) -> None: ...

    pair.__annotations__ = {"a": Annotated[str, dv.Language(one)], "b": Annotated[str, dv.Language(other)]}
    constraint = dv.compile(dv.Grammar.from_json_schema(pair), BYTES)
    assert accepts(constraint, '{"a": "a", "b": "b"}') and not accepts(constraint, '{"a": "b", "b": "a"}')
    clash = {"a": Annotated[str, dv.Language(one, "text/x")], "b": Annotated[str, dv.Language(other, "text/x")]}
    pair.__annotations__ = clash
    with pytest.raises(dv.GrammarError, match="media type"):
        dv.Grammar.from_json_schema(pair)
    assert dv.Language("python") == dv.Language("python") != dv.Language("python", "text/x")
    with pytest.raises(dv.GrammarError, match="pyton"):
        dv.Language("pyton")
    with pytest.raises(dv.ArgumentError):
        dv.Language(3)  # type: ignore[arg-type]


# Tools and structural tags

TOOL = {"type": "function", "function": {"name": "run", "parameters": CODE}}
FORMS = {
    "qwen-3": '<tool_call>\n{"name": "run", "arguments": {"code": %s}}\n</tool_call>',
    "qwen-3-coder": "<tool_call>\n<function=run>\n<parameter=code>\n%s\n</parameter>\n</function>\n</tool_call>",
}


@pytest.mark.parametrize("model", FORMS)
@pytest.mark.parametrize(("tool", "contents"), [(TOOL, "builtin"), (run, None)], ids=["schema", "function"])
def test_tools(model: str, tool: Any, contents: Any) -> None:
    grammar = dv.Grammar.from_tools([tool], model, tool_choice="required", special_tokens="text", contents=contents)
    constraint = dv.compile(grammar, BYTES)
    raw = model == "qwen-3-coder"
    for text, ok in [*((text, True) for text in PROGRAMS), *((text, False) for text in NO_PROGRAMS)]:
        assert accepts(constraint, FORMS[model] % (text if raw else json.dumps(text))) is ok
    if raw:  # what ends an element cannot stand in it
        assert not accepts(constraint, FORMS[model] % "s = '''\n</parameter>\n'''")


LITERALS = {
    "llama-4": "[run(code=%s)]",
    "olmo-3": "<function_calls>\nrun(code=%s)\n</function_calls>",
    "gemma-4": "<|tool_call>call:run{code:%s}<tool_call|>",
}


@pytest.mark.parametrize("model", LITERALS)
def test_tools_whose_arguments_are_literals(model: str) -> None:
    grammar = dv.Grammar.from_tools([run], model, tool_choice="required", special_tokens="text")
    constraint = dv.compile(grammar, BYTES)
    for text, ok in [*((text, True) for text in PROGRAMS), *((text, False) for text in NO_PROGRAMS)]:
        literal = f'<|"|>{text}<|"|>' if model == "gemma-4" else json.dumps(text)
        assert accepts(constraint, LITERALS[model] % literal) is ok, literal
    quoted = LITERALS[model] % (
        '<|"|>\'<|"|>\'<|"|>' if model == "gemma-4" else json.dumps("'a/😀'").replace("/", "\\/")
    )
    assert not accepts(constraint, quoted)


def test_strings_without_some_texts() -> None:
    """Kimi K3's strings hold no mark of a call, as they are written."""
    grammar = dv.Grammar.from_structural_tag(
        {"type": "json_schema", "json_schema": PYTHON, "contents": "builtin", "excludes": ["</x>"]}
    )
    constraint = dv.compile(grammar, BYTES)
    assert accepts(constraint, '"x = 1"') and not accepts(constraint, '"x ="')
    assert accepts(constraint, "\"'</y>'\"") and not accepts(constraint, "\"'</x>'\"")


def test_structural_tags() -> None:
    tag: dict[str, Any] = {"type": "json_schema", "json_schema": PYTHON, "contents": {"text/x-python": "python"}}
    constraint = dv.compile(dv.Grammar.from_structural_tag(tag), BYTES)
    assert accepts(constraint, '"x = 1"') and not accepts(constraint, '"x ="')
    for wrong in ({"text/x-python": "pyton"}, {"python": "python"}, "all"):
        with pytest.raises(dv.GrammarError, match="/contents"):
            dv.Grammar.from_structural_tag({**tag, "contents": wrong})
