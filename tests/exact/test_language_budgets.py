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
    constraint = dv.compile(dv.Grammar.builtin(name), vocabulary)
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
