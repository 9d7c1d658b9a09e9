"""Grammars that know names, where models write them: in tool calls, in fences, behind reasoning, in one another."""

from __future__ import annotations

import json
import random
from collections.abc import Hashable
from pathlib import Path

import pytest
from accepting import BYTES, accepts, random_rest

import derivable as dv
from derivable.errors import ArtifactError, MatcherError, MeaningError, UnsupportedFeatureError
from derivable.expr import Embedded
from derivable.meaning import Meaning

DATABASE = {"users": ["id", "name"], "orders": ["id", "total"]}
SQL = dv.Grammar.builtin("sql", database=DATABASE)
PYTHON = dv.Grammar.builtin("python", names=dv.PythonNames(imports={"math": ["sqrt"]}))
RUN = {
    "type": "function",
    "function": {
        "name": "run",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "contentMediaType": "application/sql"}},
            "required": ["query"],
            "additionalProperties": False,
        },
    },
}


def takes(grammar: dv.Grammar, text: str) -> bool:
    return accepts(dv.compile(grammar, BYTES), text)


def call(query: str) -> str:
    return f'<tool_call>\n{{"name": "run", "arguments": {{"query": {json.dumps(query)}}}}}\n</tool_call>'


WHERE = {
    "a sequence": ("Query: " + SQL + ".", "Query: {}."),
    "a string of JSON": (SQL.encoded("json"), '"{}"'),
    "reasoning": (SQL.after_reasoning("qwen-3"), "<think>\nnme?\n</think>\n\n{}"),
    "a rule of Lark": (
        dv.Grammar.from_lark('start: "<" query ">"\n%import derivable.query -> query', grammars={"query": SQL}),
        "<{}>",
    ),
    "a terminal of a longest match": (
        dv.Grammar.from_lark(
            'start: NAME QUERY "end"\nNAME: /[a-z]+/\n%ignore " "\n%declare QUERY',
            declared={"QUERY": dv.Terminal(Embedded(SQL))},
        ),
        "ask {} end",
    ),
    "a language in a language": (("(" + SQL + ")").encoded("json"), '"({})"'),
}


@pytest.mark.parametrize("where", WHERE)
def test_names_exist_wherever_the_language_stands(where: str) -> None:
    grammar, around = WHERE[where]
    assert takes(grammar, around.format("SELECT name FROM users"))
    assert not takes(grammar, around.format("SELECT nme FROM users"))
    assert not takes(grammar, around.format("SELECT name FROM orders"))  # no such column there


def test_a_tool_call_has_a_query_for_the_database() -> None:
    grammar = dv.Grammar.from_tools([RUN], model="qwen-3", contents={"application/sql": SQL})
    assert takes(grammar, call("SELECT name FROM users WHERE id = 3"))
    assert not takes(grammar, call("SELECT title FROM users"))


def test_fences_have_programs_whose_names_are_defined() -> None:
    grammar = dv.Grammar.fenced({"python": PYTHON})
    assert takes(grammar, "So:\n```python\nimport math\nx = math.sqrt(2)\nprint(x)\n```\n")
    assert not takes(grammar, "So:\n```python\nprint(x)\n```\n")
    # Each fence is a program of its own.
    assert not takes(grammar, "```python\nx = 1\n```\nand\n```python\nprint(x)\n```\n")


def test_strings_of_a_schema_have_queries_for_the_database() -> None:
    schema = {"type": "object", "properties": {"sql": {"type": "string", "contentMediaType": "application/sql"}}}
    grammar = dv.Grammar.from_json_schema({**schema, "required": ["sql"]}, contents={"application/sql": SQL})
    assert takes(grammar, '{"sql": "SELECT id FROM orders"}')
    assert not takes(grammar, '{"sql": "SELECT it FROM orders"}')


def test_masks_list_the_names_that_there_are() -> None:
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), b"nme", b'name"', None], eos=[258])
    matcher = dv.compile(SQL.encoded("json"), vocabulary).matcher()
    matcher.advance_bytes(b'"SELECT id FROM users ORDER BY ')
    why = matcher.explain(256)
    assert not why.allowed
    assert {name for names in why.names.values() for name in names} >= {"id", "name"}
    assert "names that there are" in why.reason
    assert matcher.allows(257)  # a name, and the border behind it


def test_a_token_over_the_border_is_refused_while_the_meaning_asks_for_more() -> None:
    class Owing(Meaning):
        """Whoever says `a` has to say `b`."""

        slots = ("WORD",)

        def start(self) -> Hashable:
            return False

        def read(self, state: bool, slot: str, text: str) -> bool:
            return text == "a" or (state and text != "b")

        def may_end(self, state: bool) -> bool:
            return not state

    words = dv.Grammar.from_lark('start: WORD ("," WORD)*\nWORD: /[ab]/').with_meaning(Owing())
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", b",", b"]", b"a]", b"b]", b",b]", None], eos=[7])
    matcher = dv.compile(words + "]", vocabulary).matcher()
    assert matcher.allowed_tokens().tolist() == [0, 1, 5]
    matcher.advance(0)
    assert matcher.allowed_tokens().tolist() == [2, 6]
    matcher.advance(6)
    assert matcher.is_accepting


def test_matchers_go_on_elsewhere_with_what_the_meaning_has_read() -> None:
    constraint = dv.compile("```python\n" + PYTHON + "```", BYTES)
    matcher = constraint.matcher()
    matcher.advance_bytes(b"```python\nvalue = 1\nprint(")
    there = dv.compile("```python\n" + PYTHON + "```", BYTES).resume(matcher.to_bytes())
    assert there.allowed_tokens().tolist() == matcher.allowed_tokens().tolist()
    there.advance_bytes(b"value)\n```")
    assert there.is_accepting
    fork = matcher.fork()
    matcher.advance_bytes(b"value")
    matcher.rollback(1)
    assert matcher.allowed_tokens().tolist() == fork.allowed_tokens().tolist()


def test_texts_end_within_a_budget() -> None:
    constraint = dv.compile(SQL.encoded("json"), BYTES)
    matcher = constraint.matcher(max_tokens=40)
    matcher.advance_bytes(b'"SELECT ')
    text = b'"SELECT ' + random_rest(matcher, random.Random(0))
    assert accepts(constraint, text.decode()) and len(text) <= 8 + 38


def test_captures_and_trees_are_of_texts_that_the_meaning_takes() -> None:
    constraint = dv.compile("Query: " + SQL.capture("query"), BYTES)
    assert constraint.captures("Query: SELECT id FROM users", is_whole=True)["query"] == "SELECT id FROM users"
    with pytest.raises(MatcherError, match="not a text"):
        constraint.captures("Query: SELECT idle FROM users", is_whole=True)
    with pytest.raises(MatcherError, match="not a text"):
        constraint.parse("Query: SELECT idle FROM users")


def test_what_is_python_is_not_saved(tmp_path: Path) -> None:
    grammar = "Query: " + SQL
    with pytest.raises(ArtifactError, match="cannot be saved"):
        dv.compile(grammar, BYTES).to_bytes()
    dv.compile(grammar, BYTES, store=str(tmp_path))
    assert not any(tmp_path.iterdir())
    with pytest.raises(UnsupportedFeatureError, match="lookahead"):
        dv.compile(grammar, BYTES, lookahead=1)


def test_what_a_meaning_raises_comes_out_of_the_whole() -> None:
    class Broken(Meaning):
        slots = ("WORD",)

        def read(self, state: object, slot: str, text: str) -> Hashable:
            if text == "ab":
                raise ValueError("no such list")
            return state

    words = dv.Grammar.from_lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/').with_meaning(Broken())
    matcher = dv.compile(("<" + words + ">").encoded("json"), BYTES).matcher()
    matcher.advance_bytes(b'"<ab')
    before = matcher.to_bytes()
    with pytest.raises(MeaningError, match="WORD"):
        matcher.advance_bytes(b",")
    assert matcher.to_bytes() == before


def test_programs_have_room_within_a_budget() -> None:
    """Signs and words that are slots take what they take: a function was refused with 300 tokens left."""
    text = "def main():\n    a = 13\n    print(a)\n"
    limits = dv.Limits(max_step_work=10**9)  # what is worked out once takes more than a step may by default
    for grammar, around in ((PYTHON, "{}"), ("```python\n" + PYTHON + "```", "```python\n{}```")):
        matcher = dv.compile(grammar, BYTES, limits=limits).matcher(max_tokens=300)
        for byte in around.format(text).encode():
            matcher.advance(byte)
        assert matcher.is_accepting
