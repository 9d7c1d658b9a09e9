"""What `derivable demo` generates: prompts, grammars, and checkers that are not Derivable."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..grammar import Grammar

__all__ = [
    "CASES",
    "EXAMPLES",
    "Case",
    "example",
    "is_equation",
    "is_json",
    "is_order",
    "is_xml",
    "order_model",
    "runs_as_sql",
]

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Case:
    """One generation of the demo. `check` decides, without Derivable, whether a text is what was asked for."""

    title: str
    grammar: Callable[[], Grammar]
    prompt: str
    check: Callable[[str], bool]
    checked_by: str
    max_tokens: int
    temperature: float = 1.0
    seed: int = 0


_DATE = r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"({_OCTET}\.){{3}}{_OCTET}"
_FEELINGS = ["positive", "negative", "neutral"]
_TABLES = """
CREATE TABLE users (id INTEGER, name TEXT, age INTEGER, email TEXT, city TEXT);
CREATE TABLE products (id INTEGER, name TEXT, price INTEGER, stock INTEGER, color TEXT);
"""


def is_json(text: str) -> bool:
    """`json.loads` takes it."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def is_equation(text: str) -> bool:
    """Two sides that Python can evaluate; whether they are equal is up to the model."""
    sides = text.split(" = ")
    try:
        return len(sides) == 2 and all(isinstance(_value(ast.parse(side, mode="eval").body), int) for side in sides)
    except (SyntaxError, ValueError):
        return False


def _value(node: ast.expr) -> int:
    """The value of an arithmetic expression."""
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left) * _value(right)
    raise ValueError(ast.dump(node))


def runs_as_sql(text: str) -> bool:
    """SQLite runs it over two empty tables."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(_TABLES)
        database.execute(text)
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return False
    finally:
        database.close()
    return True


def is_xml(text: str) -> bool:
    """The standard library parses it."""
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return False
    return True


def example(name: str) -> Callable[[], Grammar]:
    """A grammar of the package's examples, by its file name: Lark, or GBNF."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    return lambda: Grammar.from_gbnf(text) if name.endswith(".gbnf") else Grammar.from_lark(text)


def order_model() -> Any:
    """A pydantic model with models in it; `None` without pydantic, which is an extra."""
    try:
        from pydantic import BaseModel, ConfigDict, Field
    except ImportError:
        return None

    class Closed(BaseModel):  # type: ignore[misc]
        model_config = ConfigDict(extra="forbid")

    class Customer(Closed):
        name: str = Field(min_length=3, max_length=24)
        email: str = Field(pattern=r"^[a-z.]{3,20}@example\.(com|org)$")

    class Item(Closed):
        product: str = Field(min_length=3, max_length=20)
        quantity: int = Field(ge=1, le=99)

    class Order(Closed):
        order_id: int = Field(ge=1000, le=9999)
        customer: Customer
        items: list[Item] = Field(min_length=1, max_length=3)
        status: Literal["open", "shipped", "cancelled"]

    Order.model_rebuild(_types_namespace={"Customer": Customer, "Item": Item, "Literal": Literal})
    return Order


def is_order(text: str) -> bool:
    """pydantic makes an order of it."""
    try:
        order_model().model_validate_json(text)
    except ValueError:  # pydantic's `ValidationError` is one
        return False
    return True


CASES = [
    Case(
        "a date, as a regular expression",
        lambda: Grammar.from_regex(_DATE),
        "Date: ",
        lambda text: re.fullmatch(_DATE, text) is not None,
        "re.fullmatch",
        24,
        seed=21,
    ),
    Case(
        "an IPv4 address, as a regular expression",
        lambda: Grammar.from_regex(_IPV4),
        "IP address: ",
        lambda text: re.fullmatch(_IPV4, text) is not None,
        "re.fullmatch",
        32,
        seed=13,
    ),
    Case(
        "one of three choices",
        lambda: Grammar.from_choices(_FEELINGS),
        "Review: The hotel was terrible.\nSentiment: ",
        lambda text: text in _FEELINGS,
        "in choices",
        16,
    ),
    Case(
        "JSON, as a Lark grammar (examples/json.lark)",
        example("json.lark"),
        "An order as JSON:\n",
        is_json,
        "json.loads",
        300,
        temperature=0.8,
        seed=3,
    ),
    *(
        [
            Case(
                "nested pydantic models, as a JSON Schema",
                lambda: Grammar.from_json_schema(order_model(), whitespace="single"),
                "An order as JSON:\n",
                is_order,
                "model_validate_json",
                300,
                temperature=0.8,
                seed=2,
            )
        ]
        if order_model() is not None
        else []
    ),
    Case(
        "an equation, in GBNF (examples/arithmetic.gbnf)",
        example("arithmetic.gbnf"),
        "(3 + 4) * 2 = 14\n",
        is_equation,
        "two sides, one =",
        96,
        temperature=0.8,
        seed=4,
    ),
    Case(
        "SQL over two tables, as a Lark grammar (examples/select.lark)",
        example("select.lark"),
        "Question: Find the name of all users whose age is greater than 30\nSQL: ",
        runs_as_sql,
        "sqlite3",
        64,
    ),
    Case(
        "a person as XML, in GBNF (examples/person.gbnf)",
        example("person.gbnf"),
        "An XML person with friends:\n",
        is_xml,
        "xml.etree",
        300,
        seed=10,
    ),
]
