"""Helpers shared by the generators: random choices, people, and JSON in several styles."""

from __future__ import annotations

import json
import random
import unicodedata
from dataclasses import dataclass
from typing import Any, TypeVar

from . import words

Rng = random.Random
T = TypeVar("T")

#: Marks where an answer begins. It never reaches the model: ``train.py`` removes it and, in a third of the
#: cases, encodes the two sides apart, so that the model also knows prompts which end in a blank or right
#: after a colon.
BOUNDARY = "\ue000"

#: The ways a prompt is separated from its answer; the newline is the usual one.
SEPARATORS = ["\n", "\n", "\n", "\n", "", " "]


@dataclass(frozen=True)
class Person:
    """What every person-shaped document is filled from."""

    first: str
    last: str
    age: int
    job: str
    city: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def country(self) -> str:
        return words.CITIES[self.city]


def person(rng: Rng) -> Person:
    """A random person; John Smith and Jane Doe are more frequent than the rest."""
    first, last = rng.choice(words.FIRST_NAMES), rng.choice(words.LAST_NAMES)
    if rng.random() < 0.06:
        first, last = rng.choice([("John", "Smith"), ("Jane", "Doe")])
    return Person(first, last, rng.randint(18, 79), rng.choice(words.JOBS), rng.choice(list(words.CITIES)))


def ascii_lower(text: str) -> str:
    """Lower case without accents, as used in e-mail addresses."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ø", "o"))
    return "".join(char for char in decomposed if char.isascii() and char.isalnum()).lower()


def email(rng: Rng, who: Person) -> str:
    """An e-mail address made from the person's name."""
    first, last = ascii_lower(who.first), ascii_lower(who.last)
    local = rng.choice([f"{first}.{last}", f"{first}{last}", f"{first[0]}{last}", f"{first}_{last}", first])
    if rng.random() < 0.15:
        local += str(rng.randint(1, 99))
    return f"{local}@{rng.choice(words.DOMAINS)}"


def date(rng: Rng) -> str:
    """An ISO date."""
    return f"{rng.randint(1960, 2026)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def phone(rng: Rng) -> str:
    """A telephone number in one of four shapes."""
    a, b, c = rng.randint(200, 999), rng.randint(100, 999), rng.randint(0, 9999)
    return rng.choice([f"555-{c:04d}", f"({a}) {b}-{c:04d}", f"+1 {a} {b} {c:04d}", f"{a}-{b}-{c:04d}"])


def ipv4(rng: Rng) -> str:
    """A dotted IPv4 address; private ranges are frequent."""
    if rng.random() < 0.5:
        return f"192.168.{rng.randint(0, 255)}.{rng.randint(1, 254)}"
    return ".".join(str(rng.randint(0, 255)) for _ in range(4))


def some(rng: Rng, options: list[T], low: int, high: int) -> list[T]:
    """Between ``low`` and ``high`` different entries of ``options``."""
    return rng.sample(options, min(rng.randint(low, high), len(options)))


def shuffled(rng: Rng, record: dict[str, Any], probability: float = 0.4) -> dict[str, Any]:
    """The record with its keys in random order, sometimes, and some keys dropped after the first two."""
    keys = list(record)
    if rng.random() < probability:
        tail = keys[1:]
        rng.shuffle(tail)
        keys = keys[:1] + tail
    return {key: record[key] for key in keys}


def dump(rng: Rng, value: Any, pretty: float = 0.45) -> str:
    """JSON text: pretty-printed (2 or 4 spaces), spaced on one line, or dense."""
    if rng.random() < pretty:
        return json.dumps(value, indent=rng.choice([2, 2, 4]), ensure_ascii=False)
    separators = (",", ":") if rng.random() < 0.2 else None
    return json.dumps(value, separators=separators, ensure_ascii=False)


def answered(rng: Rng, prompt: str, answer: str) -> str:
    """Prompt and answer, with a newline, a blank or nothing between them."""
    return prompt + rng.choice(SEPARATORS) + BOUNDARY + answer


def a(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
