"""JSON string literals by rule: against tables, against `json.loads`, and their masks bit by bit."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable

import numpy as np
import pytest
from big_vocabulary import check, mask_of, synthetic_vocabulary

import derivable as dv
from derivable._kernel import JsonStrings as JsonLiterals
from derivable.automata import JSON_CHARACTER, compile_expr, json_strings
from derivable.expr import ANY_CHAR, Alt, And, Bytes, ByteSet, Chars, Concat, Expr, JsonStrings, JsonText, Ref, Repeat
from derivable.frontends.regex import parse_regex
from derivable.grammar import Grammar, Terminal

BYTES = dv.Vocabulary.from_bytes([bytes([b]) for b in range(256)] + [b""], eos=[256])
VALUES = ("", "a", "ab", "name", "né", "\n", "🙂", "🙂b", '"', "\\", "/")


def spell(value: str, rng: random.Random) -> str:
    """Some spelling of a string."""
    out = []
    for c in value:
        ways = [json.dumps(c)[1:-1]]
        units = c.encode("utf-16-be")
        ways.append(
            "".join(rng.choice([str.lower, str.upper])(units[i : i + 2].hex()) for i in range(0, len(units), 2))
        )
        ways[-1] = "".join(f"\\u{ways[-1][i : i + 4]}" for i in range(0, len(ways[-1]), 4))
        ways += [c] if c >= " " and c not in '"\\' else []
        ways += ["\\/"] if c == "/" else []
        out.append(rng.choice(ways))
    return '"' + "".join(out) + '"'


def grammar(*literals: JsonStrings) -> Grammar:
    names = {f"S{i}": Terminal(literal) for i, literal in enumerate(literals)}
    rules: dict[str, Expr] = {"start": Alt(tuple(Concat((Ref(n), Ref("END"))) for n in names))}
    return Grammar(rules, {**names, "END": Terminal(Bytes(b";"))}, "start")


CASES = [
    JsonStrings(),
    JsonStrings(VALUES, negated=False),
    JsonStrings(VALUES),
    JsonStrings(("name", "number"), negated=True, min_length=2, max_length=6),
    JsonStrings(min_length=2),
    JsonStrings(max_length=0),
    JsonStrings(min_length=1, max_length=3),
    JsonStrings(("a", "bc"), negated=True, max_length=1),
    JsonStrings(max_length=100_000),
]


def is_member(literals: JsonStrings, value: str) -> bool:
    if not literals.negated:
        return value in literals.values
    fits = literals.min_length <= len(value) <= (len(value) if literals.max_length is None else literals.max_length)
    return fits and value not in literals.values


@pytest.mark.parametrize("literals", CASES, ids=repr)
def test_membership(literals: JsonStrings) -> None:
    rng = random.Random(3)
    constraint = dv.compile(grammar(literals), BYTES)
    values = {*VALUES, "abc", "number", "namex", "nam", "bc", "b", "x" * 300, "\U0010ffff" * 2, "é" * 3, "\x7f"}
    for value in sorted(values):
        for _ in range(6):
            text = spell(value, rng)
            matcher = constraint.matcher()
            try:
                matcher.advance_bytes(text.encode() + b";")
                accepted = matcher.is_accepting
            except dv.TokenRejectedError:
                accepted = False
            assert accepted == is_member(literals, value), text


LONE = Concat((Bytes(b"\xed"), ByteSet(((0xA0, 0xBF),)), ByteSet(((0x80, 0xBF),))))
HIGH = Concat((Bytes(b"\xed"), ByteSet(((0xA0, 0xAF),)), ByteSet(((0x80, 0xBF),))))
LOW = Concat((Bytes(b"\xed"), ByteSet(((0xB0, 0xBF),)), ByteSet(((0x80, 0xBF),))))
CHARACTERS = (
    Chars.of((0x61, 0x7A)),
    Chars.of((0, 0x1F)),
    Chars.of((0xD700, 0xE0FF)),
    Chars.of((0x1F600, 0x1F64F)),
    Chars.of((0x10FFF0, 0x10FFFF)),
    Chars.of((0x2F, 0x2F), (0xE9, 0xE9)),
    ANY_CHAR,
    Bytes(b'"\\/\n'),
    Bytes("🙂é".encode()),
    LONE,
    HIGH,
    LOW,
)


@pytest.mark.parametrize("seed", range(120))
def test_values_by_an_automaton_are_spelled_as_its_table_is(seed: int) -> None:
    rng = random.Random(seed)

    def some(depth: int) -> Expr:
        kind = rng.randrange(4) if depth else 0
        if kind == 0:
            return rng.choice(CHARACTERS)
        if kind == 1:
            return Concat((some(depth - 1), some(depth - 1)))
        if kind == 2:
            return Alt((some(depth - 1), some(depth - 1)))
        low = rng.randrange(2)
        return Repeat(some(depth - 1), low, rng.choice((None, low + 1)))

    values = compile_expr(some(3))
    longest = rng.choice((None, 0, 1, 2, 3, 5))
    bounded = values.intersection(compile_expr(Repeat(JSON_CHARACTER, 0, longest)), 200_000)
    table, by_rule = bounded.json_text(200_000), JsonLiterals.of_values(values, 200_000, longest)
    assert table.is_empty == by_rule.is_empty
    for _ in range(6 if not table.is_empty else 0):
        at, state, text = 0, 0, b""
        for _ in range(40):
            following = [b for b in range(256) if table.step(at, b) >= 0]
            assert following == [b for b in range(256) if by_rule.step(state, b) >= 0], text
            assert table.is_accepting(at) == by_rule.accepts(state), text
            if not following:
                break
            escapes = [b for b in following if b in b"\\uUdD8cC"]
            byte = rng.choice(escapes if escapes and rng.random() < 0.6 else following)
            at, state, text = table.step(at, byte), by_rule.step(state, byte), text + bytes([byte])


def test_what_is_no_literal_is_refused() -> None:
    constraint = dv.compile(grammar(JsonStrings()), BYTES)
    for text in (b'"\x1f', b'"\\x', b'"\\u00g', b'"\xff', b'"\xed\xa0', b'"\xc0\x80', b'"\xf4\x90', b"a"):
        matcher = constraint.matcher()
        with pytest.raises(dv.TokenRejectedError):
            matcher.advance_bytes(text)


def test_a_surrogate_pair_is_one_character_and_so_is_a_lone_surrogate() -> None:
    two = dv.compile(grammar(JsonStrings(min_length=2, max_length=2)), BYTES)
    for text in (
        r'"\ud83d\ude00\ud83d\ude00"',
        r'"\ud83d\ud83d"',
        r'"\ude00\ud83d"',
        r'"\ud83dx"',
        r'"\ud83d\ude00x"',
        r'"\ud83d\n"',
    ):
        matcher = two.matcher()
        matcher.advance_bytes(text.encode() + b";")
        assert matcher.is_accepting
        assert len(json.loads(text)) == 2
    for text in (r'"\ud83d\ude00"', r'"\ud83d\ude00\ud83d\ude00x'):
        with pytest.raises(dv.TokenRejectedError):
            two.matcher().advance_bytes(text.encode())


@pytest.mark.parametrize("literals", [c for c in CASES if c.max_length != 100_000], ids=repr)
def test_table_and_rule_agree(literals: JsonStrings) -> None:
    """The same language through an automaton: both give the same bytes everywhere along random texts."""
    by_rule = dv.compile(grammar(literals), BYTES)
    wrapped = Grammar(
        {"start": Concat((Ref("S"), Ref("E")))}, {"S": Terminal(Alt((literals,))), "E": Terminal(Bytes(b";"))}, "start"
    )
    by_table = dv.compile(wrapped, BYTES)
    rng = random.Random(11)
    for _ in range(60):
        a, b = by_rule.matcher(), by_table.matcher()
        for _ in range(40):
            assert a.next_bytes() == b.next_bytes()
            if not a.next_bytes():
                break
            byte = bytes([rng.choice(a.next_bytes() + b'"\\und8')])
            if byte not in a.next_bytes():
                continue
            a.advance_bytes(byte)
            b.advance_bytes(byte)


TEXTS = ['"na\\u006de";', '"nbé\\ud83d\\ude00";', '"abcdefgh', '"\\ud83d', '"a', '"a b c d e f g']


@pytest.mark.parametrize("literals", CASES, ids=repr)
def test_masks_over_a_big_vocabulary(literals: JsonStrings) -> None:
    vocabulary = synthetic_vocabulary()
    constraint = dv.compile(grammar(literals), vocabulary)
    for text in TEXTS:
        data = text.encode()
        probe = constraint.matcher()
        for end in range(len(data), 0, -1):
            try:
                probe.advance_bytes(data[:end])
                break
            except dv.TokenRejectedError:
                continue
        else:
            end = 0
        check(grammar(literals), data[:end].decode("utf-8", "ignore"), vocabulary)


def test_several_terminals_side_by_side() -> None:
    literals = (
        JsonStrings(("name", "note"), negated=False),
        JsonStrings(("name", "note", "x")),
        JsonStrings(max_length=4),
    )
    check(grammar(*literals), '"notes and more";', synthetic_vocabulary())


def test_long_lists_and_large_bounds_cost_little() -> None:
    many = tuple("".join(p) for p in itertools.product("abcdefghij", repeat=4))
    matcher = dv.compile(grammar(JsonStrings(many, negated=False), JsonStrings(min_length=10**9)), BYTES).matcher()
    matcher.advance_bytes(b'"abcd"')
    assert matcher.next_bytes() == b";"


def test_empty_languages() -> None:
    assert json_strings(JsonStrings((), negated=False)).is_empty
    assert json_strings(JsonStrings(("",), negated=True, max_length=0)).is_empty
    assert json_strings(JsonStrings(min_length=3, max_length=2)).is_empty
    with pytest.raises(dv.GrammarError, match="lone surrogate"):
        json_strings(JsonStrings(("\ud800",), negated=False))


BOUNDED = (
    ("[a-c]+(-[a-c]+)*", 60),
    ("([^b]*b){2}", 40),
    (r"\d{3}x?|é{4,}", 5),
    (r"(\S+\s+){0,30}\S+", None),
    (r"[\w\\é]{3,50}", None),
    (r"([^\d]{2}\d?){9,40}", 70),
    (r"ab?:.{1,70}", None),
)


@pytest.mark.parametrize(("pattern", "longest"), BOUNDED)
def test_a_bound_beside_a_pattern_by_table_and_by_rule(pattern: str, longest: int | None) -> None:
    """Also near the bound, and over a vocabulary of long tokens, where states far from it are shared or act alike."""
    bounded: Expr = JsonText(parse_regex(pattern))
    if longest is not None:
        bounded = And((bounded, JsonStrings(max_length=longest)))
    end = Terminal(Bytes(b";"))
    rule = Concat((Ref("S"), Ref("E")))
    vocabulary = synthetic_vocabulary()
    by_rule = dv.compile(Grammar({"start": rule}, {"S": Terminal(bounded), "E": end}, "start"), vocabulary)
    table = Terminal(Alt((Bytes(b"!"), bounded)))  # one that is a table
    by_table = dv.compile(Grammar({"start": rule}, {"S": table, "E": end}, "start"), vocabulary)
    rng = random.Random(pattern)
    quotes = np.array([b'"' in (token or b"") for token in vocabulary.tokens])
    for _ in range(30):
        a, b = by_rule.matcher(), by_table.matcher()
        for step in range(2 * (longest or 60)):
            token = vocabulary.tokens.index(b'"')
            if step:
                allowed = a.allowed_tokens()
                assert np.array_equal(allowed, b.allowed_tokens())
                within = allowed[~quotes[allowed]]
                if not len(allowed):
                    break
                token = int(rng.choice(within if len(within) and rng.random() < 0.9 else allowed))
            if token in vocabulary.eos_ids:
                break
            a.advance(token)
            b.advance(token)


@pytest.mark.parametrize("pattern", [r"(\S+\s+){0,40}\S+", r"(a{2} ){3,70}b", r"[a-z]{60}(-[a-z]{3}){0,20}"])
@pytest.mark.parametrize("wrap", [lambda expr: expr, lambda expr: Alt((Bytes(b"!"), expr))], ids=["rule", "table"])
def test_states_that_no_token_tells_apart(pattern: str, wrap: Callable[[Expr], Expr]) -> None:
    """Where a count is far from its bound all are one, and how far that is depends on the longest token."""
    tokens = {bytes([b]) for b in range(256)}
    for length in (2, 5, 24, 60, 96):
        tokens |= {(unit * length)[:length] for unit in (b"a", b" ", b"a ", b" a", b"aa ", b"-abc", b"xy\xc3\xa9")}
    vocabulary = dv.Vocabulary.from_bytes([*sorted(tokens), b"<eos>"], eos=[len(tokens)])
    rules: dict[str, Expr] = {"start": Concat((Ref("S"), Ref("END")))}
    terminals = {"S": Terminal(wrap(JsonText(parse_regex(pattern)))), "END": Terminal(Bytes(b";"))}
    matcher = dv.compile(Grammar(rules, terminals, "start"), vocabulary).matcher()
    unit = {"(": b"aa ", "[": b"a"}[pattern[0]]
    for count in range(0, 90, 3):
        probe = matcher.fork()
        try:
            probe.advance_bytes(b'"' + unit * count)
        except dv.TokenRejectedError:
            break
        verdicts = np.fromiter((probe.allows(t) for t in range(vocabulary.size)), dtype=np.uint8)
        assert np.array_equal(mask_of(probe, vocabulary), verdicts), count
    assert count > 12
