"""Seeded generators of the training text that is not Python's standard library.

Each generator is a function from a ``random.Random`` to one document (prompt and answer). ``GENERATORS``
names them with their share of the generated characters.
"""

from __future__ import annotations

from collections.abc import Callable

from .common import Rng
from .people import character, json_people, json_person, xml_person
from .programs import c_program, go_program, java_program, python_program
from .reasoning import arithmetic, gsm_json, gsm_plain
from .records import json_array, json_record, tool_call
from .sql import sql
from .text import conll, csv, english, entities, formats, multiple_choice, sentiment, yes_no

Generator = Callable[[Rng], str]

#: name -> (generator, share of the generated characters); shares need not add up to one.
GENERATORS: dict[str, tuple[Generator, float]] = {
    "json_person": (json_person, 12.0),
    "json_people": (json_people, 2.0),
    "json_record": (json_record, 7.0),
    "json_array": (json_array, 2.0),
    "tool_call": (tool_call, 5.0),
    "xml_person": (xml_person, 5.0),
    "character": (character, 6.0),
    "c_program": (c_program, 7.0),
    "go_program": (go_program, 4.0),
    "java_program": (java_program, 4.0),
    "python_program": (python_program, 3.0),
    "sql": (sql, 7.0),
    "gsm_json": (gsm_json, 11.0),
    "gsm_plain": (gsm_plain, 3.0),
    "arithmetic": (arithmetic, 6.0),
    "entities": (entities, 6.0),
    "conll": (conll, 2.0),
    "yes_no": (yes_no, 3.0),
    "multiple_choice": (multiple_choice, 2.0),
    "sentiment": (sentiment, 1.0),
    "formats": (formats, 3.0),
    "english": (english, 3.0),
    "csv": (csv, 1.0),
}
