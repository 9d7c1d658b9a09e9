"""The grammar of the dialect: definitions, directives, attributes, and what joins the items of a rule."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...errors import LimitError
from ...expr import NOTHING, Alt, And, Concat, Expr, Not
from ..build import repeat
from .attributes import Attributes, read_attributes
from .items import Definition, Document, Items, Makers
from .patterns import COMMON, common_terminal, json_value
from .source import NAME, Source

__all__ = ["read_document"]

_DEEPEST = 32
"""Grammars inside one another."""
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_COUNTS = re.compile(
    r"\{[ \t]*(?:(\d{1,18})[ \t]*)?(?:(,)[ \t]*(?:(\d{1,18})[ \t]*)?)?\}"
    r"|~[ \t]*(\d{1,18})(?:[ \t]*\.\.[ \t]*(\d{1,18}))?"
)
_OPTIONS = ("allow_initial_skip", "no_forcing", "allow_invalid_utf8", "skip_repetition")


def read_document(source: Source, makers: Makers, depth: int = 0) -> Document:
    """Reads definitions from the place on, to the end, or to the `}` that closes a grammar inside another one.

    Args:
        depth: how many grammars this one is inside of.
    """
    if depth > _DEEPEST:
        raise LimitError("nested Lark grammars", depth, _DEEPEST)
    return _Reader(source, makers, depth).document()


@dataclass
class _Group:
    """An open bracket, or the whole right-hand side: what was read of it."""

    begin: int
    closing: str
    negations: int = 0
    alternatives: list[Expr] = field(default_factory=list)
    conjuncts: list[Expr] = field(default_factory=list)
    sequence: list[Expr] = field(default_factory=list)

    def close_sequence(self) -> None:
        items = self.sequence
        self.conjuncts.append(NOTHING if NOTHING in items else items[0] if len(items) == 1 else Concat(tuple(items)))
        self.sequence = []

    def close_alternative(self) -> None:
        self.close_sequence()
        self.alternatives.append(self.conjuncts[0] if len(self.conjuncts) == 1 else And(tuple(self.conjuncts)))
        self.conjuncts = []

    def close(self) -> Expr:
        self.close_alternative()
        return self.alternatives[0] if len(self.alternatives) == 1 else Alt(tuple(self.alternatives))


class _Reader(Items):
    """Definitions, directives, and what joins items."""

    def nested_document(self) -> Document:
        return read_document(self.source, self.makers, self.depth + 1)

    # Definitions and directives

    def document(self) -> Document:
        source, begin = self.source, self.source.at
        while True:
            source.blanks(lines=True)
            if not source.peek():
                if self.depth:
                    source.fail("this grammar is never closed", begin - 1, hint="Add `}`.")
                return self.document_
            if self.depth and source.peek() == "}":
                source.at += 1
                return self.document_
            if source.peek() == "%":
                self.directive()
            else:
                self.definition()
            source.blanks()
            if source.peek() not in ("\n", "") and not (self.depth and source.peek() == "}"):
                hint = "Put each definition on a line of its own, and quote what is text."
                source.fail(f"{source.unexpected()}", hint=hint)

    def definition(self) -> None:
        source = self.source
        source.skip(re.compile(r"[?!]+"))
        begin = source.at
        name = source.skip(NAME)
        if not name:
            source.fail(
                f"{source.unexpected()} where a rule should begin",
                hint="A rule is `name: ...`, a terminal `NAME: ...`.",
            )
        end = source.at
        if source.peek() == ".":
            source.unsupported(
                "priority", "priorities are not supported", source.at, hint="Leave it out: every reading counts."
            )
        self.refuse_parameters()
        source.blanks()
        attributes = read_attributes(source, self.value_of_attribute) if source.peek() == "[" else Attributes()
        source.blanks()
        if source.peek() != ":":
            source.fail("expected ':' after rule name", hint="A rule is `name: ...`, a terminal `NAME: ...`.")
        source.at += 1
        self.define(Definition(name, self.right_hand_side(), attributes, (begin, end)))

    def define(self, definition: Definition) -> None:
        name = definition.name
        if name in self.document_.definitions:
            hint = "Join the definitions with `|`, or choose another name."
            self.source.fail(f"duplicate rule or terminal {name!r}", *definition.span, hint=hint)
        if len(self.document_.definitions) >= self.source.limits.max_symbols:
            most = self.source.limits.max_symbols
            raise LimitError("max_symbols", most + 1, most, "rules of a Lark grammar")
        self.document_.definitions[name] = definition

    def directive(self) -> None:
        source, begin = self.source, self.source.at
        source.at += 1
        name = source.skip(NAME)
        source.blanks()
        if name == "ignore":
            self.document_.ignored.append(self.right_hand_side())
        elif name == "import":
            self.imports()
        elif name in ("llguidance", "grammar_options"):
            self.options(f"%{name}", begin)
        else:
            known = "Known ones are %import, %ignore, %llguidance and %grammar_options."
            source.unsupported(f"%{name}", f"directive %{name} is not supported", begin, source.at, known)

    def options(self, directive: str, begin: int) -> None:
        source = self.source
        options, _ = json_value(source, directive)
        place = (begin, source.at)
        if not isinstance(options, dict):
            source.fail(f"{directive} value must be an object", *place, hint='Write `{"name": value}`.')
        for name, value in options.items():
            if name not in _OPTIONS:
                source.fail(
                    f"unknown {directive} option {name!r}", *place, hint=f"Known ones are {', '.join(_OPTIONS)}."
                )
            if name == "skip_repetition":
                if value not in ("once", "any", "repeat"):
                    source.fail(f"{name} is not {value!r:.40}", *place, hint='Write "once", or leave it out.')
                self.document_.skip_once = value == "once"
                continue
            if not isinstance(value, bool):
                source.fail(f"{name} must be a boolean", *place, hint="Write true or false.")
            if name == "allow_initial_skip":
                self.document_.initial_skip = value
            elif name == "allow_invalid_utf8" and value:
                problem = f"{directive} option {name!r} is not supported"
                source.unsupported(
                    name, problem, *place, "Texts are UTF-8; write single bytes in a grammar of expressions."
                )

    def imports(self) -> None:
        source, begin = self.source, self.source.at
        found = re.compile(r"common[ \t]*(?:\.[ \t]*([A-Za-z_][A-Za-z0-9_-]*)|\(([^()]*)\))").match(
            source.text, source.at
        )
        if found is None:
            hint = "Only the library `common` can be imported: `%import common.INT`, `%import common (INT, WS)`."
            source.unsupported(
                "import",
                "this import is not supported",
                begin,
                source.text.find("\n", begin) % (len(source.text) + 1),
                hint,
            )
        source.at = found.end()
        names = [found[1]] if found[1] else [name.strip() for name in found[2].split(",") if name.strip()]
        alias = re.compile(r"[ \t]*->[ \t]*([A-Za-z_][A-Za-z0-9_-]*)").match(source.text, source.at)
        if alias is not None and found[1]:
            source.at = alias.end()
        for name in names:
            if name not in COMMON:
                source.fail(f"unknown common import {name!r}", begin, source.at, f"Known ones are {', '.join(COMMON)}.")
            as_name = alias[1] if alias is not None and found[1] else name
            self.define(Definition(as_name, And((common_terminal(name),)), Attributes(), (begin, source.at)))

    # Right-hand sides

    def right_hand_side(self) -> Expr:
        source = self.source
        stack = [_Group(source.at, "")]
        while True:
            group = stack[-1]
            source.blanks(lines=len(stack) > 1)
            match source.peek():
                case "|":
                    group.close_alternative()
                    source.at += 1
                    source.blanks(lines=True)
                case "&":
                    group.close_sequence()
                    source.at += 1
                    source.blanks(lines=True)
                case "~" if group.negations >= 0 and not _COUNTS.match(source.text, source.at):
                    self.negation(stack)
                case "(" | "[" as opening:
                    self.open(stack, opening, 0)
                case ")" | "]" as closing if group.closing == closing:
                    source.at += 1
                    stack.pop()
                    inner = group.close()
                    item = repeat(inner, 0, 1) if closing == "]" else inner
                    self.append(stack[-1], item, group.negations)
                case "\n" | "" | "}" if (ends := self.ends_here(stack)) is not None:
                    if ends:
                        return group.close()
                case _:
                    self.append(group, self.atom(), 0)

    def open(self, stack: list[_Group], opening: str, negations: int) -> None:
        limits = self.source.limits
        if len(stack) > limits.max_depth:
            raise LimitError("max_depth", len(stack), limits.max_depth, "groups of a Lark grammar")
        stack.append(_Group(self.source.at, ")" if opening == "(" else "]", negations))
        self.source.at += 1

    def negation(self, stack: list[_Group]) -> None:
        """`~`, which binds tighter than what repeats."""
        source, negations = self.source, 0
        while source.peek() == "~":
            source.at += 1
            negations += 1
            source.blanks()
        if source.peek() in ("(", "["):
            self.open(stack, source.peek(), negations)
        else:
            self.append(stack[-1], self.atom(), negations)

    def append(self, group: _Group, item: Expr, negations: int) -> None:
        """An item, and how often it stands there."""
        if negations % 2:
            item = Not(item)
        source = self.source
        while True:
            before = source.at
            source.blanks(lines=bool(group.closing))
            if source.peek() and source.peek() in "*+?":
                item = repeat(item, *_REPEATS[source.peek()])
                source.at += 1
            elif source.peek() == "{" or _COUNTS.match(source.text, source.at):
                item = repeat(item, *self.counts())
            else:
                source.at = before
                break
        group.sequence.append(item)
        self.alias(group)

    def counts(self) -> tuple[int, int | None]:
        source, begin = self.source, self.source.at
        found = _COUNTS.match(source.text, begin)
        hint = "Write `{m}`, `{m,}`, `{m,n}`, `{,n}`, `~ m` or `~ m..n` with m <= n."
        if found is None or not (found[1] or found[3] or found[4]):
            end = source.text.find("}", begin) + 1 or begin + 1
            source.fail("invalid repetition count", begin, end, hint)
        source.at = found.end()
        if found[4]:
            low, high = int(found[4]), int(found[5] or found[4])
        elif not found[2]:
            low, high = int(found[1]), int(found[1])
        else:
            low, high = int(found[1] or 0), int(found[3]) if found[3] else -1
        if 0 <= high < low:
            source.fail("the repetition end must be greater than or equal to its start", begin, source.at, hint)
        if max(low, high) > source.limits.max_symbols * 1_000:
            raise LimitError(
                "max_symbols", max(low, high), source.limits.max_symbols * 1_000, "repetition in a Lark grammar"
            )
        return low, None if high < 0 else high

    def alias(self, group: _Group) -> None:
        source, before = self.source, self.source.at
        source.blanks()
        if source.peek(2) != "->":
            source.at = before
            return
        source.at += 2
        source.blanks()
        if not source.skip(NAME):
            source.fail("expected alias name after '->'", hint="It names a node of a parse tree, and changes no text.")

    def ends_here(self, stack: list[_Group]) -> bool | None:
        """At the end of a line, or at a `}`: whether the rule ends here, `None` if that means nothing here. A line that
        begins with `|` or `&` goes on with it."""
        source, here = self.source, self.source.at
        if len(stack) > 1:
            if source.peek() == "":
                closing = stack[-1].closing
                what = "group" if closing == ")" else "optional group"
                source.fail(f"expected {closing!r} after {what}", stack[-1].begin, hint=f"Add `{closing}`.")
            return None
        if source.peek() == "}":
            return True if self.depth else None
        source.blanks(lines=True)
        if source.peek() in ("|", "&") and source.peek():
            return False
        source.at = here
        return True
