"""`derivable mask`: which tokens may come after a text."""

from __future__ import annotations

import shlex
from time import perf_counter
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..compile import compile as compile_grammar
from ..errors import MatcherError
from .app import app
from .check import advance_while_possible
from .options import (
    BuiltinOption,
    ChoicesOption,
    GrammarOption,
    ProfileOption,
    RegexOption,
    StartOption,
    TokenizerOption,
    encoded,
    grammar_of,
    required,
    terminal,
    vocabulary_of,
)
from .show import quoted

__all__ = ["mask"]


def _quoted(data: bytes) -> str:
    """Bytes as an argument of a shell."""
    return shlex.quote(data.decode("utf-8", "replace"))


@app.command()
def mask(
    text: Annotated[str, typer.Argument(help="The text so far; may be empty.")] = "",
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    profile: ProfileOption = "practical",
    tokenizer: TokenizerOption = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="Show so many of them.")] = 20,
) -> None:
    """Show which tokens of a vocabulary may come after a text.

    Example: derivable mask "20" --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    """
    vocabulary = vocabulary_of(tokenizer)
    matcher = compile_grammar(
        required(grammar_of(regex, grammar, choices, builtin, start, profile)), vocabulary
    ).matcher()
    data = encoded(text)
    fits = advance_while_possible(matcher, data)
    if fits < len(data):
        raise MatcherError(
            f"{data[fits : fits + 1]!r} cannot stand at byte {fits} of the text, so nothing may come after it. Ask "
            f"with the same options what may stand there: derivable mask {_quoted(data[:fits])} ... (which tokens), or "
            f"derivable check {_quoted(data)} ... (which bytes, with a caret at the place)."
        )
    started = perf_counter()
    allowed = matcher.allowed_tokens().tolist()
    seconds = perf_counter() - started
    console = terminal()
    end = "allowed" if matcher.is_accepting else "not allowed"
    console.print(
        f"{len(allowed):,} of {vocabulary.size:,} tokens allowed, end of text {end} ({seconds * 1e6:,.0f} µs)",
        highlight=False,
    )
    if not limit:
        return
    names = {token_id: name for name, token_id in vocabulary.special_ids.items()}
    table = Table(box=None, pad_edge=False)
    table.add_column("id", justify="right", style="cyan")
    table.add_column("text")
    for token_id in allowed[:limit]:
        token = None if token_id in vocabulary.eos_ids else vocabulary.token_bytes(token_id)
        label = f"end of text {names.get(token_id, '')}".rstrip() if token is None else quoted(token)
        table.add_row(str(token_id), Text(label))
    console.print(table)
    if len(allowed) > limit:
        console.print(f"... and {len(allowed) - limit:,} more (--limit)", highlight=False, style="dim")
