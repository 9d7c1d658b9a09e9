"""Keys in any order, against their definition: the texts of small languages are listed, masks allow their prefixes;
against the rules that a few keys can be written as; and against a validator.
"""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import referencing
from finite_languages import check_masks, pieces_of
from random_schemas import random_schema

import derivable as dv
import derivable.frontends.json_schema.emit.objects as objects_module
from derivable._kernel import Budget
from derivable.rules import Membership, Tally

Texts = list[str]
BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
BOOLEANS = ["true", "false"]
FLAG = {"type": "boolean"}


def objects(
    values: dict[str, Texts],
    wanted: Callable[[tuple[str, ...]], bool] = lambda _: True,
    *,
    most: int = 4,
    repeats: str = "",
) -> Texts:
    """Objects of these keys, in any order, whose keys are `wanted`; those of `repeats` may come again."""
    out = []
    for n in range(most + 1):
        for keys in itertools.product(values, repeat=n):
            if all(keys.count(key) < 2 or key in repeats for key in keys) and wanted(keys):
                for chosen in itertools.product(*(values[key] for key in keys)):
                    out.append("{" + ",".join(f'"{k}":{v}' for k, v in zip(keys, chosen)) + "}")
    return out


def has(*needed: str) -> Callable[[tuple[str, ...]], bool]:
    return lambda keys: set(needed) <= set(keys)


def flags(*keys: str, values: Texts = BOOLEANS) -> dict[str, Texts]:
    return dict.fromkeys(keys, values)


def closed(*keys: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(keys, FLAG), "additionalProperties": False, **more}


XY = {"patternProperties": {"^[xy]$": FLAG}}
INNER = closed("b", "c", required=["c"])
INNER_TEXTS = objects(flags("b", "c"), has("c"))
SMALL = closed("a", "b", required=["b"])
SMALL_TEXTS = objects(flags("a", "b"), has("b"))

CASES: dict[str, tuple[dict[str, Any], Iterable[str]]] = {
    "optional": (closed("a", "b", "c"), objects(flags("a", "b", "c"))),
    "required": (closed("a", "b", "c", required=["c", "a"]), objects(flags("a", "b", "c"), has("a", "c"))),
    "required, unlisted": (
        {"type": "object", "required": ["b", "a"], "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": FLAG},
        objects(flags("a", "b"), has("a", "b")),
    ),
    "some": (closed("a", "b", "c", minProperties=2), objects(flags("a", "b", "c"), lambda k: len(k) >= 2)),
    "few": (
        closed("a", "b", "c", maxProperties=2, required=["b"]),
        objects(flags("a", "b", "c"), lambda k: len(k) <= 2 and "b" in k),
    ),
    "so many": (
        closed("a", "b", "c", maxProperties=2, minProperties=2),
        objects(flags("a", "b", "c"), lambda k: len(k) == 2),
    ),
    "others": (
        closed("a", "b", required=["b"], maxProperties=3) | XY,
        objects(flags("a", "b", "x", "y", values=["true", "false"]), lambda k: "b" in k and len(k) <= 3, repeats="xy"),
    ),
    "one needs another": (
        closed("a", "b", "c", dependentRequired={"a": ["b"], "b": ["c"]}),
        objects(flags("a", "b", "c"), lambda k: ("a" not in k or "b" in k) and ("b" not in k or "c" in k)),
    ),
    "one needs another, and there is no room": (
        closed("a", "b", "c", "d", dependentRequired={"a": ["b"], "b": ["c"]}, maxProperties=2),
        objects(
            flags("a", "b", "c", "d", values=["true"]),
            lambda k: ("a" not in k or "b" in k) and ("b" not in k or "c" in k) and len(k) <= 2,
        ),
    ),
    "one excludes another": (
        closed("a", "b", "c", **{"not": {"required": ["a", "b"]}}),
        objects(flags("a", "b", "c"), lambda k: not {"a", "b"} <= set(k)),
    ),
    "either of two": (
        closed("a", "b", "c", anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        objects(flags("a", "b", "c"), lambda k: "a" in k or "b" in k),
    ),
    "nested": (
        {"type": "object", "properties": {"a": INNER, "b": FLAG}, "required": ["a"], "additionalProperties": False},
        objects({"a": INNER_TEXTS, "b": BOOLEANS}, has("a")),
    ),
    "a union": (
        {"anyOf": [closed("a", "b", required=["a", "b"]), closed("a", "c", "d", required=["c"])]},
        objects(flags("a", "b"), has("a", "b")) + objects(flags("a", "c", "d"), has("c")),
    ),
    "in arrays": (
        {"type": "array", "items": SMALL, "maxItems": 2},
        ["[" + ",".join(chosen) + "]" for n in range(3) for chosen in itertools.product(SMALL_TEXTS, repeat=n)],
    ),
    "in arrays of distinct items": (
        {"type": "array", "items": SMALL, "maxItems": 3, "uniqueItems": True},
        [
            "[" + ",".join(chosen) + "]"
            for n in range(4)
            for chosen in itertools.product(SMALL_TEXTS, repeat=n)
            if len({json.dumps(json.loads(t), sort_keys=True) for t in chosen}) == n
        ],
    ),
    "as values of any name": (
        {"type": "object", "propertyNames": {"enum": ["x", "a"]}, "additionalProperties": SMALL, "maxProperties": 1},
        objects({"x": SMALL_TEXTS, "a": SMALL_TEXTS}, most=1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("order", ["any", "preferred"])
@pytest.mark.parametrize("name", CASES)
def test_masks_are_the_prefixes_of_the_language(name: str, order: Any, tmp_path: Path) -> None:
    schema, listed = CASES[name]
    texts = sorted(set(listed))
    rng = random.Random(name)
    tokens = pieces_of(texts, rng)
    vocab = dv.Vocabulary.from_bytes([*(p.encode() for p in tokens), None], eos=[len(tokens)])
    grammar = dv.Grammar.from_json_schema(schema, whitespace="none", key_order=order, profile="spec")
    assert grammar.tallied
    made = dv.compile(grammar, vocab)
    made.save(tmp_path / "saved")
    pickled = dv.compile(pickle.loads(pickle.dumps(grammar)), vocab)
    check_masks([made, dv.Constraint.load(tmp_path / "saved", vocab), pickled], tokens, texts, rng)


WORDS = [
    '"a"', '"b"', '{"', '":', '","', "},{", '"}', '","b":', "1}", '":{', '"a":', '"a":{"b":', '},"', '],"', "null,",
    "null}", '{"a":null,"b', "{}", "}}", 'true,"c"', '"ab"', '"ab":""}', ':null,"a":', "}]}", ',"c":null}', '"":',
    '{"a":0,"b":', "true}", "[{", "[]}", '""}',
]  # fmt: skip
PIECES = [*(bytes([b]) for b in range(256)), *(word.encode() for word in WORDS)]
VOCAB = dv.Vocabulary.from_bytes(PIECES, eos=[])


def compared(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Masks looked at on walks, if the schema of this seed has objects in any order: of what is counted, and of rules
    for every subset of the keys."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    made: list[dv.Constraint] = []
    for counted in (True, False):
        with monkeypatch.context() as patch:
            if not counted:
                patch.setattr(objects_module, "write_in_any_order", lambda *_: False)
            try:
                grammar = dv.Grammar.from_json_schema(
                    schema,
                    draft="2020-12",
                    key_order="any",
                    whitespace="none",
                    registry=referencing.Registry(),
                    profile="spec",
                )
            except dv.UnsupportedFeatureError:
                return 0
            except dv.GrammarError:  # no value at all
                assert not (made and counted)
                made += [] if counted else [*made]
                continue
        assert counted or made
        if counted and not grammar.tallied:
            return 0
        made.append(dv.compile(grammar, VOCAB))
    if not made:
        return 0
    one, other = made
    looked = 0
    for _ in range(4):
        x, y, text = one.matcher(), other.matcher(), b""
        for _ in range(60):
            allowed = x.allowed_tokens().tolist()
            assert allowed == y.allowed_tokens().tolist(), (schema, text)
            assert x.is_accepting is y.is_accepting, (schema, text)
            assert allowed or x.is_accepting, (schema, text)
            looked += 1
            likely = [t for t in allowed if PIECES[t][:1] in b'"]},{:' or t > 255]
            if not allowed:
                break
            token = rng.choice(likely) if likely and rng.random() < 0.8 else rng.choice(allowed)
            x.advance(token)
            y.advance(token)
            text += PIECES[token]
    return looked


def test_masks_are_those_of_rules_for_every_subset(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(compared(seed, monkeypatch) for seed in range(400)) > 2_000


@pytest.mark.slow
def test_masks_are_those_of_rules_for_every_subset_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(compared(seed, monkeypatch) for seed in range(400, 30_000)) > 200_000


def large(keys: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {f"key{i}": {"type": "integer"} if i % 2 else FLAG for i in range(keys)},
        "required": [f"key{i}" for i in range(0, keys, 3)],
        **more,
    }


def work(constraint: dv.Constraint, keys: Iterable[int]) -> int:
    """Work of all masks and steps of an object with these keys."""
    matcher = constraint.matcher()
    mask = dv.allocate_bitmask(1, BYTES.size)
    text = ",".join(f'"key{i}":{7 if i % 2 else "true"}' for i in keys)
    with Budget(None, 1 << 40) as budget:
        for byte in f"{{{text}}}".encode():
            matcher.fill_bitmask(mask)
            matcher.advance(byte)
        spent = budget.work
    assert matcher.is_accepting
    return spent


def test_a_thousand_keys_cost_what_the_listed_order_costs() -> None:
    schema = large(1_000, additionalProperties=False) | {"required": []}
    made = {
        order: dv.compile(
            dv.Grammar.from_json_schema(schema, key_order=order, whitespace="none", profile="spec"), BYTES
        )
        for order in ("listed", "any")
    }
    listed = work(made["listed"], range(1_000))
    keys = list(range(1_000))
    assert work(made["any"], keys) < 1.5 * listed
    random.Random(5).shuffle(keys)
    assert work(made["any"], keys) < 3 * listed  # nothing of what was asked before holds


@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}, {"minProperties": 60, "maxProperties": 70}])
def test_walks_satisfy_a_validator(more: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = large(100, **more)
    validator = jsonschema.Draft202012Validator(schema)
    constraint = dv.compile(
        dv.Grammar.from_json_schema(schema, key_order="any", profile="practical", whitespace="none"), BYTES
    )
    rng = random.Random(str(more))
    for _ in range(10):
        matcher, text = constraint.matcher(), b""
        while not matcher.is_accepting:
            allowed = [t for t in matcher.allowed_tokens().tolist() if t not in b"\\-"]
            ends = [t for t in allowed if t in b'},:"']
            token = rng.choice(ends or allowed)
            text += bytes([token])
            matcher.advance(token)
        value = json.loads(text)
        assert validator.is_valid(value), text
        keys = list(value)
        rng.shuffle(keys)
        again = constraint.matcher()
        again.advance_bytes(json.dumps({key: value[key] for key in keys}, separators=(",", ":")).encode())
        assert again.is_accepting
        missing = dict(value)
        missing.pop("key0")
        refused = constraint.matcher()
        with pytest.raises(dv.TokenRejectedError):
            refused.advance_bytes(json.dumps(missing, separators=(",", ":")).encode())


FORCED = closed("alpha", "b", "c", "d", required=["alpha", "c"])


@pytest.mark.parametrize(
    ("text", "listed", "preferred", "any_order"),
    [
        ("", '{"alpha":', '{"alpha":', '{"'),
        ('{"', 'alpha":', 'alpha":', ""),
        ('{"alpha":true', ',"', ',"', ',"'),
        ('{"alpha":true,"', "", "", ""),
        ('{"alpha":true,"b":true', ',"c":', ',"c":', ',"'),
        ('{"c":true', None, ',"', ',"'),
        ('{"d', None, '":', '":'),
        ('{"d":true', None, ',"alpha":', ',"'),
        ('{"d":true,"c":true', None, ',"alpha":', ',"'),
        ('{"d":true,"c":true,"b":true', None, ',"alpha":', ',"alpha":'),
        ('{"d":true,"c":true,"b":true,"alpha":true', None, "}", "}"),
    ],
)  # fmt: skip
def test_forced_text_is_in_the_preferred_order(text: str, listed: str | None, preferred: str, any_order: str) -> None:
    for order, expected in (("listed", listed), ("preferred", preferred), ("any", any_order)):
        grammar = dv.Grammar.from_json_schema(FORCED, key_order=order, profile="practical", whitespace="none")  # type: ignore[arg-type]
        matcher = dv.compile(grammar, BYTES).matcher()
        if expected is None:
            with pytest.raises(dv.TokenRejectedError):
                matcher.advance_bytes(text.encode())
            continue
        matcher.advance_bytes(text.encode())
        assert bytes(matcher.forced_tokens()).decode() == expected, order


def test_masks_do_not_depend_on_the_preference() -> None:
    schema = large(20)
    rng = random.Random(7)
    one, other = [
        dv.compile(dv.Grammar.from_json_schema(schema, key_order=order, profile="spec"), BYTES)
        for order in ("any", "preferred")
    ]
    for _ in range(5):
        x, y = one.matcher(), other.matcher()
        for _ in range(200):
            allowed = x.allowed_tokens().tolist()
            assert allowed == y.allowed_tokens().tolist()
            y.forced_tokens()
            if allowed in ([], [256]):
                break
            token = rng.choice([t for t in allowed if t in b'"}],:{'] or allowed)
            x.advance(token)
            y.advance(token)


def test_explanations_name_what_may_come() -> None:
    constraint = dv.compile(
        dv.Grammar.from_json_schema(closed("a", "b"), key_order="any", whitespace="none", profile="spec"), BYTES
    )
    matcher = constraint.matcher()
    matcher.advance_bytes(b'{"a":true')
    assert '"b"' not in str(matcher.explain(ord("x")))
    matcher.advance_bytes(b",")
    told = str(matcher.explain(ord("x")))
    assert '"b"' in told and '"a"' not in told


def test_what_is_counted_is_forgotten() -> None:
    """Sets of keys that no matcher holds go, and those that one holds stay."""
    schema = large(40, additionalProperties=False) | {"required": []}
    constraint = dv.compile(
        dv.Grammar.from_json_schema(schema, key_order="any", whitespace="none", profile="spec"), BYTES
    )
    held = constraint.matcher()
    held.advance_bytes(b'{"key3":7,"key8":true,"key5":')
    before = held.allowed_tokens().tolist()
    rng = random.Random(3)
    mask = dv.allocate_bitmask(1, BYTES.size)
    for _ in range(300):
        matcher = constraint.matcher()
        matcher.advance_bytes(b"{")
        keys = rng.sample(range(40), 40)
        for i in keys:
            matcher.fill_bitmask(mask)
            matcher.advance_bytes(f'"key{i}":{7 if i % 2 else "true"}{"}" if i == keys[-1] else ","}'.encode())
        assert matcher.is_accepting
    assert held.allowed_tokens().tolist() == before
    held.advance_bytes(b"7,")
    for key, there in ((3, False), (8, False), (5, False), (4, True)):
        fork = held.fork()
        text = f'"key{key}"'.encode()
        if there:
            fork.advance_bytes(text)
        else:
            with pytest.raises(dv.TokenRejectedError):
                fork.advance_bytes(text)


def test_masks_made_ahead_of_time_are_kept_by_what_was_counted(tmp_path: Path) -> None:
    """Also in a file: where one was made for one set of keys, it is not taken for another."""
    schema = {"type": "array", "items": closed("a", "b", "key1", "key4", required=["key4", "key1"])}
    grammar = dv.Grammar.from_json_schema(schema, key_order="preferred", whitespace="none", profile="spec")
    made = dv.compile(grammar, VOCAB, ahead_of_time=2_000)
    made.save(tmp_path / "saved")
    lazy = dv.compile(grammar, VOCAB)
    rng = random.Random(1)
    for constraint in (made, dv.Constraint.load(tmp_path / "saved", VOCAB)):
        for _ in range(40):
            x, y = constraint.matcher(), lazy.matcher()
            for _ in range(80):
                allowed = x.allowed_tokens().tolist()
                assert allowed == y.allowed_tokens().tolist()
                if not allowed:
                    break
                token = rng.choice([t for t in allowed if PIECES[t][:1] in b'"],:{}'] or allowed)
                x.advance(token)
                y.advance(token)


def test_several_threads_share_what_was_counted() -> None:
    """Masks and forced text, which looks at fewer keys, of matchers in several threads at once."""
    constraint = dv.compile(
        dv.Grammar.from_json_schema(large(60), key_order="preferred", whitespace="none", profile="spec"), BYTES
    )

    def walk(seed: int) -> list[list[int]]:
        rng = random.Random(seed)
        matcher, seen = constraint.matcher(), []
        for _ in range(150):
            seen.append(matcher.allowed_tokens().tolist())
            matcher.forced_tokens()
            if seen[-1] in ([], [256]):
                break
            matcher.advance(rng.choice([t for t in seen[-1] if t in b'"}],:{'] or seen[-1]))
        return seen

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(walk, range(12)))
    constraint = dv.compile(
        dv.Grammar.from_json_schema(large(60), key_order="any", whitespace="none", profile="spec"), BYTES
    )
    assert together == [walk(seed) for seed in range(12)]


def test_grammars_in_any_order_combine() -> None:
    one, other = [
        dv.Grammar.from_json_schema(
            closed(*keys, required=list(keys)), key_order="any", whitespace="none", profile="spec"
        )
        for keys in ("ab", "bc")
    ]
    constraint = dv.compile(dv.Grammar.concatenate(one, ";", other, ";", one), BYTES)
    matcher = constraint.matcher()
    matcher.advance_bytes(b'{"b":true,"a":true};{"c":true,"b":true};{"a":true,"b":true}')
    assert matcher.is_accepting
    with pytest.raises(dv.TokenRejectedError):
        constraint.matcher().advance_bytes(b'{"b":true,"a":true};{"b":true,"a"')


def test_roles_are_checked() -> None:
    text = dv.Grammar.from_regex("a")
    fields: dict[str, Any] = {"rules": text.rules, "terminals": text.terminals, "start": text.start}
    for tallied in ({"missing": Tally("open")}, {"a": 1}, {"a": Tally("close")}, {"a": Tally("door")}):  # type: ignore[arg-type]
        with pytest.raises((dv.GrammarError, dv.ArgumentError)):
            dv.Grammar(**fields, tallied=tallied)  # type: ignore[arg-type]
    assert Tally("close", members=Membership(("a",))) == Tally("close", members=Membership(("a",)))


@pytest.mark.parametrize("combined", [{"if": 0, "then": 1}, {"oneOf": [{"allOf": [0, 1]}, {"not": 0}]}])
@pytest.mark.parametrize("also", [{}, {"unevaluatedProperties": False}])
def test_the_listed_order_is_that_of_the_text_through_conditions(combined: Any, also: Any) -> None:
    """What `if` lists stands before what `then` does, as in the text of the schema."""
    parts = [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {"const": 2}}}]

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        return [filled(value) for value in part] if isinstance(part, list) else parts[part]

    grammar = dv.Grammar.from_json_schema(
        {"type": "object", **filled(combined), **also}, separators=(",", ":"), profile="spec"
    )
    texts = {b'{"a":1,"b":2}': True, b'{"b":2,"a":1}': False}
    for text, taken in texts.items():
        matcher = dv.compile(grammar, BYTES).matcher()
        assert (matcher.count_valid(list(text)) == len(text)) is taken
