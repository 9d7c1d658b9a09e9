"""People as JSON, people as XML, and role-playing character sheets."""

from __future__ import annotations

from typing import Any

from . import words
from .common import Person, Rng, a, answered, date, dump, email, person, phone, shuffled, some


def address(rng: Rng, who: Person) -> dict[str, Any]:
    """A postal address in the person's city."""
    record: dict[str, Any] = {
        "street": f"{rng.randint(1, 199)} {rng.choice(words.STREETS)} {rng.choice(words.STREET_KINDS)}",
        "city": who.city,
    }
    if rng.random() < 0.5:
        record["zip"] = f"{rng.randint(10000, 99999)}"
    if rng.random() < 0.6:
        record["country"] = who.country
    return record


def person_record(rng: Rng, who: Person, friends: bool | None = None, depth: int = 0) -> dict[str, Any]:
    """A person as a JSON object with a random choice of members."""
    record: dict[str, Any] = {}
    if rng.random() < 0.12:
        record["id"] = rng.randint(1, 999)
    if rng.random() < 0.15:
        record |= {"first_name": who.first, "last_name": who.last}
    else:
        record["name"] = who.name
    if rng.random() < 0.95:
        record["age"] = who.age
    if depth:
        if rng.random() < 0.4:
            record["job"] = who.job
        return record
    extras: list[tuple[float, str, Any]] = [
        (0.6, "email", email(rng, who)),
        (0.25, "phone", phone(rng)),
        (0.45, rng.choice(["job", "occupation"]), who.job),
        (0.5, "address", address(rng, who)),
        (0.15, "city", who.city),
        (0.55, "hobbies", some(rng, words.HOBBIES, 0 if rng.random() < 0.1 else 1, 4)),
        (0.2, "married", rng.random() < 0.5),
        (0.15, "is_student", rng.random() < 0.3),
        (0.12, "birthday", date(rng)),
        (0.1, "spouse", None if rng.random() < 0.6 else person(rng).name),
        (0.1, "salary", rng.randint(20, 120) * 1000),
        (0.1, "height", round(rng.uniform(1.5, 2.0), 2)),
    ]
    record |= {key: value for probability, key, value in extras if rng.random() < probability}
    if friends or (friends is None and rng.random() < 0.15):
        others = [person(rng) for _ in range(rng.randint(1, 3))]
        plain = rng.random() < 0.3
        record["friends"] = [other.name if plain else person_record(rng, other, False, depth + 1) for other in others]
    return shuffled(rng, record)


def json_person(rng: Rng) -> str:
    """``A person as JSON:`` and an object; the prompt may fix the name, age, job, city or ask for friends."""
    who = person(rng)
    friends: bool | None = None
    style = rng.random()
    if style < 0.4:
        prompt = rng.choice(
            [
                "A person as JSON:",
                "A JSON file describing a person:",
                "A JSON person:",
                "A person in JSON format:",
                "JSON of a person:",
                "Write a JSON object describing a person:",
                "A user profile as JSON:",
            ]
        )
    elif style < 0.7:
        prompt = rng.choice(
            [
                "A JSON file of a person {}",
                "JSON of a person {}",
                "A person {} as JSON",
                "{} as JSON",
                "A JSON object describing {}",
                "A JSON file describing a person named {}",
            ]
        ).format(who.name)
        if rng.random() < 0.4:
            prompt += " with friends"
            friends = True
        prompt += rng.choice([":", ":", ":", ""])
    else:
        facts = f"{who.name} is {a(who.job)}, {who.age} years old, from {who.city}."
        prompt = rng.choice(
            [
                f"Text: {facts}\nJSON:",
                f"{facts}\nJSON:",
                f"{who.name}, age {who.age}, {who.job} in {who.city}, as JSON:",
            ]
        )
        record: dict[str, Any] = {"name": who.name, "age": who.age, "job": who.job, "city": who.city}
        return answered(rng, prompt, dump(rng, record))
    if rng.random() < 0.2:
        return f"{prompt}\n```json\n{dump(rng, person_record(rng, who, friends))}\n```"
    return answered(rng, prompt, dump(rng, person_record(rng, who, friends)))


def json_people(rng: Rng) -> str:
    """A JSON array of small person records."""
    prompt = rng.choice(["A list of people as JSON:", "A JSON array of people:", "Users as a JSON array:"])
    people = [person(rng) for _ in range(rng.randint(1, 5))]
    keys = ["name", *some(rng, ["age", "job", "city", "email"], 1, 3)]
    rows = [{key: email(rng, who) if key == "email" else getattr(who, key) for key in keys} for who in people]
    return answered(rng, prompt, dump(rng, rows, 0.3))


def xml_element(rng: Rng, who: Person, friends: int, gap: str, level: int) -> str:
    """A ``<person>`` element; ``gap`` is the indentation unit, empty for one line."""
    newline = "\n" + gap * level if gap else ""
    inner = newline + gap
    salary = rng.randint(20, 150) * 1000
    job = f"{inner}<job>{inner}{gap}<title>{who.job}</title>{inner}{gap}<salary>{salary}</salary>{inner}</job>"
    text = f"<person>{inner}<name>{who.name}</name>{inner}<age>{who.age}</age>{job}"
    if friends:
        others = [xml_element(rng, person(rng), 0, gap, level + 2) for _ in range(friends)]
        body = "".join(inner + gap + other for other in others)
        text += f"{inner}<friends>{body}{inner}</friends>"
    return f"{text}{newline}</person>"


def xml_person(rng: Rng) -> str:
    """``An XML file describing a person:`` and a ``<person>`` element."""
    who = person(rng)
    friends = 0
    if rng.random() < 0.45:
        prompt = rng.choice(
            ["An XML file describing a person:", "An XML person:", "A person as XML:", "XML of a person:"]
        )
        friends = rng.choice([0, 0, 0, 1, 2])
    else:
        prompt = rng.choice(["An XML file of a person {}", "XML of a person {}", "{} as XML"]).format(who.name)
        if rng.random() < 0.5:
            prompt += " with friends"
            friends = rng.randint(1, 2)
        prompt += rng.choice([":", ":", ""])
    text = xml_element(rng, who, friends, rng.choice(["", "  ", "  ", "    "]), 0)
    if rng.random() < 0.15:
        return f"{prompt}\n```xml\n{text}\n```"
    return answered(rng, prompt, text)


def character(rng: Rng) -> str:
    """A role-playing character sheet in the key order of the DOMINO template."""
    job, race = rng.choice(words.FANTASY_CLASSES), rng.choice(words.RACES)
    level, strength = rng.randint(1, 20), rng.randint(3, 20)
    name = rng.choice(words.FANTASY_NAMES)
    if rng.random() < 0.4:
        name += " " + rng.choice(words.FANTASY_SURNAMES)
    style = rng.random()
    if style < 0.6:
        prompt = rng.choice(
            [
                "The following is a character profile for an RPG game in JSON format.",
                "A character profile for an RPG game:",
                "A character profile for an RPG game in JSON format:",
                "An RPG character sheet as JSON:",
            ]
        )
    elif style < 0.8:
        others = ", ".join(
            f"{rng.randint(3, 20)} {trait}" for trait in ("dexterity", "constitution", "intelligence", "wisdom")
        )
        prompt = (
            f"A character that is a level {level} {race} {job} with {strength} strength, {others}, "
            f"and {rng.randint(3, 20)} charisma:"
        )
    else:
        prompt = f"JSON specifying a character that is a level {level} {race} {job} from a game:"
    description = (
        "A nimble fighter" if rng.random() < 0.7 else f"A {rng.choice(['brave', 'cunning', 'quiet'])} {race} {job}"
    )
    sheet = {
        "id": rng.randint(1, 99),
        "description": description,
        "name": name,
        "age": rng.randint(16, 90),
        "armor": rng.choice(words.ARMOR),
        "weapon": rng.choice(words.WEAPONS),
        "class": job,
        "mantra": rng.choice(words.MANTRAS),
        "strength": strength,
        "items": rng.sample(words.FANTASY_ITEMS, 3),
    }
    if rng.random() < 0.75:
        return f"{prompt}\n```json\n{dump(rng, sheet, 0.7)}\n```"
    return answered(rng, prompt, dump(rng, sheet, 0.7))
