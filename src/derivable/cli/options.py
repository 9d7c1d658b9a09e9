"""What the commands of the command line have in common: options, and what they stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..decoding.models import TinyLanguageModel, TransformersLanguageModel, tiny
from ..errors import GrammarError
from ..grammar import Grammar
from ..tiny import tokenizer_path
from ..vocabulary import Vocabulary

__all__ = [
    "TOKENIZERS",
    "BuiltinOption",
    "ChoicesOption",
    "GrammarOption",
    "ModelOption",
    "ProfileOption",
    "RegexOption",
    "StartOption",
    "TokenizerOption",
    "encoded",
    "facts",
    "grammar_of",
    "model_of",
    "required",
    "terminal",
    "vocabulary_of",
]

_GRAMMARS = (
    "A grammar file: .lark, .gbnf (llama.cpp's), .ebnf (xgrammar's), or .json (a JSON Schema or structural tag)."
)
_PROFILES = (
    "Of a JSON Schema (.json): practical, JSON as it is written (default); or spec, all that the specification allows."
)
ProfileOption = Annotated[str, typer.Option("--profile", help=_PROFILES)]
RegexOption = Annotated[
    str | None, typer.Option("--regex", "-r", help="A regular expression in Python's syntax, for the whole text.")
]
GrammarOption = Annotated[
    Path | None,
    typer.Option("--grammar", "-g", exists=True, dir_okay=False, help=_GRAMMARS),
]
_CHOICES = "The possible texts, separated by commas; blanks around them do not count."
ChoicesOption = Annotated[str | None, typer.Option("--choices", "-c", help=_CHOICES)]
_BUILTINS = "A grammar that comes with the library: json, python, go, java, ..."
BuiltinOption = Annotated[str | None, typer.Option("--builtin", "-b", help=_BUILTINS)]
StartOption = Annotated[
    str | None,
    typer.Option(help="The rule of --grammar to begin with (by default start in .lark, root in .gbnf and .ebnf)."),
]
TOKENIZERS = "tokenizer.json or its folder, a SentencePiece .model, or a .gguf file (by default the embedded model's)."
TokenizerOption = Annotated[
    Path | None,
    typer.Option("--tokenizer", "-t", exists=True, help=TOKENIZERS),
]
ModelOption = Annotated[
    Path | None, typer.Option("--model", "-m", help="Folder of a transformers model (by default the embedded one).")
]


def terminal(*, stderr: bool = False) -> Console:
    """A console on the current standard stream; plain text where that is no terminal."""
    return Console(stderr=stderr)


def encoded(argument: str) -> bytes:
    """The bytes of a command-line argument as they were given."""
    return argument.encode("utf-8", "surrogateescape")


def facts(rows: list[tuple[str, str]]) -> Table:
    """Names and values in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def grammar_of(
    regex: str | None,
    grammar: Path | None,
    choices: str | None,
    builtin: str | None,
    start: str | None,
    profile: str = "practical",
    *,
    warn: bool = True,
) -> Grammar | None:
    """The grammar that the options ask for; `None` without any. Its warnings go to standard error."""
    made = _grammar_of(regex, grammar, choices, builtin, start, profile)
    for warning in made.warnings if made is not None and warn else ():
        terminal(stderr=True).print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)
    return made


def _grammar_of(
    regex: str | None, grammar: Path | None, choices: str | None, builtin: str | None, start: str | None, profile: str
) -> Grammar | None:
    if sum(option is not None for option in (regex, grammar, choices, builtin)) > 1:
        raise typer.BadParameter("give only one of --regex, --grammar, --choices and --builtin.")
    if start is not None and grammar is None:
        raise typer.BadParameter("--start names a rule of --grammar; give both.")
    if regex is not None:
        return Grammar.from_regex(regex)
    if choices is not None:
        return Grammar.from_choices([choice.strip(" ") for choice in choices.split(",")])
    if builtin is not None:
        return Grammar.builtin(builtin)
    return None if grammar is None else grammar_file(grammar, start, profile)


def required(grammar: Grammar | None) -> Grammar:
    if grammar is None:
        raise typer.BadParameter("give a grammar: --regex, --grammar, --choices or --builtin.")
    return grammar


def grammar_file(path: Path, start: str | None, profile: str = "practical") -> Grammar:
    """A grammar file, read as its suffix says."""
    if path.suffix not in (".lark", ".gbnf", ".ebnf", ".json"):
        raise GrammarError(
            f"{path.name}: the kind of grammar is told by the suffix, and {path.suffix or 'none'!r} is unknown",
            hint="Name the file .lark, .gbnf, .ebnf or .json.",
        )
    if start is not None and path.suffix == ".json":
        raise typer.BadParameter("--start names a rule, and a .json file has none.")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise GrammarError(f"{path.name} is not UTF-8 (byte {error.start})", hint="Save it as UTF-8.") from error
    if path.suffix == ".lark":
        return Grammar.from_lark(text, start=start or "start", import_paths=[str(path.resolve().parent)])
    if path.suffix == ".ebnf":
        return Grammar.from_ebnf(text, root=start or "root")
    if path.suffix == ".json":
        make = Grammar.from_structural_tag if _is_structural_tag(text) else Grammar.from_json_schema
        return make(text, profile=cast(Literal["spec", "practical"], profile))
    return Grammar.from_gbnf(text, start=start or "root")


def _is_structural_tag(text: str) -> bool:
    """Whether JSON text is a structural tag, and not a schema."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False  # the front end of schemas says what is wrong
    return isinstance(value, dict) and (value.get("type") == "structural_tag" or "structures" in value)


def vocabulary_of(path: Path | None) -> Vocabulary:
    """The vocabulary in a file, read as its suffix says; that of the embedded model without one."""
    if path is not None and path.suffix == ".model":
        return Vocabulary.from_sentencepiece(str(path))
    if path is not None and path.suffix == ".gguf":
        return Vocabulary.from_gguf(path)
    return Vocabulary.from_tokenizer_json(path or tokenizer_path())


def model_of(path: Path | None) -> TinyLanguageModel | TransformersLanguageModel:
    """The model of a folder; the embedded one without."""
    return tiny() if path is None else TransformersLanguageModel(path)
