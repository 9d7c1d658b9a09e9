"""Goals to rules: the state of one translation, and the symbols that goals become.

Every goal that has instances becomes one symbol: a shared terminal for scalars, a rule for arrays and objects, a rule
of alternatives for several. Bodies of arrays and objects are written from a queue, so nesting costs no Python frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ...errors import GrammarError, LimitError, UnsupportedFeatureError
from ...expr import NOTHING, Alt, Concat, Expr, Ref
from ...limits import Limits
from ...rules import Rules, Terminal
from .any_order import Counted, give_roles
from .apart import apart, list_different_values
from .arguments import STYLES, arguments
from .arrays import emit_array
from .check import SHAPES
from .decisions import missing_or_wrong
from .facts import ALL, ARRAY, OBJECT, TYPES, Facts, Goal, MemberRow, Some, Text
from .formats import ANNOTATIONS, FORMATS
from .goals import expand
from .json_text import literal_terminal, without_texts
from .objects import emit_object
from .options import Options
from .practical import PRACTICAL_FORMATS, well_formed
from .productive import drop_unproductive
from .resources import Json, Resources, Sub
from .scalars import LENGTHS, PLAIN, emit_scalars, emit_values, plain_string
from .sharing import Sharing
from .strings import Strings
from .table import ACTIVE, KEYWORDS, OLD, UNSUPPORTED_3
from .values import Validator, type_name
from .work import Option, Work

if TYPE_CHECKING:
    from ..._kernel import Partition
    from .other_keys import Signs

__all__ = ["Compiler"]

_ONLY_REF = ("$ref",)
_UNIONS = (("anyOf",), ("oneOf",), ("allOf",))
_MOST_OPEN = 32
"""Unions within unions that are taken apart by recursion."""


class Compiler:
    """One schema being translated."""

    def __init__(self, schema: Json, options: Options, limits: Limits) -> None:
        self.options = options
        self.limits = limits
        self.style = options.style
        self.resources = Resources(schema, options.draft, options.registry)
        self.sub = self.resources.sub
        self.sharing = Sharing(self.sub)
        self.goal = self.sharing.goal
        self.strings = Strings(self)
        self.validator = Validator(self)
        self.rules: dict[str, Expr] = {}
        self.terminals: dict[str, Terminal] = {}
        self.leaves: dict[Any, Any] = {}  # symbols, or `NOTHING`
        self.keys: dict[str, str] = {}
        self.marks: dict[str, tuple[str, ...]] = {}
        self.memo: dict[Goal, Expr] = {}
        self.unions: dict[tuple[Expr, ...], Expr] = {}
        self.queue: deque[Callable[[], None]] = deque()
        self.targets: dict[int, Sub] = {}
        self.implied: dict[tuple[Goal, Goal], bool | None] = {}
        self.denied: dict[tuple[int, int], list[Option]] = {}
        self.by_value: dict[int, Sub] = {}
        self.partitions: dict[tuple[object, ...], tuple[tuple[Expr, ...], Partition, bool, list[Signs]]] = {}
        self.stripped: dict[int, Sub] = {}
        self.collecting: set[int] = set()
        self.open: list[Sub] = []  # unions whose branches are being translated
        self.meanings: dict[int, tuple[int, object]] = {}
        self.relaxed: list[str] = []
        self.counted: dict[str, Counted] = {}  # objects in any order, by their rules
        self.distinct: list[str] = []  # terminals that open arrays of distinct items
        self.suspect = False  # a rule may have no text
        self.count = 0
        self.cases = 0  # of disjunctions, in all goals
        self.looks = 0  # at options and rows, in all cases
        self.any_value: Expr | None = None

    # -- the schema ---------------------------------------------------------------------------------------------

    def keywords(self, sub: Sub) -> tuple[str, ...]:
        """The keywords of a schema that its draft knows, in the order of the text. Their values have been checked."""
        found = sub.keywords
        if found is None:
            schema, draft = sub.schema, sub.scope.resource.draft
            if type(schema) is bool:
                found = ()
            elif draft in OLD and "$ref" in schema:
                found = _ONLY_REF
            else:
                known = ACTIVE[draft]
                found = tuple([k for k in schema if k in known])
                if draft == 3:
                    for keyword in UNSUPPORTED_3:
                        if keyword in schema:
                            raise UnsupportedFeatureError(
                                keyword, f"{keyword} of draft 3 is not supported", pointer=sub.pointer(keyword)
                            )
            for keyword in found:
                check = SHAPES.get(keyword)
                if check is not None:
                    check(sub, keyword, schema[keyword])
            sub.keywords = found
        return found

    def assert_keywords(self, sub: Sub, work: Work) -> None:
        """Adds all a schema asserts to the work."""
        schema, keywords = sub.schema, self.keywords(sub)
        if "unevaluatedProperties" in keywords or "unevaluatedItems" in keywords or id(sub) in self.collecting:
            work.collectors = (*work.collectors, sub)
        order = work.order
        for i, keyword in enumerate(keywords):
            work.order = (order, i)
            KEYWORDS[keyword][0](schema[keyword], sub, work)

    def deny_keywords(self, sub: Sub, work: Work) -> list[Option]:
        """The ways in which a schema can fail, for the one type of the work."""
        key = id(sub), work.facts.types
        options = self.denied.get(key)
        if options is None:  # PERF: every case asks again
            options = self.denied[key] = []
            for keyword in self.keywords(sub):
                deny = KEYWORDS[keyword][1]
                if deny is not None:
                    options += deny(sub.schema[keyword], sub, work)
            if {"properties", "required"}.issubset(sub.schema):
                options[:] = missing_or_wrong(options)
        return options

    def enforces_format(self, name: str, sub: Sub) -> bool:
        """Whether a format is asserted; unknown ones are refused if the caller is strict."""
        mode = self.options.formats
        # `byte` is OpenAPI's: the specification has it as an annotation, and validators do.
        if mode == "annotation" or (name in FORMATS and (mode == "strict" or name != "byte")):
            return mode != "annotation"
        if mode == "assert" and (name in ANNOTATIONS or name == "byte"):
            self.relax(f"format {name}")
        if mode == "strict":
            known = "is known but cannot be enforced" if name in ANNOTATIONS else "is not known"
            self.unsupported(f"format {name}", f"the format {name!r} {known}", sub, "format")
        return False

    def format(self, name: str) -> Text:
        """A format that is enforced."""
        practical = self.options.practical and name in PRACTICAL_FORMATS
        return "practical format" if practical else "format", name

    def relax(self, feature: str) -> None:
        """Notes what is not enforced."""
        if feature not in self.relaxed:
            self.relaxed.append(feature)

    def unsupported(self, feature: str, problem: str, sub: Sub | None, *tokens: str | int) -> None:
        """Refuses a feature, unless the caller has relaxed it by name."""
        if feature in self.options.relax or feature.split(" ")[0] in self.options.relax:
            return self.relax(feature)
        raise UnsupportedFeatureError(
            feature,
            problem,
            pointer=sub.pointer(*tokens) if sub is not None else "#",
            hint=f"Rewrite the schema, or drop the constraint knowingly with relax=({feature!r},).",
        )

    # -- values -------------------------------------------------------------------------------------------------

    def excluding(self, work: Work, sub: Sub, values: list[Json]) -> list[Option]:
        """How a value can be none of `values`: the one option of that, for the type of the work."""
        scalars = [v for v in values if type(v) not in (list, dict) and TYPES[type_name(v)] & work.facts.types]
        composite = [v for v in values if type(v) in (list, dict) and TYPES[type_name(v)] & work.facts.types]
        changes = (("exclude", *scalars),) if scalars else ()
        return [Option(tuple((self.value_schema(v, sub), False) for v in composite), changes)]

    def exclude(self, work: Work, sub: Sub, values: list[Json]) -> None:
        """The value is none of `values`."""
        for value in values:
            if type(value) in (list, dict):
                work.also(self.value_schema(value, sub), False)
            else:
                work.facts.exclude(value)

    def value_schema(self, value: Json, sub: Sub) -> Sub:
        """A schema of keywords that describes one array or object."""
        found = self.by_value.get(id(value))
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
            found = self.by_value[id(value)] = Sub(schema, sub.scope, sub, ("value",))
        return found

    def impossible(self, goal: Goal) -> bool:
        """Whether a quick look tells that a goal has no value."""
        types = ALL
        for sub, sign in goal:
            if sign:
                types &= self.shallow_types(sub)
        return not types or self.validator.candidates(goal) == {}

    def values_listed(self, sub: Sub) -> list[Json] | None:
        """The values that a schema lists (others of its keywords may exclude some), else `None`."""
        for _ in range(16):
            if type(sub.schema) is not dict:
                return None
            keywords = self.keywords(sub)
            if "const" in keywords:
                return [sub.schema["const"]]
            if "enum" in keywords:
                return list(sub.schema["enum"])
            if "$ref" not in keywords:
                return None
            sub = self.resources.resolve(sub, sub.schema["$ref"], "$ref")
        return None

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

    def target(self, sub: Sub) -> Sub:
        """Where a schema that is a mere reference leads."""
        found = self.targets.get(id(sub))
        if found is None:
            found = sub
            for _ in range(16):
                if type(found.schema) is not dict or self.keywords(found) != _ONLY_REF:
                    break
                found = self.resources.resolve(found, found.schema["$ref"], "$ref")
            self.targets[id(sub)] = found
        return found

    def same(self, one: Sub, other: Sub) -> bool:
        """Whether two schemas are seen to say the same."""
        return self.meaning(one) == self.meaning(other)

    def meaning(self, sub: Sub) -> tuple[int, object]:
        """A schema's keywords as text, and the scope they stand in: equal ones say the same."""
        sub = self.targets.get(id(sub)) or self.target(sub)
        found = self.meanings.get(id(sub))
        if found is None:
            schema = sub.schema
            said = {k: schema[k] for k in self.keywords(sub)} if type(schema) is dict else schema
            found = self.meanings[id(sub)] = id(sub.scope), self.sharing.spell(said, sub)
        return found

    def is_type(self, sub: Sub) -> bool:
        """Whether a schema is about the type alone, so that `shallow_types` says all of it."""
        sub = self.target(sub)
        if type(sub.schema) is not dict or self.keywords(sub) != ("type",):
            return False
        names = sub.schema["type"]
        return "integer" not in (names if type(names) is list else [names])

    # -- members ------------------------------------------------------------------------------------------------

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

    def some_applies(self, some: Some, key: str) -> bool:
        """Whether a member with this key can be the one that `some` is about."""
        row = some.row
        if row is not None and (
            key in row.properties
            or any(self.strings.matches(("pattern", p), key, s, "patternProperties", p) for p, s, _ in row.patterns)
        ):
            return False
        if some.pattern is not None:
            source, sub = some.pattern
            if not self.strings.matches(("pattern", source), key, sub, "patternProperties", source):
                return False
        return some.name is None or all(self.validator.holds(s, key) is sign for s, sign in some.name)

    # -- symbols ------------------------------------------------------------------------------------------------

    def leaf(self, key: Any, name: str, expr: Expr) -> Ref:
        """A terminal, by `key` one for all uses."""
        found: Ref | None = self.leaves.get(key)
        if found is None:
            found = self.leaves[key] = Ref(self._terminal(name, Terminal(expr)))
        return found

    def key(self, value: str) -> str:
        """The terminal of one string, a key above all, by name."""
        found = self.keys.get(value)
        if found is None:
            found = self.keys[value] = self._terminal(*literal_terminal(value))
        return found

    def _terminal(self, name: str, terminal: Terminal) -> str:
        while name in self.terminals:
            self.count += 1
            name = f"{name}·{self.count}"
        self.terminals[name] = terminal
        return name

    def rule(self, name: str, expr: Expr) -> Expr:
        """A new rule."""
        self.rules[name] = expr
        return Ref(name)

    def either(self, stem: str, parts: tuple[Expr, ...]) -> Expr:
        """A rule of alternatives, one for all uses: what differs in words only becomes the same values."""
        found = self.unions.get(parts)
        if found is None:
            found = self.unions[parts] = self.rule(self.fresh(stem), Alt(parts))
        return found

    def fresh(self, stem: str) -> str:
        """A new name."""
        self.count += 1
        return f"{stem}·{self.count}"

    def anything(self) -> Expr:
        """Any JSON value."""
        if self.any_value is None:
            self.any_value = Ref("value")
            self.rules["value"] = Alt(tuple(self.emit(Facts(ALL), "value")))
        return self.any_value

    def symbol(self, goal: Goal) -> Expr:
        """The symbol of a goal; `NOTHING` if it is seen to have no instance."""
        found = self.memo.get(goal)
        if found is not None:
            return found
        if len(goal) == 1 and goal[0][1]:  # PERF: most sub-schemas say no more than a type, or where to look
            found = self._plain(goal[0][0])
            if found is not None:
                self.memo[goal] = found
                return found
        kept: list[Any] = []
        for literal in goal:
            schema, holds = literal[0].schema, literal[1]
            trivial = schema if type(schema) is bool else None if schema else True
            if trivial is None:
                kept.append(literal)
            elif trivial is not holds:
                self.memo[goal] = NOTHING
                return NOTHING
        if not kept:
            found = self.anything()
        else:
            name = kept[0][0].name
            parts = [part for facts in expand(self, tuple(kept)) for part in self.emit(facts, name)]
            if len(parts) > 1:
                parts = [*dict.fromkeys(parts)]
            if not parts:
                found = NOTHING
            elif len(parts) == 1:
                (found,) = parts
            else:
                found = self.either(name, tuple(parts))
        self.memo[goal] = found
        return found

    def _plain(self, sub: Sub) -> Expr | None:
        """The symbol of a schema that is only a type, a reference or a union."""
        seen: set[Sub] = set()
        while type(sub.schema) is dict:
            keywords = sub.keywords or self.keywords(sub)
            if keywords == ("type",):
                name = sub.schema["type"]
                if type(name) is not str or name not in PLAIN:
                    return None
                if name == "integer" and (sub.scope.resource.draft in (3, 4) or self.options.practical):
                    return None
                return self.leaves.get(name) or self.leaf(name, name, PLAIN[name])
            if keywords in LENGTHS and sub.schema["type"] == "string":
                return plain_string(self, sub)
            if keywords != _ONLY_REF:
                return self.symbol(((sub, True),)) if seen else self._union(sub) if keywords in _UNIONS else None
            if sub in seen:
                return None
            seen.add(sub)
            sub = self.resources.resolve(sub, sub.schema["$ref"], "$ref")
            found = self.memo.get(((sub, True),))
            if found is not None:
                return found
        return None

    def _union(self, sub: Sub) -> Expr | None:
        """The symbol of a schema that says no more than that a value is of one of some kinds: these share rules.

        `None` where that is not plain: branches of `oneOf` may overlap, or a branch leads back here.
        """
        (keyword,) = self.keywords(sub)
        branches = sub.schema[keyword]
        if not branches or sub in self.open or len(self.open) == _MOST_OPEN:
            return None
        kinds = [self.sub(sub, schema, keyword, i) for i, schema in enumerate(branches)]
        plain = len(kinds) == 1 or keyword == "anyOf" or (keyword == "oneOf" and list_different_values(self, kinds))
        if not plain and (keyword == "allOf" or not all(apart(self, *pair) for pair in combinations(kinds, 2))):
            return None
        self.open.append(sub)
        parts = dict.fromkeys([self.symbol(((kind, True),)) for kind in kinds])
        self.open.pop()
        parts.pop(NOTHING, None)
        if len(parts) < 2:
            return next(iter(parts), NOTHING)
        return self.either(sub.name, tuple(parts))

    def emit(self, facts: Facts, name: str) -> list[Ref]:
        """The symbols of the values that satisfy `facts`, one for each type."""
        if facts.values is not None:
            return emit_values(self, facts.values)
        out = emit_scalars(self, facts) if facts.types & ~(ARRAY | OBJECT) else []
        if facts.types & ARRAY:
            out.append(emit_array(self, facts, name))
        if facts.types & OBJECT:
            out.append(emit_object(self, facts, name))
        return out

    # -- the grammar --------------------------------------------------------------------------------------------

    def grammar(self, source: str | None) -> Rules:
        """The grammar of the whole schema."""
        goal, style = ((self.resources.root, True),), self.options.arguments
        start = arguments(self, goal, STYLES[style]) if style else self.symbol(goal)
        while self.queue:
            self.queue.popleft()()
            if len(self.rules) > self.limits.max_symbols:
                raise LimitError("max_symbols", len(self.rules), self.limits.max_symbols, "the size of the grammar")
        start = self.style.document(self, start) if start != NOTHING and not style else start
        self.rules["root"] = start if isinstance(start, Concat | Alt) else Concat((start,))
        if self.suspect or self.resources.targets:
            drop_unproductive(self.rules)
        tallied = give_roles(self)
        if self.rules["root"] == NOTHING:
            raise GrammarError(
                "no JSON value satisfies this schema",
                hint="Some of its constraints contradict one another, or it recurses without an end.",
            )
        if self.options.practical:
            self.terminals = well_formed(self.terminals)
        if self.options.excludes:
            self.terminals = without_texts(self.terminals, self.options.excludes)
        relaxed, distinct = tuple(sorted(self.relaxed)), tuple(self.distinct)
        in_order = self.options.key_order == "preferred"
        names = self.rules, self.terminals, "root", source, relaxed, distinct, tallied, in_order
        return Rules.of_known_names(*names)
