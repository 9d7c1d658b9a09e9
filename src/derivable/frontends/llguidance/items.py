"""What a rule is made of in the dialect: strings, patterns, ranges, tokens, names, and other grammars.

What is read is a tree of `derivable.expr` in which each string, pattern and range of a rule is one lexeme, an `And` of
one item, until it is known whether a rule or a terminal holds it. `Ref`s whose names begin with `%` or `@` are other
grammars.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...errors import GrammarError, LimitError, UnsupportedFeatureError
from ...expr import And, Expr, Ref, Special
from ...rules import Rules
from .attributes import Attributes
from .patterns import characters_of, chunks_of_text, json_value, literal, one_of_range, pattern, substring
from .source import NAME, REGEXP, STRING, TOKEN, Source

__all__ = ["Definition", "Document", "Items", "Makers", "is_terminal_name"]

_MOST_IDS = 1_000_000
"""Of tokens that one text names, all its ranges together."""
_TOKEN_IDS = re.compile(r"<\[([^\]\n]*)\]>")
_IDS = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


@dataclass(frozen=True)
class Definition:
    """A rule or a terminal, and where its name stands."""

    name: str
    body: Expr
    attributes: Attributes
    span: tuple[int, int]


@dataclass
class Document:
    """All that a grammar says.

    Attributes:
        definitions: rules and terminals by name, in their order.
        ignored: what may stand between lexemes.
        parts: other grammars, by the names that `Ref`s have.
        initial_skip: what is ignored may come first, too.
        skip_once: of what is ignored, one piece may stand in a place, not any number.
    """

    definitions: dict[str, Definition] = field(default_factory=dict)
    ignored: list[Expr] = field(default_factory=list)
    parts: dict[str, Rules] = field(default_factory=dict)
    initial_skip: bool = False
    skip_once: bool = False


@dataclass(frozen=True)
class Makers:
    """Who makes the grammars that stand in others.

    Attributes:
        schema: the grammar of a JSON Schema, given as text.
        nested: the grammar that a document is.
        named: a grammar by its name, `None` if there is none.
        tokens: the ids of the tokens that a name means, where they are to be looked up now.
    """

    schema: Callable[[str], Rules]
    nested: Callable[[Document], Rules]
    named: Callable[[str], Rules | None]
    tokens: Callable[[str], Sequence[int]] | None


def is_terminal_name(name: str) -> bool:
    """Whether the first letter is a capital."""
    return name.lstrip("_")[:1].isupper()


class Items(ABC):
    """Reads single items, from a place in a text on.

    Args:
        depth: how many grammars this one is inside of.
    """

    def __init__(self, source: Source, makers: Makers, depth: int) -> None:
        self.source, self.makers, self.depth = source, makers, depth
        self.document_ = Document()

    @abstractmethod
    def nested_document(self) -> Document:
        """What stands behind a `{`, up to the `}` that closes it."""

    def refuse_parameters(self) -> None:
        """What other dialects have behind a name."""
        source = self.source
        if source.peek(2) == "::":
            hint = "Write the rules out, or describe the list by a JSON Schema (`uniqueItems`) if it is JSON."
            source.unsupported(
                "parametric rule", "a parametric grammar is not supported", source.at, source.at + 2, hint
            )
        if source.peek() == "{" and re.match(r"\{[ \t]*[A-Za-z_]", source.text[source.at : source.at + 80]):
            source.unsupported("template", "Lark templates are not supported", source.at, hint="Write the rule out.")

    def atom(self) -> Expr:
        source, begin = self.source, self.source.at
        match source.peek():
            case '"':
                return And((self.string_or_range(),))
            case "/":
                return And((self.regexp(),))
            case "<":
                return self.token()
            case "@":
                return self.named_grammar()
            case "%":
                return self.inline()
        name = source.skip(NAME)
        if not name:
            char = source.peek()
            kind = f"unexpected {char!r} character" if char in "-!" else f"unexpected character {char!r}"
            source.fail(kind if char else source.unexpected(), begin, hint="Quote what is text.")
        end = source.at
        self.refuse_parameters()
        return Ref(name, (begin, end))

    def string(self) -> tuple[str, str, tuple[int, int]]:
        """The characters of a string, its flag, and where it stands."""
        source, begin = self.source, self.source.at
        found = STRING.match(source.text, begin)
        if found is None:
            source.fail("unterminated string literal", begin, hint='Close it with `"` on the same line.')
        source.at = found.end()
        return characters_of(source, found[1], begin + 1), found[2], found.span()

    def string_or_range(self) -> Expr:
        source = self.source
        value, flag, span = self.string()
        before = source.at
        source.blanks()
        if source.peek(2) != "..":
            source.at = before
            return literal(source, value, flag, span)
        source.at += 2
        source.blanks()
        if source.peek() != '"':
            source.fail("a range goes from one character to another", *span, hint='Write `"a".."z"`.')
        last, other, end = self.string()
        if flag or other:
            source.fail("flags are not allowed on character ranges", span[0], end[1], 'Write `"a".."z" | "A".."Z"`.')
        return one_of_range(source, value, last, (span[0], end[1]))

    def regexp(self) -> Expr:
        source, begin = self.source, self.source.at
        found = REGEXP.match(source.text, begin)
        if found is None:
            source.fail("unterminated regular expression", begin, hint="Close it with `/` on the same line.")
        source.at = found.end()
        return pattern(source, found[1], found[2], begin + 1)

    def value_of_attribute(self) -> Expr:
        """A string, a pattern, or the name of a terminal."""
        match self.source.peek():
            case '"':
                value, flag, span = self.string()
                return And((literal(self.source, value, flag, span),))
            case "/":
                return And((self.regexp(),))
        begin = self.source.at
        name = self.source.skip(NAME)
        if not name or not is_terminal_name(name):
            hint = 'Write `suffix="</think>"`, `suffix=/[.!]/` or `suffix=NAME`.'
            self.source.fail("expected a string, a pattern or a terminal here", begin, hint=hint)
        return Ref(name, (begin, self.source.at))

    def token(self) -> Expr:
        source, begin = self.source, self.source.at
        if source.peek(2) == "<[":
            found = _TOKEN_IDS.match(source.text, begin)
            if found is None:
                source.fail(
                    "unterminated special token", begin, hint="Write `<[42]>`, `<[1,3-8]>`, `<[^2]>` or `<[*]>`."
                )
            source.at = found.end()
            return self.token_ids(found[1], found.span())
        named = TOKEN.match(source.text, begin)
        if named is None:
            closed = source.text.find(">", begin, source.text.find("\n", begin) % (len(source.text) + 1)) + 1
            problem = "invalid special token" if closed else "unterminated special token"
            source.fail(problem, begin, closed or None, "Write `<|name|>` without blanks.")
        source.at = named.end()
        if self.makers.tokens is None:
            return Special(named[0])
        try:
            first, *others = self.makers.tokens(named[0])
        except GrammarError as error:
            source.fail(error.problem, begin, source.at, error.hint)
        return Special(first, also=tuple(others))

    def token_ids(self, inner: str, span: tuple[int, int]) -> Expr:
        source = self.source
        negated = inner.startswith("^")
        parts = [part.strip() for part in inner[negated:].split(",") if part.strip()]
        hint = "Write `<[42]>`, `<[1,3-8]>`, `<[^2]>` or `<[*]>`."
        if "*" in parts:
            if len(parts) > 1:
                source.fail("a wildcard cannot be mixed with ids", *span, hint=hint)
            if negated:
                source.fail("a negated wildcard special token is not supported: there is none", *span, hint=hint)
            return Special("", True, whole=True)
        if not parts:
            source.fail("empty numeric special-token range", *span, hint=hint)
        ids: dict[int, None] = {}
        for part in parts:
            found = _IDS.fullmatch(part)
            low, high = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
            if high < low:
                source.fail("invalid numeric special-token range", *span, hint=hint)
            source.token_ids += high - low + 1
            if source.token_ids > _MOST_IDS:
                raise LimitError("ids of tokens", source.token_ids, _MOST_IDS, "the special-token range is too large")
            ids.update(dict.fromkeys(range(low, high + 1)))
        first, *others = ids
        return Special(first, negated, tuple(others), whole=negated)

    def named_grammar(self) -> Expr:
        source, begin = self.source, self.source.at
        source.at += 1
        name = source.skip(NAME)
        if not name:
            source.fail("empty grammar reference", begin, hint="Write `@name`, and give the grammar in `grammars`.")
        found = self.makers.named(name)
        if found is None:
            source.fail(f"unknown named grammar '@{name}'", begin, source.at, f"Give it: `grammars={{{name!r}: ...}}`.")
        self.document_.parts[f"@{name}"] = found
        return Ref(f"@{name}", (begin, source.at))

    def inline(self) -> Expr:
        """`%json`, `%lark` and `%regex`."""
        source, begin = self.source, self.source.at
        source.at += 1
        name = source.skip(NAME)
        if name == "json":
            value, text = json_value(source, "%json")
            if not isinstance(value, dict | bool):
                source.fail(
                    "failed to compile inline JSON schema: not an object", begin, source.at, "Write `%json {...}`."
                )
            return self.part("%json", self.inner(lambda: self.makers.schema(text), "inline JSON schema", begin), begin)
        if name == "lark":
            source.blanks(lines=True)
            if source.peek() != "{":
                source.fail("expected '{' after %lark", hint="Write `%lark { start: ... }`.")
            source.at += 1
            document = self.nested_document()
            return self.part(
                "%lark", self.inner(lambda: self.makers.nested(document), "nested Lark grammar", begin), begin
            )
        if name == "regex":
            value, _ = json_value(source, "%regex")
            return And((substring(chunks_of_text(source, value, begin)),))
        if name == "if":
            source.unsupported("parametric rule", "parametric %if conditions are not supported", begin, source.at)
        source.unsupported(
            f"%{name}", f"%{name} is not supported here", begin, source.at, "Known ones are %json, %lark, %regex."
        )

    def part(self, kind: str, grammar: Rules, begin: int) -> Expr:
        name = f"{kind} {len(self.document_.parts) + 1}"
        self.document_.parts[name] = grammar
        return Ref(name, (begin, self.source.at))

    def inner(self, make: Callable[[], Rules], what: str, begin: int) -> Rules:
        """A grammar inside; what it says of itself is shown here, unless it has a place of its own in this text."""
        try:
            return make()
        except GrammarError as error:
            if error.source == self.source.text and error.span is not None:
                raise
            problem, span = f"failed to compile {what}: {error.problem}", (begin, self.source.at)
            if isinstance(error, UnsupportedFeatureError):
                raise UnsupportedFeatureError(
                    error.feature, problem, pointer=error.pointer, source=self.source.text, span=span, hint=error.hint
                ) from None
            raise GrammarError(problem, source=self.source.text, span=span, hint=error.hint) from None
