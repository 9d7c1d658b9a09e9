"""Random schemas against two validators, `jsonschema` and `jsonschema-rs`: the same values are valid, and no walk gets
stuck. And schemas with something else in a few places, which are refused by name if they cannot be enforced.

    python tests/json_schema/test_json_schema_random.py 100000

tries so many and prints what differs.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from accepting import BYTES, accepts
from random_schemas import mutated, random_schema, spelled, values_near
from validators import Validators

import derivable as dv

FAST, SLOW = 500, 99_500
"""Schemas in the fast and in the slow suite."""
LONGEST = 1.0
"""Seconds of process time that a small schema may take."""


def read(text: bytes) -> Any:
    """The value of a text, if `json` loses nothing of it: no key comes twice, no number is beyond floats."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(members)) < len(members):
            raise ValueError
        return dict(members)

    def number(literal: str) -> float:
        found = float(literal)
        if Decimal(literal) != Decimal(repr(found)):
            raise ValueError
        return found

    return json.loads(text.decode("utf-8"), object_pairs_hook=pairs, parse_float=number)


def differences(seed: int, seen: Counter[str]) -> list[str]:
    """What is wrong with the grammar of the schema that this seed makes."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    values = values_near(rng, schema, 12)
    validators = Validators(schema)
    begin = time.process_time()
    try:
        grammar = dv.Grammar.from_json_schema(schema, draft="2020-12", key_order="any", profile="spec")
        constraint = dv.compile(grammar, BYTES)
    except (dv.LimitError, dv.UnsupportedFeatureError):
        seen["refused"] += 1
        return []
    except dv.GrammarError as error:
        seen["empty"] += 1
        if "no JSON value satisfies" not in str(error):
            return [str(error)]
        return [f"has an instance: {value}" for value in values if validators.agree(value)]
    out = [f"took {took:.1f} s" for took in [time.process_time() - begin] if took > LONGEST]
    for value in values:
        valid = validators.agree(value)
        seen["values" if valid is not None else "values that they judge differently"] += 1
        text = json.dumps(value, ensure_ascii=False)
        if valid is not None and accepts(constraint, text) is not valid:
            out.append(f"{'rejects' if valid else 'accepts'} {text}")
        text = spelled(rng, value)
        if valid is False and json.loads(text) == value and accepts(constraint, text):
            out.append(f"accepts {text}")
    for _ in range(3):
        seen["walks"] += 1
        out += _walk(rng, constraint, validators)
    return out


def _walk(rng: random.Random, constraint: dv.Constraint, validators: Validators) -> list[str]:
    matcher, text = constraint.matcher(), b""
    for _ in range(120):
        allowed = matcher.allowed_tokens().tolist()
        if not allowed:
            return [f"stuck after {text!r}"]
        ends = [t for t in allowed if t == 256 or chr(t) in '"]}']
        token = rng.choice(ends if ends and rng.random() < 0.5 else allowed)
        if token == 256:
            try:
                valid = validators.agree(read(text))
            except (ValueError, InvalidOperation):
                return []
            return [f"wrote {text!r}"] if valid is False else []
        text += bytes([token])
        matcher.advance(token)
    return []


def untyped(seed: int) -> list[str]:
    """How the mutated schema of this seed ends, if not in a constraint or a typed error, and soon."""
    rng = random.Random(seed)
    schema = mutated(rng, random_schema(rng))
    begin = time.process_time()
    for options in ({}, {"draft": rng.choice(["draft4", "draft6", "draft7", "2019-09"])}):
        try:
            dv.compile(dv.Grammar.from_json_schema(schema, **options, profile="spec"), BYTES).matcher().allowed_tokens()
        except dv.DerivableError as error:
            str(error)
        except Exception as error:
            return [repr(error)]
    took = time.process_time() - begin
    return [f"took {took:.1f} s"] if took > LONGEST else []


def wrong(seeds: range) -> list[tuple[int, list[str]]]:
    """Seeds with what they find."""
    seen: Counter[str] = Counter()
    found = [(seed, some) for seed in seeds for some in (differences(seed, seen), untyped(seed)) if some]
    assert seen["refused"] < len(seeds) / 10 and seen["values"] > 5 * len(seeds), seen
    return found


def test_some_random_schemas() -> None:
    assert wrong(range(FAST)) == []


@pytest.mark.slow
def test_many_random_schemas() -> None:
    assert wrong(range(FAST, FAST + SLOW)) == []


if __name__ == "__main__":
    for found in wrong(range(int(sys.argv[1]))):
        print(*found)
