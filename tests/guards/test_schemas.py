"""JSON Schemas that are malformed or huge: a constraint, or a typed error that names the place, and soon.

Growth is asserted of counted work, so that the machine does not matter.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from accepting import BYTES, accepts

import derivable as dv

COUNTS = ["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maxContains"]
BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const"]
HUGE = [
    *("1e30", "1e5000", "1e1000000", "18446744073709551616", "9223372036854775808", "1e99999999999999999999"),
    *("1e-1000000", "1e-99999999999999999999", "-1e1000000", "0e1000000", "9" * 5_000),
]


def made(schema: Any, limits: dv.Limits = dv.Limits(), profile: Any = "spec") -> dv.Constraint:  # noqa: B008
    return dv.compile(dv.Grammar.from_json_schema(schema, limits=limits, profile=profile), BYTES)


@pytest.mark.parametrize("profile", ["spec", "practical"])
@pytest.mark.parametrize("number", HUGE, ids=lambda text: text[:24])
@pytest.mark.parametrize("keyword", [*COUNTS, *BOUNDS])
@pytest.mark.parametrize("form", ["{%s}", '{"type": ["string", "number", "array"], "not": {%s}}', '{"enum": [1], %s}'])
def test_huge_numbers(keyword: str, number: str, form: str, profile: str) -> None:
    try:
        made(form % f'"{keyword}": {number}', dv.Limits(max_cases=1_000), profile).matcher().allowed_tokens()
    except dv.DerivableError as error:
        assert str(error)


@pytest.mark.parametrize("bound", ["18446744073709551616", "1e30", "1e1000000", "4611686018427387905"])
def test_bounds_that_no_text_reaches_bind_nothing(bound: str) -> None:
    constraint = made(f'{{"maxLength": {bound}, "maxItems": {bound}, "maxProperties": 2, "minLength": 1}}')
    assert all(accepts(constraint, text) for text in ('"a"', "[1, 2]", '{"a": 1}'))
    assert not accepts(constraint, '""')


PLACES: list[Any] = [
    lambda s: s,
    lambda s: {"not": s},
    lambda s: {"if": s, "then": {"type": "string"}},
    lambda s: {"oneOf": [s, {"type": "object", "required": ["a"]}]},
    lambda s: {"enum": [1, "a", [1], {"a": 1}], "allOf": [s]},
    lambda s: {"properties": {"a": s, "b": {"not": s}}},
    lambda s: {"type": "array", "contains": s, "uniqueItems": True},
    lambda s: {"unevaluatedProperties": s, "anyOf": [s, {"minimum": 1}]},
]
MALFORMED: list[Any] = [
    *({"type": value} for value in ({"a": 1}, [], [[]], [5], None, "\ud800", ["string", {}])),
    *({"enum": value} for value in (5, {}, "ab", None)),
    *({key: value} for key in ("allOf", "anyOf", "oneOf", "prefixItems") for value in (5, {}, "ab", [5])),
    *({key: value} for key in ("not", "items", "contains", "additionalProperties") for value in (5, "ab", None)),
    *({key: value} for key in ("properties", "patternProperties", "dependentSchemas") for value in (5, [], {"a": 5})),
    *({key: value} for key in ("required", "dependentRequired", "dependencies") for value in (5, [5], {"a": 5}, "a")),
    *({key: value} for key in ("minLength", "maxItems", "minProperties") for value in (-1, 1.5, "1", None, [])),
    *({key: value} for key in ("minimum", "multipleOf") for value in ("1", None, [], Decimal("sNaN"), float("inf"))),
    *({key: value} for key in ("pattern", "format", "$ref") for value in (5, None, {}, [])),
    *({"const": value} for value in (float("nan"), {1, 2}, b"a", 10**5_000, Decimal("-Infinity"))),
    *({"$ref": value} for value in ("http://[", "#/²", "#/items/" + "9" * 5_000, "\ud800", "#%")),
    {"maxLength": 10**5_000 * -1},
    {"properties": {1: {}}},
    {"contains": {}, "minContains": "a"},
    {"multipleOf": 0},
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("schema", MALFORMED, ids=lambda schema: next(iter(schema)))
def test_malformed_schemas_wherever_they_stand(schema: Any, place: Any) -> None:
    """Quick looks, failures and checks of single values read the same keywords as what asserts them."""
    try:
        made(place(schema))
    except dv.DerivableError as error:
        assert str(error)
    else:
        assert "format" in schema or "dependencies" in schema or "required" in schema or "const" in schema


DEAD_ENDS: list[Any] = [
    {"contains": {}, "minContains": 2, "prefixItems": [{}, {"const": "x"}]},
    {"contains": {"type": "boolean"}, "minContains": 2, "prefixItems": [{"type": "object"}, {"const": {}}]},
    {"contains": {"type": "array"}, "prefixItems": [{}, {"const": "x"}]},
    {"contains": {"enum": [1, 2]}, "minContains": 2, "prefixItems": [{"type": "string"}, {"const": 1}, {"const": 1}]},
    {"not": {"prefixItems": [{}], "items": {"not": {"const": "x"}}}},
    {"items": {"enum": [*range(40)]}, "contains": {"enum": [1, 2]}, "minContains": 3},
]


@pytest.mark.parametrize("schema", DEAD_ENDS, ids=str)
def test_distinct_items_that_run_out_are_refused(schema: Any) -> None:
    with pytest.raises(dv.UnsupportedFeatureError) as caught:
        made({"type": "array", "uniqueItems": True, **schema})
    assert caught.value.feature == "uniqueItems"


def test_repeated_parts_are_not_spelled_out() -> None:
    """A value of Python may hold one part many times: spelled out it would have any length."""
    shapes: list[Any] = [
        lambda i, s: {"if": {"type": "string"}, "then": s, "else": s},
        lambda i, s: {"oneOf": [s, {"not": s}]},
        lambda i, s: {"oneOf": [s, {"not": s}, {"properties": {f"k{i}": {"type": "string"}}}]},
        lambda i, s: {"properties": {"a": s, "b": s}, "additionalProperties": s},
        lambda i, s: {"if": s, "then": s, "else": {"$ref": "#anchor"}, "$defs": {"d": {"$anchor": "anchor"}, "e": s}},
    ]
    for shape in shapes:
        schema: Any = {"minimum": 1}
        for i in range(60):
            schema = shape(i, schema)
        try:
            dv.Grammar.from_json_schema(schema, limits=dv.Limits(max_cases=1_000))
        except (dv.LimitError, dv.GrammarError) as error:
            assert "max_cases" in str(error) or "no JSON value satisfies" in str(error) or "anchor" in str(error)


def _work(schema: Any) -> tuple[int, int]:
    """Rules and terminals of the grammar; walks and LR states for the masks of the beginning of a text."""
    grammar = dv.Grammar.from_json_schema(schema)
    constraint = dv.compile(grammar, BYTES)
    matcher = constraint.matcher()
    for byte in b'{"key1":"",':
        matcher.allowed_tokens()
        matcher.advance(byte)
    stats = constraint.stats()
    return len(grammar.rules) + len(grammar.terminals), int(stats["walk_nodes"]) + int(stats["lr_states"])


@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}], ids=["open", "closed"])
@pytest.mark.parametrize("typed", [False, True])
def test_optional_keys_grow_linearly(more: dict[str, Any], typed: bool) -> None:
    def work(n: int) -> tuple[int, int]:
        keys = {f"key{i}": {"type": "string", "maxLength": i} if typed else {} for i in range(n)}
        return _work({"type": "object", "properties": keys, **more})

    few, many = work(500), work(5_000)
    assert many[0] <= 11 * few[0]
    assert many[1] <= 11 * few[1]


def _calls(schema: Any) -> int:
    """How many functions of Python are called to translate a schema, or to refuse it."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        dv.Grammar.from_json_schema(schema)
    except dv.LimitError:
        pass
    finally:
        sys.setprofile(before)
    return calls


def test_branches_that_a_member_tells_apart_grow_linearly() -> None:
    def branches(n: int) -> Any:
        tags = [{"properties": {"t": {"const": f"t{i}"}, f"v{i}": {"type": "string"}}} for i in range(n)]
        return {"oneOf": [{"type": "object", "required": ["t"], **tag} for tag in tags]}

    assert _calls(branches(800)) <= 5 * _calls(branches(200))
    constraint = made(branches(200))
    assert accepts(constraint, '{"t": "t7", "v7": ""}')
    assert accepts(constraint, '{"t": "t7", "v8": 1}')
    assert not accepts(constraint, '{"t": "t7", "v7": 1}')
    assert not accepts(constraint, '{"t": "t200"}')


def test_branches_that_nothing_tells_apart_are_refused_soon() -> None:
    branches = [{"properties": {"t": {"const": f"t{i}"}}, "required": ["t"]} for i in range(2_000)]
    assert _calls({"oneOf": branches}) < 500_000  # where other types are allowed all of them hold


def test_counts_of_multiples_are_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    from derivable.frontends.json_schema.emit import scalars

    automata = []
    is_empty = scalars.is_empty
    monkeypatch.setattr(scalars, "is_empty", lambda e, limits: automata.append(e) or is_empty(e, limits))
    contains = [{"contains": {"multipleOf": i + 2}, "minContains": 2} for i in range(12)]
    with pytest.raises(dv.LimitError, match="max_cases"):
        dv.Grammar.from_json_schema({"type": "array", "allOf": contains})
    assert 0 < len(automata) < 300


def test_items_that_contains_tells_apart_are_a_class_for_each_question() -> None:
    def sizes(n: int, **more: Any) -> tuple[int, int]:
        schema = {"type": "array", "allOf": [{"contains": {"const": i}} for i in range(n)], **more}
        grammar = dv.Grammar.from_json_schema(schema)
        return len(grammar.terminals), _calls({**schema, "title": "again"})

    for more in ({}, {"uniqueItems": True}):
        few, many = sizes(5, **more), sizes(10, **more)
        assert many[0] <= few[0] + 5  # was 2ⁿ
        assert many[1] < 80 * few[1]  # 32 times the sets of what is still asked, each of twice as many classes
    with pytest.raises(dv.LimitError, match="max_cases"):
        dv.Grammar.from_json_schema({"type": "array", "allOf": [{"contains": {"const": i}} for i in range(40)]})


QUESTIONS: list[Any] = [
    *({"contains": {"const": value}} for value in (1, 2, "a", [])),
    {"contains": {"enum": [1, 2]}, "minContains": 2},
    {"contains": {"enum": [2, "a"]}, "maxContains": 1},
    {"contains": {"type": "integer"}, "maxContains": 3},
    {"contains": {"minimum": 2}, "minContains": 0, "maxContains": 1},
    {"contains": {"type": "string", "minLength": 1}},
    {"not": {"contains": {"const": 2}}},
    {"contains": {"not": {"enum": [1, "a"]}}},
    {"prefixItems": [{"const": 1}, {}]},
    {"prefixItems": [{}, {"type": ["string", "integer"]}], "minItems": 1},
    {"uniqueItems": True, "items": {"enum": [1, 2, "a", []]}},
]


@pytest.mark.parametrize("seed", range(30))
def test_items_told_apart_in_classes_are_those_that_are_valid(seed: int) -> None:
    rng = random.Random(seed)
    schema = {"type": "array", "maxItems": 5, "allOf": rng.sample(QUESTIONS, rng.randint(2, 5))}
    validator = jsonschema.Draft202012Validator(schema)
    try:
        constraint = made(schema)
    except dv.GrammarError:  # no array is valid
        constraint = None
    for _ in range(60):
        instance = rng.choices([1, 2, 3, "a", "", "b", [], None], k=rng.randint(0, 6))
        accepted = constraint is not None and accepts(constraint, json.dumps(instance))
        assert accepted is validator.is_valid(instance), (schema, instance)


@pytest.mark.parametrize("seed", range(20))
def test_conditions_on_constants_of_a_key_hold(seed: int) -> None:
    rng = random.Random(seed)
    lists = [rng.sample(["a", "b", "c", 1, 2], rng.randint(1, 2)) for _ in range(12)]
    conditions = [
        {
            "if": {"properties": {"t": {"enum": listed}}, "required": ["t"]},
            "then": rng.choice([{"required": [f"k{i % 3}"]}, {"properties": {"v": {"minimum": i}}}]),
            **rng.choice([{}, {"else": {"properties": {"w": {"type": "string"}}}}]),
        }
        for i, listed in enumerate(lists)
    ]
    schema = {"type": "object", "properties": {"t": rng.choice([{}, {"type": "string"}])}, "allOf": conditions}
    validator = jsonschema.Draft202012Validator(schema)
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, key_order="any", profile="spec"), BYTES)
    members = {"t": ["a", "b", "c", "d", 1, 2, 3], "k0": [1], "k1": [1], "k2": [1], "v": [0, 5, 20, "x"], "w": ["", 1]}
    for _ in range(60):
        instance = {key: rng.choice(values) for key, values in members.items() if rng.random() < 0.6}
        assert accepts(constraint, json.dumps(instance)) is validator.is_valid(instance), (schema, instance)


@pytest.mark.parametrize("seed", range(20))
def test_conditions_on_patterns_of_a_key_hold(seed: int) -> None:
    rng = random.Random(seed)
    patterns = ["^a", "^ab", "b$", "^[ab]*$", "c", "^.{2}$", "^(?!a)", "a.c", "^$"]
    questions: list[Any] = [{"pattern": source} for source in rng.sample(patterns, 4)]
    questions += [{"type": "string", "pattern": rng.choice(patterns)}, {"enum": ["a", "bc", 1]}, {"const": "ab"}]
    rng.shuffle(questions)
    conditions = [
        {
            "if": {"properties": {"t": question}, "required": ["t"]},
            "then": rng.choice([{"required": [f"k{i % 3}"]}, {"properties": {"v": {"minimum": i}}}]),
            **rng.choice([{}, {"else": {"properties": {"w": {"type": "string"}}}}]),
        }
        for i, question in enumerate(questions)
    ]
    types = rng.choice([{}, {"type": "string"}, {"type": ["integer", "null"]}])
    schema = {"type": "object", "properties": {"t": types}, "allOf": conditions}
    validator = jsonschema.Draft202012Validator(schema)
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, key_order="any", profile="spec"), BYTES)
    tags = ["", "a", "b", "ab", "bc", "abc", "ca", "axc", "dd", 1, None]
    members = {"t": tags, "k0": [1], "k1": [1], "k2": [1], "v": [0, 5, 20, "x"], "w": ["", 1]}
    for _ in range(80):
        instance = {key: rng.choice(values) for key, values in members.items() if rng.random() < 0.7}
        assert accepts(constraint, json.dumps(instance)) is validator.is_valid(instance), (schema, instance)


def test_conditions_on_patterns_cost_what_their_strings_tell_apart() -> None:
    def schema(n: int, pattern: Callable[[int], str]) -> dict[str, Any]:
        parts = [
            {"if": {"properties": {"t": {"pattern": pattern(i)}}}, "then": {"required": [f"k{i}"]}} for i in range(n)
        ]
        return {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"], "allOf": parts}

    few, many = (len(dv.Grammar.from_json_schema(schema(n, lambda i: f"^v{i}x")).terminals) for n in (10, 100))
    assert many < 11 * few  # was 2 ** n
    with pytest.raises(dv.LimitError, match="max_cases"):  # each says something of its own: a class for each set
        dv.Grammar.from_json_schema(schema(12, lambda i: f"[{chr(97 + i)}]"))
    with pytest.raises(dv.LimitError, match="#/allOf/0/if/properties/t"):
        dv.Grammar.from_json_schema(schema(20, lambda i: f"[{chr(97 + i)}]"))


def test_numbers_of_too_many_states_are_named_by_their_place() -> None:
    schema: Any = {}
    for i in range(25):
        schema = {"if": {"multipleOf": i + 2}, "then": schema, "else": {"minimum": i}}
    with pytest.raises(dv.LimitError, match="#/properties/a"):
        dv.Grammar.from_json_schema({"type": "object", "properties": {"a": schema}})


def test_classes_of_keys_are_those_that_differ() -> None:
    def classes(n: int, value: Any) -> int:
        patterns = {chr(97 + i): value(i) for i in range(n)}
        grammar = dv.Grammar.from_json_schema({"type": "object", "patternProperties": patterns})
        return sum(name.startswith("other key") for name in grammar.terminals)

    # The bounds of a class are those of one of its patterns, so 2 ** n classes have n + 1 kinds of values. One terminal
    # more is the key of any object within a member that no pattern is about.
    assert [classes(n, lambda i: {"type": "string", "maxLength": i}) for n in (3, 6, 9)] == [5, 8, 11]
    assert [classes(n, lambda i: {"type": "integer"}) for n in (3, 6, 9)] == [3, 3, 3]
    apart = {f"^k{i}$": {"maxLength": i} for i in range(200)}
    grammar = dv.Grammar.from_json_schema({"type": "object", "patternProperties": apart})
    assert len(grammar.terminals) < 600
    with pytest.raises(dv.LimitError, match="overlapping patternProperties"):
        classes(20, lambda i: {"properties": {f"p{i}": {"type": "null"}}})


def test_patterns_that_overlap_are_told_apart() -> None:
    patterns = {"a": {"maxLength": 1}, "b": {"minLength": 1}, "^c": {"type": "string"}, "d$": {"pattern": "x"}}
    constraint = made({"patternProperties": patterns, "properties": {"ab": {"const": "z"}}, "type": "object"})
    inside = ['{"ab":"z"}', '{"ba":"y"}', '{"cad":"x"}', '{"c":"long"}', '{"q":1}', '{"bd":"xx"}', '{"cabd":"x"}']
    outside = ['{"ab":"y"}', '{"ba":""}', '{"cad":"y"}', '{"c":1}', '{"ad":"xx"}', '{"bd":""}', '{"cabd":""}']
    assert [text for text in inside if not accepts(constraint, text)] == []
    assert [text for text in outside if accepts(constraint, text)] == []


def test_listed_numbers_are_few_terminals() -> None:
    for values in (range(20_000), [i + 0.125 for i in range(2_000)], [10**i for i in range(300)]):
        grammar = dv.Grammar.from_json_schema({"enum": [*values]})
        assert len(grammar.terminals) < 12
    constraint = made({"enum": [0, 12, -3, 1.5, 100, 0.25, 1e20]})
    inside = ["0", "-0.0", "12", "12.00", "1.2E1", "-3e00", "1.5", "100", "1e+2", "1.00E02", "2.5e-1", "0.250", "1e20"]
    outside = ["3", "120", "12.01", "1.2", "1e1", "15", "1e3", "0.025", "2.5e1", "-1.5", "10", "1e2.0", "00"]
    assert [text for text in inside if not accepts(constraint, text)] == []
    assert [text for text in outside if accepts(constraint, text)] == []


def test_listed_numbers_have_their_two_texts_and_no_other() -> None:
    draw = random.Random(3)
    for _ in range(40):
        values = [Decimal(draw.randint(-99, 99)).scaleb(draw.randint(-9, 12)) for _ in range(8)]
        values += [
            Decimal(draw.randint(-(10**18), 10**18)),
            Decimal(draw.choice(["0", "-0.00", "0e9", "1e40", "5e-40"])),
        ]
        constraint = made({"enum": values})
        for value in [*values, *(v + Decimal(1).scaleb(draw.randint(-9, 12)) for v in values)]:
            digits = "".join(map(str, value.copy_abs().normalize().as_tuple().digits))
            texts = [f"{value:f}", f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}.00"]
            if value and len(digits) <= 18:
                sign, decimals = "-" if value < 0 else "", digits[1:] or "0"
                texts += [f"{sign}{digits[0]}.{decimals}E{value.adjusted():+03}"]
            assert [accepts(constraint, text) for text in texts] == [value in values] * len(texts), (values, texts)
    for beyond in (10**5_000, Decimal("1e4001"), Decimal("-1e-999999999999999999")):
        with pytest.raises(dv.LimitError):
            made({"enum": [1, beyond]})


@pytest.mark.parametrize("link", [lambda to: {"$ref": to}, lambda to: {"allOf": [{"$ref": to}]}])
def test_chains_of_references(link: Any) -> None:
    links = {f"d{i}": link(f"#/$defs/d{i + 1}") for i in range(5_000)}
    constraint = made({"$ref": "#/$defs/d0", "$defs": {**links, "d5000": {"type": "null"}}})
    assert accepts(constraint, "null") and not accepts(constraint, "1")
    with pytest.raises(dv.GrammarError, match="leads back to itself"):
        made({"$ref": "#/$defs/d0", "$defs": {**links, "d5000": link("#/$defs/d0")}})


@pytest.mark.parametrize("profile", ["spec", "practical"])
def test_distinct_strings_are_not_searched_within_an_escape(profile: Any) -> None:
    """Half of a pair of surrogates may still become any of a thousand characters: more than there are items."""
    items = {"type": "string"} if profile == "practical" else {"type": "string", "pattern": "^[^x]*$"}
    schema = {"type": "array", "items": items, "uniqueItems": True}
    limits = dv.Limits(max_step_work=2_000_000)
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile=profile), BYTES, limits=limits)
    for text in ('["a", "\\ud800\\udc00"]', '["\\ud800\\udc01", "\\ud800\\udc00"]', '["é", "\\u00e8", "\U00010000"]'):
        assert accepts(constraint, text)
    for text in ('["\U00010000", "\\ud800\\udc00"]', '["é", "\\u00e9"]'):
        assert not accepts(constraint, text)
