"""Null, booleans, numbers, strings, and listed values: the terminals of the normal form, one for all equal uses."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from math import lcm

from ....automata import is_empty
from ....errors import LimitError
from ....expr import NOTHING, Alt, Bytes, Expr, JsonStrings, Numbers, Ref, Sequences
from ...build import alternation
from ..reading import check
from ..reading.facts import BOOLEAN, NULL, NUMBER, STRING, Facts
from ..reading.reader import Reader
from ..reading.resources import Sub
from ..reading.values import Json, canonical, type_name
from ..texts import practical
from ..texts.json_text import json_string, literal_string
from ..texts.numbers import DIGITS, INTEGER, equal, exact, fraction, listed_numbers, number_text
from ..texts.numbers import NUMBER as ANY_NUMBER
from ..texts.regex_format import REGEX, regex_rules
from ..texts.strings import Text
from .contents import content_of, string_of_content
from .writer import Writer

__all__ = ["LENGTHS", "PLAIN", "emit_scalars", "emit_values", "enforced", "plain", "plain_string"]

LENGTHS = frozenset(permutations(("type", "minLength", "maxLength"))).union(
    permutations(("type", "minLength")), permutations(("type", "maxLength"))
)
"""Keywords of strings of which no more is asked than lengths, in any order."""
PLAIN: dict[str, Expr] = {
    "null": Bytes(b"null"),
    "boolean": Alt((Bytes(b"true"), Bytes(b"false"))),
    "number": ANY_NUMBER,
    "integer": INTEGER,
    "string": json_string(),
}
"""Types without further constraints (integers as since draft 6). PERF: the same objects for every schema."""
_WRITTEN = PLAIN | {"number": practical.NUMBER, "integer": practical.INTEGER}
"""The same in the practical profile."""


_NUMBERS = (int, float, Decimal)


def emit_scalars(writer: Writer, facts: Facts) -> list[Ref]:
    """The symbols of the scalars that satisfy `facts`, one for each type."""
    out: list[Ref] = []
    types, excluded = facts.types, facts.excluded
    if types & NULL and not any(v is None for v in excluded):
        out.append(plain(writer, "null"))
    if types & BOOLEAN:
        no_true, no_false = any(v is True for v in excluded), any(v is False for v in excluded)
        if not no_true and not no_false:
            out.append(plain(writer, "boolean"))
        elif not no_true or not no_false:
            out.append(_boolean(writer, no_false))
    if types & NUMBER and isinstance(number := _number(writer, facts), Ref):
        out.append(number)
    if types & STRING and isinstance(string := _string(writer, facts), Ref):
        out.append(string)
    return out


def emit_values(writer: Writer, values: list[Json]) -> list[Ref]:
    """The symbols of listed values: one for all strings, one for all numbers, one for each other value."""
    out: list[Ref] = []
    # PERF: there may be 100,000 of them, so the many are not looked at one by one.
    strings = tuple(dict.fromkeys([v for v in values if type(v) is str]))
    numbers = [v for v in values if type(v) in _NUMBERS]
    for value in {canonical(v): v for v in values if type(v) is not str and type(v) not in _NUMBERS}.values():
        if value is None:
            out.append(plain(writer, "null"))
        elif type(value) is bool:
            out.append(_boolean(writer, value))
        else:
            symbol = writer.symbol(((writer.reader.value_schema(value, writer.reader.resources.root), True),))
            if isinstance(symbol, Ref):
                out.append(symbol)
    if writer.options.practical and numbers:
        texts = tuple(dict.fromkeys([text for value in numbers for text in practical.literals(value)]))
        out.append(writer.leaf(("literals", texts), "number", alternation([Bytes(text.encode()) for text in texts])))
    elif len(numbers) == 1:
        value = exact(numbers[0])
        expr = equal(value)  # raises an error before a number of too many digits is written
        out.append(writer.leaf(("equal", value), str(value), expr))
    elif numbers:
        for expr in listed_numbers(numbers, writer.limits):
            out.append(writer.leaf(("numbers", expr), "number", expr))
    if len(strings) == 1:
        out.append(Ref(writer.key(strings[0])))
    elif strings:
        out.append(writer.leaf(("literals", strings), "enum", literal_string(*strings)))
    return out


def plain(writer: Writer, name: str) -> Ref:
    """The symbol of a type without further constraints."""
    return writer.leaf(name, name, (_WRITTEN if writer.options.practical else PLAIN)[name])


def _boolean(writer: Writer, value: bool) -> Ref:
    text = "true" if value else "false"
    return writer.leaf(text, text, Bytes(text.encode()))


def _number(writer: Writer, facts: Facts) -> Expr:
    excluded: tuple[Decimal, ...] = ()
    if facts.excluded:
        excluded = tuple(exact(v) for v in facts.excluded if type_name(v) == "number")
    if not (facts.low or facts.high or facts.multiples or excluded) and facts.integral is not False:
        if facts.digits and not writer.options.practical:
            return writer.leaf("digits", "integer", DIGITS)
        if facts.digits is not False:
            return plain(writer, "integer" if facts.integral or facts.digits else "number")
    key = ("number", facts.low, facts.high, facts.integral, facts.digits, facts.multiples, excluded)
    found = writer.leaves.get(key)
    if found is None:
        low, high = facts.low, facts.high
        if low and high and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
            found = NOTHING
        else:
            try:
                # What several steps have in common is an automaton of their least common multiple, at worst.
                if facts.multiples:
                    states = lcm(*(fraction(step).numerator for step, _ in facts.multiples))
                    writer.context.look(min(states, writer.limits.max_dfa_states) // 8)
                expr = _within(writer, facts, excluded, writer.options.practical)
                empty = is_empty(expr, writer.limits)
            except LimitError as error:
                if error.limit == "max_cases":
                    raise
                detail = f"the numbers at {writer.context.place()}"
                raise LimitError(error.limit, error.used, error.allowed, detail) from None
            found = NOTHING if empty else writer.leaf(key, "number", expr)
        writer.leaves[key] = found
    return found


def _within(writer: Writer, facts: Facts, excluded: tuple[Decimal, ...], written: bool) -> Expr:
    """The numbers of some facts; `written`: as they are written, if any are and telling them is not too much."""
    low, high, limits = facts.low, facts.high, writer.limits
    if written and not facts.digits:
        low, high = practical.within_floats(low, high)
    if not facts.multiples and not excluded:  # PERF: 4 us, and large objects have thousands of them
        expr: Expr = Numbers(low, high, facts.integral, facts.digits, written=written)
    else:
        multiples = facts.multiples
        expr = number_text(low, high, facts.integral, facts.digits, multiples, excluded, written, limits)
    if not written:
        return expr
    try:
        return _within(writer, facts, excluded, False) if is_empty(expr, limits) else expr
    except LimitError:
        return _within(writer, facts, excluded, False)


def _string(writer: Writer, facts: Facts) -> Expr:
    excluded: tuple[str, ...] = ()
    if facts.texts:
        content, left = content_of(writer, facts)
        if left is None:
            return NOTHING
        if content is not None:
            return string_of_content(writer, content, left.min_length == 1)
        facts = left
    if facts.excluded:
        excluded = tuple(v for v in facts.excluded if type(v) is str)
    low, high, texts = facts.min_length, facts.max_length, facts.texts
    if not (low or texts or excluded) and high is None:
        return plain(writer, "string")
    if any(text == REGEX for text, _, _ in texts):
        rest = tuple(t for t in texts if t[0] != REGEX)
        if enforced(writer.reader, texts, alone=not (rest or excluded or low > 1 or high is not None)):
            return _regex(writer, low == 1)
        texts = rest
    key = ("string", low, high, tuple((t, sign) for t, sign, _ in texts), excluded)
    found = writer.leaves.get(key)
    if found is None:
        expr = writer.reader.strings.terminal(low, high, texts, excluded)
        found = writer.leaves[key] = NOTHING if expr == NOTHING else writer.leaf(key, "string", expr)
    return found


def plain_string(writer: Writer, sub: Sub) -> Ref | None:
    """The strings of a schema of lengths alone. PERF: large objects have thousands of them."""
    low, high = check.count(sub, "minLength", sub.schema.get("minLength", 0)), sub.schema.get("maxLength")
    if high is not None:
        high = check.count(sub, "maxLength", high)
        if low > high:
            return None
    key = ("string", low, high, (), ())
    found: Ref | None = writer.leaves.get(key)
    return found or writer.leaf(key, "string", JsonStrings((), True, low, high))


def enforced(reader: Reader, texts: tuple[tuple[Text, bool, Sub], ...], alone: bool) -> bool:
    """Whether the rules can say what is asked of a string; beside other constraints they cannot.

    Raises:
        UnsupportedFeatureError: the string must not be a pattern, or (`formats="strict"`) must be one and more.
    """
    signs = {sign: sub for text, sign, sub in texts if text == REGEX}
    if not signs:
        return False
    feature = "format regex"
    if False in signs:
        reader.unsupported(feature, "the strings that are no pattern cannot be described", signs[False], "format")
    elif alone:
        return True
    elif reader.options.formats == "strict":
        problem = "a pattern with other constraints on the same string cannot be described"
        reader.unsupported(feature, problem, signs[True], "format")
    reader.relax(feature)
    return False


def _regex(writer: Writer, some: bool) -> Ref:
    """The strings of `format: "regex"`; `some`: without the empty one."""
    start = Ref("format regex, not empty" if some else "format regex")
    if start.name not in writer.rules:
        terminals, rules = regex_rules(writer.options.practical)
        names = {name: writer.leaf(("regex", name), name, expr).name for name, expr in terminals.items()}
        for name, body in rules.items():
            writer.rules.setdefault(name, Sequences(body).renamed(lambda part: names.get(part, part)))
    return start
