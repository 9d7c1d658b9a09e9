"""Grammars put together: one after the other, alternatives, repeats, free text.

Each operand keeps its own rules, renamed where two would clash, and the whole is read `scannerless`: there the language
of a sequence is exactly the sequence of the languages. Under `longest` and `basic` it is not (the terminals of one part
would compete with those of the next), so such operands are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from ..errors import GrammarError, UnsupportedFeatureError
from ..expr import EMPTY, Alt, Bytes, Concat, Embedded, Expr, Members, Ref, Repeat, Sequences, Spelled, text
from ..lowering.leaves import cut_into_leaves, names_only, regular_bodies
from ..lowering.show import show
from ..rules import GrammarWarning, Rules, Shape, SpecialTokens, Tally, Terminal
from .build import Step, alternation, concatenation, repeat, run

__all__ = [
    "Joined",
    "alternate",
    "bounds_of_repeat",
    "concatenate",
    "literal",
    "plain",
    "refuse_lost_slots",
    "repeated",
    "with_leaves",
    "with_literals_spelled",
    "with_terminals",
]


_JOINED = Shape("", is_only_child=True)
"""A rule that nobody wrote: trees have what stands in it."""


class Joined:
    """Rules and terminals of several grammars under one roof; rules hold nothing but names.

    Every operand is added once (by identity), however often it is used.
    """

    def __init__(self) -> None:
        self.rules: dict[str, Expr] = {}
        self.terminals: dict[str, Terminal] = {}
        self.relaxed: dict[str, None] = {}
        self.distinct: dict[str, None] = {}
        self.tallied: dict[str, Tally] = {}
        self.in_order = False
        self.warnings: dict[GrammarWarning, None] = {}
        self.shapes: dict[str, Shape] = {}
        self.captures: dict[str, str] = {}
        self.parts: dict[str, Rules] = {}
        self.hidden: dict[str, None] = {}
        self._starts: dict[int, tuple[Rules, Ref]] = {}
        self._numbers: dict[str, int] = {}

    def add(self, operand: Rules | str) -> Expr:
        """The expression that stands for an operand: a grammar, or literal text.

        Raises:
            GrammarError: neither, or a text that is not Unicode.
            UnsupportedFeatureError: ignored terminals beside text without a name.
        """
        if isinstance(operand, str):
            return Ref(self.terminal(literal(operand)).name, is_kept=False) if operand else EMPTY
        if not isinstance(operand, Rules):
            raise GrammarError(
                f"{operand!r:.80} cannot be part of a grammar", hint="Use a Grammar, or a str for literal text."
            )
        known = self._starts.get(id(operand))
        if known is None:
            is_apart = operand.lexing != "scannerless" or operand.meaning is not None
            added = self.embed(operand) if is_apart else self._add(plain(operand))
            known = self._starts[id(operand)] = (operand, added)
        return known[1]

    def terminal(
        self, expr: Expr, name: str | None = None, max_tokens: int | None = None, temperature: float | None = None
    ) -> Ref:
        """A terminal of this language; the same one for equal languages of one name."""
        name = name or show(expr, 60)
        terminal = Terminal(expr, max_tokens=max_tokens, temperature=temperature)
        if self.terminals.get(name) != terminal:
            name = self._fresh(name)
            self.terminals[name] = terminal
        return Ref(name)

    def rule(self, name: str, expr: Expr) -> Ref:
        """A new rule."""
        name = self._fresh(name)
        self.rules[name] = expr
        return Ref(name)

    def grammar(self, name: str, expr: Expr, source: str | None = None) -> Rules:
        """The grammar that derives `expr`."""
        start = self.rule(name, expr).name
        self.shapes[start] = _JOINED
        relaxed, distinct = tuple(self.relaxed), tuple(self.distinct)
        return Rules.of_known_names(
            *(self.rules, self.terminals, start, source, relaxed, distinct, self.tallied, self.in_order),
            *(tuple(self.warnings), self.shapes, self.captures, self.parts, tuple(self.hidden)),
        )

    def _fresh(self, name: str) -> str:
        if name not in self.rules and name not in self.terminals:
            return name
        number = self._numbers.get(name, 2)
        while f"{name}#{number}" in self.rules or f"{name}#{number}" in self.terminals:
            number += 1
        self._numbers[name] = number + 1
        return f"{name}#{number}"

    def embed(self, grammar: Rules, encoding: str = "", name: str | None = None) -> Ref:
        """A grammar that is cut into lexemes by itself, or has a meaning, as one terminal; or texts that encode its."""
        self.relaxed.update(dict.fromkeys(grammar.relaxed))
        self.warnings.update(dict.fromkeys(grammar.warnings))
        heard = {each.temperature for name, each in grammar.terminals.items() if name not in grammar.ignore}
        if len(heard) > 1:
            raise UnsupportedFeatureError(
                "temperature",
                "a grammar that is cut into lexemes by itself, or encoded, is one terminal to the grammar around it, "
                "and has one temperature",
                source=grammar.source,
                hint="Give the temperature to the whole: `grammar.with_temperature(0.7)`.",
            )
        return self.terminal(Embedded(grammar, encoding), name, temperature=next(iter(heard), None))

    def _add(self, grammar: Rules) -> Ref:
        self.relaxed.update(dict.fromkeys(grammar.relaxed))
        self.warnings.update(dict.fromkeys(grammar.warnings))
        names: dict[str, str] = {}
        for name, terminal in grammar.terminals.items():
            if self.terminals.get(name) != terminal or not self._means_the_same(grammar, name):
                fresh = self._fresh(name)
                self.terminals[fresh] = terminal
                if fresh != name:
                    names[name] = fresh
        self.distinct.update(dict.fromkeys(names.get(name, name) for name in grammar.distinct))
        self.tallied.update({names.get(name, name): tally for name, tally in grammar.tallied.items()})
        self.in_order |= grammar.in_order
        # All at once: a fresh name must not be one that another rule of the operand bears.
        taken = {*self.rules, *self.terminals}
        for name in grammar.rules:
            if name in taken:
                names[name] = self._fresh(name)
                while names[name] in grammar.rules:
                    names[name] = self._fresh(name)
                self.rules[names[name]] = EMPTY

        def renamed(leaf: Expr) -> Expr:
            return Ref(names.get(leaf.name, leaf.name), is_kept=leaf.is_kept) if isinstance(leaf, Ref) else leaf

        for name, expr in grammar.rules.items():
            self.rules[names.get(name, name)] = with_leaves(expr, renamed) if names else expr
        self._add_shapes(grammar, names)
        return Ref(names.get(grammar.start, grammar.start))

    def _add_shapes(self, grammar: Rules, names: Mapping[str, str]) -> None:
        for name, new in names.items():
            if name in grammar.rules:
                self.shapes[new] = Shape(name)
        self.shapes.update({names.get(name, name): shape for name, shape in grammar.shapes.items()})
        self.captures.update({names.get(name, name): capture for name, capture in grammar.captures.items()})
        self.parts.update({names.get(name, name): parts for name, parts in grammar.parts.items()})
        self.hidden.update(dict.fromkeys(names.get(name, name) for name in grammar.hidden))

    def _means_the_same(self, grammar: Rules, terminal: str) -> bool:
        """Here as in the grammar."""
        return (
            self.tallied.get(terminal) == grammar.tallied.get(terminal)
            and self.captures.get(terminal) == grammar.captures.get(terminal)
            and self.parts.get(terminal) == grammar.parts.get(terminal)
        )


def refuse_lost_slots(grammar: Rules, lost: bool = True) -> None:
    """Refuses a change after which something that stands in a slot of the grammar's meaning is none."""
    if grammar.meaning is not None and lost:
        raise UnsupportedFeatureError(
            "meaning",
            "this change of a grammar with a meaning is not supported yet: it would take text out of the slots "
            f"{', '.join(grammar.meaning.slots)[:80]}",
            source=grammar.source,
            hint="Leave out the change, or the meaning. A temperature of a slot itself is supported.",
        )


def with_leaves(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """The same rule with other leaves; of a name, another name."""
    if isinstance(expr, Sequences | Members):

        def renamed(name: str) -> str:
            new = leaf(Ref(name))
            assert isinstance(new, Ref)
            return new.name

        return expr.renamed(renamed)
    return run(_mapped(expr, leaf))


def _mapped(expr: Expr, leaf: Callable[[Expr], Expr]) -> Step:
    match expr:
        case Concat(items) | Alt(items):
            new = []
            for item in items:
                new.append((yield _mapped(item, leaf)))
            return Concat(tuple(new), expr.alias) if isinstance(expr, Concat) else Alt(tuple(new))
        case Repeat(item=item):
            return replace(expr, item=(yield _mapped(item, leaf)))
        case _:
            return leaf(expr)


def with_terminals(
    grammar: Rules, names: Iterable[str], title: Callable[[str], str], make: Callable[[str, Expr], Terminal]
) -> tuple[Rules, list[str]]:
    """The grammar in which some rules are one terminal each, and the names of those of them that are not regular.

    Args:
        names: the rules.
        title: what the terminal of a rule is called, if no other has that name.
        make: the terminal of a rule, given what the rule is when all that it names is written out.
    """
    bodies = regular_bodies(grammar, names)
    refuse_lost_slots(grammar, bool(bodies))
    rules, terminals = dict(grammar.rules), dict(grammar.terminals)
    irregular = []
    for name in names:
        if name not in bodies:
            irregular.append(name)
            continue
        inside = title(name)
        while inside in rules or inside in terminals:
            inside += "'"
        terminals[inside], rules[name] = make(name, bodies[name]), Ref(inside)
    return replace(grammar, rules=rules, terminals=terminals), irregular


def plain(grammar: Rules) -> Rules:
    """The same language as a scannerless grammar that ignores nothing and whose rules hold names only."""
    if grammar.lexing != "scannerless":
        raise GrammarError(
            f"a grammar under {grammar.lexing!r} lexing cannot be written as a scannerless one: where its lexemes end "
            "depends on what could follow",
            source=grammar.source,
            hint="Read it scannerless (any segmentation): grammar.with_lexing('scannerless').",
        )
    if names_only(grammar):
        return _without_ignored(grammar) if grammar.ignore else grammar
    refuse_lost_slots(grammar)
    if grammar.ignore:
        raise UnsupportedFeatureError(
            "ignored terminals in a combined grammar",
            "a grammar with ignored terminals and text without a name cannot be combined with others",
            source=grammar.source,
            hint="Name the text of its rules as terminals.",
        )
    joined = Joined()
    joined.terminals.update(grammar.terminals)
    rules = cut_into_leaves(grammar, {*grammar.captures, *grammar.parts})
    joined.rules.update(dict.fromkeys(rules, EMPTY))

    def named(leaf: Expr) -> Expr:
        return leaf if isinstance(leaf, Ref) else replace(joined.terminal(leaf), is_kept=not isinstance(leaf, Bytes))

    for name, expr in rules.items():
        joined.rules[name] = with_leaves(expr, named)
    return replace(grammar, rules=joined.rules, terminals=joined.terminals)


def _without_ignored(grammar: Rules) -> Rules:
    """Ignored terminals written out: at the beginning, and after every terminal (docs/lexing.md, "scannerless")."""
    refuse_lost_slots(grammar)
    joined = Joined()
    joined.rules.update(grammar.rules)
    joined.terminals.update(grammar.terminals)
    ignored = joined.rule("ignored", Repeat(alternation(Ref(name, is_kept=False) for name in grammar.ignore), 0, None))
    after = {name: joined.rule(name, Concat((Ref(name), ignored))) for name in grammar.terminals}

    def spaced(leaf: Expr) -> Expr:
        if not isinstance(leaf, Ref) or leaf.name not in after:
            return leaf
        return after[leaf.name] if leaf.is_kept else Concat((leaf, ignored))

    for name, expr in grammar.rules.items():
        joined.rules[name] = with_leaves(expr, spaced)
    start = joined.rule("start", Concat((ignored, spaced(Ref(grammar.start)))))
    shapes = {**grammar.shapes, **dict.fromkeys([ref.name for ref in (ignored, *after.values(), start)], _JOINED)}
    return replace(grammar, rules=joined.rules, terminals=joined.terminals, start=start.name, ignore=(), shapes=shapes)


def with_literals_spelled(grammar: Rules, mode: SpecialTokens) -> Rules:
    """See `Grammar.with_special_tokens`."""
    if mode not in get_args(SpecialTokens):
        hint = f"Use one of {', '.join(get_args(SpecialTokens))}."
        raise GrammarError(f"{mode!r:.80} is no meaning of special tokens in literals", hint=hint)
    terminals = dict(grammar.terminals)

    def spelled(leaf: Expr) -> Expr:
        if not isinstance(leaf, Bytes) or not leaf.value:
            return leaf
        try:
            return Spelled(leaf.value.decode(), mode == "either")
        except UnicodeDecodeError:  # half of a character
            return leaf

    def named(leaf: Expr) -> Expr:
        made = spelled(leaf)
        if not isinstance(made, Spelled):
            return leaf
        name, terminal = show(made, 60), Terminal(made)
        while terminals.setdefault(name, terminal) != terminal or name in grammar.rules:
            name += "'"
        return Ref(name)

    if mode == "text":
        return grammar
    for name, terminal in grammar.terminals.items():
        if name not in grammar.ignore:
            terminals[name] = replace(terminal, expr=spelled(terminal.expr))
    rules = {name: with_leaves(expr, named) for name, expr in grammar.rules.items()}
    return replace(grammar, rules=rules, terminals=terminals)


def literal(value: str) -> Expr:
    """The text itself.

    Raises:
        GrammarError: it holds half of a surrogate pair.
    """
    try:
        return text(value)
    except UnicodeEncodeError as error:
        raise GrammarError(
            f"the text {value[:40]!r} has the surrogate U+{ord(value[error.start]):04X}, which no text can contain",
            hint="Join surrogate pairs into the character they stand for.",
        ) from None


def concatenate(operands: Sequence[Rules | str]) -> Rules:
    """See `Grammar.concatenate`."""
    joined = Joined()
    return joined.grammar("sequence", concatenation([joined.add(operand) for operand in operands]))


def alternate(operands: Sequence[Rules | str]) -> Rules:
    """See `Grammar.alternate`."""
    if not operands:
        raise GrammarError("there are no alternatives", hint="Give at least one grammar or text.")
    joined = Joined()
    return joined.grammar("choice", alternation([joined.add(operand) for operand in operands]))


def repeated(operand: Rules | str, low: int, high: int | None) -> Rules:
    """See `Grammar.repeat`."""
    joined = Joined()
    return joined.grammar("repeat", repeat(joined.add(operand), *bounds_of_repeat(low, high)))


def bounds_of_repeat(low: object, high: object) -> tuple[int, int | None]:
    """The bounds of a repeat, checked.

    Raises:
        GrammarError: they are not two numbers in ascending order.
    """
    numbers: Iterable[object] = (low,) if high is None else (low, high)
    if not all(type(number) is int and number >= 0 for number in numbers) or (high is not None and high < low):  # type: ignore[operator]
        raise GrammarError(
            f"{low!r} and {high!r} are not the bounds of a repetition",
            hint="Give numbers from 0 up, the smaller first; None is no upper bound.",
        )
    return low, high  # type: ignore[return-value]
