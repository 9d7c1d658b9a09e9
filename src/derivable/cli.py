"""The command line: `derivable generate | check | mask | vocab | measure | trace | demo`.

Generated text goes to standard output as it comes; figures about it go to standard error, so that
`derivable generate ... > file` writes the text alone. Errors of Derivable are shown without a traceback, exit code 2.
"""

from __future__ import annotations

import codecs
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from . import __version__
from .cli_decoding import measure_command, trace_command
from .cli_options import (
    TOKENIZERS,
    BuiltinOption,
    ChoicesOption,
    GrammarOption,
    ModelOption,
    RegexOption,
    StartOption,
    TokenizerOption,
    encoded,
    facts,
    grammar_of,
    model_of,
    required,
    terminal,
    vocabulary_of,
)
from .compile import compile as compile_grammar
from .decoding.generate import Generation, generate
from .demo import CASES
from .errors import DerivableError, TokenRejectedError
from .matcher import Matcher
from .vocabulary import Vocabulary

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """Shows the errors of Derivable as messages."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except DerivableError as error:
            terminal(stderr=True).print(
                Panel(Text(str(error)), title=type(error).__name__, title_align="left", border_style="red")
            )
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Constrain what a language model can say: regular expressions, grammars, JSON Schemas, choices.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"derivable {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


# --- generate ---------------------------------------------------------------------------------------------------


@app.command("generate")
def generate_command(
    prompt: Annotated[str, typer.Argument(help="What the model continues.")],
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    model: ModelOption = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-n", min=1, help="Stop after so many tokens.")] = 256,
    temperature: Annotated[float, typer.Option("--temperature", "-T", min=0.0, help="0: most likely token.")] = 0.7,
    seed: Annotated[int, typer.Option("--seed", "-s", min=0, help="Of the random numbers.")] = 0,
    compare: Annotated[bool, typer.Option("--compare", help="Show the unconstrained text beside it.")] = False,
    trace: Annotated[
        Path | None, typer.Option("--trace", dir_okay=False, help="Save what happened at every step: .jsonl or .html.")
    ] = None,
) -> None:
    """Continue a prompt with a text of the grammar (without one: unconstrained).

    Exits with 0 if the text is complete, with 1 if --max-tokens cut it off.

    Example: derivable generate "Date: " --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    """
    chosen = grammar_of(regex, grammar, choices, builtin, start)
    if compare and chosen is None:
        raise typer.BadParameter("there is nothing to compare with; give --regex, --grammar, --choices or --builtin.")
    language_model = model_of(model)
    matcher = None if chosen is None else compile_grammar(chosen, language_model.vocabulary).matcher()
    prompt_ids = language_model.encode(encoded(prompt).decode("utf-8", "replace"))

    def run(matcher: Matcher | None, write: Callable[[str], object]) -> Generation:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        result = generate(
            language_model,
            prompt_ids,
            matcher,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            on_token=lambda _, data: write(decoder.decode(data)),
            trace=trace is not None,
        )
        write(decoder.decode(b"", final=True))
        return result

    if compare:
        constrained, other = Text(), Text()
        console = terminal()
        with Live(_side_by_side(constrained, other), console=console, refresh_per_second=12):
            result = run(matcher, constrained.append)
            run(None, other.append)
        if not console.is_terminal:
            console.print()
    else:
        result = run(matcher, _write)
        _write("\n")
    if trace is not None:
        result.trace.save(trace)
    complete = result.is_complete
    terminal(stderr=True).print(_figures(result, complete, matcher), soft_wrap=True)
    if not complete:
        raise typer.Exit(1)


def _figures(result: Generation, complete: bool, matcher: Matcher | None) -> Text:
    """One line about a generation."""
    stats = result.stats
    parts = [f"{len(result.token_ids)} tokens", f"{stats.tokens_per_second:,.0f} tokens/s"]
    if matcher is not None:
        parts += [
            f"mask {stats.mean_mask_seconds * 1e6:,.1f} µs a token",
            f"{stats.interventions} intervention{'s' * (stats.interventions != 1)}",
            f"{stats.forced} forced",
        ]
    ended = result.finish_reason == "stop"
    verdict = ("complete" if ended else "complete, cut off by --max-tokens") if complete else "incomplete: --max-tokens"
    return Text(" · ".join(parts) + " · ", style="dim").append(verdict, style="green" if complete else "red")


# --- check ------------------------------------------------------------------------------------------------------


@app.command()
def check(
    text: Annotated[str | None, typer.Argument(help="The text.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", exists=True, dir_okay=False, help="Or a file.")] = None,
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
) -> None:
    """Say whether a text is in the language, only the beginning of one that is, or where it fails.

    Exits with 0 if the text is in the language, otherwise with 1.

    Example: derivable check "2026-11-3" --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    """
    if (text is None) == (file is None):
        raise typer.BadParameter("give either TEXT or --file.")
    data = file.read_bytes() if file is not None else encoded(text or "")
    end_id = 256  # the vocabulary of all bytes, and an end token
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[end_id])
    matcher = compile_grammar(required(grammar_of(regex, grammar, choices, builtin, start)), vocabulary).matcher()
    fits = _advance_while_possible(matcher, data)
    console = terminal()
    if fits < len(data):
        line = data.count(b"\n", 0, fits) + 1
        column = len(_shown(data[data.rfind(b"\n", 0, fits) + 1 : fits])) + 1
        place = f" {data[fits : fits + 1]!r} cannot stand at byte {fits} (line {line}, column {column})"
        console.print(Text("✘ not in the language:", style="red").append(place), soft_wrap=True)
        console.print(_caret(data, fits), soft_wrap=True)
    elif matcher.is_accepting:
        console.print(Text("✔ in the language", style="green"))
    else:
        console.print(Text("… a prefix of the language, not complete", style="yellow"))
    following = matcher.next_bytes()
    ends = ["the end"] if matcher.is_accepting else []
    rows = [("may follow", ", or ".join(([_byte_ranges(following)] if following else []) + ends) or "nothing")]
    terminals = _terminals_after(matcher, following, end_id)
    if terminals and grammar is not None:
        rows.append(("as part of", ", ".join(terminals)))
    console.print(facts(rows))
    if fits < len(data) or not matcher.is_accepting:
        raise typer.Exit(1)


def _advance_while_possible(matcher: Matcher, data: bytes) -> int:
    """Advances over as much as fits; returns how many bytes."""
    at, size = 0, 4096
    while at < len(data):
        try:
            matcher.advance_bytes(data[at : at + size])
            at += size
        except TokenRejectedError:
            if size == 1:
                return at
            size = max(1, size // 8)
    return len(data)


def _terminals_after(matcher: Matcher, following: bytes, end_id: int) -> list[str]:
    """The terminals that the next byte may belong to."""
    names: dict[str, None] = {}
    for byte in following:
        probe = matcher.fork()
        probe.advance_bytes(bytes([byte]))
        names.update(dict.fromkeys(probe.explain(end_id).lexeme))
    return list(names)


def _caret(data: bytes, offset: int, width: int = 60) -> Text:
    """The line with the byte at `offset`, and a caret under it."""
    first = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    before = _shown(data[first:offset])[-width:]
    after = _shown(data[offset : len(data) if end < 0 else end])[:width]
    return Text(f"  {before}{after}\n  {' ' * cell_len(before)}").append("^", style="bold red")


def _shown(data: bytes) -> str:
    """Bytes as one line of text: one replacement character for what is not printable."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "\ufffd" for c in data.decode("utf-8", "replace"))


def _byte_ranges(data: bytes) -> str:
    """Bytes as ranges: `'0'-'9' 'a' \\x80-\\xff`."""
    ranges: list[list[int]] = []
    for byte in data:
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    return " ".join(_byte(a) if a == b else f"{_byte(a)}{'-' if b > a + 1 else ' '}{_byte(b)}" for a, b in ranges)


def _byte(byte: int) -> str:
    return repr(chr(byte)) if 32 <= byte < 127 else {9: r"\t", 10: r"\n", 13: r"\r"}.get(byte, f"\\x{byte:02x}")


# --- mask and vocab ---------------------------------------------------------------------------------------------


@app.command()
def mask(
    text: Annotated[str, typer.Argument(help="The text so far; may be empty.")] = "",
    regex: RegexOption = None,
    grammar: GrammarOption = None,
    choices: ChoicesOption = None,
    builtin: BuiltinOption = None,
    start: StartOption = None,
    tokenizer: TokenizerOption = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="Show so many of them.")] = 20,
) -> None:
    """Show which tokens of a vocabulary may come after a text.

    Example: derivable mask "20" --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    """
    vocabulary = vocabulary_of(tokenizer)
    matcher = compile_grammar(required(grammar_of(regex, grammar, choices, builtin, start)), vocabulary).matcher()
    data = encoded(text)
    fits = _advance_while_possible(matcher, data)
    if fits < len(data):
        raise TokenRejectedError(None, data[fits : fits + 1], f"byte {fits} of the text")
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
        label = f"end of text {names.get(token_id, '')}".rstrip() if token is None else _quoted(token)
        table.add_row(str(token_id), Text(label))
    console.print(table)
    if len(allowed) > limit:
        console.print(f"... and {len(allowed) - limit:,} more (--limit)", highlight=False, style="dim")


@app.command()
def vocab(
    path: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            help=TOKENIZERS,
        ),
    ] = None,
) -> None:
    """Show facts about a tokenizer's vocabulary: size, special tokens, duplicates, bytes that cannot be spelled."""
    vocabulary = vocabulary_of(path)
    described = vocabulary.describe()
    rows = []
    for name, value in described.items():
        shown = f"{value:,}" if type(value) is int else str(value)
        if isinstance(value, bytes):  # the longest token; often a row of blanks
            shown = f"{len(value)} bytes: {_quoted(value[:40])}{' ...' * (len(value) > 40)}"
        rows.append((name.replace("_", " "), shown))
    terminal().print(facts(rows))
    if vocabulary.special_ids:
        shown = ", ".join(f"{text} ({i})" for text, i in list(vocabulary.special_ids.items())[:12])
        more = len(vocabulary.special_ids) - 12
        terminal().print(facts([("special tokens", shown + (f", and {more} more" if more > 0 else ""))]))


def _quoted(data: bytes) -> str:
    """A token's text in quotes, or its bytes where it is not whole characters."""
    try:
        return json.dumps(data.decode("utf-8"), ensure_ascii=False)
    except UnicodeDecodeError:
        return repr(data)


app.command("measure")(measure_command)
app.command("trace")(trace_command)


# --- demo -------------------------------------------------------------------------------------------------------


_TRACED = 5  # the case whose steps are saved as a page


@app.command()
def demo() -> None:
    """Run the embedded model with and without a grammar, side by side, and check what comes out.

    Every constrained text must end by itself and be accepted by a checker that is not Derivable (re, json,
    sqlite3, ...); otherwise the exit code is 1. Prompts and seeds are fixed, and chosen so that the difference shows.
    """
    console = terminal()
    model = model_of(None)
    failed = tokens = interventions = 0
    mask_seconds = 0.0
    for number, case in enumerate(CASES, 1):
        matcher = compile_grammar(case.grammar(), model.vocabulary).matcher()
        results = [
            generate(
                model,
                model.encode(case.prompt),
                each,
                max_tokens=case.max_tokens,
                temperature=case.temperature,
                seed=case.seed,
                trace=number == _TRACED,
            )
            for each in (matcher, None)
        ]
        verdicts = [result.finish_reason == "stop" and case.check(result.text) for result in results]
        console.rule(Text(f"{number}. {case.title}", style="bold"), align="left")
        console.print(Text("prompt: ", style="dim").append(json.dumps(case.prompt, ensure_ascii=False)))
        console.print(
            _side_by_side(
                *(Text(result.text) for result in results),
                marks=[_mark(*pair) for pair in zip(verdicts, results, strict=True)],
                checked_by=case.checked_by,
            )
        )
        console.print(_figures(results[0], verdicts[0], matcher), soft_wrap=True)
        if number == _TRACED:
            page = Path(tempfile.mkdtemp()) / "trace.html"
            results[0].trace.save(page)
            console.print(Text(f"every step of it: {page.as_uri()}", style="dim"), soft_wrap=True)
        failed += not verdicts[0]
        tokens += results[0].stats.steps
        interventions += results[0].stats.interventions
        mask_seconds += results[0].stats.mask_seconds
    console.rule()
    console.print(
        Text(f"{len(CASES) - failed} of {len(CASES)} constrained texts valid", style="red" if failed else "green")
        .append(f" · {tokens} tokens · mask {mask_seconds / max(1, tokens) * 1e6:,.1f} µs a token", style="dim")
        .append(f" · {interventions} interventions", style="dim"),
        soft_wrap=True,
    )
    if failed:
        raise typer.Exit(1)


def _mark(valid: bool, result: Generation) -> Text:
    """A check mark or a cross."""
    if valid:
        return Text("✔ valid", style="green")
    return Text("✘ not valid" if result.finish_reason == "stop" else "✘ did not end in time", style="red")


# --- shared -----------------------------------------------------------------------------------------------------


def _write(text: str) -> None:
    """Writes to standard output at once, without any formatting."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _side_by_side(constrained: Text, other: Text, *, marks: list[Text] | None = None, checked_by: str = "") -> Table:
    """Two panels beside each other."""
    grid = Table.grid(expand=True)
    panels = []
    for index, (title, text) in enumerate([("constrained", constrained), ("unconstrained", other)]):
        grid.add_column(ratio=1)
        mark = marks[index].copy().append(f" ({checked_by})", style="dim") if marks else None
        style = "green" if index == 0 else "dim"
        panels.append(
            Panel(text, title=title, title_align="left", subtitle=mark, subtitle_align="right", border_style=style)
        )
    grid.add_row(*panels)
    return grid


def main() -> None:
    """Entry point of the `derivable` command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character gets a question mark, no crash
            stream.reconfigure(errors="replace")
    app(prog_name="derivable")


if __name__ == "__main__":
    main()
