"""`derivable analyze`: what a grammar says about sequences of terminals before any text is written."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Annotated, Any

import typer

from ..analysis import (
    TerminalGrammar,
    Verdict,
    are_jointly_legal,
    interchangeable_terminals,
    judge,
    terminal_grammar,
)
from .app import app
from .options import (
    BuiltinOption,
    ChoicesOption,
    ProfileOption,
    RegexOption,
    StartOption,
    facts,
    grammar_of,
    required,
    terminal,
)
from .report import GrammarArgument, JsonOption

__all__ = ["analyze"]


@app.command()
def analyze(
    grammar: GrammarArgument = None,
    after: Annotated[
        str | None, typer.Option("--after", "-a", help="The last terminals read, by name; none: where texts begin.")
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option("--then", "-t", help="Terminals that may follow them; may be given more than once."),
    ] = None,
    regex: RegexOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    as_json: JsonOption = False,
) -> None:
    """Say which terminals may follow others, whatever came before them.

    With --then: whether each sequence is never legal, always legal, or legal after some texts only; and for each two
    of them whether they are jointly legal. With --after alone: the same for each single terminal. With neither: the
    terminals, and which of them are interchangeable.

    Example: derivable analyze --builtin go --after FUNC --then NAME --then "NAME LPAR"
    """
    of = terminal_grammar(required(grammar_of(regex, grammar, choices, builtin, start, profile, warn=False)))
    found = _terminals(of) if after is None and not then else _verdicts(of, after or "", then or [])
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    terminal().print(facts(_rows(found)))


_WORDS = {
    (False, True): "never legal",
    (True, False): "always legal",
    (True, True): "legal after some texts (or not shown to be always legal)",
    (False, False): "never met: no text has what it follows",
}
"""What is said of a `Verdict`: (accepted, refused)."""


def _word(verdict: Verdict) -> str:
    return _WORDS[verdict.accepted, verdict.refused]


def _terminals(of: TerminalGrammar) -> dict[str, Any]:
    return {
        "terminals": list(of.terminals),
        "ignored": sorted(of.ignored),
        "productions": len(of.productions),
        "interchangeable": [list(names) for names in interchangeable_terminals(of)],
    }


def _verdicts(of: TerminalGrammar, after: str, then: list[str]) -> dict[str, Any]:
    history = _named(of, after)
    asked = [_named(of, sequence) for sequence in then]
    if not then:
        asked = [(name,) for name in of.terminals if name not in of.ignored]
    verdicts = {" ".join(s): _word(judge(of, of.symbols(history), of.symbols(s))) for s in asked}
    pairs = combinations(dict.fromkeys(asked), 2) if then else ()
    return {
        "after": list(history),
        "verdicts": verdicts,
        "jointly legal": [
            [" ".join(one), " ".join(other)] for one, other in pairs if are_jointly_legal(of, history, one, other)
        ],
    }


def _named(of: TerminalGrammar, text: str) -> tuple[str, ...]:
    """Names of terminals between blanks. A name may hold blanks itself, as `"not in"` does: the longest one counts."""
    pieces, known, found = text.split(" "), set(of.terminals), list[str]()
    while pieces:
        sizes = [size for size in range(len(pieces), 0, -1) if " ".join(pieces[:size]) in known]
        size = sizes[0] if sizes else 1
        found += [" ".join(pieces[:size])] if any(pieces[:size]) else []
        del pieces[:size]
    return tuple(found)


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    if "verdicts" not in found:
        return [
            ("terminals", ", ".join(found["terminals"]) or "none"),
            ("ignored", ", ".join(found["ignored"]) or "none"),
            ("productions", f"{found['productions']:,}"),
            ("interchangeable", "\n".join(", ".join(names) for names in found["interchangeable"]) or "none"),
        ]
    jointly = [" and ".join(f"({name})" for name in pair) for pair in found["jointly legal"]]
    return [*found["verdicts"].items(), *(("jointly legal", pair) for pair in jointly)]
