"""Python programs as the argument of a tool call, in both directions.

    python benchmarks/tool_calls.py --tokenizer llama-3

*Programs*: each of MBXP's that `ast.parse` takes is written through `json.dumps` into a call as a family of models
writes it. Before each token the mask is filled and must allow it; after the last the text must be complete.

*Walks*: texts are drawn through the masks of the same grammar (`tests/support/walks.py`). Each complete one is read as
a call, its arguments by `json.loads`, and the program in them by `ast.parse`. Pieces of the walks, cut after random
tokens, are judged as well: the mask says whether the text may end there, and the three readers say whether it is a
call with a program. The grammar is that of the version of Python that runs this.

Two deviations of the grammar are known (docs/library.md): a joined line in the field of a format string, and one at
the beginning of the text before a line that is indented. They are counted by themselves.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import ast
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from first_mask import shared_folder, table
from languages import followed, is_python, python_programs
from rich.console import Console

import derivable as dv

CALLS = {
    "llama-3.1": ('{"name": "run", "parameters": ', "}"),
    "qwen-3": ('<tool_call>\n{"name": "run", "arguments": ', "}\n</tool_call>"),
    "deepseek-v3.1": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run<｜tool▁sep｜>",
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
}
"""What families of models write before the arguments of a call, and behind them."""


def grammar_of_call(family: str, version: str | None = None) -> dv.Grammar:
    """One call of a tool that runs Python."""
    code = {"type": "string", "contentMediaType": "text/x-python"}
    parameters = {"type": "object", "properties": {"code": code}, "required": ["code"]}
    tool = {"name": "run", "parameters": parameters}
    python = {"text/x-python": dv.Grammar.builtin("python", version=version)}
    one: dict[str, Any] = {"tool_choice": "required", "parallel": False}
    return dv.Grammar.from_tools([tool], family, special_tokens="text", contents=python, **one)


def written(family: str, program: str) -> str:
    begin, end = CALLS[family]
    return begin + json.dumps({"code": program}) + end


def program_in(family: str, text: str) -> str | None:
    """The program in a call, read by the standard library alone; None if the text is no call with one."""
    begin, end = CALLS[family]
    if not text.startswith(begin) or not text.endswith(end):
        return None
    try:
        arguments = json.loads(text.removeprefix(begin).removesuffix(end))
    except ValueError:
        return None
    return arguments["code"] if isinstance(arguments, dict) and list(arguments) == ["code"] else None


def is_call(family: str, text: str) -> bool:
    program = program_in(family, text)
    if program is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes and comparisons that look wrong
        return is_python(program)


def is_known(program: str | None) -> bool:
    """Whether `ast.parse` refuses a program for what docs/library.md says that the grammar allows."""
    try:
        ast.parse(program or "")
    except IndentationError:
        return (program or "").startswith("\\")
    except SyntaxError as error:
        return "f-string expression part cannot include a backslash" in str(error)
    return False


def walked(
    family: str,
    vocabulary: dv.Vocabulary,
    programs: list[str],
    walks: int,
    characters: int,
    show: Callable[[str], None],
) -> tuple[list[str], bool]:
    """A row of the table, by walks until there are so many texts and so many characters of them; and whether all
    agree."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    from walks import Walker  # type: ignore[import-not-found, unused-ignore]

    version = "3.12" if sys.version_info >= (3, 12) else "3.11"
    constraint = dv.compile(grammar_of_call(family, version), vocabulary)
    walker = Walker(constraint, [written(family, program) for program in programs])
    texts = length = refused = known = pieces = differ = seed = 0
    while texts < walks or length < characters:
        walk = walker.walk(seed, 1_000)
        seed += 1
        for piece, said in [*([(walk.complete, True)] if walk.complete else []), *walk.cuts]:
            text = piece.decode()
            wrong = is_call(family, text) != said
            if piece is walk.complete:
                texts, length, refused = texts + 1, length + len(text), refused + wrong
                known += wrong and is_known(program_in(family, text))
            else:
                pieces, differ = pieces + 1, differ + wrong
            if wrong:
                show(f"{family}: {'accepted' if said else 'refused'} by the mask only: {program_in(family, text)!r}")
    row = [family, f"{texts:,}", f"{length:,}", str(refused), str(known), f"{pieces:,}", str(differ)]
    return row, refused == known and not differ


def followed_programs(family: str, vocabulary: dv.Vocabulary, programs: list[str]) -> list[str]:
    """A row of the table: programs of which no token may be masked."""
    constraint, bitmask = dv.compile(grammar_of_call(family), vocabulary), dv.allocate_bitmask(1, vocabulary.size)
    times: list[float] = []
    refused = 0
    for program in programs:
        text = written(family, program)
        of_text, allowed = followed(constraint, vocabulary.encode(text), bitmask)
        assert program_in(family, text) == program
        times += of_text
        refused += not allowed
    times.sort()
    rank = [f"{times[int(len(times) * share)]:,.1f}" for share in (0.5, 0.99)]
    mean = sum(times) / len(times)
    return [family, str(len(programs)), str(refused), f"{len(times):,}", f"{mean:.1f}", *rank]


def main(
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    count: Annotated[int, typer.Option(help="Programs, of each family.")] = 2_000,
    walks: Annotated[int, typer.Option(help="Complete texts of walks, of each family.")] = 1_000,
    characters: Annotated[int, typer.Option(help="And characters of them at least.")] = 1_000_000,
    families: Annotated[str, typer.Option()] = ",".join(CALLS),
) -> None:
    """No valid program masked in a call, and no text allowed that is no call with a program."""
    console, shared = Console(stderr=True), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    programs = python_programs(shared, count)
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer)

    def show(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    of_programs, of_walks, all_agree = [], [], True
    for family in families.split(","):
        begin = time.perf_counter()
        of_programs.append(followed_programs(family, vocabulary, programs))
        show(f"{family}: {of_programs[-1]} ({time.perf_counter() - begin:.0f} s)")
        begin = time.perf_counter()
        row, agrees = walked(family, vocabulary, programs, walks, characters, show)
        of_walks.append(row)
        all_agree &= agrees
        show(f"{of_walks[-1]} ({time.perf_counter() - begin:.0f} s)")
    typer.echo(table(["family", "programs", "refused", "masks", "mean us", "p50", "p99"], of_programs))
    typer.echo()
    head = ["family", "texts", "characters", "refused", "joined lines", "pieces", "judged otherwise"]
    typer.echo(table(head, of_walks))
    if any(row[2] != "0" for row in of_programs) or not all_agree:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
