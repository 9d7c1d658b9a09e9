"""References inside a document: `x-refers-to` and `x-unique-by`, which are keywords of this library and no standard.

A string at a place that is referred to, and one that refers, become slots of a `Meaning`. To the translation they are
strings that hold an unknown language (`contentMediaType`), which it gives terminals of their own; these are then
replaced by what the strings' schemas say. Values are compared as they are spelled, so each has one spelling there
(`_ONE_SPELLING`).

Whatever a reference may name must be written before it, or a text could come to an end nowhere. So this must follow
from the schema: keys that are required and listed before, arrays with `minItems`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

from ..._kernel import Dfa
from ...automata import compile_expr
from ...errors import ArgumentError, UnsupportedFeatureError
from ...expr import Alt, And, Bytes, Chars, Concat, Embedded, Expr, Graph, Ref, Repeat, Sequences
from ...limits import Limits
from ...meaning import Meaning, Names
from ...rules import Rules, Terminal
from ...support.pointers import pointer_key, pointer_token
from .reading.values import Json

__all__ = ["ReferencesMeaning", "grammar_with_references"]

Path = tuple[str, ...]
"""Keys, and `*` for the items of an array."""

_REFERS, _UNIQUE = "x-refers-to", "x-unique-by"
_OF_REFERENCES = {_REFERS, "type", "title", "description", "default", "examples", "deprecated", "$comment"}
_MOST_STATES = 4_096
_NEVER_USED_UP = 1 << 32
_QUOTE = ord('"')

_ONE_SPELLING = Concat(
    (
        Bytes(b'"'),
        Repeat(
            Alt(
                (
                    Chars.of((0, 31), (34, 34), (92, 92), negated=True),
                    Concat((Bytes(b"\\"), Chars.of(*((ord(c), ord(c)) for c in '"\\bfnrt')))),
                    Concat((Bytes(b"\\u000"), Chars.of((48, 55), (98, 98), (101, 102)))),
                    Concat((Bytes(b"\\u001"), Chars.of((48, 57), (97, 102)))),
                )
            ),
            0,
            None,
        ),
        Bytes(b'"'),
    )
)
"""Of JSON strings: as `json.dumps(value, ensure_ascii=False)` has it."""


@dataclass(frozen=True)
class Place:
    """A string of a document.

    Attributes:
        records: the number under which others know it, if it does not refer itself.
        refers: the number of what it must be one of.
        is_unique: it differs from all that were written there before.
    """

    records: int = -1
    refers: int | None = None
    is_unique: bool = False


class ReferencesMeaning(Meaning):
    """What was written at places that others refer to.

    Args:
        places: by slot.
        number: how many places others know.
        longest: bytes of their strings at most, by slot.
    """

    def __init__(self, places: Mapping[str, Place], number: int, longest: Mapping[str, int]) -> None:
        self.slots = self.free = tuple(places)
        self.longest = longest
        self._places, self._number = places, number
        self._known = lru_cache(maxsize=256)(Names)
        self._others = lru_cache(maxsize=256)(lambda texts: Names(texts, others=True, marked=()))

    def __repr__(self) -> str:
        return f"ReferencesMeaning({', '.join(self._places)})"

    def start(self) -> tuple[frozenset[str], ...]:
        return (frozenset(),) * self._number

    def names(self, state: tuple[frozenset[str], ...], slot: str) -> Names:
        place = self._places[slot]
        if place.refers is not None:
            return self._known(state[place.refers])
        return self._others(state[place.records] if place.is_unique else frozenset())

    def read(self, state: tuple[frozenset[str], ...], slot: str, text: str) -> tuple[frozenset[str], ...]:
        place = self._places[slot]
        at = place.records
        return state if place.refers is not None else (*state[:at], state[at] | {text}, *state[at + 1 :])

    def from_plain(self, value: Any) -> tuple[frozenset[str], ...]:
        if len(value) != self._number or not all(isinstance(text, str) for texts in value for text in texts):
            raise TypeError("not texts for each place")
        return tuple([frozenset(texts) for texts in value])


class Language:
    """The texts between the quotation marks of some JSON strings, by an automaton.

    Attributes:
        expr: the automaton.
        texts: how many there are; `None`: without bound.
        longest: bytes of the longest; `None`: there is none.
        has_empty: the empty one is among them.
    """

    def __init__(self, strings: Dfa) -> None:
        """
        Args:
            strings: with their quotation marks.
        """
        first = strings.step(0, _QUOTE)
        order, numbers = [first], {first: 0}
        self._steps: list[dict[int, int]] = []
        self._ends: list[bool] = []
        for state in order:
            steps = {byte: strings.step(state, byte) for byte in range(256)}
            self._ends.append(steps[_QUOTE] >= 0 and strings.is_accepting(steps[_QUOTE]))
            self._steps.append({})
            for byte, then in steps.items():
                if then < 0 or (byte == _QUOTE and self._ends[-1]):  # else it stands behind a backslash
                    continue
                if then not in numbers:
                    numbers[then] = len(order)
                    order.append(then)
                self._steps[-1][byte] = numbers[then]
        self.has_empty = self._ends[0]
        self.expr = Graph(
            tuple([tuple([(byte, byte, then) for byte, then in steps.items()]) for steps in self._steps]),
            tuple(self._ends),
        )
        self.texts, self.longest = self._sizes()

    def _sizes(self) -> tuple[int | None, int | None]:
        """How many there are, and the length of the longest."""
        waiting = [len(set(steps.values())) for steps in self._steps]
        before: list[set[int]] = [set() for _ in self._steps]
        for state, steps in enumerate(self._steps):
            for then in set(steps.values()):
                before[then].add(state)
        texts: list[int | None] = [None] * len(waiting)
        longest: list[int | None] = [None] * len(waiting)
        todo = [state for state, number in enumerate(waiting) if not number]
        for state in todo:  # all that is behind is known; what lies on a round is never reached
            behind = [(texts[then] or 0, longest[then] or 0) for then in self._steps[state].values()]
            texts[state] = int(self._ends[state]) + sum(number for number, _ in behind)
            longest[state] = max([1 + length for _, length in behind], default=0)
            for other in before[state]:
                waiting[other] -= 1
                if not waiting[other]:
                    todo.append(other)
        return texts[0], longest[0]


def grammar_with_references(
    schema: Json,
    make: Callable[[Json, Mapping[str, Rules] | None], Rules],
    key_order: str,
    profile: str,
    limits: Limits,
) -> Rules:
    """The grammar of a schema with such keywords.

    Args:
        make: the grammar of a schema without, whose strings hold what is given by media type.
        key_order, profile: how texts are written.

    Raises:
        ArgumentError: keys come in any order, or every spelling is asked for.
        UnsupportedFeatureError: a keyword that cannot be enforced exactly.
    """
    if key_order != "listed":
        raise ArgumentError(
            "key_order", '"listed" where references=True: what is referred to is written first', key_order
        )
    if profile != "practical":
        raise ArgumentError("profile", '"practical" where references=True: not every spelling', profile)
    document = _Document(schema)
    places = document.places()
    if not places:
        return make(schema, None)
    marked: dict[Path, str] = {path: f"x-derivable-slot/{number}" for number, path in enumerate(places)}
    holders = {media: _holder(media) for media in marked.values()}
    made = make(document.marked(marked), holders)
    rules, terminals = dict(made.rules), dict(made.terminals)
    slots: dict[str, Place] = {}
    longest: dict[str, int] = {}
    languages: dict[int, Language] = {}
    for path, place in places.items():  # those that are referred to come first
        name = _taken_out(rules, terminals, holders[marked[path]], f"/{'/'.join(path)}")
        if name is None:
            continue  # no value has it
        if place.refers is None:
            expr = And((_string_of(make(document.plain(path), None), path), _ONE_SPELLING))
            strings = compile_expr(expr, limits=limits)
            if strings.num_states > _MOST_STATES:
                problem = (
                    f"an automaton of its strings has {strings.num_states:,} states, and may have {_MOST_STATES:,}"
                )
                _refuse(_REFERS, path, problem, "Give a smaller maxLength, or a pattern with simpler characters.")
            languages[place.records] = Language(strings)
            _check_language(document, path, place, languages[place.records])
        language = languages[place.records if place.refers is None else place.refers]
        terminals[name], slots[name] = Terminal(language.expr), place
        longest[name] = min(language.longest or 64, 1 << 16)
    return replace(
        made,
        rules=rules,
        terminals=terminals,
        meaning=ReferencesMeaning(slots, 1 + max(languages, default=-1), longest),
    )


def _holder(media: str) -> Rules:
    """A language that stands for a slot. Each is another one."""
    return Rules({"root": Bytes(media.encode())}, {}, "root")


def _taken_out(rules: dict[str, Expr], terminals: dict[str, Terminal], holder: Rules, name: str) -> str | None:
    """Puts a terminal of that name in the place of a string that holds a language; `None`: there is no such string."""
    inner = next((n for n, t in terminals.items() if isinstance(t.expr, Embedded) and t.expr.grammar is holder), None)
    if inner is None:
        return None
    del terminals[inner]
    for rule, expr in rules.items():
        if isinstance(expr, Sequences) and inner in expr.names:
            rules[rule] = Sequences(tuple([name if each == inner else each for each in expr.names]))
    return name


def _string_of(made: Rules, path: Path) -> Expr:
    """The one terminal of the grammar of a string."""
    match made.rules["root"]:
        case Concat((Ref(name),)) if name in made.terminals and not isinstance(made.terminals[name].expr, Embedded):
            return made.terminals[name].expr
    _refuse(_REFERS, path, "its strings are not said by one of the keywords for strings", "Give a pattern, or an enum.")


def _check_language(document: _Document, path: Path, place: Place, language: Language) -> None:
    """The strings are not used up, and not too long for a reference; and each has a text between its marks."""
    if language.has_empty:
        _refuse(_REFERS, path, "the empty string is no name", "Give a minLength of 1 there.")
    if place.is_unique and language.texts is not None:
        wanted = document.at(path[:-2]).get("maxItems", _NEVER_USED_UP)
        if language.texts < wanted:
            problem = f"there are only {language.texts:,} strings for its items, so they could be used up"
            _refuse(_UNIQUE, path[:-2], problem, "Give a maxItems that is not larger than their number.")
    if document.is_referred_to(path) and language.longest is None:
        problem = "strings that are referred to may be of any length, and a reference is as long"
        _refuse(_REFERS, path, problem, "Give a maxLength there, such as 40.")


def _refuse(keyword: str, path: Path, problem: str, hint: str) -> NoReturn:
    pointer = "#" + "".join("/items" if key == "*" else f"/properties/{pointer_token(key)}" for key in path)
    raise UnsupportedFeatureError(keyword, f"{keyword}: {problem}", pointer=pointer, hint=hint)


class _Document:
    """The places of a document that are reached by `properties` and `items`, with what is said of each."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._subs: dict[Path, dict[str, Any]] = {}
        self._seen: set[int] = set()
        if isinstance(schema, dict):
            self._walk(schema, (), ())
        self._check_reached(schema)

    def _walk(self, sub: Json, path: Path, within: tuple[int, ...]) -> None:
        if isinstance(sub, dict) and set(sub) == {"$ref"}:
            sub = self._target(sub["$ref"])
        if not isinstance(sub, dict) or id(sub) in within:
            return
        self._seen.add(id(sub))
        self._subs[path] = sub
        within = (*within, id(sub))
        properties, items = sub.get("properties"), sub.get("items")
        for key, inner in properties.items() if isinstance(properties, dict) else ():
            self._walk(inner, (*path, key), within)
        if isinstance(items, dict):
            self._walk(items, (*path, "*"), within)

    def _target(self, reference: object) -> Json:
        at: Any = self._schema
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        for key in _keys(reference[1:]):
            at = at.get(key) if isinstance(at, dict) else None
        found: Json = at
        return found

    def _check_reached(self, schema: Json) -> None:
        todo: list[tuple[Any, str]] = [(schema, "#")]
        while todo:
            at, pointer = todo.pop()
            if isinstance(at, dict):
                for keyword in (_REFERS, _UNIQUE):
                    if isinstance(at.get(keyword), str) and id(at) not in self._seen:
                        problem = "it stands where `properties` and `items` do not lead, so its place is not known"
                        hint = "Put it where only these lead, with a `$ref` to `$defs` that has nothing beside it."
                        raise UnsupportedFeatureError(keyword, f"{keyword}: {problem}", pointer=pointer, hint=hint)
                todo += [(inner, f"{pointer}/{pointer_token(key)}") for key, inner in at.items()]
            elif isinstance(at, list):
                todo += [(inner, f"{pointer}/{number}") for number, inner in enumerate(at)]

    def at(self, path: Path) -> dict[str, Any]:
        return self._subs[path]

    def is_referred_to(self, path: Path) -> bool:
        return any(_path_of(sub[_REFERS]) == path for sub in self._subs.values() if _REFERS in sub)

    def places(self) -> dict[Path, Place]:
        """Those that are slots."""
        numbers: dict[Path, int] = {}
        found: dict[Path, Place] = {}
        for path, sub in self._subs.items():
            if _UNIQUE in sub:
                place = self._unique_of(path, sub[_UNIQUE])
                found[place] = Place(records=numbers.setdefault(place, len(numbers)), is_unique=True)
        for path, sub in self._subs.items():
            if _REFERS not in sub:
                continue
            target = self._target_of(path, sub[_REFERS])
            known = found.setdefault(target, Place())
            found[target] = replace(known, records=numbers.setdefault(target, len(numbers)))
        for path, sub in self._subs.items():
            if _REFERS in sub:
                if not sub.keys() <= _OF_REFERENCES or sub.get("type") != "string":
                    hint = 'Give it `"type": "string"` and nothing else.'
                    _refuse(_REFERS, path, "what may be referred to is said where it is written", hint)
                if path in found:
                    _refuse(_REFERS, path, "a place that refers cannot be referred to, nor unique", "Use two places.")
                found[path] = Place(refers=numbers[_path_of(sub[_REFERS])])
        return found

    def _unique_of(self, path: Path, key: object) -> Path:
        place = (*path, "*", str(key))
        if not isinstance(key, str) or place not in self._subs:
            _refuse(_UNIQUE, path, f"its items have no key {key!r:.80} in `properties`", "Name a key of the items.")
        if "*" in path:
            problem = "an array that stands in another one has as many instances as that has items"
            _refuse(_UNIQUE, path, problem, "Use it for arrays that stand in objects only.")
        return place

    def _target_of(self, path: Path, pointer: object) -> Path:
        target = _path_of(pointer)
        if not isinstance(pointer, str) or target not in self._subs:
            problem = f"{pointer!r:.80} is no place that `properties` and `items` lead to"
            _refuse(_REFERS, path, problem, 'Write it as "/nodes/*/id".')
        if not self._is_written_before(target, path):
            problem = f"nothing need be written at {pointer!r:.80} before, so that there would be nothing to refer to"
            hint = (
                "List it before, make its keys required, give its arrays minItems of 1, and objects and arrays a type."
            )
            _refuse(_REFERS, path, problem, hint)
        return target

    def _is_written_before(self, target: Path, path: Path) -> bool:
        same = next((i for i, pair in enumerate(zip(target, path)) if pair[0] != pair[1]), None)
        if same is None:
            return False
        keys = list(self._subs[target[:same]].get("properties", {}))
        return keys.index(target[same]) < keys.index(path[same]) and all(
            self._is_there(target[:i], target[i]) for i in range(same, len(target))
        )

    def _is_there(self, path: Path, key: str) -> bool:
        """In each value of the place."""
        sub = self._subs[path]
        if key == "*":
            return sub.get("type") == "array" and sub.get("minItems", 0) >= 1
        return sub.get("type") == "object" and key in sub.get("required", ())

    def plain(self, path: Path) -> Json:
        """The schema of a place without such keywords."""
        sub = self._subs[path]
        if sub.get("type") != "string" and not all(isinstance(value, str) for value in sub.get("enum", [None])):
            _refuse(_REFERS, path, "only strings are compared", 'Give it `"type": "string"`.')
        return {key: value for key, value in sub.items() if key not in (_REFERS, _UNIQUE)}

    def marked(self, media: Mapping[Path, str]) -> Json:
        """The schema, with a media type at each of these places."""

        def copied(path: Path) -> Json:
            if path in media:
                return {"type": "string", "contentMediaType": media[path]}
            sub = dict(self._subs[path])
            if isinstance(sub.get("properties"), dict):
                sub["properties"] = {
                    key: copied((*path, key)) if (*path, key) in leads else inner
                    for key, inner in sub["properties"].items()
                }
            if (*path, "*") in leads:
                sub["items"] = copied((*path, "*"))
            return {key: value for key, value in sub.items() if key not in (_REFERS, _UNIQUE)}

        leads = {path[:i] for path in media for i in range(len(path) + 1)}
        return copied(())


def _path_of(pointer: object) -> Path:
    return _keys(pointer) if isinstance(pointer, str) else ()


def _keys(pointer: str) -> Path:
    return tuple([pointer_key(token) for token in pointer.split("/")[1:]])
