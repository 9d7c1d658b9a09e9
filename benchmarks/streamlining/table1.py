"""Table 1 of GreatGramma (Park et al. 2025) measured again: full preprocessing, then programs token by token.

    python benchmarks/streamlining/table1.py --peers PEERS/bin/python --old-outlines OLD/bin/python -t llama-2 -o record

The grammars are SynCode's (Go, Java, Python), on which the paper's table was measured, and the programs the first five
of each language that Lark's own LALR parser takes by them. Each engine prepares all that it can, and then makes the
mask before every token; a program whose own token is masked is marked, and not averaged in. Each engine runs in a
process of its own, those from the registry with the interpreter of an environment that they are installed in:

    python -m venv PEERS && PEERS/bin/pip install torch llguidance xgrammar outlines syncode
    python -m venv OLD && OLD/bin/pip install torch "outlines==0.1.14" "transformers<4.50" "lark<1.3" sentencepiece

SynCode is given its own name of the language, for it has a parser of its own behind Python's and Go's. Processor time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import process_time
from typing import Any

ENGINES = {
    "derivable": "Derivable, ahead of time",
    "derivable-lazy": "Derivable, as texts come",
    "syncode": "SynCode",
    "llguidance": "llguidance",
    "xgrammar": "XGrammar",
    "outlines": "Outlines",
}
LANGUAGES = ("go", "java", "python")
OUT_OF_TIME = "out of time"
Mask = Callable[[list[int], int], tuple[bool, bool]]
"""Makes the mask before a token: (the token is in it, so is every other)."""


def data_folder() -> Path:
    return Path(os.environ.get("DERIVABLE_SHARED", Path(__file__).parents[2] / ".." / "shared")) / "data"


def accepted_programs(language: str, count: int) -> list[str]:
    """The first programs that Lark takes by the grammar."""
    import lark
    from lark.indenter import PythonIndenter

    class Indenter(PythonIndenter):
        NL_type = "_NL"
        tab_len = 4

    grammar = (data_folder() / "grammars" / "syncode" / f"{language}.lark").read_text(encoding="utf-8")
    parser = lark.Lark(grammar, parser="lalr", start="start", postlex=Indenter() if language == "python" else None)
    found: list[str] = []
    with (data_folder() / "programs" / f"{language}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"].rstrip("\n") + "\n"
            try:
                parser.parse(text)
            except lark.exceptions.LarkError:
                continue
            found.append(text)
            if len(found) == count:
                break
    return found


def derivable(task: dict[str, Any], ahead: bool) -> tuple[float, Mask]:
    import derivable as dv

    vocabulary = dv.Vocabulary.from_tokenizer_json(task["tokenizer"])
    began = process_time()
    grammar = dv.Grammar.from_lark(task["grammar"])
    constraint = dv.compile(grammar, vocabulary, ahead_of_time=ahead)
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    matcher = constraint.matcher()
    matcher.fill_bitmask(bitmask)

    def mask(before: list[int], token: int) -> tuple[bool, bool]:
        if before:
            matcher.advance(before[-1])
        else:
            matcher.reset()
        matcher.fill_bitmask(bitmask)
        return bool(bitmask[0, token // 32] >> (token % 32) & 1), False

    return process_time() - began, mask


def llguidance(task: dict[str, Any]) -> tuple[float, Mask]:
    import llguidance as peer
    import llguidance.hf
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
    from transformers import PreTrainedTokenizerFast

    tokenizer = llguidance.hf.from_tokenizer(PreTrainedTokenizerFast.from_pretrained(task["tokenizer"]))
    bitmask = allocate_token_bitmask(1, tokenizer.vocab_size)
    began = process_time()
    first = peer.LLMatcher(tokenizer, peer.LLMatcher.grammar_from_lark(task["grammar"]))
    if first.is_error() and "priority" in first.get_error():  # it has none; but what they settle may not matter here
        plain = re.sub(r"^(\w+)\.-?\d+\s*:", r"\1:", task["grammar"], flags=re.MULTILINE)
        first = peer.LLMatcher(tokenizer, peer.LLMatcher.grammar_from_lark(plain))
    if first.is_error():
        raise ValueError(first.get_error())
    fill_next_token_bitmask(first.deep_copy(), bitmask, 0)
    current = [first]

    def mask(before: list[int], token: int) -> tuple[bool, bool]:
        if before:
            current[0].consume_token(before[-1])
        else:
            current[0] = first.deep_copy()
        fill_next_token_bitmask(current[0], bitmask, 0)
        return bool(bitmask[0, token // 32] >> (token % 32) & 1), False

    return process_time() - began, mask


def xgrammar(task: dict[str, Any]) -> tuple[float, Mask]:
    import xgrammar as peer

    peer.Grammar.from_ebnf(task["grammar"], root_rule_name="start")
    raise ValueError("it reads a grammar in Lark's notation, which is not known of it")


def outlines(task: dict[str, Any]) -> tuple[float, Mask]:
    from importlib.metadata import version

    try:
        from outlines.fsm.guide import CFGGuide  # type: ignore[import-not-found]  # before 1.0
    except ImportError:
        raise ValueError(f"{version('outlines')} leaves grammars to llguidance; 0.1 had its own") from None
    from outlines.models.transformers import TransformerTokenizer  # type: ignore[import-not-found]
    from transformers import LlamaTokenizerFast

    tokenizer = TransformerTokenizer(LlamaTokenizerFast.from_pretrained(task["tokenizer"]))
    began = process_time()
    guide = CFGGuide(task["grammar"], tokenizer)
    state = [guide.initial_state]

    def mask(before: list[int], token: int) -> tuple[bool, bool]:
        state[0] = guide.get_next_state(state[0], before[-1]) if before else guide.initial_state
        return token in guide.get_next_instruction(state[0]).tokens, False

    return process_time() - began, mask


def syncode(task: dict[str, Any]) -> tuple[float, Mask]:
    os.environ["SYNCODE_CACHE"] = tempfile.mkdtemp() + "/"
    import torch
    from syncode import Grammar, SyncodeLogitsProcessor  # type: ignore[import-not-found]
    from transformers import PreTrainedTokenizerFast

    torch.set_num_threads(1)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(task["tokenizer"])
    began = process_time()
    processor = SyncodeLogitsProcessor(
        Grammar(task["language"]), tokenizer, use_cache=False, parse_output_only=True, mode="grammar_mask",
        indent=task["language"] == "python",
    )  # fmt: skip
    seconds = process_time() - began
    size = len(tokenizer)

    def mask(before: list[int], token: int) -> tuple[bool, bool]:
        if not before:
            processor.reset()
        scores = processor(torch.tensor([[1, *before]]), torch.zeros(1, size))
        return bool(scores[0, token] == 0), bool((scores == 0).all())

    return seconds, mask


def run(engine: str, task: dict[str, Any]) -> dict[str, Any]:
    """One engine, one grammar: what came of it."""
    prepare: dict[str, Callable[[dict[str, Any]], tuple[float, Mask]]] = {
        "derivable": lambda t: derivable(t, ahead=True),
        "derivable-lazy": lambda t: derivable(t, ahead=False),
        "llguidance": llguidance, "syncode": syncode, "xgrammar": xgrammar, "outlines": outlines,
    }  # fmt: skip
    try:
        offline, mask = prepare[engine](task)
    except Exception as error:  # whatever a peer raises is its answer
        return {"loads": False, "why": str(error).strip().splitlines()[0][:160] if str(error) else repr(error)}
    programs = []
    began = process_time()
    for ids in task["programs"]:
        spent, masked, free, why = 0.0, 0, 0, ""
        for place, token in enumerate(ids):
            before = process_time()
            try:
                allowed, everything = mask(ids[:place], token)
            except Exception as error:
                masked, why = masked + 1, repr(error)[:120]
                break
            spent += process_time() - before
            masked += not allowed
            free += everything
            if not allowed and engine != "syncode":  # it goes by the text alone
                break
            if process_time() - began > task["seconds"]:
                why = OUT_OF_TIME
                break
        tokens = place + 1
        programs.append(
            {"tokens": tokens, "us": 1e6 * spent / tokens, "masked": masked, "all allowed": free, "why": why}
        )
    return {"loads": True, "offline": offline, "programs": programs}


def cells(found: dict[str, Any]) -> list[str]:
    """Of a row: seconds offline, the geometric mean of accepted programs, programs rejected, tokens masked."""
    if not found.get("loads"):
        return ["", "", "", found.get("why", "")]
    good = [p for p in found["programs"] if not p["masked"] and p["why"] in ("", OUT_OF_TIME) and not p["all allowed"]]
    mean = math.exp(sum(math.log(p["us"]) for p in good) / len(good)) if good else None
    free = sum(p["all allowed"] for p in found["programs"])
    notes = [f"{sum(p['masked'] for p in found['programs'])} of {sum(p['tokens'] for p in found['programs'])}"]
    notes += [f"gave up (all tokens allowed) at {free}"] * bool(free)
    notes += sorted({p["why"] for p in found["programs"] if p["why"]})
    return [
        f"{found['offline']:.2f}",
        "" if mean is None else f"{mean / 1e3:.3f}",
        f"{len(found['programs']) - len(good)} of {len(found['programs'])}",
        "; ".join(notes),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="the interpreter of the environment with the peers")
    parser.add_argument("--old-outlines", type=Path, help="that of one with outlines<1, which had a parser of its own")
    parser.add_argument("-t", "--tokenizer", default="llama-2", help="a folder of the shared tokenizers")
    parser.add_argument("-e", "--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("-g", "--languages", nargs="+", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("-n", "--programs", type=int, default=5)
    parser.add_argument("--hours", type=float, default=1.0, help="of preparing, for one engine and grammar")
    parser.add_argument("--seconds", type=float, default=600, help="of masks, for one engine and grammar")
    parser.add_argument("-o", "--output", type=Path, help="a folder for the figures")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(options.one, json.load(sys.stdin))))
        return
    from tokenizers import Tokenizer

    folder = data_folder() / "tokenizers" / options.tokenizer
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    table = [
        "| grammar | engine | offline, s | a token, ms | programs rejected | valid tokens masked |",
        "|---|---|---:|---:|---:|---|",
    ]
    print(*table, sep="\n")
    figures: dict[str, Any] = {}
    for language in options.languages:
        task = {
            "language": language,
            "grammar": (data_folder() / "grammars" / "syncode" / f"{language}.lark").read_text(encoding="utf-8"),
            "tokenizer": str(folder.resolve()),
            "seconds": options.seconds,
            "programs": [
                tokenizer.encode(text, add_special_tokens=False).ids
                for text in accepted_programs(language, options.programs)
            ],
        }
        for engine in options.engines:
            peers = options.old_outlines if engine == "outlines" and options.old_outlines else options.peers
            python = sys.executable if engine.startswith("derivable") or peers is None else str(peers.absolute())
            try:
                done = subprocess.run(
                    [python, str(Path(__file__).resolve()), "--one", engine], input=json.dumps(task),
                    capture_output=True, text=True, cwd=tempfile.mkdtemp(), timeout=3600 * options.hours,
                )  # fmt: skip
                found = (
                    json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"why": done.stderr[-160:]}
                )
            except subprocess.TimeoutExpired:
                found = {"why": f"not ready after {options.hours:g} hours"}
            figures[f"{language}, {engine}"] = found
            table.append("| " + " | ".join([language, ENGINES[engine], *cells(found)]) + " |")
            print(table[-1], flush=True)
            if options.output is not None:
                options.output.mkdir(parents=True, exist_ok=True)
                about = f"`python {' '.join(sys.argv)}`, {date.today()}, {platform.machine()}, {options.tokenizer}\n\n"
                name = options.output / f"table1-{options.tokenizer}"
                name.with_suffix(".md").write_text(about + "\n".join(table) + "\n", encoding="utf-8")
                name.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
