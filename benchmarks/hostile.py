# ruff: noqa: E501 -- rows of a table
"""What untrusted input can cost: every class of hostile grammar at several sizes, each in a process of its own.

`python benchmarks/hostile.py [--only WORD,...] [--sizes 1] [--memory GB] [--seconds S] [--tokenizer tokenizer.json]`

Prints a table: time to compile (grammar text to constraint), the first mask, the slowest later step (a mask and an
advance), peak memory, all in processor time of the child; or the typed error that came instead, or the bound of the
child that was reached. `CLASSES` is data: a row is a name, sizes, a grammar for a size, and a text to walk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import derivable as dv

__all__ = ["CLASSES", "Class", "by_name", "vocabulary", "walk"]


@dataclass(frozen=True)
class Class:
    """A class of hostile input.

    Attributes:
        name: of the form ``group/what``; groups are those of the table's sections.
        sizes: to be tried, ascending.
        make: the grammar of a size.
        text: what is walked, byte by byte from the start of `steps`; by default whatever byte is allowed, in turn.
        steps: how many steps are taken at most.
    """

    name: str
    sizes: tuple[int, ...]
    make: Callable[[int], dv.Grammar]
    text: Callable[[int], bytes] | None = None
    steps: int = 200


def _letters(count: int, seed: int = 1) -> str:
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz", k=count))


def _words(count: int) -> list[str]:
    return [f"{i * 2654435761 % 2**32:08x}" for i in range(count)]


def _quoted(texts: list[str], between: str) -> str:
    return between.join(f'"{text}"' for text in texts)


def _gbnf(text: Callable[[int], str]) -> Callable[[int], dv.Grammar]:
    return lambda n: dv.Grammar.from_gbnf(text(n))


def _lark(text: Callable[[int], str]) -> Callable[[int], dv.Grammar]:
    return lambda n: dv.Grammar.from_lark(text(n))


def _regex(text: Callable[[int], str]) -> Callable[[int], dv.Grammar]:
    return lambda n: dv.Grammar.from_regex(text(n))


def _schema(schema: Callable[[int], Any]) -> Callable[[int], dv.Grammar]:
    return lambda n: dv.Grammar.from_json_schema(schema(n), profile="spec")


def _same(text: str) -> Callable[[int], dv.Grammar]:
    """The grammar is one; the size is that of the text."""
    return lambda n: dv.Grammar.from_lark(text)


def _bs(n: int) -> bytes:
    return b"b" * n


def _nested(depth: int, inner: Any, wrap: Callable[[Any, int], Any]) -> Any:
    for level in range(depth):
        inner = wrap(inner, level)
    return inner


_EXPRESSIONS = 'start: e\ne: e e | e "|" e | e "*" | "(" e ")" | /[a-z]/'
_TEXTS = (50, 200, 1_000)
_KEYS = (100, 1_000, 10_000)

CLASSES: tuple[Class, ...] = (
    # Ambiguity: what a text of growing length costs.
    Class("ambiguity/start*", _TEXTS, _same('start: start* "b"'), _bs, 10_000),
    Class("ambiguity/start+", _TEXTS, _same('start: start+ "b" | "b"'), _bs, 10_000),
    Class("ambiguity/items of items", _TEXTS, _same('start: item*\nitem: start "." | "x"'), lambda n: b"x." * n, 10_000),
    Class("ambiguity/blocks", _TEXTS, _same('start: block | "x" ";"\nblock: start+ ";"'), lambda n: b"x;" * n, 10_000),
    Class("ambiguity/s: s s", _TEXTS, _same('start: start start | "b"'), _bs, 10_000),
    Class("ambiguity/regular expressions", _TEXTS, _same(_EXPRESSIONS), lambda n: b"a|b*" * (n // 4), 10_000),
    Class("ambiguity/nullable cycle", _TEXTS, _gbnf(lambda n: 'root ::= x root | "b"\nx ::= root? | ""'), _bs, 10_000),
    Class("ambiguity/x? x? ...", (100, 1_000, 3_000), _gbnf(lambda n: "root ::= " + "x? " * n + '\nx ::= "b" | "(" x ")"'), _bs),
    Class(
        "ambiguity/texts in sequence",
        (10, 50, 500),
        _gbnf(lambda n: "root ::= " + " ".join(f"t{i}" for i in range(n)) + "".join(f"\nt{i} ::= [a-z ]*" for i in range(n))),
        _bs,
    ),
    Class(
        "ambiguity/mutual recursion",
        (2, 5, 20),
        _gbnf(
            lambda n: "root ::= n0\n"
            + "\n".join(f"n{i} ::= [a-z]+ n{(i + 1) % n} | [a-z]+ n{(i * 7 + 3) % n} | [a-z]" for i in range(n))
        ),
        lambda n: _bs(200),
    ),
    # Sizes of grammars.
    Class("sizes/optional keys, closed", _KEYS, _schema(lambda n: {"properties": {f"k{i}": {"type": "integer"} for i in range(n)}, "type": "object", "additionalProperties": False})),
    Class("sizes/optional keys, open", _KEYS, _schema(lambda n: {"type": "object", "properties": {f"k{i}": {"const": i} for i in range(n)}})),
    Class("sizes/required keys", _KEYS, _schema(lambda n: {"type": "object", "properties": {f"k{i}": {"const": i} for i in range(n)}, "required": [f"k{i}" for i in range(n)]})),
    Class("sizes/enum of integers", (1_000, 10_000, 100_000), _schema(lambda n: {"enum": [i * 7919 for i in range(n)]})),
    Class("sizes/enum of floats", (1_000, 8_000), _schema(lambda n: {"enum": [i + 0.125 for i in range(n)]})),
    Class("sizes/enum of strings", (1_000, 10_000, 100_000), _schema(lambda n: {"enum": _words(n)})),
    Class("sizes/constant array of integers", (5_000, 50_000), _schema(lambda n: {"const": list(range(n))})),
    Class("sizes/enum of objects", (500, 5_000), _schema(lambda n: {"enum": [{"a": i, f"k{i}": [i, str(i)]} for i in range(n)]})),
    Class("sizes/prefixItems of two types", (1_000, 10_000), _schema(lambda n: {"type": "array", "prefixItems": [{"type": ["integer", "string"], "minimum": i, "maxLength": i} for i in range(n)]})),
    Class("sizes/rules of three terminals", (2_000, 20_000), _gbnf(lambda n: "root ::= r0\n" + "".join(f'r{i} ::= "a{i}" r{(i + 1) % n} | [a-c{chr(100 + i % 20)}]+ "x{i}" | "z{i}"\n' for i in range(n)))),
    Class("sizes/anyOf of open objects", (1_000, 3_000), _schema(lambda n: {"anyOf": [{"type": "object", "properties": {f"k{i}": {"type": "integer"}}, "required": [f"k{i}"]} for i in range(n)]}), lambda n: b'{"k1": 5, "k17": 6, "other": [1, {"a": "b"}], "k200": 8}', 10_000),
    Class("sizes/uniqueItems", (100, 700), _schema(lambda n: {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}), lambda n: ("[" + ",".join(map(str, range(n)))).encode(), 10_000),
    Class("sizes/chain of allOf", (100, 1_000), _schema(lambda n: {"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(n)} | {f"d{n}": {"type": "null"}}})),
    Class("sizes/nested schemas", (20, 100, 400), _schema(lambda n: _nested(n, {"type": "null"}, lambda s, _: {"type": "array", "items": s}))),
    Class("sizes/chain of unit rules", (100, 1_000, 20_000), _gbnf(lambda n: "root ::= r0 root?\n" + "".join(f'r{i} ::= r{i + 1} | "{i}"\n' for i in range(n)) + f'r{n} ::= "b"')),
    Class("sizes/chain of rules", (1_000, 20_000), _gbnf(lambda n: "root ::= r0\n" + "".join(f'r{i} ::= "a" r{i + 1}\n' for i in range(n)) + f'r{n} ::= "b"')),
    Class("sizes/alternatives of a recursive rule", (1_000, 20_000), _gbnf(lambda n: f'root ::= {_quoted([f"{i:x}" for i in range(n)], " root | ")} root | "z"')),
    Class("sizes/forty steps of two letters", (10, 40), _gbnf(lambda n: 'root ::= "a" root | "b" root | "a" t0\n' + "".join(f't{i} ::= ("a" | "b") t{i + 1}\n' for i in range(n)) + f't{n} ::= "c"'), lambda n: b"ab" * 100),
    # Patterns over keys, and boolean keywords.
    Class("patterns/single letters", (3, 5, 9), _schema(lambda n: {"type": "object", "patternProperties": {chr(97 + i): {"type": "integer", "minimum": i} for i in range(n)}}), lambda n: b'{"abc', 20),
    Class("patterns/a.{i}$", (3, 6, 10), _schema(lambda n: {"type": "object", "patternProperties": {f"a.{{{i}}}$": {"type": "integer", "minimum": i} for i in range(n)}}), lambda n: b'{"abc', 20),
    Class("patterns/disjoint", (40, 400), _schema(lambda n: {"type": "object", "patternProperties": {f"^k{i}$": {"type": "integer", "minimum": i} for i in range(n)}}), lambda n: b'{"k1', 20),
    Class("patterns/oneOf nested", (5, 20, 40), _schema(lambda n: _nested(n, {"type": "integer"}, lambda s, i: {"oneOf": [s, {"type": "object", "required": [f"k{i}"]}]}))),
    Class("patterns/if nested", (5, 15, 25), _schema(lambda n: _nested(n, {"type": "object"}, lambda s, i: {"if": {"required": [f"k{i}"]}, "then": s, "else": {"maxProperties": i}}))),
    # Terminals: literals, counts, classes, lists of words, nesting.
    Class("terminals/literal, regex", (10_000, 100_000, 1_000_000, 5_000_000), _regex(_letters)),
    Class("terminals/literal, GBNF", (10_000, 100_000, 1_000_000, 5_000_000), _gbnf(lambda n: f'root ::= "{_letters(n)}"')),
    Class("terminals/literal between rules, GBNF", (10_000, 1_000_000), _gbnf(lambda n: f'root ::= [0-9]+ "{_letters(n)}" root?'), lambda n: b"12" + _letters(n)[:100].encode()),
    Class("terminals/literal, choices", (10_000, 100_000, 1_000_000, 5_000_000), lambda n: dv.Grammar.from_choices([_letters(n), _letters(n) + "x"])),
    Class("terminals/literal, const", (10_000, 1_000_000, 5_000_000), _schema(lambda n: {"const": _letters(n)})),
    Class("terminals/literal, Lark", (10_000, 100_000, 1_000_000), _lark(lambda n: f'start: "{_letters(n)}"')),
    Class("terminals/words, choices", (1_000, 10_000, 100_000), lambda n: dv.Grammar.from_choices(_words(n))),
    Class("terminals/words, GBNF", (1_000, 10_000, 100_000), _gbnf(lambda n: "root ::= " + _quoted(_words(n), " | "))),
    Class("terminals/words in a rule, GBNF", (1_000, 10_000, 100_000), _gbnf(lambda n: f'root ::= ({_quoted(_words(n), " | ")}) " " [0-9]+')),
    Class("terminals/words, regex", (1_000, 10_000, 100_000), _regex(lambda n: "|".join(_words(n)))),
    Class("terminals/words, Lark pattern", (1_000, 10_000, 100_000), _lark(lambda n: "start: /" + "|".join(_words(n)) + "/")),
    Class("terminals/words, Lark literals", (100, 1_000, 10_000), _lark(lambda n: "start: " + _quoted(_words(n), " | "))),
    Class("terminals/words behind any letters, GBNF", (1_000, 4_000), _gbnf(lambda n: "root ::= (" + " | ".join(f'[a-z]* "{word}"' for word in _words(n)) + ")+")),
    Class("terminals/prefixes of one letter, regex", (100, 1_112), _regex(lambda n: "|".join("a" * (9 * i + 1) for i in range(n)))),
    Class("terminals/a{1,n}", (1_000, 10_000, 100_000), _regex(lambda n: f"a{{1,{n}}}"), lambda n: b"a" * 100),
    Class("terminals/(a{1,n}){1,n}", (10, 100, 1_000), _regex(lambda n: f"(a{{1,{n}}}){{1,{n}}}"), lambda n: b"a" * 100),
    Class("terminals/(a{1,n}b){1,n}", (10, 100, 1_000), _regex(lambda n: f"(a{{1,{n}}}b){{1,{n}}}"), lambda n: b"ab" * (n // 2)),
    Class("terminals/rule{1,n} nested", (100, 1_000, 100_000), _gbnf(lambda n: f'root ::= ("a" x){{1,{n}}}\nx ::= ("b" x "c" | "d"){{1,{n}}}'), lambda n: b"adad" * 20),
    Class("terminals/.*a.{n}", (5, 10, 20), _regex(lambda n: f".*a.{{{n}}}"), lambda n: b"ab" * 50),
    Class("terminals/a?a?...aa", (100, 1_000, 5_000), _regex(lambda n: "a?" * n + "a" * n), lambda n: b"a" * 100),
    Class("terminals/(a*)*...", (100, 1_000), _regex(lambda n: "(a*)*" * n), lambda n: b"a" * 100),
    Class("terminals/class of n characters", (1_000, 20_000), _regex(lambda n: "[" + "".join(chr(0x1_0000 + 2 * i) for i in range(n)) + "]+")),
    Class("terminals/nested groups", (100, 500, 30_000), _regex(lambda n: "(" * n + "a" + ")" * n)),
    Class("terminals/look-ahead of n", (5, 20, 200), _lark(lambda n: f"start: A+\nA: /a(?=.{{0,{n}}}x)|[a-z]/"), lambda n: b"a" * 100),
)  # fmt: skip


def walk(row: Class, size: int, matcher: dv.Matcher) -> Iterator[bytes]:
    """The bytes that a walk takes, one by one: those of the class's text, or of what is allowed, in turn."""
    text = row.text(size) if row.text else None
    for step in range(row.steps):
        following = matcher.next_bytes() if text is None else b""
        at = step if text is not None else step * 7 % max(1, len(following))
        byte = (following if text is None else text)[at : at + 1]
        if not byte:
            return
        yield byte


def by_name(name: str) -> Class:
    """The class of this name."""
    return next(row for row in CLASSES if row.name == name)


def vocabulary(path: str | None = None) -> dv.Vocabulary:
    """That of a tokenizer.json, or one of all bytes and a few common pieces."""
    if path:
        return dv.Vocabulary.from_tokenizer_json(path)
    pieces = [
        *(bytes([byte]) for byte in range(256)),
        b"aa",
        b"bb",
        b"ab",
        b"abc",
        b'{"',
        b'":',
        b", ",
        b"  ",
        b"123",
        b"</s>",
    ]
    return dv.Vocabulary.from_bytes(pieces, eos=[len(pieces) - 1])


def _measure(row: Class, size: int, vocab: dv.Vocabulary) -> dict[str, Any]:
    """Times in seconds of processor time, and memory in bytes; or the error."""
    result: dict[str, Any] = {}
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()

    def lap() -> float:
        nonlocal begin
        now = time.process_time()
        passed, begin = now - begin, now
        return passed

    try:
        grammar = row.make(size)
        constraint = dv.compile(grammar, vocab)
        result["compile"] = lap()
        matcher = constraint.matcher()
        matcher.allowed_tokens()
        result["first"] = lap()
        slowest = 0.0
        for step, byte in enumerate(walk(row, size, matcher)):
            lap()
            matcher.advance_bytes(byte)
            matcher.allowed_tokens()
            slowest = max(slowest, lap())
            result["slowest"], result["steps"] = slowest, step + 1
    except dv.DerivableError as error:
        result["error"] = f"{type(error).__name__} ({getattr(error, 'limit', None) or str(error)[:60]})"
        result["until"] = lap()
    result["memory"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) * 1024
    return result


def _child(options: argparse.Namespace) -> None:
    name, size = options.one
    bound = int(options.memory * (1 << 30))
    vocab = vocabulary(options.tokenizer)
    for front_end, text in (
        (dv.Grammar.from_lark, 'start: "b"'),
        (dv.Grammar.from_regex, "b"),
        (dv.Grammar.from_gbnf, 'root ::= "b"'),
    ):
        dv.compile(
            front_end(text), vocab
        ).matcher().allowed_tokens()  # what is imported when it is first needed is not measured
    dv.Grammar.from_json_schema(
        {"type": "object", "properties": {"a": {"const": 1}, "b": {"pattern": "b"}}}, profile="spec"
    )
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    print(json.dumps(_measure(by_name(name), int(size), vocab)))


def _run(row: Class, size: int, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", row.name, str(size), "--memory", str(options.memory)]
    if options.tokenizer:
        command += ["--tokenizer", options.tokenizer]

    def bound() -> None:  # the signal ends a child also where the kernel is at work
        resource.setrlimit(resource.RLIMIT_CPU, (int(options.seconds), int(options.seconds) + 1))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=bound, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"error": f"more than {options.seconds:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1]
        return {"error": f"UNTYPED: {last[:80]}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _shown(found: dict[str, Any]) -> list[str]:
    cells = [f"{found[key] * 1e3:,.1f}" if key in found else "" for key in ("compile", "first", "slowest")]
    memory = f"{found['memory'] / 1e6:,.0f}" if "memory" in found else ""
    error = found.get("error", "")
    return [*cells, memory, f"{error} after {found['until'] * 1e3:,.0f} ms" if "until" in found else error]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="What untrusted input can cost, class by class.")
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--sizes", type=int, default=99, help="so many of the smallest sizes only")
    parser.add_argument("--memory", type=float, default=4, help="GB of address space of a child")
    parser.add_argument("--seconds", type=float, default=60, help="processor time of a child")
    parser.add_argument("--tokenizer", help="tokenizer.json, or its folder; by default a vocabulary of bytes")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _child(options)
        return
    print(f"{os.uname().machine}, Python {sys.version.split()[0]}, processor time; memory beyond the vocabulary's\n")
    print("| class | size | compile, ms | first mask, ms | slowest later step, ms | memory, MB | instead |")
    print("|---|---|---|---|---|---|---|")
    for row in CLASSES:
        if any(word in row.name for word in options.only.split(",")):
            for size in row.sizes[: options.sizes]:
                print(f"| {row.name} | {size:,} | " + " | ".join(_shown(_run(row, size, options))) + " |", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
