"""No valid token masked: every real program that its language accepts, token by token, with every vocabulary.

    python benchmarks/exact.py

Before each token of a program the mask is filled and must allow it; after the last the mask must allow the end. The
programs are those that the real implementation of the language accepts (`tests/support/references.py`, which needs
gofmt, java and node).

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from first_mask import shared_folder, table
from rich.console import Console
from rich.progress import track

import derivable as dv


def valid(language: str, texts: list[str]) -> list[str]:
    """Those that the real implementation accepts."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    from references import REFERENCES  # type: ignore[import-not-found, unused-ignore]

    verdicts: list[bool] = REFERENCES[language]()([text.encode() for text in texts])
    return [text for text, accepted in zip(texts, verdicts) if accepted]


def refused(constraint: dv.Constraint, tokens: list[int], bitmask: Any) -> int | None:
    """The first token, by position, that the mask does not allow (`len(tokens)`: the end); None if all are."""
    m = constraint.matcher()
    for at, token in enumerate(tokens):
        m.fill_bitmask(bitmask)
        if not int(bitmask[0, token >> 5]) >> (token & 31) & 1:
            return at
        m.advance(token)
    return None if m.is_accepting else len(tokens)


def main(
    tokenizers: Annotated[str, typer.Option(help="Folders of shared/data/tokenizers.")] = "llama-2,llama-3,qwen-2",
    languages: Annotated[str, typer.Option()] = "go,java,javascript,python",
) -> None:
    """No valid token masked, on real programs."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing checked")
        return
    rows = []
    for language in languages.split(","):
        lines = (shared / "data" / "programs" / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
        texts = valid(language, [json.loads(line)["text"] for line in lines])
        for tokenizer in tokenizers.split(","):
            path = shared / "data" / "tokenizers" / tokenizer / "tokenizer.json"
            vocabulary = dv.Vocabulary.from_tokenizer_json(path)
            constraint = dv.compile(dv.Grammar.builtin(language), vocabulary)
            bitmask = dv.allocate_bitmask(1, vocabulary.size)
            masks = wrong = 0
            for text in track(texts, f"{language} {tokenizer}", console=Console(stderr=True)):
                tokens = vocabulary.encode(text)
                at = refused(constraint, tokens, bitmask)
                masks += len(tokens)
                if at is not None:
                    wrong += 1
                    before = b"".join(vocabulary.token_bytes(token) or b"" for token in tokens[:at])[-60:]
                    console.print(f"{language} {tokenizer}: refused behind {before!r}", markup=False)
            rows.append([language, tokenizer, f"{len(texts)} of {len(lines)}", f"{masks:,}", str(wrong)])
            console.print(*rows[-1], sep="  ", markup=False)
    header = ["language", "vocabulary", "programs the language accepts", "masks", "programs with a valid token masked"]
    console.print(table(header, rows), markup=False, soft_wrap=True)
    if any(row[-1] != "0" for row in rows):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
