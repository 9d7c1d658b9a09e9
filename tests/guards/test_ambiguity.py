"""Ambiguous grammars: exact at lengths where the number of parses is astronomical, and cheap.

The masks of random grammars equal those of an Earley chart, token by token and after going back. How many nodes of
parser stacks a text needs does not depend on how many parses it has.
"""

from __future__ import annotations

from random import Random

import pytest
from oracle.chart import Chart

import derivable as dv
from derivable import _kernel
from derivable.errors import GrammarError

TOKENS = [b"a", b"b", b"(", b")", b"ab", b"aa", b"aaaa", b"ba", b"abab", b"bbb", b"()", b"(a", b"b)"]
VOCABULARY = dv.Vocabulary.from_bytes([*TOKENS, None], eos=[len(TOKENS)])
BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"</s>"], eos=[256])

PATIENT = dv.Limits(max_step_work=10**11)
"""Some of the random grammars have no stack that is less than another."""

Rules = dict[str, list[tuple[str | int, ...]]]


def random_rules(random: Random) -> Rules:
    """Up to three rules, with repeats of themselves and of each other; repeats are rules of their own."""
    names = ["root", "x", "y"][: random.choice([1, 1, 2, 2, 3])]
    rules: Rules = {}
    repeats: Rules = {}

    def part() -> str | int:
        symbol: str | int = random.choice(names) if random.random() < 0.6 else random.choice(b"aaaabbb()")
        kind = random.choice(["", "", "", "", "star", "plus", "option"])
        if not kind:
            return symbol
        name = f"{kind}-{symbol}"
        one, more = (symbol,), (name, symbol) if random.random() < 0.5 else (symbol, name)
        repeats.setdefault(name, {"star": [(), more], "plus": [one, more], "option": [(), one]}[kind])
        return name

    for name in names:
        bodies = range(random.choice([1, 2, 3]))
        rules[name] = [tuple(part() for _ in range(random.choice([0, 1, 1, 2, 2, 3]))) for _ in bodies]
    return rules | repeats


def gbnf(rules: Rules) -> str:
    def show(body: tuple[str | int, ...]) -> str:
        return " ".join(s if isinstance(s, str) else f'"{chr(s)}"' for s in body) or '""'

    return "\n".join(f"{name} ::= {' | '.join(map(show, bodies))}" for name, bodies in rules.items())


def compare(seed: int, length: int) -> int:
    """Walks one random grammar; how many masks were compared."""
    random = Random(seed)
    try:
        return compare_with_chart(random_rules(random), random, length)
    except GrammarError:
        return 0
    except AssertionError as error:
        raise AssertionError(f"seed {seed}") from error


def compare_with_chart(rules: Rules, random: Random, length: int) -> int:
    """Walks a grammar, now and then back; how many masks were compared."""
    constraint = dv.compile(dv.Grammar.from_gbnf(gbnf(rules)), VOCABULARY, limits=PATIENT)
    chart, matcher, lengths = Chart(rules, "root"), constraint.matcher(), list[int]()
    for step in range(length):
        allowed = [t for t, text in enumerate(TOKENS) if chart.takes(text)]
        complete = [len(TOKENS)] if chart.complete else []
        assert matcher.allowed_tokens().tolist() == allowed + complete, f"step {step}:\n{gbnf(rules)}"
        if not allowed:
            break
        token = random.choice(allowed)
        assert all(map(chart.feed, TOKENS[token]))
        matcher.advance(token)
        lengths.append(len(TOKENS[token]))
        if random.random() < 0.1:
            count = random.randint(1, min(3, len(lengths)))
            matcher.rollback(count)
            chart.back(sum(lengths[-count:]))
            del lengths[-count:]
    return step + 1


def test_masks_equal_those_of_a_chart() -> None:
    assert sum(compare(seed, 12) for seed in range(150)) > 800


@pytest.mark.slow
def test_masks_of_many_grammars_equal_those_of_a_chart() -> None:
    assert sum(compare(seed, 30) for seed in range(1000, 3000)) > 20_000


@pytest.mark.parametrize("count", [2, 3, 7, 12, 13, 16, 21, 40])
def test_what_may_be_empty_said_several_times(count: int) -> None:
    of_letter: Rules = {"x": [(), (ord("b"),)]}
    of_itself: Rules = {"x": [(ord("b"),), (ord("("), "x", ord(")")), ()], "y": [("x", "x", "x"), (ord("a"),)]}
    bodies: list[Rules] = [
        of_letter | {"root": [("x",) * count]},
        of_letter | {"root": [(ord("a"), *("x",) * count, ord("a"), *("x",) * (count + 1)), ("x", ord("a"))]},
        of_itself | {"root": [("x",) * count + ("y",) * 2 + ("x",) * count]},
        {"root": [("x",) * count + (ord("b"),)], "x": [(), ()]},
        {"root": [("x",) * count, ("root", ord("a"))], "x": [(), ("root", ord("b"))]},
    ]
    for rules in bodies:
        compared = [compare_with_chart(rules, Random(f"{count}, {walk}"), 12) for walk in range(3)]
        assert sum(compared) >= 6


FLAT = {
    "repeats of itself": ('root ::= root* "b"', "b"),
    "repeats of itself, once at least": ('root ::= root+ "b" | "b"', "b"),
    "repeats through another rule": ('root ::= item*\nitem ::= root "." | "x"', "x."),
    "blocks of statements": ('root ::= block | "x" ";"\nblock ::= root+ ";"', "x;;"),
    "two of itself": ('root ::= root root | "b"', "b"),
    "two or three of itself": ('root ::= root root | root root root | "b"', "b"),
    "regular expressions": ('root ::= root root | root "|" root | root "*" | "(" root ")" | [a-z]', "(a|b)*c"),
    "operators without precedence": ('root ::= root [-+*/] root | "-" root | "(" root ")" | [0-9]+', "1+-23*(4)/"),
    "cycles of what may be empty": ('root ::= b root | "x" | ""\nb ::= root b | "y" | ""', "xy"),
    "letters in turns": (
        "root ::= [a-z]+ b | [a-z]+\nb ::= [a-z]+ c | [a-z]+\nc ::= [a-z]+ root | [a-z]+",
        "ab",
    ),
    "right recursion": ('root ::= "a" root | "a"', "a"),
    "a hundred that may be empty": ("root ::= (" + "x? " * 100 + '".")*\nx ::= "b" | "(" x ")"', "b(b)b."),
    "texts one after the other": ("root ::= [a-c]* [b-d]* [c-e]* [a-e]*", "abcd"),
}
"""Grammars whose stacks need not grow, and texts to repeat."""


def nodes(grammar: str, text: str, length: int) -> list[int]:
    """Stack nodes in use after each byte of `text`, repeated; masks included."""
    constraint = dv.compile(dv.Grammar.from_gbnf(grammar), BYTES)
    matcher = constraint.matcher()
    bitmask = dv.allocate_bitmask(1, BYTES.size)
    counts = []
    for k in range(length):
        matcher.advance_bytes(text[k % len(text)].encode())
        matcher.fill_bitmask(bitmask)
        counts.append(constraint.stats()["stack_nodes"])
    return counts


@pytest.mark.parametrize(("grammar", "text"), FLAT.values(), ids=FLAT)
def test_stacks_of_ambiguous_texts_do_not_grow_faster_than_their_moments(grammar: str, text: str) -> None:
    counts = nodes(grammar, text, 4_000)
    # Some nodes a byte at most, and as many for the last bytes as for the first.
    assert counts[-1] < 12 * len(counts)
    assert counts[-1] - counts[-1001] <= counts[1999] - counts[999] + 200


@pytest.mark.parametrize("grammar", ['root ::= root root | "(" root ")" | "x"', 'root ::= ("(" root* ")" | "x")*'])
def test_depth_costs_its_brackets(grammar: str) -> None:
    opened = nodes(grammar, "(", 2_000)
    assert opened[-1] < 8 * len(opened)


@pytest.mark.parametrize("text", ["a", "ab"])
def test_stacks_that_nothing_subsumes_grow_with_the_square_at_most(text: str) -> None:
    """Palindromes: at every place a middle may have been, and no stack derives what another does."""
    counts = nodes('root ::= "a" root "a" | "b" root "b" | "a" | "b"', text, 800)
    assert counts[-1] < 2.5 * counts[399]


def test_what_is_found_out_about_stacks_outlives_their_collection() -> None:
    """That a stack adds nothing rests on the same of the stacks below it. Forgotten with nodes that were freed, first
    after some four thousand bytes, it was found out no more: a byte took 2,000 times the work."""
    among = dv.Vocabulary.from_bytes([b"a", b"b", b"c", None], eos=[3])
    grammar = dv.Grammar.from_gbnf('root ::= root root | "a" | "b" root "c" | [a-z ]+')
    matcher = dv.compile(grammar, among, limits=dv.Limits(max_step_work=1 << 60)).matcher()
    with _kernel.Budget(None, 1 << 40) as first:
        matcher.advance_bytes(b"ab" * 1_000)
    with _kernel.Budget(None, 1 << 40) as later:
        for _ in range(40):  # nodes are freed between steps
            matcher.advance_bytes(b"ab" * 100)
    assert later.work < 6 * first.work
