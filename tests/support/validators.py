"""Two validators of JSON Schema, `jsonschema` and `jsonschema-rs`: what both say counts."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["Validators"]

jsonschema = pytest.importorskip("jsonschema")
jsonschema_rs = pytest.importorskip("jsonschema_rs")


class Validators:
    """Two validators of one schema."""

    def __init__(self, schema: Any) -> None:
        draft = jsonschema.Draft202012Validator
        self.one = draft(schema, format_checker=draft.FORMAT_CHECKER)
        self.other = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)

    def agree(self, value: Any) -> bool | None:
        """Whether a value is valid; `None` where they differ."""
        valid = bool(self.one.is_valid(value))
        return valid if self.other.is_valid(value) is valid else None
