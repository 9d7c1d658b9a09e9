"""Structural tags: free text in which triggers begin constrained parts, as servers take them for tool calls.

The JSON forms are xgrammar's ("Structural Tag Usage", version 0.2.8) and the older one of vLLM and SGLang:

```
{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f="], "tags": [...]}}
{"structures": [{"begin": "<f=a>", "schema": {...}, "end": "</f>"}], "triggers": ["<f="]}
```

| format | texts |
|---|---|
| `const_string`, `regex` | this text; those that a pattern of ECMA-262 matches |
| `grammar` | as `Grammar.from_ebnf` reads it; or `lark`, as `from_lark` does; or a built-in `language` by its name |
| `json_schema` | as `Grammar.from_json_schema` reads it, with `contents` by media type |
| `any_text` | valid UTF-8 without `excludes`, at most `max_chars` characters, in at most `max_tokens` tokens |
| `sequence`, `or`, `optional`, `plus`, `star`, `repeat` | as in any grammar |
| `tag` | `begin`, `content`, one of the `end`s |
| `triggered_tags`, `dispatch` | free text with tags in it (`free_text` defines it) |
| `tags_with_separator` | tags and nothing else |
| `token`, `exclude_token`, `any_tokens`, `token_triggered_tags`, `token_dispatch` | the same with tokens |

What is free directly inside a `tag` does not contain the tag's ends either, as xgrammar has it: texts in `any_text` and
`triggered_tags`, tokens in `exclude_token`, `any_tokens` and `token_triggered_tags`. The language is that of the parts
put together, with every way to cut a text allowed; nothing is committed to early. Special tokens stand only where they
are named. `any_order` keeps all a schema says but the order of keys. The `encoding` of a `grammar` is one of
`Grammar.encoded`; with the `syntax` `lark` it is in llguidance's dialect; in Python, `grammar` may also be a `Grammar`.

What cannot be enforced exactly is refused by name, with its place, and so is every field that is not known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from ..errors import ArgumentError, GrammarError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from ..expr import ANY_TOKEN, EMPTY, Concat, Expr, Special, Spelled, optional, star
from ..limits import Limits
from ..rules import MOST_TOKENS, Rules, SpecialTokens
from ..support.caches import remembered, text_of
from .build import alternation, concatenation, recursion_room, repeat
from .combine import Joined, bounds_of_repeat, literal
from .dialects import Dialect, grammar_from_lark
from .ebnf import grammar_from_ebnf
from .ecma import ecma_regex
from .encoded import encoded
from .fields import Fields, refuse, token
from .free_text import dispatch, text_without, token_dispatch
from .json_schema import grammar_from_json_schema
from .json_schema.reading.styles import STYLES
from .languages import Contents, rules_of

__all__ = ["grammar_from_structural_tag", "rules_of_schema"]

_T = TypeVar("_T")

_DEFAULTS = Limits()
_DEEPEST = 2_000
_FRAMES = 6
"""Python frames that one level of nesting takes at most."""


_GRAMMARS: dict[str, Callable[[str, Limits], Rules]] = {
    "grammar": lambda text, limits: grammar_from_ebnf(text, limits=limits),
    "lark": lambda text, limits: grammar_from_lark(text, limits=limits),
    "language": lambda name, limits: rules_of(name),
}
"""Fields of the format `grammar`."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """What ends the tag around, so that nothing free in it may contain it."""

    texts: tuple[str, ...] = ()
    tokens: tuple[str | int, ...] = ()


_NONE = _Ends()


def grammar_from_structural_tag(
    tag: Any,
    special_tokens: SpecialTokens = "token",
    *,
    limits: Limits = _DEFAULTS,
    schemas: Mapping[str, Any] = MappingProxyType({}),
) -> Rules:
    """A grammar from a structural tag.

    Args:
        tag: a `dict`, JSON text, or an object with `model_dump` (xgrammar's classes).
        special_tokens: what texts mean that spell special tokens; see `Grammar.with_special_tokens`.
        limits: bounds on its size and nesting, and on the grammars and schemas in it.
        schemas: options of `grammar_from_json_schema` for the schemas in it.

    Raises:
        GrammarSyntaxError: it is not JSON.
        GrammarError: it is not a structural tag; the message has the JSON pointer.
        UnsupportedFeatureError: a format or a field that is not supported (`feature`, `pointer`).
        LimitError: it is larger or deeper than `limits` allows.
    """
    if special_tokens not in get_args(SpecialTokens):
        hint = f"Use one of {', '.join(get_args(SpecialTokens))}."
        raise GrammarError(f"{special_tokens!r:.80} is no meaning of special tokens in texts", hint=hint)
    try:
        value, source = _read(tag, limits)
        with recursion_room(_FRAMES * min(limits.max_depth, _DEEPEST) + 200):
            return _Reader(limits, special_tokens, schemas).grammar(value, source)
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, "nesting of a structural tag") from None


def _read(tag: Any, limits: Limits) -> tuple[Any, str | None]:
    if hasattr(tag, "model_dump"):
        tag = tag.model_dump(by_alias=True)
    if not isinstance(tag, str):
        return tag, None
    if len(tag) > limits.max_source:
        raise LimitError("max_source", len(tag), limits.max_source, "structural tag")
    try:
        return json.loads(tag), tag
    except json.JSONDecodeError as error:
        raise GrammarSyntaxError(
            f"the structural tag is not JSON: {error.msg}",
            source=tag,
            span=(error.pos, error.pos + 1),
            hint="Give JSON text or a dict.",
        ) from None
    except ValueError as error:  # integers of more digits than Python converts
        raise GrammarError(f"the structural tag cannot be read: {error}", hint="Write shorter numbers.") from None


def rules_of_schema(schema: Any, limits: Limits, options: Mapping[str, Any]) -> Rules:
    """The rules of a schema in a tag, made once while they are in use; `options` of `grammar_from_json_schema`."""
    key = ("json in a tag", text_of(schema), limits, *sorted(options.items()))
    return remembered(key, lambda: grammar_from_json_schema(schema, limits=limits, **options))


class _Reader:
    """Formats to expressions: one method for each."""

    def __init__(self, limits: Limits, special_tokens: SpecialTokens, schemas: Mapping[str, Any]) -> None:
        self.limits = limits
        self.schemas = schemas
        self.special_tokens = special_tokens
        self.joined = Joined()
        # PERF: a list of alternatives that is one object in many places, as calls behind the calls of each tool, is
        # made once. It is kept, so that no other list has its id.
        self.shared: dict[tuple[int, _Ends], tuple[Any, Expr]] = {}
        self.depth = 0
        self.formats: dict[str, Callable[[Fields, _Ends], Expr]] = {
            "const_string": self.const_string,
            "regex": self.regex,
            "grammar": self.any_grammar,
            "json_schema": self.json_schema,
            "any_text": self.any_text,
            "sequence": self.sequence,
            "or": self.alternatives,
            "optional": lambda node, ends: repeat(self.content(node, ends), 0, 1),
            "plus": lambda node, ends: repeat(self.content(node, ends), 1, None),
            "star": lambda node, ends: repeat(self.content(node, ends), 0, None),
            "repeat": self.repeat,
            "tag": self.tag,
            "triggered_tags": self.triggered_tags,
            "tags_with_separator": self.tags_with_separator,
            "dispatch": self.dispatch,
            "token": lambda node, ends: Special(self.named_token(node)),
            "exclude_token": lambda node, ends: _any_token_but(node, ends),
            "any_tokens": self.any_tokens,
            "token_triggered_tags": self.token_triggered_tags,
            "token_dispatch": self.token_dispatch,
        }

    def grammar(self, value: Any, source: str | None) -> Rules:
        node = Fields(value, "", "a structural tag")
        if "structures" in value:
            expr = self.first_form(node)
        elif "format" in value:
            node.type("structural_tag")
            expr = self.format(node.get("format", dict), "/format")
        else:
            return self.joined.grammar("structural tag", self.format(value, ""), source)
        node.finish()
        return self.joined.grammar("structural tag", expr, source)

    def first_form(self, node: Fields) -> Expr:
        """vLLM's and SGLang's: triggered tags around schemas."""
        node.type("structural_tag")
        tags: list[tuple[str, Expr, str]] = []
        for each, at in node.some("structures"):
            item = Fields(each, at, "a structure")
            begin, end, schema = item.get("begin", str), item.get("end", str), item.get("schema", (dict, bool, str))
            item.finish()
            content = self.schema(schema, item.pointer("schema"))
            tags.append((begin, concatenation([content, self.text(end, item.pointer("end"))]), item.pointer("begin")))
        return self.triggered(node, tags, node.texts("triggers"), [])

    def format(self, value: Any, at: str, ends: _Ends = _NONE) -> Expr:
        """Any format."""
        node = Fields(value, at)
        kind = node.type()
        if kind not in self.formats:
            hint = f"Use one of {', '.join(self.formats)}."
            node.unsupported("type", f"the format {kind!r:.80} is not supported", hint, feature=kind)
        self.depth += 1
        if self.depth > self.limits.max_depth:
            raise LimitError("max_depth", self.depth, self.limits.max_depth, "nesting of a structural tag")
        found = self.formats[kind](node, ends)
        self.depth -= 1
        node.finish()
        return found

    def content(self, node: Fields, ends: _Ends) -> Expr:
        return self.format(node.get("content", dict), node.pointer("content"), ends)

    def inside(self, make: Callable[[], _T], at: str) -> _T:
        """What another front end makes of a field; its errors say where it stands."""
        try:
            return make()
        except ArgumentError as error:
            refuse(error.args[0].rstrip("."), at, "See docs/languages.md.")
        except UnsupportedFeatureError as error:
            inner = error.pointer or ""
            problem = error.problem.removesuffix(f" (at {inner or '#'})")
            where = at + inner.removeprefix("#")
            raise UnsupportedFeatureError(error.feature, problem, pointer=where, hint=error.hint) from None
        except GrammarError as error:
            problem = f"{error.problem} (at {at or '#'})"
            raise type(error)(problem, source=error.source, span=error.span, hint=error.hint) from None

    # One text

    def text(self, value: str, at: str, after: int = 0, from_token: bool = False) -> Expr:
        """A text, as `Spelled` has it."""

        def made() -> Expr:
            if not value[after:] and not after:
                return EMPTY
            plain = literal(value[after:])  # refuses what is no text
            if self.special_tokens == "text":
                return self.joined.terminal(plain) if value[after:] else EMPTY
            return self.joined.terminal(Spelled(value, self.special_tokens == "either", after, from_token))

        return self.inside(made, at)

    def const_string(self, node: Fields, ends: _Ends) -> Expr:
        return self.text(node.get("value", str), node.pointer("value"))

    def regex(self, node: Fields, ends: _Ends) -> Expr:
        pattern, at = node.get("pattern", str), node.pointer("pattern")
        return self.inside(lambda: self.joined.terminal(ecma_regex(pattern, self.limits, source=pattern)), at)

    def any_grammar(self, node: Fields, ends: _Ends) -> Expr:
        given = [field for field in _GRAMMARS if field in node.value]
        if len(given) != 1:
            hint = f"Give one of {', '.join(_GRAMMARS)}."
            refuse(f"a format 'grammar' has {len(given)} of its fields", node.at, hint)
        (field,) = given
        value = node.get(field, (str, Rules) if field == "grammar" else str)
        encoding, spec = node.get("encoding", str, ""), self.schemas.get("profile") == "spec"
        syntax = node.get("syntax", str, "ebnf") if field == "grammar" else "ebnf"
        if syntax not in ("ebnf", "lark"):
            node.unsupported("syntax", f"the syntax {syntax!r:.80} of grammars is not supported", "Use ebnf or lark.")

        def made() -> Expr:
            if isinstance(value, Rules):
                rules = value
            elif field == "lark" or syntax == "lark":
                dialect: Dialect | None = None if field == "lark" else "llguidance"
                rules = grammar_from_lark(value, dialect=dialect, schemas=self.schemas, limits=self.limits)
            else:
                rules = _GRAMMARS[field](value, self.limits)
            return self.joined.add(encoded(rules, encoding, spec=spec, columns=None) if encoding else rules)

        return self.inside(made, node.pointer(field))

    def json_schema(self, node: Fields, ends: _Ends) -> Expr:
        style = node.get("style", str, "json")
        if style != "json" and style not in STYLES:
            hint = f"Use json or one of {', '.join(STYLES)}, or write the spelling as a grammar."
            node.unsupported("style", f"the style {style!r:.80} of values is not supported", hint, f"style {style}")
        options: dict[str, Any] = {}
        if style != "json":
            options = {"arguments": style, "special_tokens": self.special_tokens}
        if excludes := node.texts("excludes", []):
            options["excludes"] = tuple(excludes)
        if (spaces := node.count("max_whitespace_cnt")) is not None:
            options["whitespace"] = spaces
        if node.flag("any_order"):
            options["key_order"] = "any"
        if relax := node.texts("relax", []):
            options["relax"] = tuple(relax)
        if (contents := node.get("contents", (str, Mapping), None)) is not None:
            options["contents"] = self.inside(lambda: Contents.of(contents), node.pointer("contents"))
        return self.schema(node.get("json_schema", (dict, bool, str)), node.pointer("json_schema"), **options)

    def schema(self, schema: Any, at: str, **options: Any) -> Expr:
        return self.inside(
            lambda: self.joined.add(rules_of_schema(schema, self.limits, {**self.schemas, **options})), at
        )

    def any_text(self, node: Fields, ends: _Ends) -> Expr:
        without = [*dict.fromkeys([*node.texts("excludes", []), *ends.texts])]
        chars, tokens = node.count("max_chars"), node.count("max_tokens", MOST_TOKENS)
        return self.inside(lambda: text_without(self.joined, without, chars, tokens), node.at)

    # Compositions

    def sequence(self, node: Fields, ends: _Ends) -> Expr:
        return concatenation([self.format(each, at, ends) for each, at in node.some("elements")])

    def alternatives(self, node: Fields, ends: _Ends) -> Expr:
        listed = node.get("elements", (list, tuple))
        known = self.shared.get((id(listed), ends))
        if known is None:
            made = alternation([self.format(each, at, ends) for each, at in node.some("elements")])
            known = self.shared[id(listed), ends] = (listed, self.joined.rule("or", made))
        return known[1]

    def repeat(self, node: Fields, ends: _Ends) -> Expr:
        low, high = node.get("min", int), node.get("max", int)
        try:
            bounds = bounds_of_repeat(low, None if high == -1 else high)
        except GrammarError as error:
            refuse(error.problem, node.pointer("max"), "Give 0 <= min <= max; a max of -1 is no bound.")
        return repeat(self.content(node, ends), *bounds)

    # Tags

    def tag(self, node: Fields, ends: _Ends) -> Expr:
        begin, rest = self.parts(node)
        first = Special(begin[0]) if isinstance(begin, tuple) else self.text(begin, node.pointer("begin"))
        return concatenation([first, rest])

    def parts(self, node: Fields) -> tuple[str | tuple[str | int], Expr]:
        """A tag's beginning (a text, or a token in a tuple), and what follows it."""
        begin, end = node.get("begin", (str, dict)), node.get("end", (str, list, tuple, dict))
        first = (self.token_format(begin, node.pointer("begin")),) if isinstance(begin, dict) else begin
        if isinstance(end, dict):
            last = self.token_format(end, node.pointer("end"))
            return first, concatenation([self.content(node, _Ends(tokens=(last,))), Special(last)])
        texts = [end] if isinstance(end, str) else end
        if not texts or not all(isinstance(text, str) for text in texts):
            refuse(f"'end' is {end!r:.80}", node.pointer("end"), "Give a text, several texts, or a token.")
        closing = alternation([self.text(text, node.pointer("end")) for text in texts])
        return first, concatenation([self.content(node, _Ends(tuple(text for text in texts if text))), closing])

    def named_token(self, node: Fields) -> str | int:
        return token(node.get("token", (str, int)), node.pointer("token"))

    def token_format(self, value: Any, at: str) -> str | int:
        node = Fields(value, at, "a token")
        node.type("token")
        found = self.named_token(node)
        node.finish()
        return found

    def tags(self, node: Fields) -> list[tuple[Any, Expr, str]]:
        """The tags of a list: beginning, what follows it, and where the beginning stands."""
        found = []
        for value, at in node.some("tags"):
            each = Fields(value, at, "a tag")
            each.type("tag")
            begin, rest = self.parts(each)
            each.finish()
            found.append((begin, rest, each.pointer("begin")))
        return found

    def triggered_tags(self, node: Fields, ends: _Ends) -> Expr:
        tags = self.tags(node)
        for begin, _, at in tags:
            if not isinstance(begin, str):
                refuse(f"{begin[0]!r:.80} is a token", at, "Give a text, or use token_triggered_tags.")
        return self.triggered(node, tags, node.texts("triggers"), [*node.texts("excludes", []), *ends.texts])

    def triggered(
        self, node: Fields, tags: Sequence[tuple[str, Expr, str]], triggers: Sequence[str], excludes: list[str]
    ) -> Expr:
        rules: list[tuple[str, Expr]] = []
        whole: list[Expr] = []
        by_token: list[Expr] = []
        for begin, rest, at in tags:
            matching = [trigger for trigger in dict.fromkeys(triggers) if begin.startswith(trigger)]
            if len(matching) != 1:
                problem = f"{begin!r:.80} begins with {len(matching)} of the triggers"
                refuse(problem, at, "It must begin with exactly one.")
            tail = self.joined.rule("tag", rest)
            rules.append((matching[0], concatenation([self.text(begin, at, len(matching[0])), tail])))
            whole.append(concatenation([self.text(begin, at), tail]))
            if self.special_tokens != "text":
                by_token.append(concatenation([self.text(begin, at, from_token=True), tail]))
        # A trigger that begins no tag must not become complete.
        excludes += [trigger for trigger in triggers if all(trigger != used for used, _ in rules)]
        once = node.flag("stop_after_first")
        if not node.flag("at_least_one"):
            return self.free(node, rules, excludes, not once, by_token)
        # The first tag stands at the beginning.
        first = alternation(whole)
        return first if once else Concat((first, self.free(node, rules, excludes, True, by_token)))

    def free(
        self,
        node: Fields,
        rules: Sequence[tuple[str, Expr]],
        excludes: Sequence[str],
        loop: bool,
        by_token: Sequence[Expr] = (),
    ) -> Expr:
        def made() -> Expr:
            return dispatch(self.joined, rules, excludes, loop=loop, by_token=by_token, limits=self.limits)

        return self.inside(made, node.at)

    def dispatch(self, node: Fields, ends: _Ends) -> Expr:
        rules = self.rules(node)
        for index, (trigger, _) in enumerate(rules):
            if not isinstance(trigger, str):
                refuse(f"{trigger!r:.80} is not a text", node.pointer("rules", index, 0), "Give a string.")
        by_token: list[Expr] = []
        if self.special_tokens != "text":
            at = node.pointer("rules")
            by_token = [Concat((self.text(trigger, at, from_token=True), body)) for trigger, body in rules]
            rules = [(t, concatenation([self.text(t, at, len(t)), body])) for t, body in rules]
        return self.free(node, rules, node.texts("excludes", []), node.flag("loop", True), by_token)

    def rules(self, node: Fields) -> list[tuple[Any, Expr]]:
        """The rules of a dispatch: (trigger, what follows it)."""
        found = []
        for value, at in node.some("rules"):
            if not isinstance(value, list | tuple) or len(value) != 2:
                refuse(f"{value!r:.80} is not a rule", at, "Give a pair: the trigger, and the format of what follows.")
            found.append((token(value[0], at + "/0"), self.format(value[1], at + "/1")))
        return found

    def tags_with_separator(self, node: Fields, ends: _Ends) -> Expr:
        separator = self.text(node.get("separator", str), node.pointer("separator"))
        whole = []
        for begin, rest, at in self.tags(node):
            first = Special(begin[0]) if isinstance(begin, tuple) else self.text(begin, at)
            whole.append(concatenation([first, rest]))
        tag = self.joined.rule("tag", alternation(whole))
        some: Expr = Concat((tag, star(concatenation([separator, tag]))))
        if node.flag("stop_after_first"):
            some = tag
        return some if node.flag("at_least_one") else optional(some)

    # Tokens

    def any_tokens(self, node: Fields, ends: _Ends) -> Expr:
        return repeat(_any_token_but(node, ends), 0, node.count("max_tokens"))

    def token_triggered_tags(self, node: Fields, ends: _Ends) -> Expr:
        triggers = node.tokens("trigger_tokens")
        rules: list[tuple[str | int, Expr]] = []
        for begin, rest, at in self.tags(node):
            if not isinstance(begin, tuple) or begin[0] not in triggers:
                refuse(f"{begin!r:.80} is not one of the trigger tokens", at, "Name a token of 'trigger_tokens'.")
            rules.append((begin[0], self.joined.rule("tag", rest)))
        excludes = [*node.tokens("exclude_tokens", []), *ends.tokens]
        excludes += [trigger for trigger in triggers if all(trigger != used for used, _ in rules)]
        once = node.flag("stop_after_first")
        rest = token_dispatch(rules, excludes, loop=not once)
        if not node.flag("at_least_one"):
            return rest
        whole = alternation([Concat((Special(begin), tail)) for begin, tail in rules])
        return whole if once else Concat((whole, rest))

    def token_dispatch(self, node: Fields, ends: _Ends) -> Expr:
        rules = self.rules(node)
        return token_dispatch(rules, node.tokens("exclude_tokens", []), loop=node.flag("loop", True))


def _any_token_but(node: Fields, ends: _Ends) -> Expr:
    tokens = [*node.tokens("exclude_tokens", []), *ends.tokens]
    return Special(tokens[0], True, tuple(tokens[1:])) if tokens else ANY_TOKEN
