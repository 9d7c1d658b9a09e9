"""Arguments of calls as some models write them: the members of one object as elements, in place of its JSON text.

    <parameter=city>
    Paris
    </parameter>

Strings stand as they are, without quotes and escapes; they cannot hold what ends the element. Other values are JSON,
or, where the style nests, elements again. Other models write literals:

    city='Paris', days=2, at={"x": None}

Those are elements that nothing ends, with separators, brackets and quotes. `reading/styles` says what a style is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ....automata import is_empty
from ....errors import GrammarError
from ....expr import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    JsonStrings,
    JsonText,
    Not,
    Ref,
    Repeat,
    Sequences,
    Spelled,
    optional,
    star,
)
from ...build import alternation
from ...combine import literal
from ...free_text import free_text
from ...regex import parse_regex
from ..cases.goals import expand
from ..reading.facts import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING, Facts, Goal
from ..reading.options import WRITTEN_SPACE
from ..reading.styles import ArgumentStyle
from ..reading.values import type_name
from .contents import content_of, literals_of_content, raw_content
from .members import Body
from .objects import write_object
from .writer import Writer

__all__ = ["arguments"]

_SPACE = star(ByteSet(((9, 10), (13, 13), (32, 32))))
"""Between elements. In the practical profile it is `WRITTEN_SPACE`, whatever is asked for JSON text."""
_ODD_ESCAPES = Concat(
    (
        star(Alt((ByteSet(((0, 91), (93, 255))), Concat((Bytes(b"\\"), ByteSet(((0, 255),))))))),
        Alt(
            (
                Bytes(b"\\/"),
                Concat((Bytes(b"\\u"), ByteSet(((68, 68), (100, 100))), ByteSet(((56, 57), (65, 70), (97, 102))))),
            )
        ),
        star(ByteSet(((0, 255),))),
    )
)
"""Literals of JSON with escapes that mean something else in Python: of a slash, and halves of surrogate pairs."""
_RAW_CHAR = Alt((ByteSet(((32, 38), (40, 91), (93, 126))), Chars(((128, 0x10FFFF),))))
"""What may stand in single quotes as it is."""
_ESCAPED = r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u(?:%s[1-9a-cA-CeEfF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})'
_ESCAPED_CHAR = {
    True: _ESCAPED % "00(?:0[0-7bBeEfF]|1[0-9a-fA-F]|7[fF]|[89a-fA-F][0-9a-fA-F])|0[1-9a-fA-F][0-9a-fA-F]{2}|",
    False: _ESCAPED % "0[0-9a-fA-F]{3}|",
}
"""What may stand for one character in double quotes, without odd escapes: in the practical profile, or not."""
_TYPES = {NULL: "null", BOOLEAN: "boolean", NUMBER: "number", STRING: "string", ARRAY: "array", OBJECT: "object"}


def arguments(writer: Writer, goal: Goal, style: ArgumentStyle) -> Expr:
    """The objects of a goal as elements; `NOTHING` if there is none."""
    return _Elements(writer, style).objects(goal, "arguments")


class _Elements:
    def __init__(self, writer: Writer, style: ArgumentStyle) -> None:
        self.writer, self.style = writer, style
        self.space = EMPTY if style.compact else WRITTEN_SPACE if writer.options.practical else _SPACE
        self.made: dict[tuple[Goal, str], Expr] = {}
        self.objects_made: dict[Goal, Ref] = {}
        self.texts: dict[tuple[str, bool, bool], str] = {}

    def text(self, value: str, before: bool = False, after: bool = False) -> str:
        """The name of a text, with white space before or after it. Where it spells special tokens, it is those."""
        found = self.texts.get((value, before, after))
        if found is None:
            found = self.texts[value, before, after] = self._text(value, before, after)
        return found

    def _text(self, value: str, before: bool, after: bool) -> str:
        special = self.writer.options.special_tokens
        plain = literal(value)  # refuses what is no text
        whole = plain if special == "text" else Spelled(value, special == "either")
        parts = [*([self.space] if before else []), *([whole] if value else []), *([self.space] if after else [])]
        parts = [part for part in parts if part != EMPTY]
        if special != "text" and value and len(parts) > 1:
            rule = self.writer.fresh(repr(value))
            self.writer.rules[rule] = Sequences(tuple([self._leaf(part, repr(value)) for part in parts]))
            return rule
        expr = parts[0] if len(parts) == 1 else Concat(tuple(parts)) if parts else EMPTY
        return self._leaf(expr, repr(value))

    def _leaf(self, expr: Expr, name: str) -> str:
        return self.writer.leaf(("element", expr), name, expr).name

    def marks(self, within: bool) -> tuple[str, ...]:
        """What stands around and between members: opening, closing, that of an empty object, comma and colon."""
        opening, closing = self.style.brackets["object"] if self.style.brackets and within else ("", "")
        after = self.style.separator != ""
        if self.style.brackets and within:
            opened, closed = self.text(opening, after=True), self.text(closing, before=True)
        else:
            opened, closed = self.text("", before=True), self.text("", before=True)
        comma = self.text(self.style.separator, before=not after, after=after)
        return opened, closed, self.text(closing), comma, self.colon(within)

    def colon(self, within: bool) -> str:
        if within and self.style.quoted_keys:
            return self.text(":", after=True)
        return self.text(self.style.key[1])

    def key(self, name: str, within: bool = False) -> str:
        """What an element of this name begins with."""
        if within and self.style.quoted_keys:
            return self.either("key", self.quoted(literal(name), JsonStrings((name,), False)))
        written = name
        for char, entity in (self.style.entities or {}).items():
            written = written.replace(char, entity)
        return self.text(self.style.key[0] + written)

    def either(self, name: str, ways: list[tuple[str, ...]]) -> str:
        """One of several sequences of names, by name."""
        if len(ways) == 1 and len(ways[0]) == 1:
            return ways[0][0]
        rule = self.writer.fresh(name)
        self.writer.rules[rule] = Sequences(tuple([part for way in ways for part in (*way, None)][:-1]))
        return rule

    def quoted(self, decoded: Expr, json: Expr) -> list[tuple[str, ...]]:
        """The literals of strings, in each kind of quotes; `json`: those that JSON has for them."""
        found: list[tuple[str, ...]] = []
        for quote, how in self.style.quotes:
            if how == "escaped":
                found.append((self._leaf(And((json, Not(_ODD_ESCAPES))), "string"),))
                continue
            apart = free_text([quote]) if how == "raw" else star(_RAW_CHAR)
            raw = And((decoded, apart))
            if not is_empty(raw, self.writer.limits):
                found.append((self.text(quote), self._leaf(raw, "text"), self.text(quote)))
        return found

    def of_length(self, low: int, high: int | None) -> list[tuple[str, ...]]:
        """The literals of strings of so many characters."""
        found: list[tuple[str, ...]] = []
        for quote, how in self.style.quotes:
            if how == "raw":
                text = self._leaf(And((Repeat(ANY_CHAR, low, high), free_text([quote]))), "text")
            else:
                # PERF: counted by rules. As one automaton 10,000 characters have 100,000 states.
                escaped = parse_regex(_ESCAPED_CHAR[self.writer.options.practical])
                char = Ref(self._leaf(escaped if how == "escaped" else _RAW_CHAR, "character"))
                text = self.writer.fresh("text")
                self.writer.rules[text] = Repeat(char, low, high)
            found.append((self.text(quote), text, self.text(quote)))
        return found

    def objects(self, goal: Goal, name: str) -> Expr:
        known = self.objects_made.get(goal)
        if known is None:
            known = self.objects_made[goal] = Ref(self.writer.fresh(name))
            self.writer.rules[known.name] = NOTHING
            self.writer.queue.append(lambda: self._write(goal, known))
        return known

    def _write(self, goal: Goal, rule: Ref) -> None:
        parts: list[Expr] = []
        for facts in expand(self.writer.context, goal):
            for case in self._cases(facts):
                if case.types & OBJECT:
                    own = Ref(self.writer.fresh(rule.name))
                    self.writer.rules[own.name] = NOTHING
                    write_object(_Members(self, case, own.name, within=False))
                    parts.append(own)
        self.writer.suspect = True
        self.writer.rules[rule.name] = alternation(parts)

    def _cases(self, facts: Facts) -> list[Facts]:
        """The same with objects that are listed as values taken apart like others."""
        cases = []
        if facts.values is not None:
            for value in facts.values:
                if type(value) is dict:
                    sub = self.writer.reader.value_schema(value, self.writer.reader.resources.root)
                    cases += expand(self.writer.context, ((sub, True),))
            return cases
        return [facts]

    def element(self, key: str, goal: Goal) -> Expr:
        """What stands behind the name of a member: its kind, its value, and the end."""
        end = self.style.ending(key)
        known = self.made.get((goal, end))
        if known is None:
            rule = self.made[goal, end] = Ref(self.writer.fresh(key or "element"))
            self.writer.rules[rule.name] = NOTHING
            parts = [part for facts in expand(self.writer.context, goal) for part in self.values(facts, end)]
            if parts:
                body = [name for part in dict.fromkeys(parts) for name in (*part, None)]
                self.writer.rules[rule.name] = Sequences(tuple(body[:-1]))
                known = rule
            else:
                del self.writer.rules[rule.name]
                known = self.made[goal, end] = NOTHING
        return known

    def values(self, facts: Facts, end: str) -> list[tuple[str, ...]]:
        """The values of one case with all that stands around them, as sequences of names."""
        found: list[tuple[str, ...]] = []
        for bit, name in _TYPES.items():
            if facts.values is not None:
                own = [v for v in facts.values if type_name(v) == name]
                case = facts.copy()
                case.values, case.types = own, bit
                if not own:
                    continue
            elif facts.types & bit:
                case = facts.copy()
                case.types = bit
            else:
                continue
            nests = self.style.nested and bit in (ARRAY, OBJECT)
            if self.style.quotes:
                found += self.literals(case, name, nests)
                continue
            before = (self.style.kinds or {}).get(name, "") + self.style.value
            apart = self.style.kinds is None and bool(before)  # what begins the value is an element of its own
            if bit == STRING:
                raw = self.string(case, end)
                if raw != NOTHING:
                    value = self.writer.leaf(("raw", raw), "text", raw).name
                    opening = [self.text(before, before=apart)] if before else []
                    found.append((*opening, *self.padding(), value, *self.padding(), self.text(end)))
                continue
            symbols = self.nested(case) if nests else self.writer.emit(case, name)
            for symbol in symbols:
                found.append((self.text(before, before=apart, after=True), symbol.name, self.text(end, before=True)))
        return found

    def literals(self, facts: Facts, name: str, nests: bool) -> list[tuple[str, ...]]:
        """The values of one type and case, where they are literals."""
        if nests:
            return [(symbol.name,) for symbol in self.nested(facts)]
        told = facts.values is not None or facts.texts or facts.excluded
        if name == "string" and not told and (facts.min_length or facts.max_length is not None):
            return self.of_length(facts.min_length, facts.max_length)
        found: list[tuple[str, ...]] = []
        if name == "string" and facts.texts and facts.values is None:
            content, left = content_of(self.writer, facts)
            if content is not None and left is not None:
                for quote, text in literals_of_content(self.writer, content, self.style.quotes, left.min_length == 1):
                    found.append((self.text(quote), self._leaf(text, content.text[1]), self.text(quote)))
            if content is not None or left is None:
                return found
            facts = left
        for symbol in self.writer.emit(facts, name):
            terminal = self.writer.terminals.get(symbol.name)
            if terminal is None:
                self.writer.reader.unsupported(
                    "format regex", "patterns are not supported where values are literals", None
                )
            elif name == "string":
                found += self.quoted(_decoded(terminal.expr), terminal.expr)
            else:
                found.append((self._leaf(self.in_words(terminal.expr), name),))
        return found

    def in_words(self, expr: Expr) -> Expr:
        """The same with the style's words for `true`, `false` and `null`."""
        if isinstance(expr, Alt):
            return Alt(tuple(map(self.in_words, expr.items)))
        word = (self.style.words or {}).get(expr.value.decode()) if isinstance(expr, Bytes) else None
        return expr if word is None else Bytes(word.encode())

    def padding(self) -> list[str]:
        """What may stand around a string."""
        expr = optional(Bytes(self.style.padding.encode()))
        return [self.writer.leaf(("element", expr), "padding", expr).name] if self.style.padding else []

    def nested(self, facts: Facts) -> list[Ref]:
        """Objects and arrays as elements."""
        if facts.types & OBJECT:
            parts = []
            for case in self._cases(facts):
                rule = Ref(self.writer.fresh("object"))
                self.writer.rules[rule.name] = NOTHING
                members = _Members(self, case, rule.name, within=True)
                self.writer.queue.append(partial(write_object, members))
                parts.append(rule)
            self.writer.suspect = True
            return parts
        if facts.values is not None:
            subs = [self.writer.reader.value_schema(v, self.writer.reader.resources.root) for v in facts.values]
            return [
                r for sub in subs for case in expand(self.writer.context, ((sub, True),)) for r in self.nested(case)
            ]
        if facts.contains or facts.unique is not None or facts.unevaluated:
            feature, place = (
                ("contains", facts.contains[0][0][0][0]) if facts.contains else ("uniqueItems", facts.unique_at)
            )
            tokens = () if facts.contains or place is None else (feature,)
            problem = f"{feature} is not supported where arrays are no JSON"
            self.writer.reader.unsupported(feature, problem, place, *tokens)
        return self.array(facts)

    def array(self, facts: Facts) -> list[Ref]:
        """Items one after the other: those that have a place of their own, then the rest."""
        places = max([len(row.prefix) for row in facts.array_rows], default=0)
        separator, item_opening = self.style.separator, self.style.item or ""

        def item(at: int) -> Expr:
            goal = tuple(dict.fromkeys(g for row in facts.array_rows for g in row.at(at)))
            inner = self.element("item", goal)
            first = not separator or at == 0
            opening = self.text(item_opening, before=True) if first else self.text(separator, after=True)
            if separator and first:
                return inner
            return Concat((Ref(opening), inner)) if inner != NOTHING else NOTHING

        least, most = facts.min_items, facts.max_items
        if separator and places == 0 and item(0) != NOTHING and most != 0:
            places = 1  # there is nothing before the first
        rest = item(places)
        low = max(0, least - places)
        high = None if most is None else max(0, most - places)
        body: Expr = Repeat(rest, low, high) if rest != NOTHING else EMPTY if low == 0 else NOTHING
        for at in reversed(range(places)):
            own = item(at)
            whole = Concat((own, body)) if own != NOTHING and (most is None or at < most) else NOTHING
            body = whole if at < least else Alt((EMPTY, whole)) if whole != NOTHING else EMPTY
        if body == NOTHING:
            return []
        rule = Ref(self.writer.fresh("array"))
        if self.style.brackets:
            opening, closing = self.style.brackets["array"]
            ends = Ref(self.text(opening, after=True)), Ref(self.text(closing, before=True))
            self.writer.rules[rule.name] = Concat((ends[0], body, ends[1]))
        else:
            self.writer.rules[rule.name] = Concat((body, Ref(self.text("", before=True))))
        return [rule]

    def string(self, facts: Facts, end: str) -> Expr:
        """The text of strings: as it is, without what ends the element."""
        if facts.values is not None:
            kept = [v for v in facts.values if not any(text in v for text in (end, *self.writer.options.excludes))]
            return Alt(tuple([Bytes(v.encode("utf-8", "surrogatepass")) for v in kept]))
        content, left = content_of(self.writer, facts)
        if left is None:
            return NOTHING
        if content is not None:
            return raw_content(self.writer, content, end, left.min_length == 1)
        facts = left
        parts: list[Expr] = [free_text([end, *self.writer.options.excludes])]
        for text, holds, sub in facts.texts:
            self.writer.reader.strings.check(text, sub, text[0])
            decoded = And((self.writer.reader.strings.decoded(text),))
            parts.append(decoded if holds else Not(decoded))
        if facts.min_length or facts.max_length is not None:
            parts.append(Repeat(ANY_CHAR, facts.min_length, facts.max_length))
        listed = [v for v in facts.excluded if type(v) is str]
        if listed:
            parts.append(Not(Alt(tuple([Bytes(v.encode()) for v in listed]))))
        return parts[0] if len(parts) == 1 else And(tuple(parts))


class _Members(Body):
    """An object whose members are elements."""

    counts = False

    def __init__(self, elements: _Elements, facts: Facts, rule: str, within: bool) -> None:
        super().__init__(elements.writer, facts, rule)
        self.elements, self.within = elements, within

    def marks(self) -> tuple[str, ...]:
        return self.elements.marks(self.within)

    def key(self, key: str) -> str:
        return self.elements.key(key, self.within)

    def known(self) -> Mapping[Goal, Expr]:
        return {}

    def symbol(self, key: str, goal: Goal) -> Expr:
        return self.elements.element(key, goal)

    def other_keys(self, names: tuple[str, ...]) -> list[tuple[str, Goal, str, int]]:
        told = any(row.additional or row.patterns for row in self.facts.rows)
        if self.elements.style.key_in_end and self.facts.rows and not told:
            return []  # no rule says that an element ends with the name it began with: those listed are all
        found = super().other_keys(names)
        if found and self.elements.style.key_in_end:
            raise GrammarError(
                "members of any name cannot be elements that end with their names",
                hint="List the properties, with additionalProperties: false.",
            )
        name = parse_regex("[A-Za-z_][A-Za-z0-9_]*")
        elements, others = self.elements, []
        for symbol, goal, _, bits in found:
            value = elements.element("", goal)
            if not isinstance(value, Ref):
                continue
            json = self.writer.terminals[symbol].expr
            if self.within and elements.style.quoted_keys:
                key = elements.either("other key", elements.quoted(_decoded(json), json))
            else:
                expr = self.writer.leaf(("other element", json), "other key", And((name, _decoded(json)))).name
                before = elements.style.key[0]
                key = elements.either("other key", [(elements.text(before), expr) if before else (expr,)])
            others.append((key, goal, value.name, bits))
        return others


def _decoded(texts: Expr) -> Expr:
    """The strings whose JSON texts these are."""
    match texts:
        case JsonText(item):
            return And((item,))
        case JsonStrings(values, negated, low, high):
            listed = Alt(tuple([Bytes(v.encode()) for v in values]))
            return And((Repeat(ANY_CHAR, low, high), Not(listed))) if negated else listed
        case And(items):
            return And(tuple(map(_decoded, items)))
        case Alt(items):
            return Alt(tuple(map(_decoded, items)))
        case Not(item):
            return Not(_decoded(item))
    raise AssertionError(texts)
