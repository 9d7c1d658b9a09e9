r"""xgrammar's notation for grammars, as its documentation defines it ("EBNF Grammar", version 0.2.8).

```
root ::= (word | Regex("[0-9]+")) calls
         end?                                # newlines are free; a rule begins where a line does
word ::= [a-z]{1,8} | "\x1F600"
calls ::= TagDispatch(("<call>", body), excludes=("</s>",))
body ::= "{" [^}]* "}"
end  ::= Token(128010)
```

Read by the parser of `gbnf`, with other tables and these parts of its own. *Macros*: `Regex`, `Substring`,
`TagDispatch`, `Token`, `ExcludeToken`, `TokenTagDispatch`. *Look-ahead assertions* `(= ...)` at the end of a rule are
read and have no effect: they are hints for its cache, and change neither masks nor what is accepted there. *Rule
options* (`name[lazy, max_chars=8] ::= ...`) are those of llguidance's dialect of Lark but for `suffix` and `stop`;
docs/dialects.md says what they mean. What xgrammar prints of these (`capture_hidden_...`) is refused by name.

Where the documentation leaves room: in `TagDispatch` the first tag to be complete decides, and of several the longest,
so one that holds another one before its end can never come and is refused; free text is valid UTF-8; `Regex` reads
ECMA-262, where `^` and `$` are the ends of its own text; special tokens stand only where they are named, so
`ExcludeToken` does not match them.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import EMPTY, And, Chars, Expr, Ref, Special, refs, star
from ..limits import Limits
from ..rules import Rules
from .build import alternation
from .combine import Joined
from .ecma import ecma_regex
from .free_text import dispatch, token_dispatch
from .gbnf import CONTROL_ESCAPES, SPACE_AND_NEWLINES, Dialect, Group, Parser
from .llguidance.attributes import Attributes, read_attributes
from .llguidance.bounds import with_attributes
from .llguidance.patterns import substring
from .llguidance.source import Source

__all__ = ["grammar_from_ebnf"]

_DEFAULTS = Limits()
_NAME = r"[a-zA-Z_.-][a-zA-Z0-9_.-]*"
_TEXT_ESCAPES = CONTROL_ESCAPES | {char: char for char in "\\\"'/?"}
_DIALECT = Dialect(
    title="EBNF grammar",
    name=re.compile(_NAME),
    space=SPACE_AND_NEWLINES,
    text_escapes=_TEXT_ESCAPES,
    class_escapes=_TEXT_ESCAPES | {char: char for char in "^$.*+()[]{}|-"},
    hex_digits={"x": None, "u": 4, "U": 8},
    raw_newlines=False,
    empty_classes=True,
    empty_alternatives=False,
)
_OPTIONS = re.compile(r"\[[^\]\r\n]*\]")
_OPTION = re.compile(rf"[\[,]\s*({_NAME})")
_OF_LARK = ("suffix", "stop", "stop_capture")
_BOUNDS = re.compile(r"\{\s*([0-9]{1,18})\s*(,\s*(?:(-1|[0-9]{1,18})\s*)?)?\}")
_INTEGER = re.compile(r"[0-9]{1,18}")
_JSON_BODY = star(Chars.of((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), negated=True))
_SHAPES = {
    "Regex": 'Write `Regex("pattern")`, with json_string=true or flags="is" if wanted.',
    "Substring": 'Write `Substring("chunk", ...)`.',
    "TagDispatch": 'Write `TagDispatch(("tag", rule), ..., loop_after_dispatch=true, excludes=("text",))`.',
    "Token": "Write `Token(id, ...)`.",
    "ExcludeToken": "Write `ExcludeToken(id, ...)`.",
    "TokenTagDispatch": "Write `TokenTagDispatch((id, rule), ..., loop_after_dispatch=true, excludes=(id,))`.",
}


def grammar_from_ebnf(text: str, root: str = "root", *, limits: Limits = _DEFAULTS) -> Rules:
    """A grammar in xgrammar's EBNF.

    Args:
        text: the grammar.
        root: the start rule.
        limits: bounds on its size and nesting.

    Raises:
        GrammarSyntaxError: it cannot be parsed; the caret shows the place.
        GrammarError: a rule is used or asked for and not defined, or a tag can never come.
        UnsupportedFeatureError: an option of a rule that is not regular, or something in a `Regex` that is not.
        LimitError: it is longer, or its groups are deeper, than `limits` allows.
    """
    parser = _Parser(text, limits, _DIALECT)
    rules = parser.rules()
    grammar = Rules(rules=rules, terminals=parser.joined.terminals, start=root, source=text)
    for assertion in parser.assertions:
        for ref in refs(assertion):
            if ref.name not in rules:
                raise GrammarError(
                    f"{ref.name!r}, used in an assertion, is not defined", source=text, span=ref.span, hint="Define it."
                )
    return with_attributes(grammar, parser.options) if parser.options else grammar


class _Parser(Parser):
    """What this notation has beside GBNF's."""

    def __init__(self, source: str, limits: Limits, dialect: Dialect) -> None:
        super().__init__(source, limits, dialect)
        self.joined = Joined()
        self.assertions: list[Expr] = []
        self.options: dict[str, Attributes] = {}
        self.macros = {
            "Regex": self.regex,
            "Substring": self.substring,
            "TagDispatch": self.tag_dispatch,
            "Token": self.any_of_tokens,
            "ExcludeToken": self.any_but_tokens,
            "TokenTagDispatch": self.token_tag_dispatch,
        }

    # Rules

    def rule_name(self) -> str:
        begin = self.pos
        name = super().rule_name()
        if name in ("true", "false"):
            self.fail(f"{name!r} is not a name", begin, self.pos, "Call the rule something else.")
        if self.source[self.source.rfind("\n", 0, begin) + 1 : begin].strip(" \t\r"):
            self.fail("a rule must begin a line", begin, self.pos, "Put it on a new line.")
        if self.peek() == "[":
            self.options[name] = self.rule_options(name)
        return name

    def rule_options(self, name: str) -> Attributes:
        """What stands in brackets behind the name of a rule."""
        begin = self.pos
        for option in _OPTION.finditer(self.source, begin, self.source.find("]", begin) + 1 or len(self.source)):
            if option[1] in _OF_LARK or option[1].startswith("capture_hidden_"):
                raise UnsupportedFeatureError(
                    option[1],
                    f"the option {option[1]!r} of the rule {name!r} is not supported",
                    source=self.source,
                    span=option.span(1),
                    hint="Write the end as part of the rule, and make the rule `lazy`.",
                )
        source = Source(self.source, self.limits)
        source.at = begin
        found = read_attributes(source, lambda: EMPTY)
        self.pos = source.at
        return found

    def at_end_of_rule(self, stack: list[Group]) -> bool:
        return (len(stack) == 1 and self.at_rule_or_end()) or super().at_end_of_rule(stack)

    def at_rule_or_end(self) -> bool:
        """At the end of the text, or at a name that is being defined."""
        name = self.dialect.name.match(self.source, self.pos)
        if name is None:
            return not self.peek()
        options = _OPTIONS.match(self.source, name.end())
        space = SPACE_AND_NEWLINES.match(self.source, (options or name).end())
        assert space is not None
        return self.source.startswith("::=", space.end())

    def opened(self, group: Group) -> None:
        self.pos += self.peek() == "="

    def closed(self, group: Group, stack: list[Group]) -> Expr:
        found = super().closed(group, stack)
        if not self.source.startswith("(=", group.begin):
            return found
        self.skip(SPACE_AND_NEWLINES)
        if len(stack) > 1 or not stack[0].sequence or not self.at_rule_or_end():
            hint = "Move it to the end of the rule, outside of parentheses."
            self.fail("an assertion stands at the end of a rule only", group.begin, group.begin + 2, hint)
        self.assertions.append(found)
        return EMPTY

    # Items

    def item(self, group: Group) -> bool:
        begin = self.pos
        if self.at_rule_or_end() or not (name := self.skip(self.dialect.name)):
            return False
        if name in ("true", "false"):
            self.fail(f"{name!r} is not a rule", begin, self.pos, "Quote it as text.")
        group.sequence.append(self.macros[name](begin) if name in self.macros else Ref(name, (begin, self.pos)))
        return True

    def repetition(self, group: Group) -> None:
        super().repetition(group)
        self.skip(SPACE_AND_NEWLINES)
        if self.peek() and self.peek() in "*+?{":
            self.fail("two repetitions of one item", self.pos, hint="Put parentheses around the first.")

    def bounds(self, begin: int) -> tuple[int, int | None]:
        found = _BOUNDS.match(self.source, begin)
        low, high = (int(found[1]), found[3]) if found else (0, None)
        last = low if found and not found[2] else None if high in (None, "-1") else int(high or 0)
        if found is None or (last is not None and last < low):
            hint = "Write `{m}`, `{m,}` or `{m,n}`; quote it if it is text."
            self.fail("these are not the bounds of a repetition", begin, found.end() if found else begin + 1, hint)
        self.pos = found.end()
        return low, last

    # Macros: `Name(value, ..., name=value)`

    def arguments(self, begin: int, *known: str) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the macro whose name was just read; those with names must be `known`."""
        name = self.source[begin : self.pos]
        self.skip(SPACE_AND_NEWLINES)
        if self.peek() != "(":
            self.missing("`(`", name)
        self.pos += 1
        positional: list[Any] = []
        named: dict[str, Any] = {}
        self.skip(SPACE_AND_NEWLINES)
        while self.peek() != ")":
            at = self.pos
            value = self.value(name)
            self.skip(SPACE_AND_NEWLINES)
            if isinstance(value, Ref) and self.peek() == "=":
                if value.name not in known:
                    hint = f"It takes {', '.join(known) or 'none'}."
                    self.fail(f"`{name}` has no argument {value.name!r}", at, self.pos, hint)
                self.pos += 1
                self.skip(SPACE_AND_NEWLINES)
                named[value.name] = self.value(name)
                self.skip(SPACE_AND_NEWLINES)
            else:
                positional.append(value)
            if self.peek() == ",":
                self.pos += 1
                self.skip(SPACE_AND_NEWLINES)
                if self.peek() != ")":
                    continue
            elif self.peek() == ")":
                break
            self.missing("another argument or `)`", name)
        self.pos += 1
        return positional, named

    def value(self, name: str, in_tuple: bool = False) -> Any:
        """A string, number, boolean, name (as `Ref`) or tuple of such."""
        at = self.pos
        if self.peek() == '"':
            return self.string()
        if found := _INTEGER.match(self.source, self.pos):
            self.pos = found.end()
            return int(found[0])
        if word := self.skip(self.dialect.name):
            return word == "true" if word in ("true", "false") else Ref(word, (at, self.pos))
        if in_tuple or self.peek() != "(":
            self.missing("a string, number, name, true, false or tuple", name)
        self.pos += 1
        items: list[Any] = []
        self.skip(SPACE_AND_NEWLINES)
        while self.peek() != ")":
            items.append(self.value(name, in_tuple=True))
            self.skip(SPACE_AND_NEWLINES)
            if self.peek() == ",":
                self.pos += 1
                self.skip(SPACE_AND_NEWLINES)
            elif self.peek() != ")":
                self.missing("`,` or `)`", name)
        self.pos += 1
        return tuple(items)

    def missing(self, what: str, name: str) -> NoReturn:
        self.fail(f"{self.unexpected()} in `{name}(...)`, where {what} should stand", self.pos, hint=_SHAPES[name])

    def wrong(self, begin: int) -> NoReturn:
        """The arguments of a macro are not of its form."""
        name = self.dialect.name.match(self.source, begin)
        assert name is not None
        self.fail(f"these are not the arguments of `{name[0]}`", begin, self.pos, _SHAPES[name[0]])

    def regex(self, begin: int) -> Expr:
        positional, named = self.arguments(begin, "json_string", "flags")
        in_json, flags = named.get("json_string", False), named.get("flags")
        shapes = [type(in_json) is bool, flags is None or (isinstance(flags, str) and not set(flags) - {*"isu"})]
        if len(positional) != 1 or not isinstance(positional[0], str) or not all(shapes):
            self.wrong(begin)
        expr = ecma_regex(
            positional[0],
            self.limits,
            any_char=flags is None or "s" in flags,
            ignore_case="i" in (flags or ""),
            source=self.source,
            span=(begin, self.pos),
        )
        return And((expr, _JSON_BODY)) if in_json else expr

    def substring(self, begin: int) -> Expr:
        """Some of the chunks that follow each other."""
        chunks, _ = self.arguments(begin)
        if not all(isinstance(chunk, str) for chunk in chunks):
            self.wrong(begin)
        return substring(chunks)

    def tag_dispatch(self, begin: int) -> Expr:
        pairs, loop, excludes = self.dispatch_arguments(begin, str)
        try:
            found = dispatch(self.joined, pairs, excludes, loop=loop, limits=self.limits)
        except GrammarError as error:
            self.fail(error.problem, begin, self.pos, error.hint)
        return found

    def token_tag_dispatch(self, begin: int) -> Expr:
        pairs, loop, excludes = self.dispatch_arguments(begin, int)
        if {token for token, _ in pairs} & {*excludes}:
            self.wrong(begin)
        return token_dispatch(pairs, excludes, loop=loop)

    def dispatch_arguments(self, begin: int, kind: type) -> tuple[list[tuple[Any, Ref]], bool, tuple[Any, ...]]:
        pairs, named = self.arguments(begin, "loop_after_dispatch", "excludes")
        loop, excludes = named.get("loop_after_dispatch", True), named.get("excludes", ())
        if not (type(loop) is bool and isinstance(excludes, tuple) and all(type(each) is kind for each in excludes)):
            self.wrong(begin)
        for pair in pairs:
            if not (isinstance(pair, tuple) and len(pair) == 2 and type(pair[0]) is kind and isinstance(pair[1], Ref)):
                self.wrong(begin)
        return pairs, loop, excludes

    def any_of_tokens(self, begin: int) -> Expr:
        return alternation(Special(token) for token in self.tokens(begin))

    def any_but_tokens(self, begin: int) -> Expr:
        first, *others = self.tokens(begin)
        return Special(first, True, tuple(others))

    def tokens(self, begin: int) -> list[int]:
        tokens, _ = self.arguments(begin)
        if not tokens or not all(type(token) is int for token in tokens):
            self.wrong(begin)
        return list(dict.fromkeys(tokens))
