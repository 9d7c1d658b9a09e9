"""From what a grammar in the dialect says to rules and terminals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...automata import is_empty
from ...errors import GrammarError, LimitError, UnsupportedFeatureError
from ...expr import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    Concat,
    Expr,
    Not,
    Ref,
    Repeat,
    Special,
    refs,
    star,
    walk,
)
from ...limits import Limits
from ...rules import Rules, Shape, Terminal
from ..build import Step, alternation, concatenation, recursion_room, repeat, run
from ..combine import Joined, with_leaves
from .attributes import Attributes
from .bounds import with_attributes
from .items import Definition, Document, Makers, is_terminal_name
from .lexemes import Places, cut, shortest, without_end
from .source import Source
from .syntax import read_document

__all__ = ["Maker"]

_SKIP = "ignored"


class Maker:
    """Makes grammars that may refer to each other by names.

    Args:
        grammars: grammars, texts in the dialect, or JSON Schemas (as a `dict` or `bool`), by their names.
        schema: the grammar of a JSON Schema, given as text.
        tokens: the ids of the tokens that a name means, where they are to be looked up now.
    """

    def __init__(
        self,
        grammars: Mapping[str, Any],
        schema: Callable[[str], Rules],
        tokens: Callable[[str], Sequence[int]] | None,
        limits: Limits,
    ) -> None:
        self.grammars, self.schema, self.tokens, self.limits = grammars, schema, tokens, limits
        self._made: dict[str, Rules] = {}
        self._open: list[str] = []

    def grammar(self, text: str, start: str = "start") -> Rules:
        """The grammar that a text is."""
        source = Source(text, self.limits)
        nested = lambda inner: self.rules(inner, source, "start")  # noqa: E731
        return self.rules(read_document(source, Makers(self.schema, nested, self.named, self.tokens)), source, start)

    def rules(self, document: Document, source: Source, start: str) -> Rules:
        """The grammar that a document is."""
        with recursion_room(8 * self.limits.max_depth + 1_000):
            return _Assembly(document, source, start, self.limits).rules()

    def named(self, name: str) -> Rules | None:
        """One by its name."""
        if name in self._open:
            chain = " -> ".join(f"@{each}" for each in [*self._open[self._open.index(name) :], name])
            raise GrammarError(
                f"circular named grammar reference: {chain}",
                hint="A grammar by name cannot hold itself. Write the recursion within one grammar.",
            )
        if name not in self.grammars:
            return None
        if name not in self._made:
            given = self.grammars[name]
            self._open.append(name)
            try:
                if isinstance(given, Rules):
                    self._made[name] = given
                elif isinstance(given, str):
                    self._made[name] = self.grammar(given)
                else:
                    self._made[name] = self.schema(json.dumps(given))
            finally:
                self._open.pop()
        return self._made[name]


class _Assembly:
    """One grammar: first the terminals as expressions, then rules that hold names only, then what bounds them."""

    def __init__(self, document: Document, source: Source, start: str, limits: Limits) -> None:
        self.document, self.source, self.start, self.limits = document, source, start, limits
        self.joined = Joined()
        lexemes = {name for name, each in document.definitions.items() if self.is_lexeme(each)}
        self.joined.rules.update({name: EMPTY for name in document.definitions if name not in lexemes})
        self.bodies: dict[str, Expr] = {}  # terminals, written out
        self.sizes: dict[str, int] = {}
        self.lazy: dict[str, Expr] = {}  # lexemes that end as soon as they can: terminal, and what ends others
        self.closed: set[str] = set()  # starts of other grammars
        self.splits: set[str] = set()  # rules made of a lexeme and its end

    def is_lexeme(self, definition: Definition) -> bool:
        """A terminal; a rule of which something is said that only a lexeme can have, or that is one lexeme anyway: what
        is ignored behind it is not part of it then."""
        body, said = definition.body, definition.attributes
        if is_terminal_name(definition.name):
            return True
        one = said.are_there and isinstance(body, And | Not | Ref)
        return (said.of_lexeme or one) and self.may_be_lexeme(body)

    def may_be_lexeme(self, body: Expr) -> bool:
        """Nothing but text and terminals."""
        return all(
            not isinstance(part, Special) and (not isinstance(part, Ref) or is_terminal_name(part.name))
            for part in walk(body)
        )

    def rules(self) -> Rules:
        definitions = self.document.definitions
        if self.start not in definitions:
            raise GrammarError(
                f"there is no start rule {self.start!r}: it is not defined",
                source=self.source.text,
                hint=f"Define it. Defined are {', '.join(list(definitions)[:8]) or 'none'}.",
            )
        for definition in definitions.values():
            said = definition.attributes
            for part in (definition.body, said.suffix, said.stop):
                if part is not None:
                    self.check_names(part)
        for name in definitions:
            if is_terminal_name(name):
                self.body_of(name)
        parts = {name: self.part(grammar) for name, grammar in self.document.parts.items()}
        rules: dict[str, Expr] = {}
        for name, definition in definitions.items():
            if self.is_lexeme(definition):
                self.lexeme(definition)
            elif name in self.joined.rules:
                self.refuse_lexeme_attributes(definition)
                body = self.ended_by_token(definition.body) if definition.attributes.lazy else definition.body
                rules[name] = run(self.rule(body, parts))
        for name in definitions:  # lexemes that are told apart from their ends are rules
            if name in self.joined.rules and name not in rules:
                rules[name] = self.joined.rules[name]
        if self.lazy:
            rules = self.cut_by_lazy(rules)
        skip = self.skip()
        if skip is not None:
            rules = {name: with_leaves(expr, lambda leaf: self.spaced(leaf, skip)) for name, expr in rules.items()}
        self.joined.rules.update(rules)
        return self.finished(skip)

    # Terminals

    def check_names(self, body: Expr) -> None:
        for ref in refs(body):
            if ref.name not in self.document.definitions and ref.name not in self.document.parts:
                self.source.fail(
                    f"unknown name {ref.name!r}", *(ref.span or (0, 0)), hint="Define it, or correct the spelling."
                )

    def body_of(self, name: str) -> Expr:
        """A terminal, the terminals in it written out."""
        todo, opened = [name], set[str]()
        while todo:
            top = todo[-1]
            body = self.document.definitions[top].body
            if top not in self.bodies and top not in opened:
                opened.add(top)
                missing = dict.fromkeys(self.checked_part(ref, top, opened) for ref in refs(body))
                todo += [part for part in missing if part not in self.bodies]
                continue
            todo.pop()
            opened.discard(top)
            if top in self.bodies:  # two terminals named it
                continue
            self.bodies[top] = self.written(body)
            self.sizes[top] = 1 + sum(self.sizes.get(r.name, 1) for r in refs(body))
            if self.sizes[top] > self.limits.max_symbols // 10:
                detail = f"terminal {top!r} of a Lark grammar, written out"
                raise LimitError("max_symbols", 10 * self.sizes[top], self.limits.max_symbols, detail)
        return self.bodies[name]

    def checked_part(self, ref: Ref, terminal: str, opened: set[str]) -> str:
        """The name in a terminal, which is to be that of another one. `opened`: the terminals that hold this one."""
        place = ref.span or (0, 0)
        if ref.name in self.document.parts:
            self.source.fail(f"{ref.name.split()[0]} cannot be used in terminals", *place, hint="Use it in a rule.")
        if not is_terminal_name(ref.name):
            hint = "Terminals are made of terminals and text; use it in a rule, or define it as a terminal."
            self.source.fail(f"terminal {terminal!r} cannot reference rule {ref.name!r}", *place, hint=hint)
        if self.document.definitions[ref.name].attributes.are_there:
            problem = f"{ref.name!r} has attributes, which belong to whole lexemes, and is part of {terminal!r}"
            hint = "Take the attributes off, or define a second terminal with them."
            self.source.unsupported("attribute", problem, *place, hint=hint)
        if ref.name in opened:
            hint = "A terminal is regular and cannot hold itself; write rules."
            self.source.fail(f"circular reference in terminal {ref.name!r}", *place, hint=hint)
        return ref.name

    def written(self, body: Expr) -> Expr:
        return run(self._written(body))

    def _written(self, body: Expr) -> Step:
        match body:
            case And((item,)):
                return item
            case Ref(name):
                return self.bodies[name]
            case Concat(items):
                parts = []
                for item in items:
                    parts.append((yield self._written(item)))
                return concatenation(parts)
            case Alt(items):
                parts = []
                for item in items:
                    parts.append((yield self._written(item)))
                return alternation(parts)
            case And(items):
                parts = []
                for item in items:
                    parts.append((yield self._written(item)))
                return And(tuple(parts))
            case Not(item):
                return Not((yield self._written(item)))
            case Repeat(item, low, high, _):
                return repeat((yield self._written(item)), low, high)
            case Special():
                raise UnsupportedFeatureError(
                    "special token in a terminal",
                    "special tokens cannot be used in terminals",
                    source=self.source.text,
                    hint="Use the token in a rule.",
                )
        return body

    # Lexemes with attributes

    def lexeme(self, definition: Definition) -> None:
        """The terminal of a definition that is one; where its end is not captured, a rule of two."""
        said, name = definition.attributes, definition.name
        body = self.bodies[name] if name in self.bodies else self.written(definition.body)
        most = None if said.max_chars is None else Repeat(ANY_CHAR, 0, said.max_chars)
        ending = said.suffix if said.stop is None else said.stop
        if ending is None:
            whole = shortest(body) if said.lazy else body
            if said.lazy:
                self.lazy[name] = whole
            self.terminal(name, whole if most is None else And((whole, most)), said)
            if said.capture is not None:
                self.joined.captures[name] = said.capture or name
            return
        for ref in refs(ending):
            self.checked_part(ref, name, set())
        end = self.written(ending)
        self.refuse_empty_end(said, end)
        whole = shortest(concatenation((body, end)))
        self.lazy[name] = whole
        bounded = whole if most is None else And((whole, most))
        too_long = None if said.max_chars is None else self.without_room(body, end, said.max_chars)
        if said.capture is None and said.stop_capture is None and said.stop is None:
            self.terminal(name, bounded if too_long is None else Alt((bounded, too_long)), said)
            return
        self.split(definition, bounded, shortest(end), too_long)

    def terminal(self, name: str, expr: Expr, said: Attributes) -> Ref:
        self.joined.terminals[name] = Terminal(expr, max_tokens=said.max_tokens, temperature=said.temperature)
        return Ref(name)

    def without_room(self, body: Expr, end: Expr, most: int) -> Expr:
        """What ends because it has so many characters, before its end came."""
        no_end = Not(Concat((body, end, star(ANY_CHAR))))
        return And((body, Repeat(ANY_CHAR, most, most), no_end))

    def split(self, definition: Definition, whole: Expr, end: Expr, too_long: Expr | None) -> None:
        """A rule of what stands before an end, and of the end: captures tell them apart."""
        said, name, joined = definition.attributes, definition.name, self.joined
        before = without_end(whole, end, self.limits)
        parts = Concat((before, end))
        if not is_empty(And((parts, Not(whole))), self.limits):
            feature = "suffix" if said.stop is None else "stop"
            problem = (
                f"where the {feature} of {name!r} begins cannot be told from where it ends, so it cannot be captured"
            )
            self.source.unsupported(
                feature, problem, *said.span, hint='Write the end as one text: `suffix="</think>"`.'
            )
        if said.max_tokens is not None:
            problem = "max_tokens of a rule whose end is told apart from it is not supported"
            self.source.unsupported(
                "max_tokens", problem, *said.span, hint="Put it on a rule around this one, or use `max_chars`."
            )
        body = self.terminal(f"{name} before its end", before, said)
        closing = self.terminal(f"end of {name}", end, said)
        self.lazy[body.name] = self.lazy.pop(name)
        whole_rule: Expr = Concat((body, closing))
        captured = [body.name]
        if too_long is not None and not is_empty(too_long, self.limits):
            cut_off = self.terminal(f"{name} without its end", too_long, said)
            self.lazy[cut_off.name] = self.lazy[body.name]
            whole_rule = Alt((whole_rule, cut_off))
            captured.append(cut_off.name)
        joined.rules[name] = whole_rule
        self.splits.add(name)
        if said.capture is not None:
            joined.captures.update(dict.fromkeys(captured, said.capture or name))
        if said.stop_capture is not None:
            joined.captures[closing.name] = said.stop_capture
        if said.stop is not None:
            joined.hidden[closing.name] = None

    def refuse_empty_end(self, said: Attributes, end: Expr) -> None:
        what = "suffix" if said.suffix is not None else "stop"
        if end == EMPTY or end == Bytes(b""):
            hint = "Leave it out: where nothing else may follow, the text ends where the model ends it."
            self.source.unsupported(f"empty {what}", f"{what} must not be empty", *said.span, hint=hint)

    def refuse_lexeme_attributes(self, definition: Definition) -> None:
        said = definition.attributes
        for name, value in (("lazy", said.lazy), ("suffix", said.suffix), ("stop", said.stop)):
            if value is not None and not (name == "lazy" and self.ends_with_token(definition.body)):
                hint = "Its body must be made of strings, patterns and terminals; put the attribute on such a part."
                self.source.unsupported(
                    name, f"{name} of a rule that is not one terminal is not supported", *said.span, hint=hint
                )

    def ends_with_token(self, body: Expr) -> bool:
        """Text and one special token behind it: as no text holds the token, the text ends before the first anyway."""
        match body:
            case Special(negated=False):
                return True
            case Concat((*before, Special(negated=False))):
                return all(map(self.may_be_lexeme, before))
        return False

    def ended_by_token(self, body: Expr) -> Expr:
        """The same, which cannot be compiled where the token is one of text: other tokens may spell that."""
        match body:
            case Special():
                return replace(body, ends_text=True)
            case Concat((*before, Special() as last)):
                return Concat((*before, replace(last, ends_text=True)))
        return body

    # Rules

    def part(self, grammar: Rules) -> Ref:
        added = self.joined.add(grammar)
        assert isinstance(added, Ref)
        self.closed.add(added.name)
        return added

    def rule(self, body: Expr, parts: Mapping[str, Ref]) -> Step:
        match body:
            case And((Bytes(b""),)):
                return EMPTY
            case And() | Not():
                if not self.may_be_lexeme(body):
                    raise UnsupportedFeatureError(
                        "& and ~ of rules",
                        "only terminals can be joined by `&` or negated by `~`",
                        source=self.source.text,
                        hint="Define a terminal.",
                    )
                made = self.joined.terminal(self.written(body))
                return replace(made, is_kept=not isinstance(body, And) or not isinstance(body.items[0], Bytes))
            case Ref(name, span):
                return Ref(parts[name].name) if name in parts else Ref(name, span)
            case Special():
                return self.joined.terminal(body)
            case Concat(items):
                new = []
                for item in items:
                    new.append((yield self.rule(item, parts)))
                return Concat(tuple(item for item in new if item != EMPTY))
            case Alt(items):
                new = []
                for item in items:
                    new.append((yield self.rule(item, parts)))
                return Alt(tuple(new))
            case Repeat(item, low, high, _):
                return repeat((yield self.rule(item, parts)), low, high)
        return body

    def cut_by_lazy(self, rules: dict[str, Expr]) -> dict[str, Expr]:
        """Where a lazy lexeme may come, others do not go on behind the end of one."""
        terminals = self.joined.terminals
        own = {name for name in terminals if name not in self.closed}
        places = Places(rules, own, self.start, self.limits).beside(self.lazy)
        made: dict[tuple[str, tuple[str, ...]], Expr] = {}

        def placed(leaf: Expr) -> Expr:
            if not isinstance(leaf, Ref):
                return leaf
            found = tuple(name for name in places.get(id(leaf), ()) if self.lazy[name] != self.lazy.get(leaf.name))
            terminal = terminals.get(leaf.name)
            if not found or terminal is None or isinstance(terminal.expr, Special):
                return leaf
            key = (leaf.name, found)
            if key not in made:
                made[key] = self.cut_terminal(leaf, terminal, tuple(dict.fromkeys(self.lazy[name] for name in found)))
            made_ref = made[key]
            return replace(leaf, name=made_ref.name) if isinstance(made_ref, Ref) else made_ref

        return {name: with_leaves(expr, placed) for name, expr in rules.items()}

    def cut_terminal(self, leaf: Ref, terminal: Terminal, others: tuple[Expr, ...]) -> Expr:
        whole = self.lazy.get(leaf.name)
        beyond = Concat((Alt(others), star(ANY_CHAR)))
        if is_empty(And((whole or terminal.expr, beyond)), self.limits):
            return leaf
        if whole is not None and whole != terminal.expr:
            raise UnsupportedFeatureError(
                "lazy",
                f"the rule {leaf.name!r}, whose end is told apart from it, stands beside lazy rules that end otherwise",
                source=self.source.text,
                hint="Leave out its `capture`, or let them end with the same text.",
            )
        expr = cut(terminal.expr, others, whole is not None)
        if is_empty(expr, self.limits):
            return NOTHING
        name = leaf.name if leaf.name in self.document.definitions else None
        made = self.joined.terminal(
            expr, None if name is None else f"{name} without what ends it", terminal.max_tokens, terminal.temperature
        )
        if leaf.name in self.joined.captures:
            self.joined.captures[made.name] = self.joined.captures[leaf.name]
        return made

    # What is ignored, and what bounds rules

    def skip(self) -> Ref | None:
        ignored = []
        for expr in self.document.ignored:
            self.check_names(expr)
            for ref in refs(expr):
                if not is_terminal_name(ref.name):
                    self.source.fail("only terminals can be ignored", *(ref.span or (0, 0)), hint="Define a terminal.")
                self.body_of(ref.name)
            ignored.append(self.written(expr))
        if not ignored:
            return None
        one = alternation(ignored)
        made = self.joined.terminal(Repeat(one, 0, 1 if self.document.skip_once else None), _SKIP)
        return replace(made, is_kept=False)

    def spaced(self, leaf: Expr, skip: Ref) -> Expr:
        """Each lexeme, token and other grammar with what may be ignored behind it."""
        if isinstance(leaf, Ref) and (leaf.name in self.joined.terminals or leaf.name in self.closed):
            return Concat((leaf, skip))
        return leaf

    def finished(self, skip: Ref | None) -> Rules:
        joined, start = self.joined, self.start
        if skip is not None and (self.document.initial_skip or start in joined.terminals):
            before = (skip,) if self.document.initial_skip else ()
            start = joined.rule("start", Concat((*before, self.spaced(Ref(start), skip)))).name
            joined.shapes[start] = Shape("", is_only_child=True)
        made = Rules.of_known_names(
            *(joined.rules, joined.terminals, start, self.source.text, tuple(joined.relaxed), tuple(joined.distinct)),
            *(joined.tallied, joined.in_order, tuple(joined.warnings), joined.shapes, joined.captures, joined.parts),
            hidden=tuple(joined.hidden),
        )
        said = {
            each.name: replace(each.attributes, lazy=None)  # of text and a token behind it, which is lazy anyway
            for each in self.document.definitions.values()
            if each.name in joined.rules and each.name not in self.splits and each.attributes.are_there
        }
        return with_attributes(made, said, () if skip is None else (skip.name,))
