"""Schemas of MaskBench, a validator that judges texts by them, and tables; for the programs beside this file."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]


@dataclass(frozen=True)
class SchemaCase:
    """A schema, and values that are known to satisfy it."""

    name: str
    schema: Any
    valid: list[Any]


def schema_cases(shared: Path) -> list[SchemaCase]:
    """All schemas of the development part, in the order of the file."""
    path = shared / "data" / "maskbench" / "dev.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [SchemaCase(row["id"], row["schema"], [t["data"] for t in row["tests"] if t["valid"]]) for row in rows]


class Judge:
    """Says why a text is not a valid instance of a schema, formats included; `None` if it is one.

    jsonschema is wrong about two things that models write: `.` of a pattern matches line ends that it does not match in
    ECMA-262, and Python's dates have no year 0. What it refuses is judged once more with others in their places.
    """

    def __init__(self, schema: Any) -> None:
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        self.validator = kind(schema, format_checker=kind.FORMAT_CHECKER)

    def __call__(self, text: bytes) -> str | None:
        repeated = False

        def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            nonlocal repeated
            repeated = repeated or len(dict(pairs)) < len(pairs)
            return dict(pairs)

        try:
            value = json.loads(
                text.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=members
            )
        except ValueError as error:
            return f"no JSON: {error}"
        why = self._wrong(value) and self._wrong(_respelled(value))
        return f"a key is repeated; {why}" if why and repeated else why

    def _wrong(self, value: Any) -> str | None:
        try:
            found = next(iter(self.validator.iter_errors(value)), None)
        except Exception as error:  # of a schema that the validator does not understand
            return f"the validator failed: {type(error).__name__}: {error}"[:200]
        return None if found is None else f"{found.validator} at {found.json_path}: {found.message}"[:200]


def _respelled(value: Any) -> Any:
    """With another line end and another leap year for those that jsonschema is wrong about."""
    if isinstance(value, str):
        # Two at the end, for Python's `$` also matches before one.
        ends = re.sub("[\r\u2028\u2029]$", "\n\n", value)
        return re.sub("^0000(?=-)", "2000", re.sub("[\r\u2028\u2029]", "\n", ends))
    if isinstance(value, list):
        return [_respelled(item) for item in value]
    if isinstance(value, dict):
        return {_respelled(key): _respelled(item) for key, item in value.items()}
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is larger than every float")
    return value


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """Its first column to the left, the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
