"""What makes decoding cheap changes no text: opportunistic masking, speculation, forced tokens, healing."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pytest
from fixed_models import END, VOCABULARY, WORDS, FixedModel, favouring, scattered
from numpy.typing import NDArray

import derivable as dv
from derivable.decoding.healing import Healing, take_back
from derivable.tiny import tokenizer_path

needs_weights = pytest.mark.skipif(
    not (tokenizer_path().exists() and tokenizer_path().with_name("weights.npz").exists()),
    reason="the embedded model's weights are not in src/derivable/tiny/data",
)

PATTERNS = ["(ab|c)*12", "[abc12 ]{3,9}", "a*b*c*1?", "1{4}|2{5}", "(a(b|c)1 ){1,4}2", "abcab12(c|ab)"]


def compiled(pattern: str, vocabulary: dv.Vocabulary = VOCABULARY) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex(pattern), vocabulary)


def reference(model: FixedModel, prompt: Sequence[int], constraint: dv.Constraint, most: int) -> list[int]:
    """Greedy decoding from the definition: every mask, every step, one token at a time."""
    state, matcher, ids = model.start(), constraint.matcher(), list[int]()
    row = state.append(list(prompt))[-1]
    while len(ids) < most:
        allowed = matcher.allowed_tokens()
        token = int(allowed[row[allowed].argmax()])
        if token in model.vocabulary.eos_ids:
            break
        matcher.advance(token)
        ids.append(token)
        row = state.append([token])[-1]
    return ids


class Replay:
    """A drafter that knows a text, and says every third token wrong."""

    def __init__(self, token_ids: list[int], prompt: int) -> None:
        self.token_ids, self.prompt = token_ids, prompt

    def draft(self, matcher: dv.Matcher, token_ids: Sequence[int], most: int) -> list[int]:
        at = len(token_ids) - self.prompt
        guesses = self.token_ids[at : at + most]
        return [(g + 1) % len(WORDS) if (at + i) % 3 == 2 else g for i, g in enumerate(guesses)]


# The same text


@pytest.mark.parametrize("pattern", PATTERNS)
def test_greedy_is_the_definition(pattern: str) -> None:
    constraint = compiled(pattern)
    for seed in range(25):
        model = scattered(seed)
        expected = reference(model, [0, 1], constraint, 20)
        for speculate, opportunistic in itertools.product((0, 1, 4), (False, True)):
            result = dv.generate(
                model,
                [0, 1],
                constraint,
                temperature=0,
                max_tokens=20,
                speculate=speculate,
                opportunistic=opportunistic,
                drafters=[Replay(expected, 2)],
                forced=False,
                heal=False,
            )
            assert result.token_ids == expected, (seed, speculate, opportunistic)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"top_p": 0.7}, {"min_p": 0.2}, {"repetition_penalty": 1.5}])
def test_sampling_is_the_same_token_by_token(pattern: str, options: dict[str, Any]) -> None:
    constraint, speculator = compiled(pattern), dv.Speculator(threshold=0.2)
    accepted = drafted = 0
    for seed in range(40):
        arguments: dict[str, Any] = {"max_tokens": 20, "seed": seed, "heal": False, **options}
        model = scattered(seed % 3)
        plain = dv.generate(model, [0], constraint, speculate=0, opportunistic=False, **arguments)
        fast = dv.generate(model, [0], constraint, speculate=5, speculator=speculator, **arguments)
        assert (fast.token_ids, fast.finish_reason) == (plain.token_ids, plain.finish_reason)
        assert fast.stats.interventions == plain.stats.interventions
        assert fast.stats.model_calls <= plain.stats.model_calls and fast.stats.masks <= plain.stats.masks
        accepted += fast.stats.accepted
        drafted += fast.stats.drafted
    if pattern not in ("1{4}|2{5}", "abcab12(c|ab)"):  # there one choice decides all
        assert drafted > accepted > 0


def test_drafts_save_model_calls() -> None:
    model, constraint = favouring(3, 2, 0, 5), compiled("(ab|c){12}12")
    plain = dv.generate(model, [0], constraint, temperature=0, speculate=0, forced=False)
    assert plain.stats.model_calls == plain.stats.steps == 15 and plain.stats.drafted == 0
    for _ in range(2):
        dv.generate(model, [0], constraint, temperature=0, forced=False)
    fast = dv.generate(model, [0], constraint, temperature=0, forced=False)
    assert fast.token_ids == plain.token_ids
    assert fast.stats.model_calls <= 4 and fast.stats.accepted >= 8
    assert fast.stats.tokens == 14 and all(step.speculated for step in fast.trace[:4])
    assert dv.generate(model, [0], constraint, temperature=0, forced=False, speculate=0).stats.accepted == 0


def test_forced_tokens_need_no_model() -> None:
    model = favouring(1, 0)
    result = dv.generate(model, [0], compiled("abcab12(c|ab)1212"), temperature=0)
    assert result.text == "abcab12ab1212" and result.finish_reason == "stop"
    assert result.stats.model_calls <= 2  # one of them chooses between a, ab and c
    assert result.stats.forced >= 5 and result.stats.masks <= 2
    only = dv.generate(model, [0], compiled("abcab12"), temperature=0)
    assert (only.text, only.stats.model_calls, only.stats.masks) == ("abcab12", 0, 0)
    assert only.trace[-1].token_id == END and all(step.forced for step in only.trace)


def test_the_end_is_forced_too() -> None:
    m = compiled("a|b").matcher()
    result = dv.generate(favouring(0), [1], m, temperature=0)
    assert (result.text, result.stats.model_calls, m.is_finished) == ("a", 1, True)
    no_end = dv.Vocabulary.from_bytes([b"a", b"b"], eos=[])
    model = FixedModel(lambda _: np.array([1, 0], np.float32))
    model.vocabulary = no_end
    result = dv.generate(model, [1], compiled("a|b", no_end), temperature=0)
    assert (result.text, result.finish_reason, result.is_complete) == ("a", "stop", True)


def chi_squared(observed: Counter[str], expected: dict[str, float]) -> tuple[float, int]:
    """The statistic, and its degrees of freedom; cells of fewer than 5 are put together."""
    total = sum(observed.values())
    assert set(observed) <= set(expected)
    cells: list[tuple[float, float]] = []
    rest = [0.0, 0.0]
    for text, probability in expected.items():
        if probability * total < 5:
            rest[0] += observed[text]
            rest[1] += probability * total
        else:
            cells.append((observed[text], probability * total))
    if rest[1] > 0:
        cells.append((rest[0], max(rest[1], 1e-9)))
    return sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1


def distribution(model: FixedModel, prompt: list[int], matcher: dv.Matcher, temperature: float) -> dict[str, float]:
    """The probability of every text under masked sampling, by enumeration."""
    found: Counter[str] = Counter()

    def visit(ids: list[int], matcher: dv.Matcher, probability: float) -> None:
        allowed = matcher.allowed_tokens()
        logits = model.logits(prompt + ids)[allowed].astype(np.float64) / temperature
        weights = np.exp(logits - logits.max())
        for token, weight in zip(allowed.tolist(), weights / weights.sum(), strict=True):
            if token == END:
                found[VOCABULARY.decode(ids).decode()] += probability * weight
            else:
                after = matcher.fork()
                after.advance(token)
                visit([*ids, token], after, probability * weight)

    visit([], matcher, 1.0)
    assert abs(sum(found.values()) - 1) < 1e-9
    return dict(found)


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("(ab|c){1,3}1", {"speculate": 0}),
        ("(ab|c){1,3}1", {"speculate": 3}),
        ("[abc]{1,3}", {"speculate": 3, "temperature": 0.7}),
        ("a(b|c)1?2?", {"speculate": 2, "opportunistic": False}),
        ("(a|ab|bc|c){2}", {"speculate": 4, "temperature": 1.5}),
    ],
)
@pytest.mark.parametrize("samples", [1500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_samples_have_the_distribution_of_masked_sampling(pattern: str, options: dict[str, Any], samples: int) -> None:
    model, constraint = scattered(11), compiled(pattern)
    expected = distribution(model, [4], constraint.matcher(), options.get("temperature", 1.0))
    speculator = dv.Speculator(threshold=0.1)
    observed: Counter[str] = Counter()
    for seed in range(samples):
        arguments = {"seed": seed, "speculator": speculator, "forced": False, "heal": False, **options}
        observed[dv.generate(model, [4], constraint, **arguments).text] += 1
    statistic, freedom = chi_squared(observed, expected)
    # Wilson and Hilferty: the cube root is nearly normal; 4.5 deviations are one in 300,000.
    deviations = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5
    assert freedom > 1 and deviations < 4.5, (statistic, freedom)


# Speculators


def test_a_speculator_is_saved_loaded_merged_and_frozen(tmp_path: Any) -> None:
    constraint, model = compiled("(ab|c){12}12"), favouring(3, 2, 0, 5)
    speculator = dv.Speculator(threshold=0.5)
    for _ in range(3):
        dv.generate(model, [0], constraint, temperature=0, speculator=speculator, forced=False)
    speculator.save(tmp_path / "counts.json")
    loaded = dv.Speculator.load(tmp_path / "counts.json")
    assert len(loaded) == len(speculator) > 3 and (loaded.threshold, loaded.hops) == (0.5, speculator.hops)
    fresh = dv.compile(dv.Grammar.from_regex("(ab|c){12}12"), dv.Vocabulary.from_bytes(WORDS, eos=[END]))
    result = dv.generate(model, [0], fresh, temperature=0, speculator=loaded.freeze(), forced=False)
    assert result.stats.model_calls <= 4 and result.stats.accepted >= 8
    assert len(loaded) == len(speculator)
    other = dv.generate(model, [0], compiled("c{14}"), temperature=0, speculator=loaded, forced=False)
    assert other.stats.drafted == 0  # nothing was learned about that grammar
    merged = dv.Speculator(threshold=0.5).merge(loaded).merge(loaded)
    places = merged.places(constraint.matcher(), [0])
    assert merged.probability(places)[0] == 3
    assert merged.probability(places)[1] == 6 / 7 > loaded.probability(places)[1] == 3 / 4


def test_contexts_are_the_same_wherever_they_are_asked() -> None:
    """States are numbered as they are visited; what counts are saved under must not depend on it."""
    text = 'start: pair*\npair: NAME "=" (NUMBER | list) ";"\nlist: "[" (NUMBER ",")* "]"\n'
    text += "NAME: /[a-c]+/\nNUMBER: /[12]+/\n"
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), None], eos=[128])
    samples = [b"a=1;b=[1,2,];c", b"ab=[", b"a=12;", b"", b"c=[2,"]

    def contexts(order: Sequence[bytes]) -> dict[bytes, tuple[int, ...]]:
        constraint = dv.compile(dv.Grammar.from_lark(text + f"// {order!r}"), vocabulary)
        found = {}
        for sample in order:
            matcher = constraint.matcher()
            matcher.advance_bytes(sample)
            found[sample] = tuple(matcher.context(hops) for hops in (-1, 0, 2))
        return found

    first = contexts(samples)
    assert first == contexts(samples[::-1])
    assert len(set(first.values())) == len(samples)
    with pytest.raises(dv.ArgumentError):
        dv.compile(dv.Grammar.from_lark(text), vocabulary).matcher().context("2")  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": "derivable speculator 1"}', "\udcff", "{" * 100_000])
def test_damaged_counts(tmp_path: Any, content: str) -> None:
    path = tmp_path / "counts.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(dv.ArtifactError, match="counts"):
        dv.Speculator.load(path)
    with pytest.raises(dv.ArtifactError):
        dv.Speculator.load(tmp_path / "absent")
    with pytest.raises(dv.ArtifactError):
        dv.Speculator().save(tmp_path / "absent" / "x")
    for arguments in ({"threshold": 2}, {"threshold": "a"}, {"hops": -2}, {"max_places": 1.5}):
        with pytest.raises(dv.ArgumentError):
            dv.Speculator(**arguments)
    with pytest.raises(dv.ArgumentError):
        dv.Speculator().merge(dv.Speculator(hops=7))


def test_places_are_told_apart() -> None:
    speculator = dv.Speculator()
    shapes = [compiled("[ab]{5}").matcher(), compiled("[ac]{5}").matcher()]  # states alike, of different grammars
    assert len({speculator.places(matcher, [1])[-1] for matcher in shapes}) == 2
    nested = 'start: "x" a "c" | "y" b "c"\na: "a" "b"\nb: "a" "b"\n'
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), None], eos=[128])
    constraint = dv.compile(dv.Grammar.from_lark(nested), vocabulary)
    matchers = [constraint.matcher(), constraint.matcher()]
    for matcher, text in zip(matchers, (b"xa", b"ya"), strict=True):
        matcher.advance_bytes(text)
    for hops, distinct in ((-1, 1), (2, 2)):
        places = {dv.Speculator(hops=hops).places(matcher, [])[-1] for matcher in matchers}
        assert len(places) == distinct, hops
    first, second = (speculator.places(matchers[0], tokens) for tokens in ([7, 8], [9, 8]))
    assert first[0] != second[0] and first[1:] == second[1:] and len(first) == 3


def test_places_are_bounded() -> None:
    speculator, matcher = dv.Speculator(max_places=5), compiled("[abc]*").matcher()
    for token in range(9):
        speculator.observe(speculator.places(matcher, [token]), 1)
    assert len(speculator) == 5


# Healing


HEALED = [b"h", b"t", b"p", b":", b"/", b"//", b"://", b"http", b"http:", b":/", b"a", b"/a", b"p:", None]
HEALED_VOCABULARY = dv.Vocabulary.from_bytes(HEALED, eos=[13])


@pytest.mark.parametrize("pattern", ["//a", "(//)?a*", "[/a]{0,4}", "/", "p"])
@pytest.mark.parametrize("rest", [b":", b"p:", b"tp:", b"http:", b"/"])
def test_the_mask_of_a_healed_prompt_is_that_of_the_prefix_and_the_grammar(pattern: str, rest: bytes) -> None:
    def check(healing: Healing, matcher: dv.Matcher, depth: int) -> None:
        bitmask = dv.allocate_bitmask(1, HEALED_VOCABULARY.size)
        healing.fill_bitmask(bitmask)
        allowed = [t for t in range(14) if bitmask[0, 0] >> t & 1]
        assert allowed == matcher.allowed_tokens().tolist()
        for token in range(14):
            after = Healing(HEALED_VOCABULARY, healing.matcher and healing.matcher.fork(), healing.rest)
            if token not in allowed:
                with pytest.raises(dv.TokenRejectedError):
                    after.advance(token)
                assert after.rest == healing.rest
                continue
            after.advance(token)
            whole = matcher.fork()
            whole.advance(token)
            if after.rest and depth:
                check(after, whole, depth - 1)
            elif not after.rest and after.matcher is not None:
                assert after.matcher.allowed_tokens().tolist() == whole.allowed_tokens().tolist()

    literal = rest.decode().replace("/", "\\/")
    inner = compiled(pattern, HEALED_VOCABULARY)
    check(
        Healing(HEALED_VOCABULARY, inner.matcher(), rest),
        compiled(f"{literal}({pattern})", HEALED_VOCABULARY).matcher(),
        3,
    )


def test_what_is_taken_back() -> None:
    def taken(prompt: list[int], pattern: str | None) -> tuple[int, bytes]:
        matcher = None if pattern is None else compiled(pattern, HEALED_VOCABULARY).matcher()
        return take_back(HEALED_VOCABULARY, prompt, matcher)

    assert taken([10, 7, 3], "//a") == (2, b":")  # `://` is a token
    assert taken([10, 7, 3], "a") == (3, b"")  # nothing begins with `:a`
    assert taken([10, 7, 3], None) == (2, b":")
    assert taken([3], "//a") == (1, b"")  # the first token stays
    assert taken([10, 13, 3], "//a") == (2, b":") and taken([10, 3, 13], "//a") == (3, b"")
    assert taken([10, 10, 0, 1, 1, 2], ":a?") == (2, b"http")  # the longest that one token could cover with more
    assert taken([10, 0, 99], "a") == (3, b"")  # not of the vocabulary


def test_a_healed_generation() -> None:
    def logits(ids: list[int]) -> NDArray[np.float32]:
        row = np.zeros(14, np.float32)
        row[6 if ids[-1] == 7 else 10] = 5  # `://` behind `http`, then a
        return row

    model = FixedModel(logits)
    model.vocabulary = HEALED_VOCABULARY
    constraint = compiled("//a{2}", HEALED_VOCABULARY)
    result = dv.generate(model, [10, 7, 3], constraint, temperature=0)
    assert (result.text, result.healed, result.prompt_ids) == ("//aa", b":", [10, 7])
    assert result.token_ids[0] == 6 and result.stats.interventions == 0
    assert dv.generate(model, [10, 7, 3], constraint, temperature=0, heal=False).token_ids[0] in (5, 4)
    pieces: list[bytes] = []
    dv.generate(model, [10, 7, 3], constraint, temperature=0, on_token=lambda _, data: pieces.append(data))
    assert b"".join(pieces) == b"//aa"
    for seed in range(30):
        for pattern in ("//a{2}", "(/|a){1,4}", "a*"):
            made = dv.generate(model, [10, 7, 3], compiled(pattern, HEALED_VOCABULARY), seed=seed, max_tokens=30)
            assert HEALED_VOCABULARY.decode([*made.prompt_ids, *made.token_ids]) == b"ahttp:" + made.text_bytes
            whole = compiled(pattern, HEALED_VOCABULARY).matcher()
            whole.advance_bytes(made.text_bytes)
            assert whole.is_accepting or made.finish_reason == "length"
    cut = dv.generate(model, [10, 7, 3], constraint, temperature=0, max_tokens=1)
    assert cut.text == "//" and not cut.is_complete


# Arguments, types, batches, streams


class Movie(TypedDict):
    title: str
    year: int


@dataclass
class Person:
    name: str
    age: int


@needs_weights
def test_types_and_schemas() -> None:
    pydantic = pytest.importorskip("pydantic")

    class City(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        name: str
        capital: bool

    person = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    assert isinstance(person.value, Person) and json.loads(person.text) == vars(person.value)
    movie = dv.generate("tiny", "A movie as JSON:\n", Movie, seed=1)
    assert isinstance(movie.value, dict) and movie.value.keys() == {"title", "year"}
    city = dv.generate("tiny", "A city as JSON:\n", City, seed=1)
    assert isinstance(city.value, City)
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    counted = dv.generate("tiny", "A count as JSON:\n", schema, temperature=0)
    assert counted.value.keys() == {"n"} and isinstance(counted.value["n"], int)
    yes = dv.generate("tiny", "Is it? ", dv.Grammar.from_choices(["yes", "no"]))
    assert yes.value == yes.text in ("yes", "no")
    cut = dv.generate("tiny", "A person as JSON:\n", Person, max_tokens=3)
    assert not cut.is_complete
    with pytest.raises(dv.DerivableError, match="max_tokens"):
        _ = cut.value


@needs_weights
def test_what_was_learned_about_a_type_is_used_again() -> None:
    first = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    for _ in range(2):
        dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    again = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0)
    assert again.token_ids == first.token_ids
    assert again.stats.model_calls < first.stats.model_calls or first.stats.accepted
    assert again.stats.model_calls * 2 < again.stats.tokens
    plain = dv.generate("tiny", "A person as JSON:\n", Person, temperature=0, speculate=0, opportunistic=False)
    assert plain.token_ids == first.token_ids and plain.stats.masks > again.stats.masks


@needs_weights
def test_greedy_text_of_the_embedded_model_is_the_same_every_way() -> None:
    prompt, schema = "A product as JSON:\n", {"type": "object", "required": ["id", "name"]}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), _tiny().vocabulary)
    texts = {
        dv.generate(
            "tiny", prompt, constraint, temperature=0, max_tokens=80, speculate=s, opportunistic=o, forced=f
        ).text
        for s, o, f in itertools.product((0, 4, 8), (False, True), (False, True))
    }
    assert len(texts) == 1


def _tiny() -> Any:
    from derivable.decoding.models import tiny

    return tiny()


def test_batches() -> None:
    model = scattered(3)
    grammars = [dv.Grammar.from_regex(p) for p in ("(ab|c){3}", "1{4}", "[abc]{2}")]
    rows = dv.generate(model, [[0], [1], [0, 2]], grammars, seed=7)
    alone = [
        dv.generate(model, prompt, grammar, seed=7 + row)
        for row, (prompt, grammar) in enumerate(zip([[0], [1], [0, 2]], grammars, strict=True))
    ]
    assert [row.token_ids for row in rows] == [row.token_ids for row in alone]
    assert len(dv.generate(model, [[0], [1]], grammars[1])) == 2
    with pytest.raises(dv.ArgumentError, match="grammar"):
        dv.generate(model, [[0], [1]], grammars)
    with pytest.raises(dv.ArgumentError, match="stream"):
        dv.generate(model, [[0], [1]], grammars[0], stream=True)


class Together(FixedModel):
    """A model that answers several states at once, and says how many tokens each was given."""

    def __init__(self, seed: int) -> None:
        super().__init__(scattered(seed).logits)
        self.passes: list[list[int]] = []
        self.fails_at = -1

    def append_batch(self, states: list[Any], token_ids: list[list[int]]) -> list[Any]:
        assert len(set(map(id, states))) == len(states) == len(token_ids)
        self.passes.append([len(ids) for ids in token_ids])
        if len(self.passes) == self.fails_at:
            raise RuntimeError("no memory")
        return [state.append(ids) for state, ids in zip(states, token_ids, strict=True)]


@pytest.mark.parametrize("options", [{}, {"speculate": 0}, {"temperature": 0}, {"forced": False, "heal": False}])
def test_rows_of_a_batch_are_answered_together(options: dict[str, Any]) -> None:
    grammars = [dv.Grammar.from_regex(p) for p in ("(ab|c){3,9}", "1{4}", "[abc]{2}( [12]+)?", "(a|b|c|1|2){12}")]
    prompts = [[0], [1, 2], [0, 2], [3, 3, 3]]
    drafted = 0
    for seed in range(8):
        model = Together(seed)
        rows = dv.generate(model, prompts, grammars, seed=seed, max_tokens=20, **options)
        alone = [
            dv.generate(scattered(seed), p, g, seed=seed + row, max_tokens=20, **options)
            for row, (p, g) in enumerate(zip(prompts, grammars, strict=True))
        ]
        assert [row.token_ids for row in rows] == [one.token_ids for one in alone]
        assert [row.finish_reason for row in rows] == [one.finish_reason for one in alone]
        if seed == 0:  # later on they have learned in other orders
            assert len(model.passes) == max(row.stats.model_calls for row in rows) - 1
        drafted += sum(max(lengths) > 1 for lengths in model.passes)
    assert drafted or options.get("speculate") == 0 or options.get("forced") is False


def test_the_embedded_model_answers_together() -> None:
    from derivable.decoding.models import tiny

    if not tokenizer_path().with_name("weights.npz").exists():
        pytest.skip("the embedded model's weights are not in src/derivable/tiny/data")
    model = tiny()
    constraint = dv.compile(dv.Grammar.builtin("json"), model.vocabulary)
    prompts = ["A person as JSON:\n", "An order as JSON:\n", "A product as JSON:\n"]
    alone = [dv.generate(model, prompt, constraint, temperature=0, max_tokens=40) for prompt in prompts]
    made = dv.generate(model, prompts, [constraint] * 3, temperature=0, max_tokens=40)
    assert [one.text for one in made] == [one.text for one in alone]
    states, ids = [model.start() for _ in range(3)], [[1, 5, 6], [1], [1, 9]]
    for state, tokens, rows in zip(states, ids, model.append_batch(states, ids), strict=True):
        np.testing.assert_allclose(rows, model.start().append(tokens), atol=1e-3)
        assert state.length == len(tokens)
    with pytest.raises(dv.DerivableError, match="non-empty"):
        model.append_batch(states, [[5], [], [6]])
    assert [state.length for state in states] == [3, 1, 2]


def test_a_batch_that_fails_says_what_there_is() -> None:
    model = Together(1)
    model.fails_at = 3
    with pytest.raises(dv.ModelError, match="no memory") as caught:
        dv.generate(model, [[0], [1]], dv.Grammar.from_regex("[abc]{9,}"), speculate=0, heal=False)
    partial = caught.value.partial
    assert isinstance(partial, list) and [len(one.token_ids) for one in partial] == [3, 3]
    matcher = compiled("[abc]{2}").matcher()
    with pytest.raises(dv.ArgumentError, match="another Matcher"):
        dv.generate(model, [[0], [1]], matcher)
    model.append_batch = lambda states, token_ids: []  # type: ignore[method-assign]
    with pytest.raises(dv.ModelError, match="0 arrays"):
        dv.generate(model, [[0], [1]], dv.Grammar.from_regex("[abc]{9}"), speculate=0)


def test_stop_strings_and_streams() -> None:
    model = favouring(3, 2)  # abababab...
    result = dv.generate(model, [0], temperature=0, max_tokens=9, stop="bab")
    assert (result.text, result.finish_reason, result.is_complete) == ("a", "stop_string", False)
    assert dv.generate(model, [0], temperature=0, max_tokens=4, stop=["x", "1"]).text == "abababab"
    stream = dv.generate(model, [0], temperature=0, max_tokens=5, stop=["abababab1", "zz"], stream=True)
    pieces = []
    for piece in stream:
        pieces.append(piece)
    assert "".join(pieces) == "ab" * 5 and stream.generation is not None and stream.generation.text == "ab" * 5
    stream = dv.generate(scattered(1), [0], compiled("(ab|c|1){8}"), stream=True, stop=["c1", "1c"], seed=3)
    text = "".join(stream)
    assert stream.generation is not None and text == stream.generation.text
    assert "c1" not in text and "1c" not in text
    half = dv.Vocabulary.from_bytes(["é".encode()[:1], "é".encode()[1:], None], eos=[2])
    model = FixedModel(lambda ids: np.eye(3, dtype=np.float32)[(len(ids) + 1) % 2])
    model.vocabulary = half
    assert list(dv.generate(model, [2], max_tokens=3, temperature=0, stream=True)) == ["é", "\ufffd"]


def test_context_and_lengths_hold_drafts_too() -> None:
    for context in range(1, 12):
        model = favouring(3, 2, 0, 5)
        model.context = context
        constraint = compiled("(ab|c){12}12")
        for _ in range(3):
            result = dv.generate(model, [0], constraint, temperature=0)
            assert len(result.token_ids) == max(0, min(context - 1, 14))
    assert dv.generate(favouring(0), [0], max_tokens=0).token_ids == []


# Failures


class Failing(FixedModel):
    """Raises, or returns something else, after some calls."""

    def __init__(self, after: int, what: Any) -> None:
        super().__init__(favouring(3, 2, 0, 5).logits)
        self.after, self.what, self.calls = after, what, 0

    def start(self) -> Any:
        inner, outer = super().start(), self

        class State:
            length = property(lambda _: inner.length)

            def truncate(self, length: int) -> None:
                inner.truncate(length)

            def append(self, token_ids: Sequence[int]) -> Any:
                outer.calls += 1
                if outer.calls > outer.after:
                    if isinstance(outer.what, BaseException):
                        raise outer.what
                    return outer.what
                return inner.append(token_ids)

        return State()


@pytest.mark.parametrize(
    "what",
    [
        RuntimeError("out of memory"),
        ValueError(),
        None,
        "logits",
        [[1, 2], [3]],
        np.zeros((0, 11), np.float32),
        np.zeros((40, 11), np.float32),
        np.zeros((1, 2, 11), np.float32),
        np.zeros((1, 11), np.int64),
    ],
)
@pytest.mark.parametrize("after", [0, 3])
def test_a_model_that_fails(what: Any, after: int) -> None:
    matcher = compiled("(ab|c){12}12").matcher()
    with pytest.raises(dv.ModelError) as caught:
        dv.generate(Failing(after, what), [0], matcher, temperature=0, forced=False, speculate=0)
    partial = caught.value.partial
    assert isinstance(partial, dv.Generation)
    assert partial.text == "ab" * after and not partial.is_complete
    assert matcher.length == after
    if isinstance(what, Exception):
        assert caught.value.__cause__ is what


def test_a_drafter_that_fails() -> None:
    class Broken:
        def draft(self, matcher: dv.Matcher, token_ids: Sequence[int], most: int) -> list[int]:
            if len(token_ids) > 3:
                raise RuntimeError("no memory")
            return [99, -1]

    with pytest.raises(dv.ModelError, match="no memory") as caught:
        dv.generate(favouring(3, 2), [0], compiled("(ab|c){12}"), temperature=0, drafters=[Broken()], forced=False)
    assert isinstance(caught.value.partial, dv.Generation) and caught.value.partial.text == "ababab"


def test_prompts_that_do_not_fit() -> None:
    model = favouring(3)
    model.context = 4
    with pytest.raises(dv.DerivableError, match="5 tokens"):
        dv.generate(model, [0] * 5)
    assert dv.generate(model, [0], {("a",): 1}, max_tokens=2).finish_reason == "length"  # an unknown keyword
    for schema in ({"type": {"x"}}, {"properties": 5}):
        with pytest.raises(dv.DerivableError):
            dv.generate(model, [0], schema)


def test_an_interrupt_is_nobodys_error() -> None:
    with pytest.raises(KeyboardInterrupt):
        dv.generate(Failing(2, KeyboardInterrupt()), [0])


def test_models_that_return_the_last_row_only() -> None:
    model, constraint = favouring(3, 2, 0, 5), compiled("(ab|c){12}12")

    class Last:
        def __init__(self) -> None:
            self.inner = model.start()
            self.length = 0

        def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
            rows = self.inner.append(token_ids)
            self.length = self.inner.length
            return rows[-1]

        def truncate(self, length: int) -> None:
            self.inner.truncate(length)
            self.length = length

    class LastModel(FixedModel):
        def start(self) -> Any:
            return Last()

    expected = dv.generate(model, [0], constraint, temperature=0)
    for _ in range(3):
        result = dv.generate(LastModel(model.logits), [0], constraint, temperature=0)
        assert result.token_ids == expected.token_ids


def test_a_mask_that_takes_too_much_work_is_asked_for_again() -> None:
    """Every call may do little; generation comes to an end all the same."""
    grammar = dv.Grammar.from_lark('start: "a"* x\nx: "(" x ")" | /[bc]+/ | x "+" x', lexing="scannerless")
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), b"((", b"b+b", None], eos=[130])
    model = FixedModel(lambda ids: np.random.default_rng(ids).normal(0, 2, 131).astype(np.float32))
    model.vocabulary = vocabulary
    tight = dv.compile(grammar, vocabulary, limits=dv.Limits(max_step_work=40))
    with pytest.raises(dv.LimitError):
        tight.matcher().allowed_tokens()
    loose = dv.compile(grammar, vocabulary)
    for seed in range(5):
        results = [dv.generate(model, [97], c, seed=seed, max_tokens=25) for c in (tight, loose)]
        assert results[0].token_ids == results[1].token_ids


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"model": "large"}, "model"),
        ({"model": 5}, "model"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": b"a"}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": "text"}, "prompt"),  # this model has no encode()
        ({"grammar": "root ::= 'a'"}, "grammar"),
        ({"grammar": 5}, "grammar"),
        ({"stop": ""}, "stop"),
        ({"stop": 5}, "stop"),
        ({"speculate": -1}, "speculate"),
        ({"speculator": 5}, "speculator"),
        ({"seed": "a"}, "seed"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_k": 1.5}, "top_k"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"logit_bias": [1]}, "logit_bias"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"model": scattered(0), "prompt": [0], **arguments}
    with pytest.raises(dv.ArgumentError, match=named) as caught:
        dv.generate(**given)
    assert caught.value.argument == named


def test_bias_and_penalty() -> None:
    flat = FixedModel(lambda _: np.zeros(len(WORDS), np.float32))
    assert dv.generate(flat, [0], temperature=0, max_tokens=3, logit_bias={2: 1.0}).text == "ccc"
    assert dv.generate(flat, [0], temperature=0, max_tokens=2, logit_bias={2: -1.0, 99: 5}).text == "aa"
    rising = FixedModel(lambda _: np.array([3, 2.9, 2.8, 0, 0, 0, 0, 0, 0, -9, -9], np.float32))
    assert dv.generate(rising, [9], temperature=0, max_tokens=4, repetition_penalty=1.2).text == "abca"


# Traces


@needs_weights
def test_traces(tmp_path: Any) -> None:
    prompt = "A person as <JSON>:\n"
    result = dv.generate("tiny", prompt, Person, trace=True, seed=5)
    trace = result.trace
    assert b"".join(s.token_bytes or b"" for s in trace) == result.healed + result.text_bytes
    chosen = [step for step in trace if not step.forced]
    assert chosen and all(s.legal and 0 <= (s.removed or 0) <= 1 and s.alternatives for s in chosen)
    assert any(step.expected or step.lexeme for step in chosen)
    for step in chosen:
        assert step.intervention == (step.token_id != step.wanted)
    plain = dv.generate("tiny", prompt, Person, seed=5)
    assert plain.token_ids == result.token_ids and len(plain.trace) == len(trace)
    trace.save(tmp_path / "t.jsonl")
    assert dv.Trace.load(tmp_path / "t.jsonl") == trace
    assert len((tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()) == len(trace) + 1
    trace.save(tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "&lt;JSON&gt;" in page and "<JSON>" not in page and "http" not in page and "<script" not in page
    assert page.count("<tr>") == len(trace) + 1 and trace._repr_html_() in page
    for content in ("", "{}", "nonsense", '{"format": "derivable trace 1", "prompt": ""}\n{}'):
        (tmp_path / "bad").write_text(content)
        with pytest.raises(dv.ArtifactError):
            dv.Trace.load(tmp_path / "bad")


def test_a_trace_in_a_terminal() -> None:
    import io

    from rich.console import Console

    result = dv.generate(favouring(END, 2, 3, 7, 5), [0], compiled("a(b|c)1"), temperature=0, trace=True)
    console = Console(file=io.StringIO(), width=100)
    result.trace.show(console)
    shown = console.file.getvalue()
    assert "ab1<[9]>" in shown and "intervention" in shown and "forced" in shown
    assert "removed" in shown and "wanted" in shown
    answers = iter(["", "q"])
    stepping = Console(file=io.StringIO(), width=100)
    stepping.input = lambda *_args, **_options: next(answers)  # type: ignore[method-assign]
    result.trace.show(stepping, step=True)
    assert "2 of 3" in stepping.file.getvalue() and "3 of 3" not in stepping.file.getvalue()
