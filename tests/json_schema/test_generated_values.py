"""Values that `hypothesis-jsonschema` makes of random schemas: accepted if and only if two validators take them.

It needs a `hypothesis` of 2024, so `make test-generated` runs this in an environment of its own. That walks through
the masks write valid values is `test_json_schema_random`.
"""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from typing import Any

import pytest
from accepting import BYTES, accepts
from hypothesis import HealthCheck, given, settings
from hypothesis.internal.conjecture.utils import many
from random_schemas import random_schema
from validators import Validators

import derivable as dv

hypothesis_jsonschema = pytest.importorskip("hypothesis_jsonschema")
if not hasattr(many, "more"):
    pytest.skip("hypothesis-jsonschema 0.23 wants a hypothesis before 6.113", allow_module_level=True)

SCHEMAS = 1_000
VALUES = 20
"""Values made of each schema."""


def differences(seed: int, seen: Counter[str]) -> list[str]:
    """What is wrong with the values made of the schema of this seed."""
    schema = random_schema(random.Random(seed))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = made(schema)
    except Exception:  # what it cannot make it says in many ways
        seen["schemas it makes no values of"] += 1
        return []
    try:
        grammar = dv.Grammar.from_json_schema(schema, draft="2020-12", key_order="any", profile="spec")
    except (dv.LimitError, dv.UnsupportedFeatureError):
        seen["refused"] += 1
        return []
    except dv.GrammarError:
        return [f"has an instance: {value}" for value in values if Validators(schema).agree(value)]
    constraint, validators, out = dv.compile(grammar, BYTES), Validators(schema), []
    for value in values:
        valid = validators.agree(value)
        text = json.dumps(value, ensure_ascii=False)
        seen["values" if valid is not None else "values that they judge differently"] += 1
        if valid is not None and accepts(constraint, text) is not valid:
            out.append(f"{'rejects' if valid else 'accepts'} {text}")
    return out


def made(schema: Any) -> list[Any]:
    """Values that should be valid."""
    values: list[Any] = []

    @settings(
        max_examples=VALUES, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(hypothesis_jsonschema.from_schema(schema))
    def note(value: Any) -> None:
        values.append(value)

    note()
    return values


@pytest.mark.slow
def test_values_of_many_schemas() -> None:
    seen: Counter[str] = Counter()
    assert [(seed, some) for seed in range(SCHEMAS) if (some := differences(seed, seen))] == []
    print(dict(seen))
    assert seen["values"] > 10 * SCHEMAS, seen
