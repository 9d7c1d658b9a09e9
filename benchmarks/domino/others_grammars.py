"""The grammars of the workloads as llama.cpp and Guidance read them.

GBNF is llama.cpp's own, and Guidance brings a converter of it. A JSON schema is translated by each in its own way, with
the keys in the order of the schema, where ours takes them in any. The template of DOMINO's appendix is a Lark grammar
that ignores white space: Guidance reads it as it is, for llama.cpp it is written out here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from accuracy import WORDS, parts
from workloads import ENTITIES, SCHEMA, SHARED

FOLDER = SHARED / "data" / "grammars" / "domino"

_PAIRS = (
    ("id", "number"),
    ("description", r'"\"A nimble fighter\"" ws'),
    ("name", "string"),
    ("age", "number"),
    ("armor", r'("\"leather\"" | "\"chainmail\"" | "\"plate\"") ws'),
    ("weapon", r'("\"sword\"" | "\"axe\"" | "\"bow\"") ws'),
    ("class", "string"),
    ("mantra", "string"),
    ("strength", "number"),
    ("items", '"[" ws string "," ws string "," ws string "]" ws'),
)
TEMPLATE = "\n".join(
    [
        'root ::= ws "{" ws ' + ' "," ws '.join(f"{name}-pair" for name, _ in _PAIRS) + ' "}" ws',
        *(rf'{name}-pair ::= "\"{name}\"" ws ":" ws {value}' for name, value in _PAIRS),
        r'string ::= "\"" [^\n\r"]+ "\"" ws',
        "number ::= [0-9]+ ws",
        r"ws ::= [ \t\n]*",
    ]
)


def gbnf(name: str) -> str:
    """The grammar of a workload or a task, for llama.cpp."""
    if name == "schema":
        convert: Any = import_module("llama_cpp.llama_grammar").json_schema_to_gbnf
        return str(convert(json.dumps(SCHEMA)))
    if name in ("template", "entities"):
        return TEMPLATE if name == "template" else ENTITIES
    return (FOLDER / f"{'gsm8k' if name == 'arithmetic' else name}.gbnf").read_text(encoding="utf-8")


def guidance_grammar(name: str) -> Any:
    """The same for Guidance, as a node of its grammars."""
    guidance: Any = import_module("guidance")
    if name == "schema":
        return guidance.json(schema=SCHEMA)
    if name == "template":
        return guidance.lark((FOLDER / "template.lark").read_text(encoding="utf-8"))
    return guidance.lark(import_module("llguidance.gbnf_to_lark").gbnf_to_lark(gbnf(name)))


@dataclass(frozen=True)
class _Program:
    """A template and the regular expressions of its holes."""

    text: str
    holes: dict[str, str]


def _program(name: str) -> _Program | None:
    if name in ("arithmetic", "entities"):
        return _Program(*parts(name))
    number, words = "[1-9][0-9]*", WORDS
    if name == "template":  # the paper's Listing 1, with a third item, as the grammar has it
        shape: dict[str, Any] = {
            "id": "NUMBER{id}",
            "description": "A nimble fighter",
            "name": "{name}",
            "age": "NUMBER{age}",
            "armor": "{armor}",
            "weapon": "{weapon}",
            "class": "{class}",
            "mantra": "{mantra}",
            "strength": "NUMBER{strength}",
            "items": ["{item1}", "{item2}", "{item3}"],
        }
        holes = dict.fromkeys(("id", "age", "strength"), number)
        holes |= dict.fromkeys(("name", "class", "mantra", "item1", "item2", "item3"), words)
        holes |= {"armor": "leather|chainmail|plate", "weapon": "sword|axe|bow"}
        text = json.dumps(shape, indent=4)
    elif name == "schema":
        shape = {"name": "{name}", "age": "NUMBER{age}", "email": "{email}", "city": "{city}", "hobbies": ["LIST"]}
        holes = dict.fromkeys(("name", "email", "city"), words) | {"age": number}
        holes["list"] = f'"{words}"(, "{words}")*'
        text = json.dumps(shape).replace('"LIST"', "{list}")
    else:
        return None
    return _Program(re.sub(r'"NUMBER(\{\w+\})"', r"\1", text), holes)


def guidance_program(name: str) -> Any:
    """A template in Guidance: fixed text, and `gen` with a regular expression in each hole. None for some workloads."""
    guidance: Any = import_module("guidance")
    program = _program(name)
    if program is None:
        return None
    found: Any = None
    for at, part in enumerate(re.split(rf"\{{({'|'.join(program.holes)})\}}", program.text)):
        piece = guidance.gen(regex=program.holes[part]) if at % 2 else part
        found = piece if found is None else found + piece
    return found


def limited(node: Any, temperature: float, most: int) -> str:
    """What Guidance's engine is given: a grammar with its temperature and its length in tokens."""
    grammar: Any = import_module("guidance._grammar")
    made = grammar.token_limit(grammar.with_temperature(node, temperature), most)
    return str(made.ll_grammar())
