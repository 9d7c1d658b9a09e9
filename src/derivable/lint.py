"""What in a grammar is probably a mistake, or costs more than it need: unused rules, keywords that are names, terminals
that never win, ambiguity, what no text reaches, slow masks.

Everything that is said of the language is certain; where it could not be decided, nothing is said. Slow masks are
measured, so they depend on the machine.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, Literal

from .analysis.ambiguity import ambiguity
from .analysis.lexemes import Lexemes
from .analysis.terminals import terminal_grammar
from .compile import compile
from .constraint import Constraint
from .errors import ArgumentError, GrammarError, LimitError, TokenRejectedError
from .expr import NOTHING, refs
from .frontends.lark_source import Source
from .grammar import Grammar
from .limits import Limits
from .matcher import Matcher
from .report import report
from .support.arguments import instance, integer
from .vocabulary import Vocabulary

__all__ = ["Finding", "Kind", "lint"]

Kind = Literal[
    "error", "schema", "unused", "never-reached", "keyword", "never-wins", "ambiguous", "slow", "not-decided"
]
"""What a finding is about; `docs/lint.md` lists them."""

_HOPS = 2
_LONGEST = 60
"""Bytes of texts that are looked at."""

_ANY = 1 << 40
"""More tokens than any text has."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes:
        kind: what it is about.
        name: the rule, terminal or JSON pointer; a text where a mask is slow or leads to no end.
        message: what was met.
        hint: what to do about it.
        line: of the grammar, from 1; `None` where it is not known.
    """

    kind: Kind
    name: str
    message: str
    hint: str
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}[{self.kind}] {self.message} {self.hint}"


def lint(
    grammar: Grammar,
    vocabulary: Vocabulary | None = None,
    *,
    seconds: float = 10.0,
    situations: int = 200,
    slow_ms: float = 10.0,
) -> list[Finding]:
    """What is probably a mistake in a grammar.

    Args:
        grammar: what to look at.
        vocabulary: to measure first masks with; without one nothing is said of slow ones.
        seconds: that each of the searches may take.
        situations: places in texts that are visited.
        slow_ms: milliseconds from which on a first mask is slow.

    Raises:
        ArgumentError: an argument of the wrong kind.

    Example:
        >>> import derivable as dv
        >>> from derivable.lint import lint
        >>> text = 'start: "let" NAME "=" NAME\\nNAME: /[a-z]+/\\nold: "x"\\n%ignore " "'
        >>> [(finding.kind, finding.name, finding.line) for finding in lint(dv.Grammar.from_lark(text))]
        [('unused', 'old', 3), ('keyword', 'NAME', 2)]

    Cost: `seconds` for each of three searches at most; grammars without conflicts and with few terminals take some ms.
    """
    instance("grammar", grammar, Grammar, "a Grammar")
    instance("vocabulary", vocabulary, Vocabulary | None, "a Vocabulary, or None")
    integer("situations", situations, 1)
    for name, number in (("seconds", seconds), ("slow_ms", slow_ms)):
        if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
            raise ArgumentError(name, "a number above 0", number)
    found = [*_of_schema(grammar), *_unused(grammar), *_waiting(grammar)]
    every_byte = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])
    try:
        constraint = compile(grammar, every_byte)
    except GrammarError as error:
        line = None if error.span is None or error.source is None else error.source.count("\n", 0, error.span[0]) + 1
        return [*found, Finding("error", grammar.start, f"{error.problem}.", error.hint or "Correct it.", line)]
    for search in (_lexemes, _ambiguous, _unreached):
        try:
            found += search(constraint, grammar, seconds, situations)
        except LimitError as error:
            name = search.__name__.strip("_")
            found.append(Finding("not-decided", name, f"too large to be searched: {error.limit}.", "Look at a part."))
    if vocabulary is not None:
        found += _slow(grammar, vocabulary, seconds, situations, slow_ms)
    return found


def _of_schema(grammar: Grammar) -> Iterator[Finding]:
    for warning in grammar.warnings:
        yield Finding("schema", warning.pointer, warning.message, warning.hint)


def _unused(grammar: Grammar) -> Iterator[Finding]:
    """What the start does not need. Lark's front end has dropped it already, so its text is looked at."""
    source = grammar.source or ""
    names: Iterable[str]
    if grammar.lexing != "scannerless":
        names = Source(source, Limits()).unused(grammar.start) if source else ()
    elif "::=" in source:
        reached, todo = {grammar.start}, [grammar.start]
        while todo:
            expr = grammar.rules.get(todo.pop())
            for ref in () if expr is None else refs(expr):
                if ref.name not in reached:
                    reached.add(ref.name)
                    todo.append(ref.name)
        names = (name for name in grammar.rules if name not in reached and _line(grammar, name))
    else:
        return
    for name in names:
        said = f"nothing that {grammar.start!r} needs uses {name!r}."
        yield Finding("unused", name, said, "Remove it, or use it.", _line(grammar, name))


def _waiting(grammar: Grammar) -> Iterator[Finding]:
    """Rules that wait for a terminal that the lexer drops."""
    for name, expr in grammar.rules.items():
        if expr == NOTHING:
            said = f"the rule {name!r} never matches: it needs a terminal that is ignored, and so never comes."
            yield Finding("never-reached", name, said, "Remove it, or define a second terminal.", _line(grammar, name))


def _lexemes(constraint: Constraint, grammar: Grammar, seconds: float, situations: int) -> Iterator[Finding]:
    if grammar.lexing == "scannerless":
        return
    lexemes = Lexemes(constraint)
    for name, others in lexemes.losing().items():
        said = (
            f"the terminal {name} never wins: {_listed(others)} match{'es' * (len(others) == 1)} the same texts first."
        )
        yield Finding(
            "never-wins", name, said, f"Give it a priority ({name}.2: ...), or remove it.", _line(grammar, name)
        )
    for name, words in lexemes.keywords().items():
        said = f"where only {name} may stand, {_listed(words)} {'is' if len(words) == 1 else 'are'} one as well."
        hint = f"If that is not meant, exclude keywords: {name}: /(?!(?:...)\\b).../."
        yield Finding("keyword", name, said, hint, _line(grammar, name))


def _ambiguous(constraint: Constraint, grammar: Grammar, seconds: float, situations: int) -> Iterator[Finding]:
    met = ambiguity(constraint, seconds=seconds)
    if met is not None:
        rule = met.symbol if not met.symbol.startswith("<") else "a repeat"
        part = " ".join(met.part) or "the empty text"
        said = f"{rule} has two derivations of {part}, as in {' '.join(met.sentence) or 'the empty text'}."
        hint = "Masks are right all the same, and cost more: make the rule say which is meant."
        yield Finding("ambiguous", met.symbol, said, hint, _line(grammar, met.symbol))


def _unreached(constraint: Constraint, grammar: Grammar, seconds: float, situations: int) -> Iterator[Finding]:
    """Terminals that no text brings, and texts that seem to go on but lead to no end."""
    if grammar.lexing == "scannerless":
        return
    names = constraint._lowered.terminal_names
    met: set[str] = set()
    until, left = perf_counter() + seconds, situations
    waiting = deque([(b"", constraint.matcher(), constraint.matcher(max_tokens=_ANY))])
    known: set[bytes] = set()
    while waiting and left and perf_counter() < until:
        text, matcher, ends = waiting.popleft()
        left -= 1
        met.update(names[symbol - 1] for members, _ in matcher.parses() for symbol, _ in members)
        open_to = ends.next_bytes()
        for byte in matcher.next_bytes():
            step = bytes([byte])
            if byte not in open_to:
                said = f"behind {_shown(text)} the byte {_shown(step)} may follow, but leads to no end that is known."
                yield Finding("never-reached", _shown(text + step), said, "Separate lexemes that run together.")
                continue
            after, still = _advanced(matcher, step), _advanced(ends, step)
            if after is None or still is None:
                continue
            if after.situation(_HOPS) not in known:
                known.add(after.situation(_HOPS))
                waiting.append((text + step, after, still))
    if waiting:  # there are places that nobody has seen
        return
    needed = terminal_grammar(constraint)
    for name in needed.names(symbol for symbol in needed.occurrences if needed.is_terminal(symbol)):
        automaton = constraint._lowered.terminals[needed.symbol(name)][0]
        if name not in met and not automaton.is_empty:
            said = f"no text ever brings the terminal {name}: what comes before it, or in its place, takes its letters."
            hint = "Separate lexemes that run together, for example by white space that is ignored."
            yield Finding("never-reached", name, said, hint, _line(grammar, name))


def _advanced(matcher: Matcher, step: bytes) -> Matcher | None:
    after = matcher.fork()
    try:
        after.advance_bytes(step)
    except TokenRejectedError:
        return None
    return after if after.length <= _LONGEST else None


def _slow(
    grammar: Grammar, vocabulary: Vocabulary, seconds: float, situations: int, slow_ms: float
) -> Iterator[Finding]:
    visited = report(compile(grammar, vocabulary), situations=situations, seconds=seconds).situations
    for place in visited:
        if place.first_us >= slow_ms * 1e3:
            said = f"the first mask behind {place.text[-30:]!r} took {place.first_us / 1e3:,.1f} ms: {place.why}."
            hint = "compile(..., ahead_of_time=True) moves that to where the server starts."
            yield Finding("slow", place.text, said, hint)


def _line(grammar: Grammar, name: str) -> int | None:
    """Where a rule or terminal is defined."""
    found = re.search(rf"^[ \t?!]*{re.escape(name)}(?:\.-?\d+|\{{.*?\}})?[ \t]*:", grammar.source or "", re.MULTILINE)
    return None if found is None else (grammar.source or "").count("\n", 0, found.end()) + 1


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _shown(data: bytes) -> str:
    return repr(data.decode("utf-8", "backslashreplace"))
