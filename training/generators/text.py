"""Named entities, choice questions, formats (dates, addresses, numbers), and small English."""

from __future__ import annotations

import json
from collections.abc import Callable

from . import words
from .common import BOUNDARY, Person, Rng, a, capital, date, email, ipv4, person, phone

# --- named entities ---------------------------------------------------------------------------------------

Piece = tuple[str, str]  # text, entity kind ("" for none)
_KIND_KEYS = {"PER": "people", "LOC": "places", "ORG": "organizations", "DATE": "dates"}


def _sentence(rng: Rng) -> list[Piece]:
    """A sentence as pieces, each perhaps an entity."""
    p, q = person(rng), person(rng)
    org = f"{rng.choice(words.COMPANIES)} {rng.choice(words.COMPANY_KINDS)}"
    org2 = rng.choice(words.COMPANIES)
    when = f"{rng.choice(words.MONTHS)} {rng.randint(1, 28)}" if rng.random() < 0.5 else str(rng.randint(1950, 2026))
    place = rng.choice([p.city, p.city, p.country])
    per, per2, loc, loc2 = (
        (p.name, "PER"),
        (q.name if rng.random() < 0.6 else q.first, "PER"),
        (place, "LOC"),
        (q.city, "LOC"),
    )
    o, o2, d = (org, "ORG"), (org2, "ORG"), (when, "DATE")
    hobby = rng.choice(words.HOBBIES)
    return rng.choice(
        [
            [per, (f"works as {a(p.job)} at", ""), o, ("in", ""), loc, (".", "")],
            [per, ("met", ""), per2, ("in", ""), loc, (".", "")],
            [o, ("opened an office in", ""), loc, ("in", ""), d, (".", "")],
            [per, ("was born in", ""), loc, ("in", ""), d, (".", "")],
            [per, ("and", ""), per2, (f"enjoy {hobby} in", ""), loc, (".", "")],
            [("The", ""), o, ("hired", ""), per, (".", "")],
            [("In", ""), d, (",", ""), per, ("moved from", ""), loc, ("to", ""), loc2, (".", "")],
            [o, ("bought", ""), o2, (".", "")],
            [per, ("left", ""), o, ("and joined", ""), o2, (".", "")],
            [("The train from", ""), loc, ("to", ""), loc2, ("was late.", "")],
            [per, (f"likes {hobby}.", "")],
            [(f"The {rng.choice(words.ADJECTIVES)} {rng.choice(words.PRODUCTS)} is on the table.", "")],
        ]
    )


def _join(pieces: list[Piece]) -> str:
    text = ""
    for piece, _ in pieces:
        text += piece if not text or piece in (".", ",") else " " + piece
    return text


def entities(rng: Rng) -> str:
    """``Text: ...`` / ``Entities: {"people": [...], ...}``, one or several."""
    lines = []
    keys = ["people", "places", "organizations"] + (["dates"] if rng.random() < 0.4 else [])
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        pieces = [piece for _ in range(rng.choice([1, 1, 2])) for piece in _sentence(rng)]
        found: dict[str, list[str]] = {key: [] for key in keys}
        for piece, kind in pieces:
            key = _KIND_KEYS.get(kind, "")
            if key in found and piece not in found[key]:
                found[key].append(piece)
        lines.append(f"Text: {_join(pieces)}\nEntities: {BOUNDARY}{json.dumps(found, ensure_ascii=False)}")
    return "\n".join(lines)


def conll(rng: Rng) -> str:
    """A sentence and then one word per line with its B/I/O tag."""
    pieces = _sentence(rng)
    rows = []
    for piece, kind in pieces:
        parts = piece.replace(".", " .").split() if not kind else piece.split()
        rows += [f"{word} {('B-' if i == 0 else 'I-') + kind if kind else 'O'}" for i, word in enumerate(parts)]
    return f"Sentence: {_join(pieces)}\n" + "\n".join(rows)


# --- choices ----------------------------------------------------------------------------------------------

_COLOUR_OF = {
    "sky": "blue",
    "grass": "green",
    "snow": "white",
    "blood": "red",
    "coal": "black",
    "a banana": "yellow",
    "a lemon": "yellow",
    "milk": "white",
    "chocolate": "brown",
    "a carrot": "orange",
    "the sun": "yellow",
    "a tomato": "red",
    "a frog": "green",
    "the sea": "blue",
    "a crow": "black",
    "cotton": "white",
}
_YES = """\
Can birds fly;Is water wet;Is fire hot;Is ice cold;Do fish swim;Can dogs bark;Do cows give milk;
Is the sun a star;Do plants need water;Is the Earth round;Do cars have wheels;Can people read;
Is a week seven days long;Do cats like fish;Does a year have twelve months;Is gold a metal;
Do trees have leaves;Does bread contain flour""".replace("\n", "").split(";")
_NO = """\
Can fish walk;Is fire cold;Is ice hot;Can stones swim;Do dogs fly;Is the moon made of cheese;
Do cars eat grass;Is the Earth flat;Can trees run;Is a week ten days long;Do cats have wheels;
Does a year have twenty months;Can chairs talk;Do snakes have legs;Is water dry;Is the sun cold;
Can pigs fly;Does milk come from trees""".replace("\n", "").split(";")


def _yes_no(rng: Rng) -> tuple[str, bool]:
    shape = rng.random()
    truth = rng.random() < 0.5
    if shape < 0.25:
        thing, colour = rng.choice(list(_COLOUR_OF.items()))
        shown = colour if truth else rng.choice([c for c in words.COLOURS if c != colour])
        return f"Is {'the ' if thing == 'sky' else ''}{thing} {shown}?", truth
    if shape < 0.5:
        kind = rng.choice(list(words.KINDS))
        other = (
            kind if truth else rng.choice([k for k in words.KINDS if k != kind and not {k, kind} <= {"animal", "bird"}])
        )
        member = rng.choice(words.KINDS[kind])
        article = (
            "" if kind in ("city", "country", "planet", "color", "sport") else ("an " if member[0] in "aeiou" else "a ")
        )
        return f"Is {article}{member} {a(other)}?", truth
    if shape < 0.65:
        x, y = rng.sample(range(1, 100), 2)
        word = rng.choice(["greater", "less"])
        return f"Is {x} {word} than {y}?", (x > y) == (word == "greater")
    if shape < 0.8:
        country, city = rng.choice(list(words.CAPITALS.items()))
        shown = city if truth else rng.choice([c for c in words.CAPITALS.values() if c != city])
        return f"Is {shown} the capital of {country}?", truth
    return rng.choice(_YES if truth else _NO) + "?", truth


def yes_no(rng: Rng) -> str:
    """Questions answered yes or no."""
    lines = []
    label = rng.choice(["\nAnswer: ", " Answer: ", " Answer: ", "\nA: "])
    prefix = "Q: " if label == "\nA: " else rng.choice(["", "", "Question: "])
    title = rng.random() < 0.2
    for _ in range(rng.randint(1, 8)):
        question, truth = _yes_no(rng)
        word = "yes" if truth else "no"
        lines.append(f"{prefix}{question}{label}{BOUNDARY}{word.title() if title else word}")
    return "\n".join(lines)


def multiple_choice(rng: Rng) -> str:
    """``Which of these is a fruit?`` with lettered options, or a word to classify."""
    lines = []
    classify = rng.random() < 0.35
    label = rng.choice(["Category:", "Kind:"])
    for _ in range(rng.randint(1, 4)):
        kinds = rng.sample(list(words.KINDS), 4)
        if {"animal", "bird"} <= set(kinds):
            kinds.remove("bird")
        kind = rng.choice(kinds)
        if classify:
            lines.append(f"Word: {rng.choice(words.KINDS[kind])}\n{label} {BOUNDARY}{kind}")
            continue
        options = [rng.choice(words.KINDS[other]) for other in kinds]
        shown = " ".join(f"{letter}) {option}" for letter, option in zip("ABCD", options, strict=False))
        lines.append(f"Which of these is {a(kind)}? {shown}\nAnswer: {BOUNDARY}{'ABCD'[kinds.index(kind)]}")
    return "\n".join(lines)


_GOOD = ["great", "excellent", "wonderful", "amazing", "very good", "fantastic", "lovely"]
_BAD = ["terrible", "bad", "awful", "disappointing", "very poor", "boring", "horrible"]
_NEUTRAL = ["okay", "average", "fine", "acceptable", "nothing special"]


def sentiment(rng: Rng) -> str:
    """Reviews with a sentiment."""
    lines = []
    for _ in range(rng.randint(1, 5)):
        label, adjectives, verb = rng.choice(
            [("positive", _GOOD, "loved"), ("negative", _BAD, "hated"), ("neutral", _NEUTRAL, "used")]
        )
        thing = rng.choice([*words.PRODUCTS, "movie", "book", "food", "hotel", "service"])
        text = rng.choice(
            [
                f"The {thing} was {rng.choice(adjectives)}.",
                f"I {verb} this {thing}. It is {rng.choice(adjectives)}.",
                f"{capital(rng.choice(adjectives))} {thing}.",
            ]
        )
        lines.append(f"Review: {text}\nSentiment: {BOUNDARY}{label}")
    return "\n".join(lines)


# --- formats ----------------------------------------------------------------------------------------------


def formats(rng: Rng) -> str:
    """Dates, times, addresses, telephone numbers, versions: labelled lines."""
    who = person(rng)
    makers: dict[str, Callable[[Rng], str]] = {
        "Date": date,
        "Due date": date,
        "Born": date,
        "IP": ipv4,
        "IP address": ipv4,
        "Server": ipv4,
        "Phone": phone,
        "Phone number": phone,
        "Email": lambda r: email(r, person(r)),
        "Name": lambda r: person(r).name,
        "Age": lambda r: str(r.randint(1, 99)),
        "Time": lambda r: f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}",
        "City": lambda r: r.choice(list(words.CITIES)),
        "Version": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}",
        "Color": lambda r: "#" + "".join(r.choices("0123456789abcdef", k=6)),
        "Price": lambda r: f"${r.randint(1, 500)}.{r.choice(['00', '50', '95', '99'])}",
        "Temperature": lambda r: f"{r.randint(-20, 40)} °C",
        "URL": lambda r: f"https://www.example.{r.choice(['com', 'org', 'net'])}/{r.choice(words.PRODUCTS)}",
        "Weekday": lambda r: r.choice(words.DAYS),
        "UUID": lambda r: "-".join("".join(r.choices("0123456789abcdef", k=k)) for k in (8, 4, 4, 4, 12)),
    }
    if rng.random() < 0.25:
        return f"Name: {who.name}\nAge: {who.age}\nEmail: {email(rng, who)}\nCity: {who.city}\nPhone: {phone(rng)}"
    if rng.random() < 0.4:
        label = rng.choice(list(makers))
        return "\n".join(f"{label}: {BOUNDARY}{makers[label](rng)}" for _ in range(rng.randint(2, 8)))
    labels = rng.sample(list(makers), rng.randint(1, 6))
    return "\n".join(f"{label}: {BOUNDARY}{makers[label](rng)}" for label in labels)


# --- English ----------------------------------------------------------------------------------------------


def english_sentence(rng: Rng, who: Person) -> str:
    """A simple English sentence."""
    adjective, thing = rng.choice(words.ADJECTIVES), rng.choice(words.PRODUCTS)
    animal, hobby = rng.choice(words.KINDS["animal"]), rng.choice(words.HOBBIES)
    fruit = rng.choice(words.KINDS["fruit"])
    return rng.choice(
        [
            f"{who.first} is {a(who.job)} and lives in {who.city}.",
            f"{who.first} likes {hobby} and {rng.choice(words.HOBBIES)}.",
            f"The {adjective} {thing} is on the {rng.choice(['table', 'floor', 'shelf', 'chair'])}.",
            f"On {rng.choice(words.DAYS)}, {who.first} bought {a(adjective)} {thing}.",
            f"The {animal} is {adjective}.",
            f"{who.first} eats {a(fruit)} every day.",
            f"I have {a(adjective)} {thing}.",
            f"The weather in {who.city} is {rng.choice(['sunny', 'cold', 'warm', 'rainy'])}.",
            f"There are {rng.randint(2, 20)} {rng.choice(words.ITEMS)} in the {rng.choice(['box', 'bag', 'room'])}.",
            f"{who.city} is a city in {who.country}.",
            f"We saw {a(animal)} near the {rng.choice(['river', 'house', 'school', 'forest'])}.",
            f"{who.first} wants to learn {hobby}.",
            f'"{rng.choice(["Hello", "Good morning", "Thank you", "Yes", "No"])}," said {who.first}.',
        ]
    )


def english(rng: Rng) -> str:
    """A paragraph, a Markdown page or a list."""
    who = person(rng)
    paragraph = " ".join(english_sentence(rng, who) for _ in range(rng.randint(1, 5)))
    style = rng.random()
    if style < 0.4:
        return paragraph
    title = f"{rng.choice(words.ADJECTIVES).title()} {rng.choice(words.PRODUCTS).title()}"
    bullets = "\n".join(
        f"- {rng.choice(words.ADJECTIVES)} {rng.choice(words.PRODUCTS)}" for _ in range(rng.randint(2, 5))
    )
    if style < 0.7:
        return f"# {title}\n\n{paragraph}\n\n## {rng.choice(['Features', 'Items', 'Details', 'Notes'])}\n\n{bullets}\n"
    if style < 0.85:
        return f"Write a short text about {who.first}.\n{paragraph}"
    head = ["Name", "Age", "City"]
    rows = "\n".join(f"| {p.name} | {p.age} | {p.city} |" for p in (person(rng) for _ in range(rng.randint(1, 4))))
    return f"| {' | '.join(head)} |\n|{'---|' * 3}\n{rows}\n"


def csv(rng: Rng) -> str:
    """A small CSV table."""
    rows = "\n".join(f"{p.name},{p.age},{p.city}" for p in (person(rng) for _ in range(rng.randint(2, 8))))
    return f"People as CSV:\nname,age,city\n{rows}"
