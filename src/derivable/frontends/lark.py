"""Grammars in Lark's language, loaded by the `lark` library itself.

Lark's loader does what its language asks for: imports, `%extend`, `%override`, templates, names for anonymous
terminals, joining terminals into patterns. It is stopped before it turns repeats into recursive rules, so `x ~ 0..1000`
stays one node. What only shapes Lark's parse trees (`?rule`, `!rule`, `_rule`, aliases, which tokens are filtered)
does not touch the language; rule priorities choose between parses and do not either.

Terminals stand in Lark's order: imported ones, then those defined, then the anonymous ones in order of appearance.
Those that no rule reachable from the start uses, and that are not ignored, are left out, as Lark does; rules likewise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lark import Tree
from lark.grammar import NonTerminal
from lark.grammar import Terminal as LarkTerminal
from lark.lexer import PatternStr

from ..collector import without_collector
from ..errors import DerivableError, GrammarError, LimitError
from ..expr import NOTHING, Expr, Ref, refs
from ..limits import Limits
from ..rules import Indentation, Lexing, Rules, Terminal
from .build import Step, alternation, concatenation, recursion_room, repeat, run
from .lark_source import Loaded, Source, load
from .regex import parse_regex

__all__ = ["grammar_from_lark"]

_DEFAULTS = Limits()
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "l": re.L, "u": re.U, "x": re.X}


@without_collector
def grammar_from_lark(
    text: str,
    start: str = "start",
    lexing: Lexing = "longest",
    *,
    declared: Mapping[str, Terminal] | None = None,
    indentation: Indentation | None = None,
    import_paths: Sequence[str] = (),
    limits: Limits = _DEFAULTS,
) -> Rules:
    """A grammar in Lark's language.

    Args:
        text: the grammar.
        start: the start rule.
        lexing: see `derivable.grammar.Lexing`.
        declared: what the terminals that the grammar only `%declare`s are.
        indentation: see `derivable.grammar.Indentation`; its `indent` and `dedent` are declared by the grammar. A
            grammar that declares `_INDENT` and `_DEDENT` and uses `_NEWLINE` or `_NL` is read as Lark's
            `PythonIndenter` reads it if nothing else is said.
        import_paths: directories to import grammars from, before those that come with Lark. A relative import
            (`%import .name`) starts from the first; without any it is refused.
        limits: bounds on its size and nesting.

    Raises:
        GrammarSyntaxError: it cannot be parsed; the caret shows the place.
        UnsupportedFeatureError: a terminal uses something that is not regular.
        GrammarError: a name is not defined, declared only, or both ignored and used in a rule.
        LimitError: it is longer or deeper than `limits` allows, or its templates grow without end.
    """
    source = Source(text, limits)
    try:
        with recursion_room(12 * source.depth + 1_000):
            loaded = load(source, import_paths)
    except DerivableError:
        raise
    except Exception as error:  # Lark reports mistakes by asserting and unpacking, too
        inner = getattr(error, "orig_exc", error)  # what a visitor of its trees met
        if isinstance(inner, DerivableError):
            raise inner from None
        raise source.blame(inner) from error
    rules = _reachable(loaded.rules, start, source, set(loaded.terminals))
    used = {ref.name for expr in rules.values() for ref in refs(expr)} | {start}
    ignored = tuple(dict.fromkeys(loaded.ignored))
    if lexing != "scannerless":
        for name in ignored:
            if name in used:
                raise GrammarError(
                    f"the terminal {name!r} is ignored and used in a rule",
                    source=text,
                    span=source.find(name),
                    hint="Under 'longest' and 'basic' it would never reach the rule; define a second terminal.",
                )
    terminals: dict[str, Terminal] = {}
    given = dict(declared or {})
    if indentation is None and lexing != "scannerless" and not _BLOCKS & given.keys():
        indentation = _declared_indentation(loaded, used)
    zero_width = (indentation.indent, indentation.dedent) if indentation else ()
    for name, (pattern, priority) in loaded.terminals.items():
        replacement = given.pop(name, None) if pattern is None else None
        if name not in used and name not in ignored:
            continue
        if pattern is not None:
            terminals[name] = _terminal(name, pattern, priority, source, limits)
        elif replacement is not None:
            terminals[name] = replacement
        elif name in zero_width:
            terminals[name] = Terminal(NOTHING)
        else:
            raise GrammarError(
                f"the declared terminal {name!r} has no pattern and is used",
                source=text,
                span=source.find(name),
                hint="Pass what it is in `declared`, define it in the grammar, or name it in `indentation`.",
            )
    if given:
        raise GrammarError(
            f"the grammar does not declare {', '.join(map(repr, given))}",
            source=text,
            hint="`declared` is for terminals that the grammar names in `%declare`.",
        )
    return Rules(
        rules=rules,
        terminals=terminals,
        start=start,
        ignore=ignored,
        lexing=lexing,
        source=text,
        indentation=indentation,
    )


_BLOCKS = {"_INDENT", "_DEDENT"}


def _declared_indentation(loaded: Loaded, used: set[str]) -> Indentation | None:
    """By the names of Lark's own indenter (`lark.indenter.PythonIndenter`)."""
    declared = {name for name, (pattern, _) in loaded.terminals.items() if pattern is None}
    newlines = [name for name in ("_NEWLINE", "_NL") if name in used and name not in declared]
    if not declared & used >= _BLOCKS or len(newlines) != 1:
        return None
    pairs = (("LPAR", "RPAR"), ("LSQB", "RSQB"), ("LBRACE", "RBRACE"))
    brackets = tuple(pair for pair in pairs if used.issuperset(pair))
    return Indentation(newlines[0], "_INDENT", "_DEDENT", brackets=brackets, tab_stops=False)


def _reachable(trees: Mapping[str, Any], start: str, source: Source, terminals: set[str]) -> dict[str, Expr]:
    """The rules that the start needs, in the order of the grammar, as expressions."""
    if start not in trees and start not in terminals:
        raise GrammarError(
            f"the start rule {start!r} is not defined",
            source=source.text,
            hint=f"Define it, or choose another start. Defined rules: {', '.join(list(trees)[:8]) or 'none'}.",
        )
    found: dict[str, Expr] = {}
    todo = [start] if start in trees else []
    while todo:
        name = todo.pop()
        if name in found:
            continue
        if trees[name] is None:
            raise GrammarError(
                f"the declared rule {name!r} has no definition and is used",
                source=source.text,
                span=source.find(name),
                hint="Define it in the grammar.",
            )
        found[name] = run(_expression(trees[name], source))
        todo += [ref.name for ref in refs(found[name]) if ref.name in trees]
    return {name: found[name] for name in trees if name in found}


def _expression(tree: Any, source: Source) -> Step:
    """A rule's right-hand side, its terminals already named and its templates applied."""
    if isinstance(tree, NonTerminal | LarkTerminal):
        return Ref(str(tree.name), source.find(str(tree.name)))
    assert isinstance(tree, Tree), tree
    children: list[Any] = tree.children
    match str(tree.data):
        case "expansions":
            alternatives = []
            for child in children:
                alternatives.append((yield _expression(child, source)))
            return alternation(alternatives)
        case "expansion":
            items = []
            for child in children:
                items.append((yield _expression(child, source)))
            return concatenation(items)
        case "alias" | "value":  # an alias names a node of Lark's parse tree
            return (yield _expression(children[0], source))
        case "maybe":
            return repeat((yield _expression(children[0], source)), 0, 1)
        case "expr":
            low, high = source.bounds(children[1:])
            return repeat((yield _expression(children[0], source)), low, high)
        case other:
            raise AssertionError(f"unknown node {other!r} in a Lark grammar")


def _terminal(name: str, pattern: Any, priority: int, source: Source, limits: Limits) -> Terminal:
    literal = isinstance(pattern, PatternStr)
    flags = 0
    for letter in pattern.flags:
        flags |= int(_FLAGS[letter])
    try:
        expr = parse_regex(re.escape(pattern.value) if literal else pattern.value, flags, limits=limits)
    except (GrammarError, LimitError) as error:
        raise source.blame_terminal(name, error) from None
    return Terminal(expr, priority=priority, literal=literal)
