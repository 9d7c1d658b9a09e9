"""Statements, functions and tasks that every language can express.

Expressions are text in the syntax the languages share.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Declare:
    """``int name = value;``"""

    name: str
    value: str


@dataclass
class Array:
    """An array of ``size`` integers, all zero."""

    name: str
    size: int


@dataclass
class Assign:
    """``target = value;``"""

    target: str
    value: str


@dataclass
class For:
    """Count ``var`` from ``start`` up to, not including, ``stop``."""

    var: str
    start: str
    stop: str
    body: list[Statement] = field(default_factory=list)


@dataclass
class While:
    """``while (condition) { ... }``"""

    condition: str
    body: list[Statement]


@dataclass
class If:
    """``if (condition) { ... } else { ... }``"""

    condition: str
    then: list[Statement]
    otherwise: list[Statement] = field(default_factory=list)


@dataclass
class Return:
    """``return value;``"""

    value: str


@dataclass
class Print:
    """Print a text and then, perhaps, an integer expression."""

    text: str
    value: str = ""


@dataclass
class Comment:
    """A one-line comment."""

    text: str


Statement = Declare | Array | Assign | For | While | If | Return | Print | Comment


@dataclass
class Function:
    """A function from integers to an integer, or ``main`` where ``params`` is empty."""

    name: str
    params: list[str]
    body: list[Statement]


@dataclass
class Task:
    """What the program does, in words that follow "A C program that ...", and its functions."""

    description: str
    functions: list[Function]
