"""What the schemas of one document say, as far as it is seen at once: keywords, references, types, listed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ....errors import UnsupportedFeatureError
from ....limits import Limits
from ..texts.formats import ANNOTATIONS, FORMATS
from .contents import ContentsOfSchemas
from .doubts import Doubts, Names
from .facts import ALL, TYPES, Goal, MemberRow
from .options import Options
from .resources import Resources, Sub
from .sharing import Sharing
from .strings import Strings
from .values import Json, type_name

__all__ = ["ONLY_REF", "Reader", "Vocabulary"]

ONLY_REF = ("$ref",)
OLD = (3, 4, 6, 7)
"""Drafts in which nothing counts beside a `$ref`."""


@dataclass(frozen=True)
class Vocabulary:
    """The keywords that there are.

    Attributes:
        active: those of each draft (0: no `$schema`, read tolerantly).
        shapes: by keyword, what raises an error if its value is not one that it may have.
        naming: the same of keywords that say nothing of a value, with their drafts: they name schemas and hold them.
        unsupported: those of draft 3 that are refused.
    """

    active: Mapping[int, frozenset[str]]
    shapes: Mapping[str, Callable[[Sub, str, Json], object]]
    naming: Mapping[str, tuple[tuple[int, ...], Callable[[Sub, str, Json], object]]]
    unsupported: tuple[str, ...]

    @cached_property
    def saying(self) -> frozenset[str]:
        """What may change what a schema says of a value."""
        return frozenset(self.unsupported).union(*self.active.values(), ("$id", "id", "$schema"))

    @cached_property
    def names(self) -> Names:
        """The same for those who doubt a name."""
        return Names(self.active, self.naming, self.unsupported)


class Reader:
    """One document being read."""

    def __init__(self, schema: Json, options: Options, limits: Limits, vocabulary: Vocabulary) -> None:
        self.options, self.limits, self.vocabulary = options, limits, vocabulary
        self.resources = Resources(schema, options.draft, options.registry)
        self.sub = self.resources.sub
        self.sharing = Sharing(self.sub, vocabulary.saying)
        self.goal = self.sharing.goal
        self.strings = Strings(limits)
        self.relaxed: list[str] = []
        self.doubts = Doubts(vocabulary.names)
        self.contents = ContentsOfSchemas(self)
        self._targets: dict[int, Sub] = {}
        self._by_value: dict[int, Sub] = {}
        self._meanings: dict[int, tuple[int, object]] = {}
        self._listed: dict[int, list[Json] | None] = {}
        self._alike: dict[tuple[int, object], Sub] = {}
        self._stripped: dict[int, Sub] = {}
        self.collecting: set[int] = set()  # schemas without `unevaluated*` that still note what they evaluate

    def keywords(self, sub: Sub) -> tuple[str, ...]:
        """The keywords of a schema that its draft knows, in the order of the text. Their values have been checked."""
        found = sub.keywords
        if found is not None:
            return found
        schema, draft = sub.schema, sub.scope.resource.draft
        if type(schema) is bool:
            found = ()
        elif "$ref" in schema and draft in OLD:
            found = ONLY_REF
        else:
            found = tuple(filter(self.vocabulary.active[draft].__contains__, schema))
            if len(found) < len(schema):  # PERF: most schemas have none of these
                for keyword, (drafts, check) in self.vocabulary.naming.items():
                    if keyword in schema and draft in drafts:
                        check(sub, keyword, schema[keyword])
                self.doubts.of_keywords(sub)
            if draft == 3:
                for keyword in self.vocabulary.unsupported:
                    if keyword in schema:
                        raise UnsupportedFeatureError(
                            keyword, f"{keyword} of draft 3 is not supported", pointer=sub.pointer(keyword)
                        )
        shape_of = self.vocabulary.shapes.get
        for keyword in found:
            shape = shape_of(keyword)
            if shape is not None:
                shape(sub, keyword, schema[keyword])
        sub.keywords = found
        return found

    def target(self, sub: Sub) -> Sub:
        """Where a schema that is a mere reference leads."""
        found = self._targets.get(id(sub))
        if found is None:
            found = sub
            for _ in range(16):
                if type(found.schema) is not dict or self.keywords(found) != ONLY_REF:
                    break
                found = self.resources.resolve(found, found.schema["$ref"], "$ref")
            self._targets[id(sub)] = found
        return found

    def alike(self, sub: Sub) -> Sub:
        """The first schema that was asked about and says the same."""
        return self._alike.setdefault(self.meaning(sub), sub)

    def same(self, one: Sub, other: Sub) -> bool:
        """Whether two schemas are seen to say the same."""
        return self.meaning(one) == self.meaning(other)

    def meaning(self, sub: Sub) -> tuple[int, object]:
        """A schema's keywords as text, and the scope they stand in: equal ones say the same."""
        sub = self._targets.get(id(sub)) or self.target(sub)
        found = self._meanings.get(id(sub))
        if found is None:
            schema = sub.schema
            said = {k: schema[k] for k in self.keywords(sub)} if type(schema) is dict else schema
            found = self._meanings[id(sub)] = id(sub.scope), self.sharing.spell(said, sub)
        return found

    def shallow_types(self, sub: Sub) -> int:
        """A superset of the types that a schema allows, from a quick look."""
        found = sub.types
        if found is None:
            sub.types = ALL  # for cycles
            found = sub.types = self._types(sub)
        return found

    def _types(self, sub: Sub) -> int:
        types, at = ALL, sub
        for _ in range(16):
            schema = at.schema
            if type(schema) is bool:
                return types if schema else 0
            keywords = self.keywords(at)
            if "type" in keywords:
                names = schema["type"]
                types &= sum({TYPES[n] for n in (names if type(names) is list else [names])})
            listed = schema["enum"] if "enum" in keywords else [schema["const"]] if "const" in keywords else None
            if listed is not None:
                bits = 0
                for value in listed:
                    bits |= TYPES[type_name(value)]
                types &= bits
            if "$ref" not in keywords:
                return types
            at = self.resources.resolve(at, schema["$ref"], "$ref")
        return types

    def is_type(self, sub: Sub) -> bool:
        """Whether a schema is about the type alone, so that `shallow_types` says all of it."""
        sub = self.target(sub)
        if type(sub.schema) is not dict or self.keywords(sub) != ("type",):
            return False
        names = sub.schema["type"]
        return "integer" not in (names if type(names) is list else [names])

    def values_listed(self, sub: Sub) -> list[Json] | None:
        """The values that a schema lists, or its branches do (others of its keywords may exclude some), else `None`."""
        if id(sub) not in self._listed:
            self._listed[id(sub)] = None  # for cycles
            self._listed[id(sub)] = self._values_listed(sub)
        return self._listed[id(sub)]

    def _values_listed(self, sub: Sub, within: bool = True) -> list[Json] | None:
        for _ in range(16):
            if type(sub.schema) is not dict:
                return None
            keywords = self.keywords(sub)
            if "const" in keywords:
                return [sub.schema["const"]]
            if "enum" in keywords:
                return list(sub.schema["enum"])
            if "$ref" not in keywords:
                break
            sub = self.resources.resolve(sub, sub.schema["$ref"], "$ref")
        for keyword in ("anyOf", "oneOf") if within and type(sub.schema) is dict else ():
            values: list[Json] = []
            for i, schema in enumerate(sub.schema[keyword] if keyword in self.keywords(sub) else ()):
                listed = self._values_listed(self.sub(sub, schema, keyword, i), within=False)
                if listed is None:
                    values = []
                    break
                values += listed
            if values:
                return values
        return None

    def value_schema(self, value: Json, sub: Sub) -> Sub:
        """A schema of keywords that describes one array or object."""
        found = self._by_value.get(id(value))
        if found is None:
            schema: Json
            if type(value) is dict:
                schema = {
                    "type": "object",
                    "properties": {k: {"enum": [v]} for k, v in value.items()},
                    "required": list(value),
                    "additionalProperties": False,
                }
            else:
                size = len(value)
                schema = {"type": "array", "items": [{"enum": [v]} for v in value], "minItems": size, "maxItems": size}
            found = self._by_value[id(value)] = Sub(schema, sub.scope, sub, ("value",))
        return found

    def member_goal(self, rows: tuple[MemberRow, ...], key: str) -> Goal:
        """What the value of a member with this key must satisfy."""
        goal: Goal = ()
        for row in rows:
            own = row.properties.get(key)
            if not row.patterns:  # nearly all
                goal += row.additional if own is None else own
                continue
            matched = own is not None
            goal += own or ()
            for source, sub, inner in row.patterns:
                if self.strings.matches(("pattern", source), key, sub, "patternProperties", source):
                    matched = True
                    goal += inner
            if not matched:
                goal += row.additional
        return tuple(dict.fromkeys(goal)) if len(rows) > 1 and len(goal) > 1 else goal

    def enforces_format(self, name: str, sub: Sub) -> bool:
        """Whether a format is asserted; unknown ones are refused if the caller is strict."""
        mode = self.options.formats
        # `byte` is OpenAPI's: the specification has it as an annotation, and validators do.
        if mode == "annotation" or (name in FORMATS and (mode == "strict" or name != "byte")):
            return mode != "annotation"
        if mode == "assert" and (name in ANNOTATIONS or name == "byte"):
            self.relax(f"format {name}")
        elif mode == "assert":
            self.doubts.of_format(name, sub)
        if mode == "strict":
            known = "is known but cannot be enforced" if name in ANNOTATIONS else "is not known"
            self.unsupported(f"format {name}", f"the format {name!r} {known}", sub, "format")
        return False

    def enforces_pattern(self, pattern: str, sub: Sub) -> bool:
        """Whether a pattern is asserted: not where the caller has relaxed what it needs."""
        if not self.options.relax:
            return True
        try:
            self.strings.check(("pattern", pattern), sub, "pattern")
        except UnsupportedFeatureError as error:
            if not {"pattern", error.feature} & {*self.options.relax}:
                raise
            self.relax("pattern")
            return False
        return True

    def relax(self, feature: str) -> None:
        """Notes what is not enforced."""
        if feature not in self.relaxed:
            self.relaxed.append(feature)

    def is_relaxed(self, feature: str) -> bool:
        """Whether the caller has relaxed a feature by name."""
        return feature in self.options.relax or feature.split(" ")[0] in self.options.relax

    def unsupported(self, feature: str, problem: str, sub: Sub | None, *tokens: str | int) -> None:
        """Refuses a feature, unless the caller has relaxed it by name."""
        if self.is_relaxed(feature):
            return self.relax(feature)
        raise UnsupportedFeatureError(
            feature,
            problem,
            pointer=sub.pointer(*tokens) if sub is not None else "#",
            hint=f"Rewrite the schema, or drop the constraint knowingly with relax=({feature!r},).",
        )

    def without_unevaluated(self, sub: Sub) -> Sub:
        """The same schema without `unevaluated*`, which still notes what it evaluates."""
        found = self._stripped.get(id(sub))
        if found is None:
            schema = {k: v for k, v in sub.schema.items() if k not in ("unevaluatedProperties", "unevaluatedItems")}
            found = self._stripped[id(sub)] = Sub(schema, sub.scope, sub.parent, sub.tokens)
            self.collecting.add(id(found))
        return found
