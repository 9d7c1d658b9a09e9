"""What translations share: the collector stays out, rules become numbers, and dead ends are found in the kernel."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, product

import pytest
from paths import ROOT, python_path

import derivable as dv
from derivable import _kernel
from derivable.expr import EMPTY, Alt, Bytes, Concat, Expr, Members, Ref, Repeat, Sequences, refs
from derivable.frontends.json_schema.emit.productive import drop_unproductive
from derivable.lowering.leaves import names_only
from derivable.lowering.numbering import with_symbols
from derivable.lowering.repeats import add_repeat
from derivable.rules import Rules, Terminal
from derivable.support.collector import without_collector


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled: bool) -> None:
    seen: list[tuple[bool, int]] = []

    @without_collector
    def inner() -> None:
        seen.append((gc.isenabled(), gc.get_threshold()[0]))
        raise KeyError

    @without_collector
    def outer() -> None:
        with pytest.raises(KeyError):
            inner()
        seen.append((gc.isenabled(), gc.get_threshold()[0]))

    before, threshold = gc.isenabled(), gc.get_threshold()
    try:
        gc.enable() if enabled else gc.disable()
        outer()
        assert gc.isenabled() is enabled
        assert gc.get_threshold() == threshold
        # Other threads may need it: it runs less often, and is neither switched off nor on.
        assert [on for on, _ in seen] == [enabled, enabled]
        assert all(often > 10 * threshold[0] for _, often in seen)
    finally:
        gc.enable() if before else gc.disable()


def ends(expr: Expr, productive: set[str], rules: dict[str, Expr]) -> bool:
    match expr:
        case Ref(name):
            return name in productive or name not in rules
        case Concat(items):
            return all(ends(i, productive, rules) for i in items)
        case Alt(items):
            return any(ends(i, productive, rules) for i in items)
        case Repeat(item, low, _, _):
            return low == 0 or ends(item, productive, rules)
        case Sequences():
            return ends(expr.expanded, productive, rules)
        case Members(listed=listed):
            values = zip(listed[1::3], listed[2::3])
            return all(value in productive or value not in rules for value, required in values if required)
        case _:
            return True


@pytest.mark.parametrize("seed", range(60))
def test_dead_ends_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"r{i}" for i in range(7)]

    def body() -> Expr:
        items: list[Expr] = [Ref(rng.choice([*names, "TERMINAL"])) for _ in range(rng.randrange(1, 4))]
        if rng.random() < 0.2:
            items.append(Repeat(Ref(rng.choice(names)), rng.randrange(2), None))
        return Concat(tuple(items)) if len(items) > 1 else items[0]

    def sequences() -> Expr:
        lists = [
            [rng.choice([*names, "TERMINAL"]) for _ in range(rng.randrange(1, 4))] for _ in range(rng.randrange(1, 3))
        ]
        return Sequences(tuple(name for some in lists for name in (*some, None))[:-1])

    def members() -> Expr:
        listed = [(key, rng.choice([*names, "TERMINAL"]), rng.random() < 0.5) for key in "kl"[: rng.randrange(3)]]
        others = [("o", rng.choice([*names, "TERMINAL"]))[: 2 * rng.randrange(2)]]
        return Members(("{", "}", "e", ",", ":"), tuple(chain(*listed)), tuple(chain(*others)))

    def rule() -> Expr:
        if rng.random() < 0.3:
            return members()
        return sequences() if rng.random() < 0.4 else Alt(tuple(body() for _ in range(rng.randrange(3))))

    rules: dict[str, Expr] = {name: rule() for name in names}
    productive: set[str] = set()
    while len(productive) < len(more := {n for n in names if ends(rules[n], productive, rules)}):
        productive = more
    dead = _kernel.dead_ends(rules)
    assert set(dead) == set(names) - productive
    drop_unproductive(rules)
    assert {name for name in rules if name != "root"} == productive
    assert not any(ref.name in dead for rule in rules.values() for ref in refs(rule))


@pytest.mark.parametrize(
    ("expected", "rules"),
    [
        (True, [Ref("a"), Concat((Ref("a"), Repeat(Ref("b"), 0, None)))]),
        (False, [Ref("a"), Concat((Ref("a"), Bytes(b"x")))]),
        (False, [Concat((Ref("a"), EMPTY))]),
        (True, [Sequences(("a", None, "b", "c")), Members(("{", "}", "e", ",", ":"), (), ())]),
    ],
)
def test_names_only(expected: bool, rules: list[Expr]) -> None:
    assert names_only(Rules(dict(zip("01", rules)), dict.fromkeys("abc{}e,:", Terminal(Bytes(b"x"))), "0")) == expected


def test_rules_become_numbers() -> None:
    rules: dict[str | Expr, Expr] = {"a": Alt((Concat((Ref("b"), Ref("T"), EMPTY)), Ref("b"))), "b": Ref("T")}
    start, names, productions, terminals = _kernel.flatten(rules, "a", [], 100)
    assert (start, names, terminals) == (-1, ["a", "b"], {"T": 1})
    assert productions == [-1, 2, -2, 1, -1, 1, -2, -2, 1, 1]
    with pytest.raises(dv.LimitError, match="the size of the grammar: max_symbols"):
        _kernel.flatten(rules, "a", [], 3)
    assert _kernel.flatten(rules, "a", ["U", "T"], 100)[3] == {"U": 1, "T": 2}
    assert _kernel.flatten(rules, "T", [], 100) == (1, [], [], {"T": 1})


def test_expressions_in_bodies_become_numbers() -> None:
    repeat, text, either = Repeat(Ref("T"), 0, None), Bytes(b"x"), Alt((Ref("T"), Bytes(b"x")))
    rules: dict[str | Expr, Expr] = {
        "a": Concat((repeat, text, either, either, Ref("c"))),
        "c": Ref("a"),
        "d": Bytes(b"y"),
    }
    assert set(_kernel.flatten(rules, "a", [], 100)[3]) == {repeat, text, "T"}
    rules[repeat] = Concat((repeat, text))
    _, names, productions, terminals = _kernel.flatten(rules, "a", [], 100)
    assert names == ["a", "<repeat>", "<alt>", "c"]
    assert terminals == {text: 1, "T": 2}
    assert productions == [-1, 5, -2, 1, -3, -3, -4, -4, 1, -1, -3, 1, 2, -3, 1, 1, -2, 2, -2, 1]
    assert with_symbols(productions[:7], {1: 9, -3: -7}) == [-1, 5, -2, 9, -7, -7, -4]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 0),
        (0, 1),
        (0, 12),
        (0, 13),
        (0, 16),
        (0, 37),
        (2, 5),
        (3, 40),
        (7, 7),
        (16, 16),
        (32, 32),
        (37, 37),
        (5, None),
    ],
)
def test_repeats_are_rules_that_count(low: int, high: int | None) -> None:
    """Every number of items from `low` to `high`, each in one way."""
    repeat = Repeat(Ref("T"), low, high)
    rules: dict[str | Expr, Expr] = {"a": repeat}
    add_repeat(rules, repeat)
    _, _, productions, _ = _kernel.flatten(rules, "a", [], 10_000)
    most = 45
    ways: dict[int, Counter[int]] = defaultdict(Counter, {1: Counter({1: 1})})  # derivations of so many items
    for _ in range(60):
        before, ways = ways, defaultdict(Counter, {1: Counter({1: 1})})
        for head, body in bodies_of(productions):
            found = Counter({0: 1})
            for symbol in body:
                longer: Counter[int] = Counter()
                for (m, x), (n, y) in product(found.items(), before[symbol].items()):
                    if m + n <= most:
                        longer[m + n] += x * y
                found = longer
            ways[head] += found
        if ways == before:
            break
    assert ways[-1] == Counter(range(low, (most if high is None else high) + 1))


def bodies_of(productions: list[int]) -> Iterator[tuple[int, list[int]]]:
    while productions:
        head, size, *rest = productions
        yield head, rest[:size]
        productions = rest[size:]


def test_sequences_are_what_they_expand_to() -> None:
    some = Sequences(("b", "T", None, "U", None, "b"))
    expanded = Alt((Concat((Ref("b"), Ref("T"))), Concat((Ref("U"),)), Concat((Ref("b"),))))
    assert some.expanded == expanded
    assert Sequences(("b", "T")).expanded == Concat((Ref("b"), Ref("T")))
    assert list(refs(some)) == list(refs(expanded))
    results = []
    for rule in some, expanded:
        results.append(_kernel.flatten({"a": rule, "b": Sequences(("a", "T"))}, "a", [], 100))
    assert results[0] == results[1]
    assert results[0][2] == [-1, 2, -2, 1, -1, 1, 2, -1, 1, -2, -2, 2, -1, 1]


@pytest.mark.parametrize(("required", "others"), [*product(["", "-", "+", "-+-", "--", "++-", "+-+"], ["", "o", "op"])])
def test_members_come_in_order_and_others_between(required: str, others: str) -> None:
    """All texts of up to three members, written as the definition says and as the kernel's productions do."""
    keys = "abc"[: len(required)]
    listed = tuple(chain(*((key, key.upper(), sign == "+") for key, sign in zip(keys, required))))
    rule = Members(("{", "}", "e", ",", ":"), listed, tuple(chain(*((key, key.upper()) for key in others))))
    wanted = {"{e"} if "+" not in required else set()
    for chosen in chain(*(product(keys + others, repeat=count) for count in (1, 2, 3))):
        ordered = [key for key in chosen if key in keys]
        if ordered == sorted(set(ordered)) and all(k in ordered for k, sign in zip(keys, required) if sign == "+"):
            wanted.add("{" + ",".join(f"{key}:{key.upper()}" for key in chosen) + "}")
    assert rule.renamed(str.lower).names == tuple(name.lower() for name in rule.names)

    _, names, productions, terminals = _kernel.flatten({"object": rule}, "object", [], 1_000)
    assert set(names) == {"object"}
    bodies = list(bodies_of(productions))
    texts: dict[int, set[str]] = defaultdict(set, {symbol: {str(name)} for name, symbol in terminals.items()})
    size = -1
    while size < (size := sum(map(len, texts.values()))):
        for head, body in bodies:
            texts[head] |= {text for parts in product(*(texts[s] for s in body)) if len(text := "".join(parts)) <= 13}
    assert texts[-1] == wanted


def test_members_are_written_up_to_the_bound() -> None:
    """Every listed key is written once for each class of other keys: the bound must not wait for the last."""
    others = tuple(chain(*((f"o{i}", "v") for i in range(100))))
    rule = Members(("{", "}", "e", ",", ":"), ("k", "v", False) * 100, others)
    with pytest.raises(dv.LimitError) as caught:
        _kernel.flatten({"object": rule}, "object", [], 2_000)
    assert caught.value.used < 4_000


TRANSLATE = """
import hashlib, random
import derivable as dv
from random_schemas import random_schema
rng = random.Random(5)
keys = ["length", "width", "radius", "base", "height", "shape"]
needs = {"base": ["triangle"], "height": ["triangle", "shape"], "shape": ["rectangle", "circle", "triangle"]}
given = [
    {"properties": dict.fromkeys(keys, {}), "required": keys, "dependencies": needs},
    {"anyOf": [{"required": [key]} for key in keys], "not": {"required": keys[:3]}, "type": "object"},
    {"not": {"allOf": [{"required": keys[:2]}, {"not": {"required": keys[2:]}}]}, "type": "object"},
    {"oneOf": [{"required": [key]} for key in keys], "patternProperties": {"a": {}, "e": {"type": "string"}}},
]
for schema in given + [random_schema(rng) for _ in range(150)]:
    for order in ("listed", "any"):
        try:
            made = dv.Grammar.from_json_schema(schema, key_order=order, profile="spec")
            said = repr((made.rules, made.terminals, made.tallied, made.distinct))
        except dv.DerivableError as error:
            said = str(error)
        print(hashlib.sha256(said.encode()).hexdigest())
"""


def test_rules_do_not_depend_on_how_strings_hash() -> None:
    said = []
    for seed in ("1", "2"):
        paths = os.pathsep.join([str(ROOT / "tests" / "support"), python_path()])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
        command = [sys.executable, "-c", TRANSLATE]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
        said.append(done.stdout.splitlines())
    assert len(said[0]) > 100
    assert said[0] == said[1]
