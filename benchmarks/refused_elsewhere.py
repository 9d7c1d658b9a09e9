"""Schemas and tools of the kinds that servers refuse, compiled: how long to the constraint and to the first mask.

    python benchmarks/refused_elsewhere.py
    python benchmarks/refused_elsewhere.py --tokenizer path/to/tokenizer.json

Each is compiled in a process of its own, so that nothing which one has computed helps another; a process first compiles
a trivial grammar (imports, the tokenizer's trie). Times are of the processor, so that other work does not count.

Then a valid text is read, and one that is not valid has to be refused. What cannot be enforced must be refused by name:
a reference to the network is. The exit code is 1 if anything is not so.

Without `--tokenizer` the embedded model's is used (3,072 tokens).
`docs/refused_elsewhere.md` says who refuses what.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import derivable as dv
from derivable.tiny import tokenizer_path


@dataclass(frozen=True)
class Case:
    """One that is refused elsewhere.

    Attributes:
        title: in a few words.
        make: the grammar.
        valid, invalid: texts. Without a valid one the grammar has to be refused, with `invalid` in the message.
    """

    title: str
    make: Callable[[], dv.Grammar]
    valid: str
    invalid: str


def _optional(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"option_{i}": {"type": ["string", "null"]} for i in range(count)}}


def _tools(count: int, **extra: Any) -> list[dict[str, Any]]:
    """Functions of eight parameters, six of them optional."""
    kinds: list[dict[str, Any]] = [
        {"type": "string", "maxLength": 200},
        {"type": "integer", "minimum": 0, "maximum": 100},
        {"type": "boolean"},
        {"enum": ["low", "medium", "high"]},
        {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        {"type": "string", "format": "date-time"},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]},
    ]
    properties = {f"parameter_{i}": kind for i, kind in enumerate(kinds)} | extra
    parameters = {"type": "object", "properties": properties, "required": ["parameter_0", "parameter_1"]}
    return [{"type": "function", "function": {"name": f"tool_{i}", "parameters": parameters}} for i in range(count)]


def _called(tools: list[dict[str, Any]]) -> dv.Grammar:
    return dv.Grammar.from_tools(tools, model="qwen-3", tool_choice="required")


def _call(name: str, first: str) -> str:
    arguments = f'{{"parameter_0": {first}, "parameter_1": 7, "parameter_3": "low"}}'
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


_NETWORK = {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}

_EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
"""What zod 4 writes for an e-mail address."""

_MCP: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "action": {"enum": ["create", "move", "delete"]},
        "path": {"$ref": "#/$defs/path"},
        "to": {"$ref": "#/$defs/path"},
        "size": {"prefixItems": [{"type": "integer"}, {"type": "integer"}], "items": False},
        "tags": {"type": "array", "contains": {"const": "new"}, "uniqueItems": True},
    },
    "required": ["action", "path"],
    "oneOf": [{"required": ["size"]}, {"required": ["to"]}, {"properties": {"action": {"const": "delete"}}}],
    "if": {"properties": {"action": {"const": "move"}}},
    "then": {"required": ["to"]},
    "dependentRequired": {"size": ["tags"]},
    "unevaluatedProperties": False,
    "$defs": {"path": {"type": "string", "pattern": r"^(?!/)[a-z/]{1,40}$"}},
}


def _cases() -> list[Case]:
    """In the order of the page."""
    of = dv.Grammar.from_json_schema
    length = {"type": "object", "properties": {"o": {"type": "object", "properties": {"s": {"maxLength": 65536}}}}}
    starts = {"type": "string", "pattern": "^dag"}
    dates = {"type": "string", "format": "date"}
    person = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "born": dates}}
    any_order = {"type": "object", **person, "required": ["name", "age", "born"]}
    forward = '{"name": "Ada", "age": 36, "born": "1815-12-10"}'
    backward = '{"born": "1815-12-10", "age": 36, "name": "Ada"}'
    move = '{"action": "move", "path": "a/b"'
    mail = {"type": "string", "pattern": _EMAIL}
    many = "a" * 65536
    named = {f"option_{i}": None for i in range(0, 400, 40)}
    return [
        Case("24 optional keys", lambda: of(_optional(24)), '{"option_3": "a", "option_23": null}', '{"option_3": 5'),
        Case("400 optional keys", lambda: of(_optional(400)), json.dumps(named), '{"option_400": '),
        Case(
            "400 optional keys, in any order",
            lambda: of(_optional(400), key_order="any"),
            json.dumps(dict(reversed(named.items()))),
            '{"option_40": null, "option_40": ',
        ),
        Case("13 tools", lambda: _called(_tools(13)), _call("tool_12", '"a"'), _call("tool_13", '"a"')),
        Case("100 tools", lambda: _called(_tools(100)), _call("tool_99", '"a"'), _call("tool_100", '"a"')),
        Case(
            "maxLength 65,536 in an object",
            lambda: of(length),
            f'{{"o": {{"s": "{many}"}}}}',
            f'{{"o": {{"s": "{many}a',
        ),
        Case("a pattern without ^ and $", lambda: of(starts), '"dag_1"', '"a'),
        Case("a pattern with look-ahead", lambda: of(mail), '"a.b@c.org"', '"a..'),
        Case(
            "13 tools, with look-ahead",
            lambda: _called(_tools(13, parameter_0=mail)),
            _call("tool_0", '"a.b@c.org"'),
            _call("tool_0", '"a..b@c.org"'),
        ),
        Case("keys in any order", lambda: of(any_order, key_order="any"), backward, '{"age": 36, "age"'),
        Case(
            "keys in any order, in theirs where forced",
            lambda: of(any_order, key_order="preferred"),
            forward,
            '{"age": 36}',
        ),
        Case("2020-12: oneOf, if, contains, unevaluated*", lambda: of(_MCP), move + ', "to": "c"}', move + "}"),
        Case("2020-12: a $ref to the network", lambda: of(_NETWORK), "", "https://example.com/schema.json"),
    ]


def _run(number: int, tokenizer: Path) -> dict[str, Any]:
    """One case, in this process."""
    case = _cases()[number]
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer)
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    dv.compile(dv.Grammar.from_json_schema({"type": "null"}), vocabulary).matcher().fill_bitmask(bitmask)
    begun = time.process_time()
    try:
        constraint = dv.compile(case.make(), vocabulary)
    except dv.GrammarError as error:
        spent = time.process_time() - begun
        refused = " ".join(str(error).split())
        return {"compile": spent, "first": spent, "said": refused, "right": not case.valid and case.invalid in refused}
    compiled = time.process_time()
    constraint.matcher().fill_bitmask(bitmask)
    first = time.process_time()
    right = _is_accepted(constraint, case.valid) and not _is_accepted(constraint, case.invalid, complete=False)
    return {"compile": compiled - begun, "first": first - begun, "said": "", "right": right and bool(case.valid)}


def _is_accepted(constraint: dv.Constraint, text: str, *, complete: bool = True) -> bool:
    matcher = constraint.matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting or not complete


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tokenizer", type=Path, default=None, help="tokenizer.json; by default the embedded model's")
    parser.add_argument("--case", type=int, default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    tokenizer = arguments.tokenizer or tokenizer_path()
    if arguments.case is not None:
        print(json.dumps(_run(arguments.case, tokenizer)))
        return 0
    size = dv.Vocabulary.from_tokenizer_json(tokenizer).size
    print(f"{'ms to the constraint':>21} {'and the first mask':>19}   ({size:,} tokens)")
    wrong = 0
    for number, case in enumerate(_cases()):
        command = [sys.executable, __file__, "--case", str(number), "--tokenizer", str(tokenizer)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)
        verdict = f"refused: {found['said'][:60]}..." if found["said"] else "" if found["right"] else "WRONG"
        wrong += not found["right"]
        print(f"{found['compile'] * 1e3:21.1f} {found['first'] * 1e3:19.1f}   {case.title}  {verdict}".rstrip())
    print(f"{len(_cases()) - wrong} of {len(_cases())} as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
