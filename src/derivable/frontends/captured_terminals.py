"""Terminals with back-references, such as heredocs: each becomes a rule, in which groups and references are slots.

Nothing that is ignored may stand within such a terminal. So in a grammar with one, what is ignored is written out
behind each lexeme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..expr import EMPTY, Alt, Concat, Expr, Look, Ref, Repeat, walk
from ..lowering.leaves import largest_runs
from ..lowering.show import show
from ..rules import Rules, Shape, Terminal
from .build import alternation, concatenation, repeat
from .captured_meaning import CapturedMeaning
from .combine import with_leaves

__all__ = ["with_captured"]

_UNSEEN = Shape("", is_only_child=True)


def with_captured(grammar: Rules, patterns: Mapping[str, Rules]) -> Rules:
    """The grammar, in which some terminals are the texts of other grammars.

    Args:
        grammar: under `scannerless` lexing, whose rules hold names only.
        patterns: of terminals with back-references (whatever the grammar says that they are), as
            `back_references.unfolded` makes them.

    Cost: linear in the rules of all.
    """
    made = _Writing(grammar)
    if grammar.ignore:
        made.write_out_ignored(patterns)
    parts = [(name, pattern.meaning, made.terminal(name, pattern)) for name, pattern in patterns.items()]
    own = [(name, m, names) for name, m, names in parts if isinstance(m, CapturedMeaning)]
    meaning = CapturedMeaning.joined(own, grammar.ignore)
    return replace(
        grammar,
        rules=made.rules,
        terminals=made.terminals,
        start=made.start,
        ignore=(),
        shapes=made.shapes,
        meaning=meaning,
    )


class _Writing:
    def __init__(self, grammar: Rules) -> None:
        self._grammar = grammar
        self.rules, self.terminals = dict(grammar.rules), dict(grammar.terminals)
        self.shapes, self.start = dict(grammar.shapes), grammar.start

    def terminal(self, name: str, pattern: Rules) -> dict[str, str]:
        """Puts the rules of a pattern in the place of a terminal. What the rules are called here."""
        del self.terminals[name]
        names = {rule: name if rule == pattern.start else self._fresh(f"{name}: {rule}") for rule in pattern.rules}
        names |= {each: self._fresh(f"{name}: {each}") for each in pattern.terminals}
        self.terminals |= {names[each]: terminal for each, terminal in pattern.terminals.items()}

        def named(leaf: Expr) -> Expr:
            if isinstance(leaf, Ref):
                return replace(leaf, name=names[leaf.name])
            if leaf == EMPTY:
                return leaf
            title, terminal = f"{name}: {show(leaf, 60)}", Terminal(leaf)
            while title in self.rules or self.terminals.get(title, terminal) != terminal:
                title += "'"
            self.terminals[title] = terminal
            return Ref(title)

        for rule, expr in pattern.rules.items():
            self.rules[names[rule]] = with_leaves(largest_runs(expr), named)
            self.shapes[names[rule]] = Shape(name, is_token=True) if rule == pattern.start else _UNSEEN
        return names

    def write_out_ignored(self, patterns: Mapping[str, Rules]) -> None:
        """Ignored terminals at the beginning and behind every lexeme (docs/lexing.md, "scannerless").

        Rules that are one lexeme stay as they are, for they may be slots of a meaning.
        """
        grammar, words = self._grammar, _words(self._grammar)
        ignored, start = self._rule("ignored", self._ignored(patterns)), Ref(grammar.start)

        def spaced(leaf: Expr) -> Expr:
            is_lexeme = isinstance(leaf, Ref) and (leaf.name in grammar.terminals or leaf.name in words)
            return Concat((leaf, ignored)) if is_lexeme else leaf

        self.rules |= {
            name: expr if name in words else with_leaves(expr, spaced) for name, expr in grammar.rules.items()
        }
        self.start = self._rule("start", Concat((ignored, spaced(start)))).name

    def _ignored(self, patterns: Mapping[str, Rules]) -> Expr:
        """Any number of ignored texts. Regular ones are one terminal, for a run of blanks can be cut in many ways."""
        apart = [name for name in self._grammar.ignore if name in patterns or self._looks(name)]
        together = [self.terminals[name].expr for name in self._grammar.ignore if name not in apart]
        blanks: Expr = EMPTY
        if together:
            name = self._fresh("ignored text")
            self.terminals[name] = Terminal(Repeat(alternation(together), 1, None))
            blanks = Repeat(Ref(name, is_kept=False), 0, 1)
        others = alternation([Ref(name, is_kept=False) for name in apart])
        return concatenation([blanks, repeat(concatenation([others, blanks]), 0, None)]) if apart else blanks

    def _looks(self, terminal: str) -> bool:
        """It sees where its text begins and ends."""
        return any(isinstance(part, Look) for part in walk(self.terminals[terminal].expr))

    def _rule(self, name: str, expr: Expr) -> Ref:
        name = self._fresh(name)
        self.rules[name], self.shapes[name] = expr, _UNSEEN
        return Ref(name)

    def _fresh(self, name: str) -> str:
        while name in self.rules or name in self.terminals:
            name += "'"
        return name


def _words(grammar: Rules) -> set[str]:
    """The rules that are one lexeme: a terminal, another such rule, or a choice of some."""
    found: set[str] = set()
    users: dict[str, list[str]] = {}

    def is_word(expr: Expr) -> bool:
        match expr:
            case Ref(name):
                return name in grammar.terminals or name in found
            case Alt(items):
                return bool(items) and all(map(is_word, items))
            case Concat((item,)):
                return is_word(item)
        return False

    for name, expr in grammar.rules.items():
        for part in expr.items if isinstance(expr, Alt) else (expr,):
            if isinstance(part, Ref):
                users.setdefault(part.name, []).append(name)
    todo = list(grammar.rules)
    while todo:
        name = todo.pop()
        if name not in found and is_word(grammar.rules[name]):
            found.add(name)
            todo += users.get(name, ())
    return found
