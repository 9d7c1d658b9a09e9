"""JSON that is not about people: products, orders, configuration, arrays, tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from . import words
from .common import BOUNDARY, Rng, a, answered, date, dump, email, ipv4, person, shuffled, some


def product(rng: Rng) -> dict[str, Any]:
    """A product of a shop."""
    record: dict[str, Any] = {
        "id": rng.randint(1, 9999),
        "name": f"{rng.choice(words.ADJECTIVES)} {rng.choice(words.PRODUCTS)}",
        "price": round(rng.randint(2, 400) + rng.choice([0.0, 0.5, 0.95, 0.99]), 2),
        "in_stock": rng.random() < 0.7,
    }
    if rng.random() < 0.5:
        record["color"] = rng.choice(words.COLOURS)
    if rng.random() < 0.4:
        record["tags"] = some(rng, words.ADJECTIVES, 1, 3)
    return record


def order(rng: Rng) -> dict[str, Any]:
    """An order with items and a total."""
    items = [
        {"product": rng.choice(words.PRODUCTS), "quantity": rng.randint(1, 9), "price": rng.randint(2, 99)}
        for _ in range(rng.randint(1, 3))
    ]
    return {
        "order_id": rng.randint(1000, 9999),
        "customer": person(rng).name,
        "date": date(rng),
        "items": items,
        "total": sum(int(item["quantity"]) * int(item["price"]) for item in items),  # type: ignore[call-overload]
        "status": rng.choice(["new", "paid", "shipped", "delivered", "cancelled"]),
    }


def configuration(rng: Rng) -> dict[str, Any]:
    """A service configuration."""
    record: dict[str, Any] = {
        "host": rng.choice(["localhost", "0.0.0.0", ipv4(rng), "db.example.com"]),
        "port": rng.choice([80, 443, 3000, 5432, 8000, 8080]),
        "debug": rng.random() < 0.4,
        "timeout": rng.choice([5, 10, 30, 60]),
        "log_level": rng.choice(["debug", "info", "warning", "error"]),
    }
    if rng.random() < 0.5:
        record["database"] = {
            "name": rng.choice(["app", "users", "shop", "test"]),
            "user": "admin",
            "pool": rng.randint(1, 20),
        }
    if rng.random() < 0.3:
        record["features"] = {
            key: rng.random() < 0.5 for key in some(rng, ["cache", "search", "metrics", "auth"], 1, 3)
        }
    return shuffled(rng, record)


def book(rng: Rng) -> dict[str, Any]:
    """A book."""
    return {
        "title": f"The {rng.choice(words.ADJECTIVES).title()} {rng.choice(words.PRODUCTS).title()}",
        "author": person(rng).name,
        "year": rng.randint(1950, 2026),
        "pages": rng.randint(80, 700),
    }


def weather(rng: Rng) -> dict[str, Any]:
    """A weather report."""
    return {
        "city": rng.choice(list(words.CITIES)),
        "temperature": rng.randint(-15, 38),
        "unit": "celsius",
        "condition": rng.choice(["sunny", "cloudy", "rainy", "windy", "snowy"]),
    }


def event(rng: Rng) -> dict[str, Any]:
    """A calendar event."""
    return {
        "title": rng.choice(["Meeting", "Lunch", "Workshop", "Interview", "Concert", "Party"]),
        "date": date(rng),
        "time": f"{rng.randint(8, 20):02d}:{rng.choice(['00', '15', '30'])}",
        "location": rng.choice(list(words.CITIES)),
        "attendees": [person(rng).first for _ in range(rng.randint(1, 3))],
    }


RECORDS: dict[str, Callable[[Rng], dict[str, Any]]] = {
    "product": product,
    "order": order,
    "configuration": configuration,
    "book": book,
    "weather report": weather,
    "event": event,
}


def json_record(rng: Rng) -> str:
    """``A product as JSON:`` and one object, or an array of a few."""
    name = rng.choice(list(RECORDS))
    make = RECORDS[name]
    if rng.random() < 0.2:
        plural = {"weather report": "weather reports"}.get(name, name + "s")
        prompt = rng.choice(["A JSON array of {}:", "A list of {} as JSON:"]).format(plural)
        return answered(rng, prompt, dump(rng, [make(rng) for _ in range(rng.randint(1, 3))]))
    article = a(name)
    prompt = rng.choice([f"{article.capitalize()} as JSON:", f"A JSON file describing {article}:", f"A JSON {name}:"])
    if rng.random() < 0.15:
        return f"{prompt}\n```json\n{dump(rng, make(rng))}\n```"
    return answered(rng, prompt, dump(rng, make(rng)))


def json_array(rng: Rng) -> str:
    """Arrays of scalars and small nested values."""
    kind, members = rng.choice(list(words.KINDS.items()))
    choices: list[tuple[str, Any]] = [
        (f"A JSON array of three {kind} names:", rng.sample(members, 3)),
        ("A JSON array of numbers:", [rng.randint(0, 99) for _ in range(rng.randint(2, 8))]),
        ("A JSON matrix:", [[rng.randint(0, 9) for _ in range(3)] for _ in range(rng.randint(2, 3))]),
        ("A JSON array of booleans:", [rng.random() < 0.5 for _ in range(rng.randint(2, 6))]),
        (
            "A JSON object of colors:",
            {rng.choice(words.PRODUCTS): rng.choice(words.COLOURS) for _ in range(rng.randint(1, 4))},
        ),
        ("A JSON array of strings:", some(rng, words.ADJECTIVES, 1, 6)),
        (
            "A JSON value:",
            rng.choice(
                [
                    True,
                    False,
                    None,
                    rng.randint(-50, 999),
                    round(rng.uniform(-9, 99), 2),
                    rng.choice(words.HOBBIES),
                ]
            ),
        ),
        ("A point as JSON:", {"x": rng.randint(-99, 99), "y": rng.randint(-99, 99)}),
    ]
    prompt, value = rng.choice(choices)
    return answered(rng, prompt, dump(rng, value, 0.15))


def _calls(rng: Rng) -> tuple[str, str, dict[str, Any]]:
    """A user's request, the tool it needs, and the arguments."""
    who, city, other = person(rng), rng.choice(list(words.CITIES)), rng.choice(list(words.CITIES))
    x, y = rng.randint(1, 99), rng.randint(1, 99)
    thing, day = rng.choice(words.PRODUCTS), rng.choice(words.DAYS)
    minutes = rng.choice([1, 2, 5, 10, 15, 20, 30, 45, 60])
    unit = rng.choice(["celsius", "fahrenheit"])
    hour = f"{rng.randint(7, 21):02d}:{rng.choice(['00', '30'])}"
    to = email(rng, who)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        (
            rng.choice([f"What is the weather in {city}?", f"How is the weather in {city} today?"]),
            "get_weather",
            {"city": city},
        ),
        (f"What is the weather in {city} in {unit}?", "get_weather", {"city": city, "unit": unit}),
        (f"What is {x} plus {y}?", "calculator", {"expression": f"{x} + {y}"}),
        (f"Multiply {x} by {y}.", "calculator", {"expression": f"{x} * {y}"}),
        (f"Set a timer for {minutes} minutes.", "set_timer", {"minutes": minutes}),
        (
            f"Find {a(thing)} for less than {x} dollars.",
            "search_products",
            {"query": thing, "max_price": x},
        ),
        (f"Send an email to {to} about the {thing}.", "send_email", {"to": to, "subject": thing}),
        (
            f"Book a flight from {city} to {other} on {day}.",
            "book_flight",
            {"from": city, "to": other, "day": day},
        ),
        (f"What time is it in {city}?", "get_time", {"city": city}),
        (
            f"Remind me to call {who.first} at {hour}.",
            "create_reminder",
            {"text": f"call {who.first}", "time": hour},
        ),
        (f"Who is {who.name}?", "web_search", {"query": who.name}),
        (
            f"Translate {thing} to {rng.choice(['French', 'German', 'Spanish'])}.",
            "translate",
            {"text": thing},
        ),
        (f"Turn {rng.choice(['on', 'off'])} the light.", "set_light", {"on": rng.random() < 0.5}),
        (
            f"Play {rng.choice(words.KINDS['instrument'])} music.",
            "play_music",
            {"volume": rng.randint(1, 10)},
        ),
    ]
    return rng.choice(calls)


def tool_call(rng: Rng) -> str:
    """``User: ...`` and ``Tool call: {"name": ..., "arguments": {...}}``."""
    lines: list[str] = []
    label = rng.choice(["Tool call:", "Tool call:", "Call:"])
    for _ in range(rng.choice([1, 1, 2, 3])):
        request, name, arguments = _calls(rng)
        if name == "translate":
            arguments = arguments | {"language": request.rstrip(".").rsplit(" ", 1)[1]}
        if name == "set_light":
            arguments = {"on": " on " in request}
        call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        lines.append(f"User: {request}\n{label} {BOUNDARY}{call}")
    return "\n".join(lines)
