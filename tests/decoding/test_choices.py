"""How sure the model was of listed choices: held against the definition, worked out token by token."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import pytest
from fixed_models import FixedModel, FixedState
from numpy.typing import NDArray
from writing_model import BYTES, Writer

import derivable as dv
from derivable.decoding import choices as choices_module
from derivable.decoding.alternatives import MOST, alternatives_at, alternatives_of
from derivable.decoding.choices import Choice

WORDS = [
    b"ab",
    b"abc",
    b"b",
    b'"a',
    b'"ab',
    b'b"',
    b'":',
    b'": "',
    b'", "',
    b"en",
    b'"en',
    b"true",
    b"1",
    b"12",
    b" ",
    b": ",
]
SMALL = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), *WORDS, None], eos=[256 + len(WORDS)])
JOBS = ["engineer", "editor", "en", "painter"]


class Scattered:
    """Logits that look random, depend on the tokens so far alone, and are small for what no text has."""

    vocabulary, context = SMALL, None

    def __init__(self, seed: int, spread: float = 2.0) -> None:
        self.seed, self.spread, self.passes = seed, spread, 0

    def start(self) -> FixedState:
        return FixedState(self.logits)

    def logits(self, ids: Sequence[int]) -> NDArray[np.float32]:
        self.passes += 1
        draw = np.random.default_rng([self.seed, *ids])
        return draw.normal(0, self.spread, len(self.vocabulary.tokens)).astype(np.float32)


def softmax(row: NDArray[Any]) -> NDArray[Any]:
    weights = np.exp(row.astype(np.float64) - row.max())
    return weights / weights.sum()


def definition(
    model: Any, constraint: dv.Constraint, prompt: list[int], tokens: list[int], begins: int, listed: list[Any]
) -> dict[Any, float]:
    """The probability of each value, in whatever tokens, for the value that begins at byte `begins` of a text.

    Given the tokens before the one that gets into the value, that it says the same text up to there, and that it gets
    in. The value is JSON; what follows it does not matter.
    """
    pieces = [model.vocabulary.tokens[token] or b"" for token in tokens]
    ends = list(itertools.accumulate(map(len, pieces)))
    step = next(at for at, end in enumerate(ends) if end > begins)
    start = ends[step] - len(pieces[step])
    text = b"".join(pieces)
    spelled = {json.dumps(value).encode(): value for value in listed}
    found = dict.fromkeys(listed, 0.0)

    def follow(ids: list[int], matcher: dv.Matcher, head: bytes, written: bytes, mass: float) -> None:
        if mass < 1e-12:
            return
        row = model.logits(ids)
        ways = []
        for token in matcher.allowed_tokens().tolist():
            data = model.vocabulary.tokens[token]
            if data is None:
                ways.append((token, written, True))
            elif data.startswith(head) and len(data) > len(head) and data[len(head)] not in b" \n\t\r":
                ways.append((token, written + data[len(head) :], False))
        for (token, further, over), share in zip(ways, softmax(row[[way[0] for way in ways]]), strict=True):
            possible = [
                s for s in spelled if s.startswith(further) or (further.startswith(s) and not wider(s, further))
            ]
            if over:
                possible = [s for s in spelled if s == further]
            if len(possible) == 1:
                found[spelled[possible[0]]] += mass * share
                continue
            assert possible
            behind = matcher.fork()
            behind.advance(token)
            follow([*ids, token], behind, b"", further, mass * share)

    def wider(short: bytes, further: bytes) -> bool:
        """What was read as a value goes on: a number with more digits."""
        return short[-1:].isdigit() and further[len(short) : len(short) + 1].isdigit()

    matcher = constraint.matcher()
    for token in tokens[:step]:
        matcher.advance(token)
    follow([*prompt, *tokens[:step]], matcher, text[start:begins], b"", 1.0)
    return found


SCHEMAS: list[tuple[dict[str, Any], str, bytes]] = [
    ({"enum": JOBS}, "", b""),
    ({"type": "integer", "minimum": 1, "maximum": 13}, "", b""),
    ({"type": "object", "properties": {"job": {"enum": JOBS}}, "required": ["job"]}, "/job", b":"),
    ({"type": "array", "items": {"enum": ["a", "ab", "abab", "b"]}, "minItems": 1, "maxItems": 3}, "/0", b"["),
]


@pytest.mark.parametrize("at", range(len(SCHEMAS)))
@pytest.mark.parametrize(
    "options", [{}, {"forced": False}, {"opportunistic": False}, {"temperature": 0, "speculate": 0}]
)
def test_exact_is_the_definition(at: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices_module, "_LEAST", 0.0)
    schema, pointer, before = SCHEMAS[at]
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, profile="practical"), SMALL)
    listed = schema.get("enum") or [*range(1, 14)]
    listed = next(
        (part["enum"] for part in (schema.get("items"), schema.get("properties", {}).get("job")) if part), listed
    )
    shared = 0
    for seed in range(12):
        model = Scattered(seed)
        exact = dv.generate(model, [0], constraint, seed=seed, choices="exact", heal=False, **options)
        rough = dv.generate(model, [0], constraint, seed=seed, choices=True, heal=False, **options)
        assert exact.token_ids == rough.token_ids and exact.text == rough.text
        begins = exact.text_bytes.index(before) + len(before)
        begins += len(exact.text_bytes[begins:]) - len(exact.text_bytes[begins:].lstrip())
        expected = definition(model, constraint, [0], exact.token_ids, begins, listed)
        choice = exact.choices[pointer]
        assert choice.is_exact and choice.keys() == expected.keys()
        for value, mass in expected.items():
            assert choice[value] == pytest.approx(mass, abs=1e-9)
            low, high = rough.choices[pointer].bounds(value)
            assert low - 1e-9 <= mass <= high + 1e-9
        written = exact.value
        for part in pointer.split("/")[1:]:
            written = written[int(part) if part.isdigit() else part]
        assert choice.chosen == rough.choices[pointer].chosen == written
        known = rough.choices[pointer]
        assert sum(known.values()) + sum(known.shared.values()) == pytest.approx(1)
        shared += not known.is_exact
    assert shared or at == 1


def test_probabilities_are_how_often_it_happens() -> None:
    grammar = dv.Grammar.from_json_schema({"enum": ["a", "ab", "abc", "b"]}, profile="practical")
    constraint, model = dv.compile(grammar, SMALL), Scattered(5, 1.0)
    counts: Counter[str] = Counter()
    for seed in range(1500):
        counts[dv.generate(model, [0], constraint, seed=seed, forced=False, heal=False).value] += 1
    choice = dv.generate(model, [0], constraint, seed=0, forced=False, heal=False, choices="exact").choices[""]
    for value, mass in choice.items():
        assert abs(counts[value] / 1500 - mass) < 0.05


def test_the_distribution_is_the_models_own() -> None:
    """Temperature, reach, bias and penalties change what is chosen, not how sure the model was."""
    constraint = dv.compile(dv.Grammar.from_choices(["a", "b", "c"]), SMALL)
    model = Scattered(3)
    plain = dv.generate(model, [0], constraint, choices=True).choices[""]
    spelled = [97, 98, SMALL.tokens.index(b"b", 99), 99]  # two tokens are `b`
    a, b, again, c = softmax(model.logits([0])[spelled])
    assert [plain[each] for each in "abc"] == pytest.approx([a, b + again, c])
    for options in ({"temperature": 0.3}, {"top_k": 1}, {"logit_bias": {97: 20.0}}, {"repetition_penalty": 3.0}):
        assert dict(dv.generate(model, [0], constraint, choices=True, **options).choices[""]) == dict(plain)
    assert [*plain] == sorted(plain, key=lambda each: -plain[each])


class Person(pydantic.BaseModel):
    name: str
    job: Literal["engineer", "editor"]
    happy: bool


class Team(pydantic.BaseModel):
    people: list[Person]
    lead: Person | None
    size: Annotated[int, pydantic.Field(ge=1, le=5)]


TEAM = (
    '{"people": [{"name": "true", "job": "editor", "happy": true}, {"name": "B", "job": "engineer", "happy": false}], '
    '"lead": null, "size": 3}'
)


@pytest.mark.parametrize("options", [{}, {"speculate": 0}, {"forced": False}, {"trace": True}])
def test_nested_and_repeated_places(options: dict[str, Any]) -> None:
    grammar = dv.Grammar.from_json_schema(Team)
    for _ in range(2):  # the second has drafts
        made = dv.generate(Writer(TEAM, pull=6), [0], grammar, temperature=0, max_tokens=400, choices=True, **options)
        assert made.text == TEAM
        places = [f"/people/{row}/{name}" for row in (0, 1) for name in ("job", "happy")]
        assert [pointer for pointer in made.choices if pointer != "/size"] == places
        assert [made.choices[pointer].chosen for pointer in places] == ["editor", True, "engineer", False]
        assert all(choice[choice.chosen] > 0.9 for choice in made.choices.values())


def test_what_is_no_choice() -> None:
    for schema, text in (
        ({"type": "string"}, '"engineer"'),
        ({"const": "engineer"}, '"engineer"'),
        ({"enum": [["a"], "b"]}, '"b"'),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "integer"}]}, '"a"'),
        ({"enum": [f"v{number}" for number in range(MOST + 1)]}, '"v1"'),
        ({"type": "number"}, "1.5"),
    ):
        made = dv.generate(Writer(text), [0], schema, temperature=0, choices=True)
        assert made.text == text and made.choices == {}
    assert dv.generate(Writer("ab"), [0], temperature=0, choices=True).choices == {}
    listed = {"enum": [f"v{number}" for number in range(MOST)]}
    assert len(dv.generate(Writer('"v1"'), [0], listed, temperature=0, choices=True).choices[""]) == MOST
    free = dv.generate(Writer("ab"), [0], dv.Grammar.from_regex("[a-z]+"), temperature=0, choices=True, max_tokens=2)
    assert free.choices == {}


def test_alternatives_however_they_are_spelled() -> None:
    values = ["ab", "a/b", 'q"\\\n', "é\U0001f600", "", None, False]
    matcher = dv.compile(dv.Grammar.from_json_schema({"enum": values}, profile="spec"), SMALL).matcher()
    root = alternatives_at(matcher, True)
    assert root is not None and root.below == frozenset(values)
    for value in values:
        for spelling in {json.dumps(value), json.dumps(value, ensure_ascii=False)}:
            node, left = root.walk(spelling.encode() + b" ")
            assert node is None and left == {value}
    assert root.walk(rb'"\u0061')[1] == root.walk(b'"a')[1] == {"ab", "a/b"}
    assert root.walk(rb'"a\/')[1] == {"a/b"} and root.walk(b'"z')[1] == frozenset()
    names = alternatives_of(["get", "get_all"])
    assert [names.walk(data)[1] for data in (b"ge", b"get", b'get"', b"get_")] == [
        {"get", "get_all"},
        {"get", "get_all"},
        {"get"},
        {"get_all"},
    ]


def test_texts_that_begin_one_another_are_told_apart_by_the_end() -> None:
    constraint = dv.compile(dv.Grammar.from_choices(["ab", "abc", "b"]), SMALL)
    seen = set()
    for seed in range(20):
        made = dv.generate(Scattered(seed), [0], constraint, seed=seed, choices="exact")
        seen.add(made.choices[""].chosen)
        assert made.choices[""].chosen == made.text and sum(made.choices[""].values()) > 0.99
    assert seen == {"ab", "abc", "b"}


def test_text_that_is_cut_off_leaves_it_open() -> None:
    grammar = dv.Grammar.from_json_schema({"enum": ["engineer", "enter"]}, profile="practical")
    made = dv.generate(
        Writer('"engineer"', BYTES, pull=3), [0], grammar, temperature=0, max_tokens=2, finish=False, choices=True
    )
    choice = made.choices[""]
    assert choice.chosen is None and sum(choice.shared.values()) == pytest.approx(1)
    assert choice.bounds("engineer") == pytest.approx((0, 1))


def test_healed_prompts() -> None:
    """The token that spells the end of the prompt again gets into the value, too."""
    vocabulary = dv.Vocabulary.from_bytes([b":", b" ", b" a", b" b", b"a", b"b", None], eos=[6])

    class Model(FixedModel):
        def encode(self, text: str) -> list[int]:
            return [0, 1]

    model = Model(lambda ids: np.array([0, 0, 2, 1, 0, 3, 0], np.float32))
    model.vocabulary = vocabulary
    made = dv.generate(model, ": ", dv.compile(dv.Grammar.from_choices(["a", "b"]), vocabulary), choices=True)
    assert made.healed == b" "
    assert made.choices[""]["a"] == pytest.approx(softmax(np.array([2.0, 1.0]))[0])


def test_batches_and_streams_have_them() -> None:
    grammar = dv.Grammar.from_choices(["a", "b", "ab"])
    rows = dv.generate(Scattered(1), [[0], [1]], grammar, choices="exact", seed=[3, 4])
    for prompt, seed, row in zip(([0], [1]), (3, 4), rows, strict=True):
        alone = dv.generate(Scattered(1), prompt, grammar, choices="exact", seed=seed)
        assert dict(row.choices[""]) == dict(alone.choices[""])
    stream = dv.generate(Scattered(1), [0], grammar, choices=True, seed=3, stream=True)
    list(stream)
    assert stream.generation is not None and stream.generation.choices[""].chosen == rows[0].text


def test_exact_asks_no_more_than_it_must() -> None:
    constraint = dv.compile(dv.Grammar.from_choices(["a", "b", "c"]), SMALL)
    for how in (False, True, "exact"):
        model = Scattered(3)
        made = dv.generate(model, [0], constraint, choices=how)
        assert made.stats.model_calls == 1
    grammar = dv.Grammar.from_json_schema({"enum": ["ab", "abc"]}, profile="practical")
    made = dv.generate(Scattered(3), [0], grammar, choices="exact", timeout=1e-6)
    assert made.finish_reason == "timeout" or sum(made.choices[""].values()) <= 1


def test_one_choice() -> None:
    choice = Choice({"a": 0.25, "b": 0.5}, {("a", "b"): 0.25}, "b")
    assert repr(choice) == "<Choice 'b' of {'b': 0.5, 'a': 0.25}, shared {('a', 'b'): 0.25}>"
    assert [*choice] == ["b", "a"] and len(choice) == 2 and "c" not in choice
    with pytest.raises(KeyError):
        choice.bounds("c")


@pytest.mark.parametrize("wrong", [None, 1, "yes", [], object()])
def test_no_such_choices(wrong: Any) -> None:
    with pytest.raises(dv.ArgumentError, match="choices"):
        dv.generate(Scattered(1), [0], dv.Grammar.from_choices(["a"]), choices=wrong)
