"""What crashed, hung or filled memory elsewhere: here an answer or a typed error, in bounded time and memory.

Each case is named after where it was published or measured. They run in a process of their own, with little memory and
processor time, so a crash of the kernel would be seen.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from paths import python_path

import derivable as dv

MEMORY = 3 << 30
SECONDS = 25
Make = Callable[[], dv.Grammar]


@dataclass(frozen=True)
class Case:
    """`make` must give a grammar that has `inside` and not `outside`, or raise one of `errors` (by name)."""

    make: Make
    inside: str | None = None
    outside: str | None = None
    errors: tuple[str, ...] = ()


def schema(value: Any) -> Make:
    return lambda: dv.Grammar.from_json_schema(value)


def nested(levels: int, opening: str, inner: str, closing: str) -> str:
    return opening * levels + inner + closing * levels


def wrapped(levels: int, wrap: Callable[[Any], Any]) -> Any:
    inner: Any = {"type": "integer"}
    for _ in range(levels):
        inner = wrap(inner)
    return inner


def tool(index: int) -> dict[str, Any]:
    parameters = {f"p{k}": {"type": "string", "maxLength": 200} for k in range(10)}
    body = {"type": "object", "properties": parameters, "required": list(parameters)[:3]}
    return {"begin": f"<tool={index}>", "schema": body, "end": "</tool>"}


CALL = '<tool=127>{"p0": "a", "p1": "b", "p2": ""}</tool>'
DEPTH = ("LimitError",)
WORDS = [f"choice {i}" for i in range(2_001)]
KEYS = {f"key{i}": {"type": "integer"} for i in range(501)}

CASES: dict[str, Case] = {
    # Advisories
    "CVE-2025-57809 infinite recursion: a rule that is itself": Case(
        lambda: dv.Grammar.from_ebnf("root ::= root"), errors=("GrammarError",)
    ),
    "CVE-2025-57809 infinite recursion: rules that are each other": Case(
        lambda: dv.Grammar.from_ebnf('root ::= a\na ::= b | "x"\nb ::= a'), "x", "xx"
    ),
    "CVE-2025-57809 infinite recursion: nothing, left of itself": Case(
        lambda: dv.Grammar.from_gbnf('root ::= "" root "a" | ""'), "aaa", "b"
    ),
    "CVE-2025-57809 infinite recursion: counted, through each other": Case(
        lambda: dv.Grammar.from_ebnf('root ::= x "b"\nx ::= y{0,2}\ny ::= x | "a"'), "aab", "a"
    ),
    "CVE-2025-57809 infinite recursion: $ref": Case(schema({"$ref": "#"}), errors=("GrammarError",)),
    "CVE-2025-58446 huge enum": Case(
        schema({"enum": [f"value-{i}" for i in range(100_000)]}), '"value-99999"', '"value-100000"'
    ),
    "CVE-2026-25048 30,000 nested parentheses: EBNF": Case(
        lambda: dv.Grammar.from_ebnf("root ::= " + nested(30_000, "(", '"a"', ")")), errors=DEPTH
    ),
    "CVE-2026-25048 30,000 nested parentheses: GBNF": Case(
        lambda: dv.Grammar.from_gbnf("root ::= " + nested(30_000, "(", '"a"', ")")), errors=DEPTH
    ),
    "CVE-2026-25048 30,000 nested parentheses: regex": Case(
        lambda: dv.Grammar.from_regex(nested(30_000, "(", "a", ")")), errors=DEPTH
    ),
    "CVE-2026-25048 30,000 nested parentheses: a Regex in EBNF": Case(
        lambda: dv.Grammar.from_ebnf('root ::= Regex("' + nested(30_000, "(", "a", ")") + '")'), errors=DEPTH
    ),
    "CVE-2026-25048 30,000 nested parentheses: pattern": Case(
        schema({"type": "string", "pattern": nested(30_000, "(", "a", ")")}), errors=DEPTH
    ),
    "CVE-2026-25048 30,000 nested parentheses: a regex in a structural tag": Case(
        lambda: dv.Grammar.structural_tag({"type": "regex", "pattern": nested(30_000, "(", "a", ")")}), errors=DEPTH
    ),
    "CVE-2025-48942 an invalid schema": Case(
        schema({"properties": {"x": {"type": "stringx"}}}), errors=("GrammarError",)
    ),
    "CVE-2025-48943 an invalid regex": Case(lambda: dv.Grammar.from_regex("(?P<a>x"), errors=("GrammarSyntaxError",)),
    "CVE-2025-48943 an invalid regex in a schema": Case(
        schema({"type": "string", "pattern": "["}), errors=("GrammarSyntaxError", "GrammarError")
    ),
    "CVE-2025-48944 an invalid tool: pattern": Case(
        lambda: dv.Grammar.structural_tag(
            {"structures": [{"begin": "<", "schema": {"pattern": 3}, "end": ">"}], "triggers": ["<"]}
        ),
        errors=("GrammarError",),
    ),
    "CVE-2025-48944 an invalid tool: type": Case(
        lambda: dv.Grammar.structural_tag(
            {"structures": [{"begin": "<", "schema": {"type": "dict"}, "end": ">"}], "triggers": ["<"]}
        ),
        errors=("GrammarError",),
    ),
    "CVE-2026-55574 regex denial of service: an exponential automaton": Case(
        lambda: dv.Grammar.from_regex("(a|b)*a(a|b){22}"), errors=DEPTH
    ),
    "CVE-2026-55574 regex denial of service: nested counts": Case(
        lambda: dv.Grammar.from_regex("(a{1000}){1000}"), outside="a" * 2_000
    ),
    "CVE-2026-55574 regex denial of service: counts of counts": Case(
        lambda: dv.Grammar.from_regex("((((a{100}){100}){100}){100}){100}"), outside="a" * 2_000
    ),
    "CVE-2026-55574 regex denial of service: backtracking": Case(
        lambda: dv.Grammar.from_regex("(a*)*(a+)+$"), "a" * 2_000, "a" * 100 + "b"
    ),
    # Crashes
    "xgrammar: NUL in a regex": Case(lambda: dv.Grammar.from_regex("a\0b"), "a\0b", "a"),
    "xgrammar: NUL in EBNF": Case(lambda: dv.Grammar.from_ebnf('root ::= "a\0b"'), "a\0b", "a"),
    "outlines-core: 120 nested arrays": Case(
        schema(wrapped(120, lambda inner: {"type": "array", "items": inner})), "[" * 120 + "1" + "]" * 120, "{}"
    ),
    "llguidance: an error that is not ASCII": Case(schema({"type": "é", "ü": "😀"}), errors=("GrammarError",)),
    "lone surrogates: schema": Case(schema({"const": "\ud83d"}), '"\\ud83d"', '"a"'),
    "lone surrogates: key": Case(schema({"type": "object", "required": ["\ud83d"]}), '{"\\ud83d": 1}', "{}"),
    "lone surrogates: EBNF": Case(lambda: dv.Grammar.from_ebnf('root ::= "\ud83d"'), errors=("GrammarSyntaxError",)),
    "lone surrogates: structural tag": Case(
        lambda: dv.Grammar.structural_tag({"type": "any_text", "excludes": ["\ud83d"]}), errors=("GrammarError",)
    ),
    "lone surrogates: JSON text of a schema": Case(
        lambda: dv.Grammar.from_json_schema('{"pattern": "\\ud83d", "type": "string"}'),
        errors=("UnsupportedFeatureError",),
    ),
    # Size and time
    "llguidance: 501 optional properties": Case(
        schema({"type": "object", "properties": KEYS}), '{"key0": 1, "key500": 2}', '{"key0": "x"}'
    ),
    "llguidance: 2,001 choices": Case(lambda: dv.Grammar.from_choices(WORDS), WORDS[-1], "choice 2001"),
    "llguidance: a right-recursive list of 1,997 items": Case(
        lambda: dv.Grammar.from_gbnf('root ::= "a" "," root | "a"'), "a," * 1_997 + "a", "a,,"
    ),
    "llguidance: multipleOf 999983": Case(
        schema({"multipleOf": 999_983, "type": "integer"}), "1999966", "1999967", DEPTH
    ),
    "xgrammar: maxLength 100000": Case(
        schema({"type": "string", "maxLength": 100_000}), '"' + "é" * 100_000 + '"', '"' + "a" * 100_001 + '"'
    ),
    "xgrammar: 128 tools": Case(
        lambda: dv.Grammar.structural_tag({"structures": [tool(i) for i in range(128)], "triggers": ["<tool="]}),
        "Let me see. " + CALL + " and " + CALL,
        "<tool=128>",
    ),
    "xgrammar: an enum of 10,000 elements": Case(
        schema({"enum": [i * 7 if i % 2 else str(i) for i in range(10_000)]}), "69993", "69994"
    ),
    "xgrammar: 5,000 nested anyOf": Case(
        schema(wrapped(5_000, lambda inner: {"anyOf": [{"type": "null"}, inner]})), "12", "1.5"
    ),
    "xgrammar: 5,000 nested anyOf, as text": Case(
        lambda: dv.Grammar.from_json_schema(nested(5_000, '{"anyOf": [', '{"type": "integer"}', "]}")),
        "12",
        "1.5",
        DEPTH,
    ),
    "outlines-core: maxLength 20": Case(schema({"type": "string", "maxLength": 20}), '"abc"', '"' + "a" * 21 + '"'),
    "outlines-core: Unicode digits": Case(lambda: dv.Grammar.from_regex(r"\d{1,50}"), "1٣" * 25, "x"),
    "maxItems of a million": Case(
        schema({"type": "array", "items": {"type": "integer"}, "maxItems": 1_000_000}), "[1, 2]", '["x"]'
    ),
    "a repeat of a million in EBNF": Case(
        lambda: dv.Grammar.from_ebnf('root ::= (x ","){0,1000000}\nx ::= "a" | "(" x ")"'), "a,((a)),", "a"
    ),
    "a repeat of 10^18 in EBNF": Case(
        lambda: dv.Grammar.from_ebnf('root ::= x{999999999999999999}\nx ::= "a" | "(" x ")"'), None, "b", DEPTH
    ),
    "repeats of repeats in EBNF": Case(
        lambda: dv.Grammar.from_ebnf('root ::= ((((x{1000}){1000}){1000}){1000}){1000}\nx ::= "a" | "(" x ")"'),
        None,
        "b",
        DEPTH,
    ),
    "a rule per line, a hundred thousand": Case(
        lambda: dv.Grammar.from_ebnf(
            "root ::= r0\n" + "".join(f'r{i} ::= "a" r{i + 1} | "b"\n' for i in range(100_000)) + 'r100000 ::= "c"'
        ),
        "aab",
        "c",
        DEPTH,
    ),
    "a chain of rules that are each other": Case(
        lambda: dv.Grammar.from_ebnf(
            "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(20_000)) + 'r20000 ::= "c" | "(" root ")"'
        ),
        "((c))",
        "a",
        DEPTH,
    ),
    "structural tags nested 100,000 times": Case(
        lambda: dv.Grammar.structural_tag(nested(100_000, '{"type": "star", "content": ', '{"type": "any_text"}', "}")),
        errors=DEPTH,
    ),
    "free text with 20,000 triggers": Case(
        lambda: dv.Grammar.structural_tag(
            {"type": "dispatch", "rules": [[f"<{i}>", {"type": "const_string", "value": "x"}] for i in range(20_000)]}
        ),
        "a<19999>x",
        "<7>y",
        DEPTH,
    ),
    "a trigger of 50,000 letters": Case(
        lambda: dv.Grammar.structural_tag(
            {"type": "dispatch", "rules": [["a" * 50_000, {"type": "const_string", "value": "x"}]]}
        ),
        "aa",
        "\n" * 3 + "a" * 50_000 + "y",
        DEPTH,
    ),
    "an assertion of a hundred thousand parentheses": Case(
        lambda: dv.Grammar.from_ebnf('root ::= "a" ' + "(= (" * 100_000), errors=("LimitError", "GrammarSyntaxError")
    ),
    "comments without end": Case(
        lambda: dv.Grammar.from_ebnf("root ::= x " + "# # " * 200_000 + '\nx ::= "a"'), "a", "b"
    ),
}


def run(name: str) -> str:
    """What comes of a case: `answer`, or the name of the error."""
    case = CASES[name]
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    try:
        constraint = dv.compile(case.make(), vocabulary)
        constraint.matcher().allowed_tokens()
        for text, expected in ((case.inside, True), (case.outside, False)):
            if text is not None:
                matcher = constraint.matcher()
                try:
                    matcher.advance_bytes(text.encode())
                    found = matcher.is_accepting
                except dv.TokenRejectedError:
                    found = False
                assert found == expected, text[:80]
    except dv.DerivableError as error:
        message = str(error)
        message.encode()  # can be printed
        assert len(message) < 2_000 or error.__class__ is dv.UnsupportedFeatureError
        return type(error).__name__
    return "answer"


def main() -> None:
    """Runs all cases, and prints what comes of each."""
    for name in CASES:
        begin = time.process_time()
        try:
            outcome = run(name)
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps([name, outcome, time.process_time() - begin]), flush=True)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, float]]:
    """Outcome and processor time of each case, up to the first that takes the process down."""
    done = subprocess.run(
        [sys.executable, "-c", "from guards import test_advisories; test_advisories.main()"],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        preexec_fn=lambda: (
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
            resource.setrlimit(resource.RLIMIT_CPU, (4 * SECONDS, 4 * SECONDS)),
        ),
    )
    return {name: (outcome, seconds) for name, outcome, seconds in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", CASES)
def test_advisory(name: str, outcomes: dict[str, tuple[str, float]]) -> None:
    assert name in outcomes, "this case, or one before it, took the process down"
    case, (outcome, seconds) = CASES[name], outcomes[name]
    assert outcome in (case.errors if case.inside is None and case.outside is None else ("answer", *case.errors))
    assert seconds < SECONDS
