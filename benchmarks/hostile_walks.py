# ruff: noqa: E501 -- rows of a table
"""Hostile input of many small families, each walked at random: what the classes of `hostile.py` do not measure, is looked for here.

    python benchmarks/hostile_walks.py [--only WORD] [--seconds 8] [--tokenizer tokenizer.json]

Every case runs in a process of its own. It is compiled, and a text of it is walked: any allowed token, then more often
what closes something. On the way `allows` is compared with the mask, and the mask with itself after going back. Printed
are untyped errors, ends of processes, dead ends, differences, steps over 100 ms and compilations over 3 s, all in
processor time; a `LimitError` of a step is asked again, as the documentation says. `CASES` is data: a row is a name and a
grammar; to add one, add a row.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import chain
from typing import Any, TypeVar, cast

from hostile import vocabulary

import derivable as dv

_T = TypeVar("_T")
Make = Callable[[], dv.Grammar]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _in(depth: int, innermost: Any, outer: Callable[[Any], Any]) -> Any:
    return reduce(lambda inner, _: outer(inner), range(depth), innermost)


_OBJECTS: dict[str, Any] = {"type": "object"}
_Rows = Iterator[tuple[str, Any]]


def _keys(n: int) -> _Rows:
    keys = {f"k{i}": {"type": "integer"} for i in range(n)}
    yield (
        f"dependentSchemas, chain {n}",
        {
            **_OBJECTS,
            "properties": keys,
            "dependentSchemas": {f"k{i}": {"required": [f"k{i + 1}"]} for i in range(n - 1)},
        },
    )
    yield (
        f"dependentSchemas, values {n}",
        {
            **_OBJECTS,
            "properties": keys,
            "dependentSchemas": {f"k{i}": {"properties": {f"k{(i + 1) % n}": {"minimum": i}}} for i in range(n)},
        },
    )
    yield (
        f"dependentSchemas, patterns {n}",
        {
            **_OBJECTS,
            "dependentSchemas": {
                f"k{i}": {"patternProperties": {f"{LETTERS[i % 26]}$": {"type": "integer"}}} for i in range(n)
            },
        },
    )
    yield (
        f"unevaluatedProperties, anyOf {n}",
        {
            **_OBJECTS,
            "anyOf": [{"properties": {f"k{i}": {"const": i}}, "required": [f"k{i}"]} for i in range(n)],
            "unevaluatedProperties": False,
        },
    )
    yield (
        f"unevaluatedProperties, if {n}",
        {
            **_OBJECTS,
            "allOf": [
                {
                    "if": {"properties": {"t": {"const": i}}, "required": ["t"]},
                    "then": {"properties": {f"k{i}": {}}},
                }
                for i in range(n)
            ],
            "unevaluatedProperties": False,
        },
    )


def _combinations(n: int) -> _Rows:
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield f"{keyword} multipleOf {n}", {"type": "integer", keyword: [{"multipleOf": i + 2} for i in range(n)]}
        yield (
            f"{keyword} ranges {n}",
            {"type": "number", keyword: [{"minimum": 10 * i + 0.5, "maximum": 10 * i + 15.25} for i in range(n)]},
        )
        yield f"{keyword} patterns {n}", {"type": "string", keyword: [{"pattern": f"w{i}x"} for i in range(n)]}
        yield (
            f"{keyword} required, each of {n}",
            {**_OBJECTS, "allOf": [{keyword: [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(n)]},
        )


def _sizes(n: int) -> _Rows:
    keys = {f"k{i}": {"type": "integer"} for i in range(n)}
    yield f"not, of constants {n}", {"not": {"enum": [{"a": i, "b": [i]} for i in range(n)]}}
    yield f"not in not {n}", _in(n, {"type": "integer"}, lambda s: {"not": {"properties": {"a": s}}})
    yield (
        f"references that meet {n}",
        {
            "$ref": "#/$defs/d0",
            "$defs": {
                f"d{i}": {
                    **_OBJECTS,
                    "properties": {
                        "l": {"allOf": [{"$ref": f"#/$defs/d{(i + 1) % n}"}, {"$ref": f"#/$defs/d{(i * 3 + 1) % n}"}]}
                    },
                }
                for i in range(n)
            },
        },
    )
    yield (
        f"counts of listed keys {n}",
        {**_OBJECTS, "minProperties": n // 2, "maxProperties": n // 2 + 2, "properties": keys},
    )
    yield (
        f"contains, some {n}",
        {"type": "array", "contains": {"type": "integer"}, "minContains": n // 2, "maxContains": n},
    )
    yield f"constant, deep {n}", {"const": _in(n, 1, lambda s: {"a": s, "b": [1]})}
    yield (
        f"uniqueItems of a list {n}",
        {"type": "array", "uniqueItems": True, "items": {"enum": [{"a": i} for i in range(n)]}, "minItems": n - 1},
    )
    yield (
        f"prefixItems {100 * n}",
        {"type": "array", "prefixItems": [{"type": ["integer", "string"], "minimum": i} for i in range(100 * n)]},
    )


def _words() -> _Rows:
    names: dict[str, Any] = {"é": {}, "\U0001f600": {}, "\0": {}, '"\\': {}, "": {}, "\ud800": {}}
    yield (
        "names of odd characters",
        {**_OBJECTS, "properties": names, "required": ["é", ""], "additionalProperties": False},
    )
    yield (
        "propertyNames and patternProperties",
        {
            **_OBJECTS,
            "propertyNames": {"pattern": "^[a-c]{1,5}$", "not": {"pattern": "bb"}},
            "patternProperties": {"^a": {"type": "integer"}, "c$": {"maximum": 10}},
        },
    )
    for step in (0.1, 0.3, 1e-20, 97, 1_000_003, 1e100, 0.123456789):
        yield f"multipleOf {step}", {"multipleOf": step, "type": "number", "exclusiveMinimum": -1e5, "maximum": 1e40}
    for pattern in (
        r"^(?!.*--)[a-z0-9-]+$",
        r"^(?:(?!a.{0,20}b).)*$",
        r"^(?=(?:.*\d){3})(?=(?:.*[a-z]){2}).*$",
        r"^.*a.{15}$",
        r"(ab|ba){1,3000}",
        r"(?:(?:a|b)*c|d)*",
        r"[\p{L}\p{N}_-]{1,64}",
        r"a^b",
        r"(?:a{0,30}){0,30}",
    ):
        for more in (cast(dict[str, Any], {}), {"minLength": 3, "maxLength": 40}):
            yield f"pattern {pattern} {more}", {"type": "string", "pattern": pattern, **more}
        yield f"not pattern {pattern}", {"type": "string", "not": {"pattern": pattern}}
        yield (
            f"key {pattern}",
            {**_OBJECTS, "patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": {"type": "null"}},
        )
    for name in ("date-time", "duration", "email", "hostname", "ipv6", "uri", "uuid", "regex", "json-pointer"):
        for more in (
            {"pattern": "1.*2"},
            {"minLength": 5, "maxLength": 30},
            {"pattern": "[0-9a-c]{3}", "maxLength": 40},
        ):
            yield f"format {name} {more}", {"type": "string", "format": name, **more}


def _schemas() -> _Rows:
    for n in (3, 10, 30, 100):
        yield from chain(_keys(n), _combinations(n), _sizes(n))
    yield from _words()


_GBNF = {
    "emphasis": 'root ::= (b | i | t)*\nb ::= "**" root "**"\ni ::= "*" root "*"\nt ::= [a-z ]+',
    "palindromes": "root ::= " + " | ".join(f'"{c}" root "{c}"' for c in LETTERS) + ' | ""',
    "words side by side": 'root ::= root root | [a-z]+ | " "',
    "blanks three times": 'root ::= (ws (ws (ws "a" ws)+ ws)+ ws)+\nws ::= [ ]*',
    "hidden left recursion": 'root ::= a\na ::= n a "x" | "y"\nn ::= "" | n n',
    "rules of twice the next": "root ::= r0\n"
    + "\n".join(f"r{i} ::= r{i + 1} r{i + 1} | r{i + 1}" for i in range(12))
    + '\nr12 ::= "a" | "b"',
    "terminals that overlap": "root ::= ("
    + " | ".join(f"t{i}" for i in range(300))
    + ") root?\n"
    + "\n".join(f't{i} ::= [a-z]* "{i}"' for i in range(300)),
    "blanks in hidden places": 'root ::= (w a w b w)* w\nw ::= " "* | (" " w)?\na ::= "x" w | w "x"\nb ::= w "y" w | w',
    "long unit chain": 'root ::= r0 "."\n'
    + "\n".join(f'r{i} ::= r{i + 1} | r{i} "{i}"' for i in range(1_000))
    + '\nr1000 ::= "b"',
}
_LARK = {
    "comments beside operators": 'start: e\ne: e "/" e | N | "(" e ")"\nN: /[0-9]+/\n%ignore /\\/\\*([^*]|\\*[^\\/])*\\*\\//\n%ignore /\\/\\/[^\\n]*/\n%ignore /\\s+/',
    "priorities": "start: (A|B|C|D)+\nA.5: /a[a-z]*/\nB.4: /[a-z]+/\nC.3: /[a-z0-9]+/\nD: /./",
    "keywords": "start: (" + " | ".join(f'"k{i}"' for i in range(300)) + ' | ID)+ ";"\nID: /[a-z][a-z0-9]*/\n%ignore " "',
    "look-aheads": "start: (" + "|".join(f"T{i}" for i in range(20)) + ")+\n" + "\n".join(f"T{i}: /[a-z]+(?=[0-9]{{{i}}}x)/" for i in range(20)) + "\n%ignore /[0-9x]/",
    "a look-ahead that forbids": "start: (A|B)+\nA: /a+(?!.{0,30}z)/\nB: /[b-z]/",
    "look-aheads that forbid, beside each other": 'start: (A|B|C)+\nA: /[a-z]+(?!.{0,12}(x|yy|zzz))/\nB: /[a-z0-9]{1,3}(?!.{0,7}q)/\nC: /[.,;]/\n%ignore " "',
    "look-aheads of bounded reach": "start: (" + "|".join(f"T{i}" for i in range(9)) + ")+\n" + "\n".join(f"T{i}: /[a-z]{{1,{i + 2}}}(?=[0-9a-m]{{{i}}}x)|[{LETTERS[i]}x0]/" for i in range(9)),
    "eight look-aheads": "start: A\nA: /" + "".join(f"(?=.*{c})" for c in "abcdefgh") + ".{8,30}/",
    "blanks in words": 'start: (A | B)+\nA: /[a-z ]+/\nB: /[0-9]+/\n%ignore " "',
    "templates": 'start: t{"a"}\nt{x}: x | "b" t{u{x}}\nu{y}: "(" y ")"',
}  # fmt: skip


def cases() -> dict[str, Make]:
    """All of them, by name."""
    found: dict[str, Make] = {
        f"schema: {name}": partial(dv.Grammar.from_json_schema, schema, profile="spec") for name, schema in _schemas()
    }
    found |= {f"GBNF: {name}": partial(dv.Grammar.from_gbnf, text) for name, text in _GBNF.items()}
    for policy in ("scannerless", "longest", "basic"):
        found |= {
            f"Lark: {name}, {policy}": partial(dv.Grammar.from_lark, text, lexing=policy)
            for name, text in _LARK.items()
        }
    return found


class Walk:
    """One case in progress, and what is wrong with it."""

    def __init__(self, make: Make, vocab: dv.Vocabulary, seconds: float) -> None:
        self.vocab, self.seconds, self.random = vocab, seconds, random.Random(1)
        self.wrong: list[str] = []
        self.slowest = self.refused = 0.0
        begin = time.process_time()
        self.constraint = dv.compile(make(), vocab)
        self.compiled = time.process_time() - begin
        self.matcher = self.constraint.matcher()

    def step(self, act: Callable[[], _T]) -> _T:
        """Does it, again where it is refused for its cost."""
        for again in range(100):
            begin = time.process_time()
            try:
                return act()
            except dv.LimitError as error:
                if error.limit != "max_step_work" or again == 99:
                    raise
                self.refused += 1
            finally:
                self.slowest = max(self.slowest, time.process_time() - begin)
        raise AssertionError

    def mask(self) -> list[int]:
        return [int(token) for token in self.step(self.matcher.allowed_tokens)]

    def compare(self, allowed: list[int]) -> None:
        known = set(allowed)
        for token in {
            *self.random.sample(allowed, min(8, len(allowed))),
            *self.random.sample(range(self.vocab.size), 16),
        }:
            if self.step(lambda t=token: self.matcher.allows(t)) != (token in known):  # type: ignore[misc]
                self.wrong.append(f"mask and allows differ on {self.vocab.token_bytes(token)!r}")

    def run(self, steps: int = 150) -> None:
        begin, masks = time.process_time(), list[list[int]]()
        for step in range(steps):
            if self.matcher.is_finished or time.process_time() - begin > self.seconds:
                return
            allowed = self.mask()
            if not allowed:
                self.wrong.append(f"dead end after {step} tokens")
                return
            if step % 7 == 0:
                self.compare(allowed)
            masks.append(allowed)
            if step % 20 == 19:
                count = self.random.randrange(1, len(masks))
                self.step(lambda n=count: self.matcher.rollback(n))  # type: ignore[misc]
                del masks[len(masks) - count :]
                allowed = masks[-1]
                if self.mask() != allowed:
                    self.wrong.append("another mask after going back")
                    return
            closing = [t for t in allowed if self.vocab.token_bytes(t) in (b'"', b"}", b"]")]
            short = [t for t in allowed if len(self.vocab.token_bytes(t) or b"") < 3]
            chosen = self.random.choice(
                closing
                if closing and self.random.random() < 0.3
                else short
                if short and self.random.random() < 0.6
                else allowed
            )
            self.step(lambda t=chosen: self.matcher.advance(t))  # type: ignore[misc]


def _one(make: Make, vocab: dv.Vocabulary, seconds: float) -> list[str]:
    """What is wrong with a case."""
    begin = time.process_time()
    try:
        walk = Walk(make, vocab, seconds)
    except dv.DerivableError as error:
        took = time.process_time() - begin
        return [f"{type(error).__name__} after {took:.1f} s"] if took > 2 else []
    found = walk.wrong
    try:
        walk.run()
    except dv.LimitError as error:
        found.append(f"refused for good: {error.limit}")
    found += [f"compiled in {walk.compiled:.1f} s"] if walk.compiled > 3 else []
    return found + (
        [f"a step of {1e3 * walk.slowest:,.0f} ms ({walk.refused:.0f} refused)"] if walk.slowest > 0.1 else []
    )


def _apart(make: Make, vocab: dv.Vocabulary, options: argparse.Namespace) -> list[str]:
    """The same in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (int(options.memory * 2**30),) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (60, 61))
        try:
            found = _one(make, vocab, options.seconds)
        except BaseException:  # whatever it is, it is what is looked for
            found = ["UNTYPED " + traceback.format_exc().strip().splitlines()[-1]]
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return list(json.loads(text)) if text else [f"ended by signal {status & 127}"]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Random walks through hostile grammars; what is wrong is printed.")
    parser.add_argument("--only", default="", help="a part of names")
    parser.add_argument("--seconds", type=float, default=8, help="processor time of a walk")
    parser.add_argument("--memory", type=float, default=6, help="GB of address space of a child")
    parser.add_argument("--tokenizer", help="tokenizer.json, or its folder; by default a vocabulary of bytes")
    options = parser.parse_args()
    vocab = vocabulary(options.tokenizer)
    found = 0
    _one(lambda: dv.Grammar.from_lark('start: "b"+'), vocab, 1)  # what is imported when it is first needed
    wanted = {name: make for name, make in cases().items() if options.only in name}
    for name, make in wanted.items():
        for wrong in _apart(make, vocab, options):
            found += 1
            print(f"{name[:90]}: {wrong}", flush=True)
    print(f"{len(wanted)} cases, {found} remarks")


if __name__ == "__main__":
    main()
