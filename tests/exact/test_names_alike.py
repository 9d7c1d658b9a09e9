"""Names behind which the same may follow: are masks what they say one by one, and do texts end in time?"""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest
from accepting import BYTES, accepts

import derivable as dv

SCANNERLESS = r"""
start: "let " alias ("," alias)* ":" use ("," use)*
alias: NAME
use: qualifier "." field
qualifier: NAME
field: NAME
NAME: /[a-cA-C]+/
"""
GRAMMAR = {"scannerless": SCANNERLESS, "longest": SCANNERLESS.replace('"let "', '"let"') + '%ignore " "\n'}
TOKENS = [*"let", " ", ",", ":", ".", *"abcABC", "ab", "ba", "abc", "cab", "let ", "let a", "a,b", "a,a", "A,a", "ab,"]
TOKENS += [",a", ":a", "a:a", "b:b.", "b:b.a", "a.b", "a.a", "b.a,", "a.b,a", "a.b,b.a", "ab.c", ".a,", "c,", "bb"]
TOKENS += ["ab,ab", "ab:ab.a", " a", "a ", " , ", "c.c", "cc,cc:cc.a"]
VOCABULARY = dv.Vocabulary.from_bytes([*[token.encode() for token in TOKENS], None], eos=[len(TOKENS)])


class Aliases(dv.Meaning):
    """Aliases are told apart in any case, and used where they were given. Of `a` only one field is there."""

    slots = ("alias", "qualifier", "field")
    free = ("alias",)
    longest = 16

    def __init__(self, marks: bool) -> None:
        self._marks = marks

    def start(self) -> Hashable:
        return ((), None)

    def names(self, state: tuple[tuple[str, ...], str | None], slot: str) -> dv.Names:
        given, used = state
        if slot == "alias":
            marked = (dv.Names((*given, "a"), ignore_case=True),) if self._marks else None
            return dv.Names(given, ignore_case=True, others=True, marked=marked)
        if slot == "qualifier":
            return dv.Names(given, ignore_case=True)
        return dv.Names(["b"] if used == "a" else ["a", "b", "c"])

    def read(self, state: tuple[tuple[str, ...], str | None], slot: str, text: str) -> Hashable:
        given, _ = state
        if slot == "alias":
            return ((*given, text.lower()), None)
        return (given, text.lower() if slot == "qualifier" else None)

    def missing(self, state: tuple[tuple[str, ...], str | None]) -> list[str] | None:
        return [max(["", *state[0]], key=len)] if self._marks else None


def test_names_whose_case_counts_beside_others() -> None:
    names = dv.Names(["ab", "c"], ignore_case=True, exact=["AbC", "c"])
    taken = {"ab": True, "aB": True, "C": True, "AbC": True, "abc": False, "ABC": False, "A": False}
    assert {text: text in names for text in taken} == taken
    assert len(names) == 3 and names == dv.Names(["AB", "c"], ignore_case=True, exact=["AbC"])
    assert names != dv.Names(["ab", "c"], ignore_case=True)
    assert dv.Names(["a"], exact=["b"]) == dv.Names(["a", "b"])

    class Fixed(dv.Meaning):
        slots = ("WORD",)

        def __init__(self, others: bool) -> None:
            self._names = dv.Names(["ab", "c"], ignore_case=True, exact=["AbC", "c"], others=others)

        def names(self, state: Hashable, slot: str) -> dv.Names:
            return self._names

    words = dv.Grammar.from_lark("start: WORD\nWORD: /[A-Ca-c]+/")
    for others in (False, True):
        constraint = dv.compile(words.with_meaning(Fixed(others)), BYTES)
        assert {text: accepts(constraint, text) for text in taken} == {text: taken[text] != others for text in taken}


@pytest.mark.parametrize("policy", ["scannerless", "longest", "basic"])
def test_masks_are_those_of_each_name(policy: dv.Lexing) -> None:
    grammar = dv.Grammar.from_lark(GRAMMAR["scannerless" if policy == "scannerless" else "longest"], lexing=policy)
    made = dv.compile(grammar.with_meaning(Aliases(marks=True)), VOCABULARY)
    plain = dv.compile(grammar.with_meaning(Aliases(marks=False)), VOCABULARY)
    alike = 0
    for seed in range(60):
        rng = random.Random(seed)
        one, other = made.matcher(), plain.matcher()
        for _ in range(12):
            allowed = one.allowed_tokens().tolist()
            assert allowed == other.allowed_tokens().tolist() == [t for t in range(VOCABULARY.size) if one.allows(t)]
            alike += sum(TOKENS[t] in ("ab,", "c,", "b:b.") for t in allowed if t < len(TOKENS))
            token = rng.choice(allowed)
            one.advance(token)
            other.advance(token)
            if one.is_finished:
                break
    assert alike


class Capitals(dv.Meaning):
    """Of `AB` only one field is there, and of `ab` all."""

    slots = ("alias", "field")
    free = ("alias",)

    def __init__(self, marks: bool) -> None:
        self._marks = marks

    def names(self, state: str, slot: str) -> dv.Names:
        if slot == "alias":
            return dv.Names((), others=True, marked=(dv.Names(["AB", "CAB"]),) if self._marks else None)
        return dv.Names(["b"] if state in ("AB", "CAB") else ["a", "b", "c"])

    def read(self, state: str, slot: str, text: str) -> Hashable:
        return text if slot == "alias" else state


def test_marked_names_are_told_apart_by_case() -> None:
    grammar = dv.Grammar.from_lark('start: alias "." field\nalias: NAME\nfield: NAME\nNAME: /[a-cA-C]+/\n%ignore " "\n')
    tokens = ["AB.a", "AB.b", "ab.a", "CAB.a", "CAB.b", "Ab.a", "b", None]
    vocabulary = dv.Vocabulary.from_bytes([None if token is None else token.encode() for token in tokens], eos=[7])
    for marks in (True, False):
        matcher = dv.compile(grammar.with_meaning(Capitals(marks)), vocabulary).matcher()
        assert [tokens[t] for t in matcher.allowed_tokens().tolist()] == ["AB.b", "ab.a", "CAB.b", "Ab.a", "b"]


@pytest.mark.parametrize("policy", ["scannerless", "longest", "basic"])
def test_texts_end_in_time(policy: dv.Lexing) -> None:
    grammar = dv.Grammar.from_lark(GRAMMAR["scannerless" if policy == "scannerless" else "longest"], lexing=policy)
    made = dv.compile(grammar.with_meaning(Aliases(marks=True)), VOCABULARY)
    felt = 0
    for seed in range(200):
        rng = random.Random(seed)
        most = rng.randrange(14, 40)
        matcher, taken = made.matcher(max_tokens=most), 0
        while not matcher.is_finished:
            allowed = matcher.allowed_tokens().tolist()
            assert allowed, (policy, seed, taken)
            if not seed % 10:
                assert allowed == [t for t in range(VOCABULARY.size) if matcher.allows(t)], (policy, seed, taken)
            matcher.advance(rng.choice(allowed))
            taken += 1
        assert taken <= most
        felt += taken > most - 6
    assert felt


WORDS = r"""
start: "select" column
column: NAME
NAME: /(?!(?:from|select)(?![a-z]))[a-z]+/
%ignore " "
"""


@pytest.mark.parametrize("slots", [(), ("column",)])
def test_a_keyword_goes_on_as_a_name(slots: tuple[str, ...]) -> None:
    class Any(dv.Meaning):
        pass

    Any.slots = slots
    grammar = dv.Grammar.from_lark(WORDS)
    constraint = dv.compile(grammar.with_meaning(Any()) if slots else grammar, BYTES)
    matcher = constraint.matcher(max_tokens=40)
    matcher.advance_bytes(b"select from")
    assert not matcher.is_accepting
    assert matcher.least_tokens == 2


def test_what_leads_to_one_state_may_lead_to_two() -> None:
    class Modes(dv.Meaning):
        slots = ("WORD",)

        def start(self) -> str:
            return "begin"

        def names(self, state: str, slot: str) -> list[str]:
            offered = {"begin": ["x", "y"], "kx": ["a", "b"], "ky": ["a", "b"], "S": ["p"], "T": ["q"]}
            return offered.get(state, ["k"])

        def read(self, state: str, slot: str, text: str) -> str:
            if state == "begin":
                return f"in {text}"
            if state.startswith("in "):
                return f"k{state[3:]}"
            if state in ("kx", "ky"):
                return "T" if (state, text) == ("ky", "b") else "S"
            return "end"

    grammar = dv.Grammar.from_lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/').with_meaning(Modes())
    tokens = [b"x,", b"y,", b"k,a,p", b"k,b,p", b"k,b,q", b"k,a,q", b"k"]
    constraint = dv.compile(grammar, dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)]))
    for first, wanted in ((0, [2, 3, 6]), (1, [2, 4, 6])):
        matcher = constraint.matcher()
        matcher.advance(first)
        assert matcher.allowed_tokens().tolist() == wanted
        assert [token for token in range(len(tokens)) if matcher.allows(token)] == wanted


@pytest.mark.parametrize("slot", ["A", "name"])
def test_a_terminal_with_the_texts_of_a_slot_stays_one(slot: str) -> None:
    class OnlyX(dv.Meaning):
        slots = (slot,)

        def names(self, state: Hashable, slot: str) -> list[str]:
            return ["x"]

    text = "start: B name B\nname: A\nA: /[xy]/\nB: /[xy]/"
    vocab = dv.Vocabulary.from_bytes([b"x", b"y", b"yxy", b"yyy", None], eos=[4])
    matcher = dv.compile(dv.Grammar.from_lark(text, lexing="scannerless").with_meaning(OnlyX()), vocab).matcher()
    assert matcher.allowed_tokens().tolist() == [0, 1, 2]


class Chosen(dv.Meaning):
    """The first name says which names come later. It raises where it is asked for a slot that cannot come."""

    def __init__(self, *slots: str) -> None:
        self.slots = self.free = slots

    def start(self) -> Hashable:
        return "plain"

    def names(self, state: Hashable, slot: str) -> dv.Names:
        if slot == "other":
            assert state == "plain"
        if slot == "third":
            return dv.Names(["p" if state == "plain" else "o"])
        if slot == "digit":
            return dv.Names(["1" if state == "plain" else "2"])
        return dv.Names(["p", "o"] if slot == "first" else ["p"])

    def read(self, state: Hashable, slot: str, text: str) -> Hashable:
        return {"p": "plain", "o": "odd"}[text] if slot == "first" else state


def test_no_slot_is_asked_for_that_cannot_come() -> None:
    """A slot that one state was asked for elsewhere is not asked for where another one stands in its stead."""
    grammar = dv.Grammar.from_lark(
        'start: "#" other | first "," second ("(" third)*\nNAME: /[a-z]/\n'
        "first: NAME\nsecond: NAME\nthird: NAME\nother: NAME"
    )
    tokens = ["#", "p", "o", ",", "(", "p(", "p(p", "p(o", "#p", ",p("]
    vocabulary = dv.Vocabulary.from_bytes([*[token.encode() for token in tokens], None], eos=[len(tokens)])
    constraint = dv.compile(grammar.with_meaning(Chosen("first", "second", "third", "other")), vocabulary)
    assert texts_of(constraint.matcher(), tokens) == {"#", "p", "o", "#p"}
    for first in "po":
        matcher = constraint.matcher()
        matcher.advance(tokens.index(first))
        assert texts_of(matcher, tokens) == {",", ",p("}
        matcher.advance(tokens.index(","))
        assert texts_of(matcher, tokens) == {"p", "p(", f"p({first}"}


def test_a_name_directly_behind_another_one() -> None:
    """Which names there are is asked before what follows the first one is looked at."""
    grammar = dv.Grammar.from_lark(
        'start: first "," second digit\nfirst: NAME\nsecond: NAME\ndigit: DIGIT\nNAME: /[a-z]/\nDIGIT: /[0-9]/'
    )
    tokens = ["p", "o", ",", "p1", "p2"]
    vocabulary = dv.Vocabulary.from_bytes([*[token.encode() for token in tokens], None], eos=[len(tokens)])
    constraint = dv.compile(grammar.with_meaning(Chosen("first", "second", "digit")), vocabulary)
    for first, digit in ("p1", "o2", "p1"):
        matcher = constraint.matcher()
        matcher.advance(tokens.index(first))
        matcher.advance(tokens.index(","))
        assert texts_of(matcher, tokens) == {"p", f"p{digit}"}


def texts_of(matcher: dv.Matcher, tokens: list[str]) -> set[str]:
    return {tokens[token] for token in matcher.allowed_tokens() if token < len(tokens)}
