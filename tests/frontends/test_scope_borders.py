"""Is a meaning told where rules begin and end, whatever the grammar? Held against all derivations of tiny grammars."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator
from functools import cache
from itertools import product

import pytest

import derivable as dv
from derivable.errors import GrammarError, MeaningError, UnsupportedFeatureError
from derivable.expr import EMPTY, Alt

BYTES = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(128)), b"ab", b"ba", b"{a", b"};", None], eos=[132])
LONGEST = 5
SHAPES = (
    {"start": "s+", "s": "A B | A"},
    {"start": "s", "s": "A s B | A"},
    {"start": "s A | B", "s": "t B", "t": "A | B A"},
    {"start": "s*", "s": "t? B", "t": "A"},
    {"start": "s t", "s": "A?", "t": "B?"},
    {"start": "s", "s": "t* B?", "t": "A | C"},
    {"start": "s | t", "s": "A t C", "t": "B | s"},
    {"start": "s~2..3", "s": "A | t", "t": "B? C?"},
    {"start": "A s", "s": "B | B t", "t": "s C | A"},
    {"start": "(s B)+ t", "s": "A t?", "t": "C"},
    {"start": "s", "s": "t? A? B? C? t?", "t": "B | C"},
    {"start": "s? A", "s": "t* A? B t?", "t": "A? C?"},
)

Event = tuple[str, str, str]
"""What a meaning is told: a method, the scope or slot, the text."""


class Told(dv.Meaning):
    """Some sequences of events are refused. In every state some names are allowed, and something is not."""

    def __init__(self, seed: int, slots: tuple[str, ...], scopes: tuple[str, ...]) -> None:
        self.slots, self.scopes = slots, scopes
        self._seed = seed

    def start(self) -> Hashable:
        return 0

    def _step(self, state: int, *event: str) -> int | None:
        draw = random.Random(f"{self._seed} {state} {event}")
        return None if draw.random() < 0.1 else draw.randrange(4)

    def enter(self, state: int, scope: str) -> Hashable:
        return self._step(state, "enter", scope)

    def leave(self, state: int, scope: str) -> Hashable:
        return self._step(state, "leave", scope)

    def read(self, state: int, slot: str, text: str) -> Hashable:
        return self._step(state, "read", slot, text)

    def may_end(self, state: int) -> bool:
        return random.Random(f"{self._seed} {state}").random() < 0.8

    def takes(self, events: tuple[Event, ...]) -> bool:
        state: int | None = 0
        for method, *event in events:
            state = None if state is None else self._step(state, method, *[part for part in event if part])
        return state is not None and self.may_end(state)


def derivations(
    shape: dict[str, str], slots: tuple[str, ...], scopes: tuple[str, ...]
) -> set[tuple[str, tuple[Event, ...]]]:
    """All texts of up to `LONGEST` letters, with what a meaning is told of each."""
    found: dict[str, set[tuple[str, tuple[Event, ...]]]] = {name: set() for name in shape}
    for letter in "ABC":
        text = letter.lower()
        found[letter] = {(text, (("read", letter, text),) if letter in slots else ())}
    bodies = {name: [tuple(way.split()) for way in body.split("|")] for name, body in shape.items()}
    changed = True
    while changed:
        changed = False
        for name, ways in bodies.items():
            for way in ways:
                for text, events in joined(way, found):
                    if text and name in scopes:
                        events = (("enter", name, ""), *events, ("leave", name, ""))
                    if (text, events) not in found[name]:
                        found[name].add((text, events))
                        changed = True
    return found["start"]


def joined(
    way: tuple[str, ...], found: dict[str, set[tuple[str, tuple[Event, ...]]]]
) -> Iterator[tuple[str, tuple[Event, ...]]]:
    if not way:
        yield "", ()
        return
    for text, events in list(found[way[0]]):
        for rest, further in joined(way[1:], found):
            if len(text + rest) <= LONGEST:
                yield text + rest, (*events, *further)


@cache
def plain(shape: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """The same with nothing but sequences and alternatives: repeats are rules of their own."""
    made: dict[str, str] = {}
    for name, body in shape:
        ways = []
        for way in body.replace("(s B)+", "_p").split("|"):
            words = []
            for word in way.split():
                base, mark = (word[:-1], word[-1]) if word[-1] in "?*+" else (word, "")
                if mark:
                    made[f"{base}{mark}"] = {
                        "?": f" | {base}",
                        "*": f" | {base} {base}*",
                        "+": f"{base} | {base} {base}+",
                    }[mark]
                if word == "s~2..3":
                    made[word] = "s s | s s s"
                if word == "_p":
                    made |= {"p+": "s B | s B p+"}
                    word = "p+"
                words.append(word)
            ways.append(" ".join(words))
        made[name] = " | ".join(ways)
    return made


@pytest.mark.parametrize("lexing", ["scannerless", "longest", "basic"])
@pytest.mark.parametrize("shape", SHAPES)
def test_texts_are_those_of_all_derivations(shape: dict[str, str], lexing: dv.Lexing) -> None:
    rules = "\n".join(f"{name}: {body}" for name, body in shape.items())
    source = f'{rules}\nA: "a"\nB: "b"\nC: "c"\n'
    taken = refused = 0
    for seed in range(6):
        draw = random.Random(seed)
        scopes = tuple(name for name in shape if draw.random() < 0.6) or ("start",)
        slots = tuple(letter for letter in "ABC" if f"{letter}" in rules and draw.random() < 0.5)
        meaning = Told(seed, slots, scopes)
        try:
            grammar = dv.Grammar.from_lark(source, lexing=lexing).with_meaning(meaning)
        except GrammarError as error:
            assert "with itself" in str(error)
            continue
        constraint = dv.compile(grammar, BYTES)
        expected = {
            text for text, events in derivations(plain(tuple(shape.items())), slots, scopes) if meaning.takes(events)
        }
        for length in range(LONGEST + 1):
            for text in map("".join, product("abc", repeat=length)):
                matcher = constraint.matcher()
                try:
                    matcher.advance_bytes(text.encode())
                    found = matcher.is_accepting
                except dv.TokenRejectedError:
                    found = False
                assert found == (text in expected), (seed, scopes, slots, text)
                taken, refused = taken + found, refused + (not found)
    assert taken > 5 < refused


class Blocks(dv.Meaning):
    """Names that are declared in this block or around it."""

    slots = ("NAME", "USED")
    scopes = ("block",)
    free = ("USED", "block")

    def start(self) -> Hashable:
        return (frozenset[str](),)

    def names(self, state: tuple[frozenset[str], ...], slot: str) -> dv.Names:
        declared = frozenset[str]().union(*state)
        return dv.Names(declared) if slot == "USED" else dv.Names(state[-1], others=True)

    def read(self, state: tuple[frozenset[str], ...], slot: str, text: str) -> Hashable:
        return (*state[:-1], state[-1] | {text}) if slot == "NAME" else state

    def enter(self, state: tuple[frozenset[str], ...], scope: str) -> Hashable:
        return None if len(state) > 3 else (*state, frozenset())

    def leave(self, state: tuple[frozenset[str], ...], scope: str) -> Hashable:
        return state[:-1]


BLOCKS = """
start: statement+
statement: "let " NAME ";" -> declaration | "use " USED ";" -> use | block
block: "{" statement* "}"
NAME: /[a-z]+/
USED: /[a-z]+/
"""


def blocks() -> dv.Grammar:
    return dv.Grammar.from_lark(BLOCKS).with_meaning(Blocks())


def test_names_end_with_their_block() -> None:
    matcher = dv.compile(blocks(), BYTES).matcher()
    matcher.advance_bytes(b"let ab;{let cd;use ")
    assert matcher.next_bytes() == b"ac"
    matcher.advance_bytes(b"cd;}use ")
    assert matcher.next_bytes() == b"a"
    assert matcher.explain(ord("c")).names["USED"] == ("ab",)
    with pytest.raises(dv.TokenRejectedError):
        matcher.advance_bytes(b"cd")


def test_a_scope_that_must_not_begin() -> None:
    matcher = dv.compile(blocks(), BYTES).matcher()
    matcher.advance_bytes(b"{{{")
    assert ord("{") not in matcher.next_bytes()


def test_tokens_over_several_borders() -> None:
    matcher = dv.compile(blocks(), BYTES).matcher()
    for text in (b"let ab;{let ba;", b"use b", b"a;", b"}", b"use a", b"b;{", b"}"):
        matcher.advance_bytes(text)
        allowed = set(matcher.allowed_tokens().tolist())
        for token in range(132):
            assert matcher.allows(token) == (token in allowed) == bool(matcher.spells([BYTES.token_bytes(token)])[0])


def test_trees_budgets_and_states() -> None:
    constraint = dv.compile(blocks(), BYTES)
    plain = dv.compile(dv.Grammar.from_lark(BLOCKS), BYTES)
    for text in ("let ab;{use ab;{}}{let cd;}", "{}{{let a;{}}}let b;"):
        assert str(constraint.parse(text)) == str(plain.parse(text))
    draw = random.Random(1)
    for _ in range(20):
        matcher = constraint.matcher(max_tokens=30)
        while not matcher.is_finished:
            matcher.advance(draw.choice(matcher.allowed_tokens().tolist()))
            matcher = constraint.resume(matcher.to_bytes())


def test_what_may_all_be_empty_stays_small() -> None:
    """By which is the first and which the last, and not by which are there."""

    class Told(dv.Meaning):
        scopes = ("start",)

    count = 60
    many = " ".join(f'"{chr(97 + n % 26)}"?' for n in range(count))
    made = dv.Grammar.from_lark(f"start: {many}").with_meaning(Told()).rules["start"]
    assert isinstance(made, Alt)
    ways, empty = made.items
    assert empty == EMPTY
    assert isinstance(ways, Alt)
    assert len(ways.items) == count * (count + 1) // 2


def test_what_a_scope_raises_says_where() -> None:
    class Failing(Blocks):
        free = ("USED",)

        def leave(self, state: tuple[frozenset[str], ...], scope: str) -> Hashable:
            raise KeyError("gone")

    matcher = dv.compile(dv.Grammar.from_lark(BLOCKS).with_meaning(Failing()), BYTES).matcher()
    matcher.advance_bytes(b"{")
    with pytest.raises(MeaningError, match=r"Failing\.leave\(\) raised KeyError for the scope 'block'"):
        matcher.advance_bytes(b"}let ")


def test_wrong_scopes_teach() -> None:
    class Wrong(dv.Meaning):
        def __init__(self, *scopes: str) -> None:
            self.scopes = scopes

    grammar = dv.Grammar.from_lark(BLOCKS)
    with pytest.raises(GrammarError, match="is no rule"):
        grammar.with_meaning(Wrong("blocks"))
    with pytest.raises(GrammarError, match="may end with itself"):
        dv.Grammar.from_lark('start: "a" start | "b"').with_meaning(Wrong("start"))
    with pytest.raises(GrammarError, match="may begin with itself"):
        dv.Grammar.from_lark('start: start "a" | "b"').with_meaning(Wrong("start"))
    with pytest.raises(UnsupportedFeatureError, match="no lexeme of text"):
        dv.Grammar.builtin("python").with_meaning(Wrong("_block"))
    chain = "\n".join(f'r{n}: r{n + 1} "x"' for n in range(5_000))
    with pytest.raises(dv.LimitError, match="max_depth"):
        dv.Grammar.from_lark(f'start: r0\n{chain}\nr5000: "y"').with_meaning(Wrong("start"))
    with pytest.raises(dv.ArgumentError, match="scopes"):
        grammar.with_meaning(Wrong(3))  # type: ignore[arg-type]
