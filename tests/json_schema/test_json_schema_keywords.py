"""`Grammar.from_json_schema`, keyword by keyword: JSON texts that are in the language and texts that are not.

`testdata/json_schema/keywords.json` holds the cases. What peers get wrong (each was a defect of an engine in use) is
there under "peers".
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from accepting import BYTES, accepts
from paths import TESTDATA

import derivable as dv

CASES = json.loads((TESTDATA / "json_schema/keywords.json").read_text(encoding="utf-8"))


def cases() -> list[Any]:
    return [pytest.param(case, id=f"{group}: {case['what']}") for group, some in CASES.items() for case in some]


@pytest.mark.parametrize("case", cases())
def test_language(case: dict[str, Any]) -> None:
    schema = case["schema"]
    constraint = dv.compile(dv.Grammar.from_json_schema(schema, **case.get("options", {}), profile="spec"), BYTES)
    for text in case.get("in", ()):
        assert accepts(constraint, text), f"rejected {text}"
    for text in case.get("out", ()):
        assert not accepts(constraint, text), f"accepted {text}"
