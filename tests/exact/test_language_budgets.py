"""Does each token of a program that fits into a budget stay allowed, and do masks say what the matcher does?"""

from __future__ import annotations

import random

import pytest
from tokenizers import Tokenizer

import derivable as dv
from derivable.tiny import tokenizer_path

PROGRAMS = {
    "python": """def total(items):
    found = 0
    for item in items:
        found += item.price * 2
    return found
""",
    "a block that another part must follow": """try:
    x = 1
    y = 2
except ValueError:
    pass
""",
    "java": """class A {
  int total(int[] items) {
    int found = 0;
    for (int i = 0; i < items.length; i++) { found += items[i]; }
    return found;
  }
}""",
    "sql": """SELECT u.name, count(*) AS n FROM users AS u JOIN orders AS o ON o.user_id = u.id
WHERE o.total > 100 GROUP BY u.name;""",
    "go": """package main

func main() {
\tx := []int{1, 2}
\tfor _, y := range x {
\t\tprintln(y, "a")
\t}
}
""",
}


@pytest.mark.parametrize("name", [*PROGRAMS])
def test_a_program_that_fits_may_be_written(name: str) -> None:
    tokens = Tokenizer.from_file(str(tokenizer_path())).encode(PROGRAMS[name], add_special_tokens=False).ids
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    constraint = dv.compile(dv.Grammar.builtin(name if name.isalpha() else "python"), vocabulary)
    rng = random.Random(name)
    withheld = 0
    for spare in (1, 4, 15, 60, 400):  # the first is for the end
        matcher, plain = constraint.matcher(max_tokens=len(tokens) + spare), constraint.matcher()
        for step, token in enumerate(tokens):
            allowed = set(matcher.allowed_tokens().tolist())
            assert token in allowed, (spare, step)
            every = plain.allowed_tokens().tolist()
            withheld += len(every) - len(allowed)
            for other in rng.sample(every, min(len(every), 20)):
                assert matcher.allows(other) == (other in allowed), (spare, step, other)
            matcher.advance(token)
            plain.advance(token)
        assert matcher.is_accepting
    assert withheld


NAMED: dict[str, tuple[str, dv.Grammar]] = {
    "python": (
        """def total(items, rate):
\tfound = 0
\tfor item in range(rate):
\t\tif items[item] != items[item - 1]:
\t\t\tfound += items[item]
\treturn found
""",
        dv.Grammar.builtin("python", names=dv.PythonNames()),
    ),
    "javascript": (
        """function total(items, rate) {
  let found = 0;
  for (let i = 0; i < items.length; i++) {
    if (items[i] != items[i - 1]) { found += items[i]; }
  }
  return found;
}
""",
        dv.Grammar.builtin("javascript", names=dv.JavaScriptNames()),
    ),
    "sql": (
        "SELECT o.total, users.name FROM users, orders AS o WHERE o.total > 100;",
        dv.Grammar.builtin("sql", database={"users": ["id", "name"], "orders": ["id", "total"]}),
    ),
}


@pytest.mark.parametrize("name", [*NAMED])
def test_a_program_with_names_may_be_written(name: str) -> None:
    """With so many tokens to spare, near its end too, where masks are reckoned."""
    text, grammar = NAMED[name]
    tokens = Tokenizer.from_file(str(tokenizer_path())).encode(text, add_special_tokens=False).ids
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    constraint = dv.compile(grammar, vocabulary, limits=dv.Limits(max_step_work=10**8))
    matcher = constraint.matcher(max_tokens=len(tokens) + 60)
    for step, token in enumerate(tokens):
        assert matcher.allows(token), (step, matcher.tokens_left)
        matcher.advance(token)
    assert matcher.is_accepting


class Listed(dv.Meaning):
    """A short name and a long one."""

    slots = ("NAME",)
    longest = {"NAME": ["id"]}

    def names(self, state: object, slot: str) -> list[str]:
        return ["id", "zq" * 30]

    def missing(self, state: object) -> list[str]:
        return []


@pytest.mark.parametrize("most", [5, 20, 40, 70, 140])
def test_a_long_name_ends_in_time(most: int) -> None:
    """Names may be longer than what a meaning promises of the shortest one. None is begun that does not fit."""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([i]) for i in range(256)), b"zq", None], eos=[257])
    grammar = dv.Grammar.from_lark('start: NAME (";" NAME)*\nNAME: /[a-z]+/').with_meaning(Listed())
    constraint = dv.compile(grammar, vocabulary)
    rng, written = random.Random(most), set()
    for _ in range(20):
        matcher, text = constraint.matcher(max_tokens=most), b""
        while not matcher.is_finished:
            allowed = [int(token) for token in matcher.allowed_tokens()]
            along = [token for token in allowed if (vocabulary.token_bytes(token) or b"-") in b"zqzq"]
            token = rng.choice(along or allowed)
            matcher.advance(token)
            text += vocabulary.token_bytes(token) or b""
        written |= {*text.split(b";")}
    assert (b"zq" * 30 in written) == (most > 30)  # tokens of it
