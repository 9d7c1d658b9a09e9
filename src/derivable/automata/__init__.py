"""Expression trees to automata: what recognizes a terminal (`recognizers`), and what counts instead of repeating states
(`counting`)."""

from .recognizers import (
    JSON_CHARACTER,
    LONGEST_NUMBER,
    SMALL_RANGE,
    SURROGATE,
    Recognizer,
    compile_expr,
    is_empty,
    json_strings,
    recognizer,
    recognizer_in_order,
    string_values,
    without_empty,
)

__all__ = [
    "JSON_CHARACTER",
    "LONGEST_NUMBER",
    "SMALL_RANGE",
    "SURROGATE",
    "Recognizer",
    "compile_expr",
    "is_empty",
    "json_strings",
    "recognizer",
    "recognizer_in_order",
    "string_values",
    "without_empty",
]
