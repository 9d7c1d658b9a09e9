"""State that travels: matchers resumed from their bytes, in another constraint and in another process, say and do what
the first ones do, bit by bit; and bytes that are not theirs are refused or lead to a matcher that works."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from big_vocabulary import synthetic_vocabulary
from families import POLICIES, contested, enumerated, sample, shaped, with_vocabulary
from handmade import handmade
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nested_grammars import nested, random_encoding, tokens
from random_schemas import random_schema
from region_grammars import region_cases
from small_bpe import trained
from travelling import facts, walk

import derivable as dv
from derivable import encodings
from derivable.errors import ArgumentError, ArtifactError, DerivableError, LimitError, RollbackError
from derivable.grammar import Lexing
from derivable.warm.state import VERSION, unwrapped, wrapped

CASES, MANY_CASES = 12, 1_000
"""Of each family and policy in a fast run, and in a slow one."""

FEW, MANY = 60, 5_000
"""Random grammars inside one another, and schemas, likewise."""

WORDS = (
    *(b'"a"', b'":', b'{"', b"},", b"],[", b"[[", b"1,", b"true", b'"b', b"\\u00", b"\\ud8", b"\\n", b"\xc3", b"\xa9x"),
    *(b'", "', b"1e", b"0.", b"null,", b"\n    ", b"if ", b"def ", b"a b", b"<", b"aa", b"bc"),
)
LIMITS = dv.Limits(max_step_work=1 << 28)


@cache
def bytes_and_words() -> dv.Vocabulary:
    """All bytes, and some tokens that lie across what ends and begins."""
    words = [*(bytes([b]) for b in range(256)), *WORDS]
    return dv.Vocabulary.from_bytes([*words, None], eos=[len(words)])


def like_a_model(rng: random.Random, allowed: object) -> int:
    """Rather one of the first: they are single bytes, among them those that end things."""
    return int(allowed[min(int(rng.random() ** 3 * len(allowed)), len(allowed) - 1)])  # type: ignore[index, arg-type]


def travels(
    grammar: dv.Grammar, vocabulary: dv.Vocabulary, rng: random.Random, steps: int, budget: int | None = None
) -> int:
    """Compares along a walk, with a constraint that was compiled again or loaded; the longest bytes of a matcher."""
    try:
        first = dv.compile(grammar, vocabulary, limits=LIMITS)
        start = first.matcher(budget)
    except DerivableError:
        return 0
    if rng.random() < 0.3:
        second = dv.Constraint.from_bytes(first.to_bytes(), vocabulary, limits=LIMITS)
    else:
        second = dv.compile(grammar, vocabulary, limits=LIMITS)
    return max(len(data) for _, data in walk(start, second, rng, steps, choose=like_a_model))


# ---- random grammars ----


def check_cases(policy: Lexing, count: int, seed: int) -> None:
    rng = random.Random(seed)
    families = (shaped(policy), enumerated(policy), contested(policy))
    cases = [case for family in families for case in sample(family, count)] + handmade(policy)
    cases += sample(list(region_cases()), count) if policy == "longest" else []
    for number, tiny in enumerate(cases):
        case = tiny if tiny.tokens else with_vocabulary(tiny, number)
        special = {f"<{token.decode('latin-1')}>": i for i, token in enumerate(case.tokens) if token[0] >= 0xF8}
        words = [None if i in special.values() else token for i, token in enumerate(case.tokens)]
        vocabulary = dv.Vocabulary.from_bytes([*words, b"</s>"], eos=[len(words)], special=special)
        for budget in (None, rng.randint(2, 12)):
            try:
                travels(case.grammar, vocabulary, rng, 8, budget)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, case {number}, budget {budget}: {case}: {error}") from error
            except LimitError as error:
                assert error.limit in {"max_liveness_steps", "max_step_work"}, case  # of the first one


@pytest.mark.parametrize("policy", POLICIES)
def test_tiny_grammars(policy: Lexing) -> None:
    check_cases(policy, CASES, 1)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_tiny_grammars(policy: Lexing) -> None:
    check_cases(policy, MANY_CASES, 2)


def check_nested(seed: int) -> None:
    rng = random.Random(seed)
    made = {f"travelling {seed} {number}": random_encoding(rng) for number in range(2)}
    with pytest.MonkeyPatch.context() as patch:
        for key, each in made.items():
            patch.setitem(encodings._MAKERS, key, lambda _, each=each: each)
        grammar, words = nested(rng, made), tokens(rng)
        vocabulary = dv.Vocabulary.from_bytes([*words, None], eos=[len(words)])
        try:
            travels(grammar, vocabulary, rng, 8)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_grammars_inside_one_another() -> None:
    for seed in range(FEW):
        check_nested(seed)


@pytest.mark.slow
def test_many_grammars_inside_one_another() -> None:
    for seed in range(FEW, MANY):
        check_nested(seed)


def check_schemas(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_schema(rng)
        if rng.random() < 0.5:
            objects = {"x": schema, "y": {"type": "array", "uniqueItems": True}, "z": schema}
            schema = rng.choice(
                [
                    {"type": "array", "uniqueItems": True, "items": schema},
                    {"type": "object", "properties": objects, "minProperties": 2, "required": ["z"]},
                    {"type": "object", "properties": objects, "additionalProperties": {"type": "boolean"}},
                ]
            )
        options = {
            "profile": rng.choice(["spec", "practical"]),
            "key_order": rng.choice(["listed", "preferred", "any"]),
        }
        try:
            grammar = dv.Grammar.from_json_schema(schema, **options)
        except DerivableError:
            continue
        try:
            travels(grammar, bytes_and_words(), rng, 40, rng.choice([None, None, rng.randint(10, 60)]))
        except (AssertionError, ArtifactError) as error:
            raise AssertionError(f"seed {seed}, {options}: {json.dumps(schema)}: {error}") from error
        except LimitError:
            continue


def test_schemas() -> None:
    check_schemas(range(FEW))


@pytest.mark.slow
def test_many_schemas() -> None:
    check_schemas(range(FEW, MANY))


# ---- one of each kind of state ----

UNIQUE = {
    "type": "array",
    "uniqueItems": True,
    "items": {"type": ["array", "object", "string", "number", "boolean", "null"], "uniqueItems": True},
}
COUNTED = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "pattern": "^[a-z]{2,9}$", "maxLength": 7},
        "b": {"enum": ["abc", "abd", "\u00e9\U0001f600", "a\nb"]},
        "c": {"type": "integer", "minimum": 3, "maximum": 999},
        "d": {"type": "array", "minItems": 2, "maxItems": 5},
        "e": {"type": "string", "minLength": 2, "maxLength": 40},
    },
    "minProperties": 2,
}
LOOKING = r"""
start: (A | B | C | D)+
A: /a(?=b|.{0,5}c)/
B: /(?<=a)b+/
C: /[bc ]+(?!\.)/
D: /\.(?<![a]\.)/
%ignore " "
"""
KINDS = {
    "counted repeats": lambda: dv.Grammar.from_regex(r"(?:[ab]{1,3} ){0,40}x|(?:\w{2,5}-){3,9}z|[\s\S]{3,50}!"),
    "distinct items": lambda: dv.Grammar.from_json_schema(UNIQUE),
    "members in any order": lambda: dv.Grammar.from_json_schema(COUNTED, key_order="any"),
    "looks": lambda: dv.Grammar.from_lark(LOOKING),
    "looks, all compete": lambda: dv.Grammar.from_lark(LOOKING, lexing="basic"),
    "bounded parts": lambda: dv.Grammar.from_regex("[ab]{1,9}").with_max_tokens(4) + dv.Grammar.from_regex("c.*"),
    "long lists of words": lambda: dv.Grammar.from_choices(
        [f"{word} {n}" for word in ("aa", "ab") for n in range(500)]
    ),
    "a language as a string": lambda: (
        dv.Grammar.from_regex("a*") + dv.Grammar.builtin("python").encoded("json") + dv.Grammar.from_regex("b+")
    ),
    "free text": lambda: dv.Grammar.free_text(until="aab") + dv.Grammar.builtin("json"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_kinds_of_states(kind: str, seed: int) -> None:
    assert travels(KINDS[kind](), bytes_and_words(), random.Random(seed), 60) > 0


@pytest.mark.parametrize("name", ["python", "go", "java", "c", "sql", "xml", "json"])
def test_built_in_grammars(name: str) -> None:
    for seed in range(2):
        size = travels(dv.Grammar.builtin(name), synthetic_vocabulary(), random.Random(seed), 60)
        assert 0 < size < 600, size


def test_the_state_is_found_when_moves_were_forgotten() -> None:
    constraint = dv.compile(dv.Grammar.builtin("python"), bytes_and_words())
    matcher = constraint.matcher()
    matcher.advance_bytes(b"def f(x):\n  if x:\n    return [(x, {1: 2")
    before = matcher.to_bytes()
    constraint._kernel.give_back()
    for data in (before, matcher.to_bytes()):
        assert facts(constraint.resume(data), 270) == facts(matcher, 270)


@pytest.mark.parametrize("text", [b"[" * 2_001, b"[" * 2_001 + b"1" + b"]" * 2_000 + b","])
def test_the_deepest_values_travel(text: bytes) -> None:
    constraint = dv.compile(dv.Grammar.from_json_schema(UNIQUE), bytes_and_words())
    matcher = constraint.matcher()
    with pytest.raises(LimitError, match="max_depth"):
        matcher.advance_bytes(b"[" * 2_002)
    matcher.advance_bytes(text)
    assert constraint.resume(matcher.to_bytes()).allowed_tokens().tolist() == matcher.allowed_tokens().tolist()


def test_a_budget_travels() -> None:
    constraint = dv.compile(dv.Grammar.builtin("python"), bytes_and_words())
    matcher = constraint.matcher(max_tokens=60)
    rng = random.Random(3)
    while not matcher.is_finished:
        other = dv.compile(constraint.grammar, constraint.vocabulary).resume(matcher.to_bytes())  # type: ignore[arg-type]
        assert (other.tokens_left, other.least_tokens) == (matcher.tokens_left, matcher.least_tokens)
        matcher = other
        matcher.advance(like_a_model(rng, matcher.allowed_tokens()))
    assert matcher.length <= 60


# ---- other processes ----

CHILD = """
import json, sys
from pathlib import Path
import derivable as dv

folder = Path(sys.argv[1])
words = [bytes([b]) for b in range(256)]
vocabulary = dv.Vocabulary.from_bytes([*words, None], eos=[256])
makers = {
    "python": lambda: dv.Grammar.builtin("python"),
    "schema": lambda: dv.Grammar.from_json_schema(json.loads((folder / "schema.json").read_text()), key_order="any"),
}
said = {}
for name, make in makers.items():
    compiled = dv.compile(make(), vocabulary)
    loaded = dv.Constraint.load(folder / name, vocabulary)
    for number, (text, state) in enumerate(json.loads((folder / "states.json").read_text())[name]):
        for constraint in (compiled, loaded):
            matcher = constraint.resume(bytes.fromhex(state))
            masks = [matcher.allowed_tokens().tolist()]
            for byte in text.encode():
                matcher.advance(byte)
                masks.append(matcher.allowed_tokens().tolist())
            said.setdefault(name, []).append(masks)
print(json.dumps(said))
"""
TEXTS = {
    "python": "def f(x):\n  if x:\n    return [(x, {1: 'a'})]\n\n  y = 2\nz = 3\n",
    "schema": '{"d":[1,2,"\\u00e9"],"e":"abc\\ud83d\\ude00","a":"abcd","c":17,"b":"abd"}',
}


def test_other_processes_with_other_hashes(tmp_path: Path) -> None:
    words = [bytes([b]) for b in range(256)]
    vocabulary = dv.Vocabulary.from_bytes([*words, None], eos=[256])
    (tmp_path / "schema.json").write_text(json.dumps(COUNTED))
    states: dict[str, list[tuple[str, str]]] = {}
    wanted: dict[str, list[list[list[int]]]] = {}
    for name, text in TEXTS.items():
        grammar = (
            dv.Grammar.builtin(name) if name == "python" else dv.Grammar.from_json_schema(COUNTED, key_order="any")
        )
        constraint = dv.compile(grammar, vocabulary)
        constraint.save(tmp_path / name)
        matcher, masks = constraint.matcher(), list[list[int]]()
        states[name] = []
        for at, byte in enumerate(text.encode()):
            states[name].append((text[at:], matcher.to_bytes().hex()))
            masks.append(matcher.allowed_tokens().tolist())
            matcher.advance(byte)
        masks.append(matcher.allowed_tokens().tolist())
        wanted[name] = [masks[at:] for at in range(len(text.encode())) for _ in range(2)]
    (tmp_path / "states.json").write_text(json.dumps(states))
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        child = [sys.executable, "-c", CHILD, str(tmp_path)]
        done = subprocess.run(child, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == wanted


# ---- what a resumed matcher can do ----


def ab() -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex("(ab)+"), dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2]))


def test_it_goes_back_to_where_it_was_resumed() -> None:
    constraint = ab()
    matcher = constraint.matcher()
    for token in (0, 1, 0):
        matcher.advance(token)
    resumed = constraint.resume(matcher.to_bytes())
    resumed.advance(1)
    forked = resumed.fork()
    with pytest.raises(RollbackError, match=r"only 1 were advanced since the matcher was resumed. Use reset\(\)"):
        forked.rollback(2)
    assert (forked.length, forked.is_accepting) == (4, True)
    forked.rollback(1)
    assert (forked.length, forked.allowed_tokens().tolist(), resumed.length) == (3, [1], 4)
    forked.reset()
    assert (forked.length, forked.allowed_tokens().tolist()) == (0, [0])
    with pytest.raises(RollbackError, match="only 0 were advanced since the start"):
        forked.rollback(1)


def test_the_end_travels() -> None:
    constraint = ab()
    matcher = constraint.matcher()
    for token in (0, 1, 2):
        matcher.advance(token)
    resumed = ab().resume(matcher.to_bytes())
    assert resumed.is_finished
    assert facts(resumed, 0) == facts(matcher, 0)


def test_kinds_of_matchers() -> None:
    prefetching = dv.compile(dv.Grammar.from_regex("[ab]*"), bytes_and_words(), prefetch=True)
    assert type(prefetching.resume(prefetching.matcher().to_bytes())) is type(prefetching.matcher())


def test_only_canonical_tokenizations_travel(tmp_path: Path) -> None:
    vocabulary = dv.Vocabulary.from_tokenizer_json(trained(tmp_path / "tokenizer.json", 3), eos=[0])
    grammar = dv.Grammar.from_regex("[abc]*")
    first, second = (dv.compile(grammar, vocabulary, canonical=True) for _ in range(2))
    refused = 0
    for seed in range(20):
        for matcher, _ in walk(first.matcher(), second, random.Random(seed), 12):
            refused += len(super(type(matcher), matcher).allowed_tokens()) - len(matcher.allowed_tokens())
    assert refused
    with pytest.raises(ArtifactError, match="another constraint"):
        dv.compile(grammar, vocabulary).resume(matcher.to_bytes())


# ---- bytes that are not a matcher's ----


def test_bytes_of_others_are_refused() -> None:
    constraint = ab()
    matcher = constraint.matcher()
    matcher.advance(0)
    data = matcher.to_bytes()
    others = [
        dv.compile(dv.Grammar.from_regex("(ab)*"), constraint.vocabulary),
        dv.compile(dv.Grammar.from_regex("(ab)+"), dv.Vocabulary.from_bytes([b"b", b"a", None], eos=[2])),
        dv.compile(dv.Grammar.from_regex("(ab)+"), constraint.vocabulary, lookahead=1),
    ]
    for other in others:
        with pytest.raises(ArtifactError, match="another constraint"):
            other.resume(data)
    with pytest.raises(ArtifactError, match=f"format {VERSION + 1}, but"):
        constraint.resume(bytes([VERSION + 1]) + data[1:])
    with pytest.raises(ArtifactError, match="damaged"):
        constraint.resume(data[:-1] + bytes([data[-1] ^ 1]))
    for end in range(len(data)):
        with pytest.raises(ArtifactError):
            constraint.resume(data[:end])
    with pytest.raises(ArtifactError):
        constraint.resume(data + b"\0")
    with pytest.raises(ArgumentError):
        constraint.resume("text")  # type: ignore[arg-type]
    for unlike in (ab()._binding, dv.compile(dv.Grammar.from_regex("(ab)+"), constraint.vocabulary)._binding):
        assert unlike == constraint._binding


@cache
def states_of(number: int) -> tuple[dv.Constraint, tuple[bytes, ...]]:
    """A constraint, and states of a walk."""
    make = [lambda: dv.Grammar.builtin("python"), *KINDS.values()][number]
    constraint = dv.compile(make(), bytes_and_words())
    rng, states = random.Random(number), list[bytes]()
    for budget in (None, 300):
        try:
            matcher = constraint.matcher(budget)
            for _ in range(30):
                states.append(unwrapped(matcher.to_bytes(), constraint._binding)[1])
                matcher.advance(like_a_model(rng, matcher.allowed_tokens()))
        except (DerivableError, IndexError):
            continue
    return constraint, tuple(states)


def works(constraint: dv.Constraint, state: bytes, rng: random.Random) -> None:
    """The bytes are refused, or there is a matcher that answers."""
    try:
        matcher = constraint.resume(wrapped(constraint._binding, [], state))
        for _ in range(3):
            allowed = matcher.allowed_tokens()
            if not len(allowed):
                break
            matcher.advance(int(rng.choice(allowed)))
            matcher.to_bytes()
        matcher.forced_tokens()
        matcher.explain(3)
        matcher.reset()
    except DerivableError:
        pass


EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["set", "add", "cut", "repeat"]), st.binary(min_size=1, max_size=4)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(KINDS)), st.floats(0, 1), EDITS, st.randoms(use_true_random=False))
def test_forged_states(number: int, which: float, edits: list[tuple[float, str, bytes]], rng: random.Random) -> None:
    constraint, states = states_of(number)
    state = bytearray(states[int(which * (len(states) - 1))])
    for place, edit, data in edits:
        at = int(place * len(state))
        match edit:
            case "set":
                state[at : at + len(data)] = data
            case "add":
                state[at:at] = data
            case "cut":
                del state[at : at + len(data)]
            case _:
                state[at:at] = state[at : at + 8 * len(data)]
    works(constraint, bytes(state), rng)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(KINDS)), st.binary(max_size=60), st.randoms(use_true_random=False))
def test_bytes_at_random(number: int, state: bytes, rng: random.Random) -> None:
    works(states_of(number)[0], state, rng)


def test_what_a_state_may_ask_for_is_bounded() -> None:
    constraint, _ = states_of(0)
    for state in (b"\0\0" + b"\xff" * 9 + b"\x01", b"\0\0\0" + b"\xff\xff\xff\xff\x0f", b"\0\0" + b"\x80" * 20):
        with pytest.raises(ArtifactError):
            constraint.resume(wrapped(constraint._binding, [], state))


def test_a_forged_count_changes_no_other_text() -> None:
    """Places in strings are told apart by 32 bits of how many characters they have: 40, and 40 and 2^32, look alike."""
    schema = {"type": "string", "pattern": "^[a-z]*$", "maxLength": (1 << 32) + 40}
    constraint = dv.compile(dv.Grammar.from_json_schema(schema), bytes_and_words())
    matcher = constraint.matcher()
    matcher.advance_bytes(b'"abc')
    state, room = matcher.state(), b"\xa5\x80\x80\x80\x10"
    assert state.count(room) == 1
    with pytest.raises(ArtifactError, match="out of place"):
        constraint.resume(wrapped(constraint._binding, [], state.replace(room, b"\0")))
    matcher.advance_bytes(b"a" * 37)
    assert matcher.allows(ord("a"))


def test_forged_obligations_are_refused() -> None:
    constraint = dv.compile(dv.Grammar.from_lark("start: A+\nA: /[ab]*c/\n"), bytes_and_words())
    for count, error in ((b"\xff\x1f", "cut off"), (b"\x80\x20", "out of place")):  # 4,095 obligations, and one more
        forged = b"\0\0\0\x01\x05\x01\0\x01" + count + b"\x02\x01\x01\0" * 4_096
        with pytest.raises(ArtifactError, match=error):
            constraint.resume(wrapped(constraint._binding, [], forged[:-4]))
    looks = dv.compile(KINDS["looks, all compete"](), bytes_and_words())
    with pytest.raises(ArtifactError, match="out of place"):  # what stands before the lexeme in progress is left out
        looks.resume(wrapped(looks._binding, [], bytes.fromhex("170001020503010101010000010000")))
