"""What a mask costs with a vocabulary of real size, by llama.cpp, llguidance and ours: texts are followed, not written.

The tokenizer splits each text, every engine is asked for the mask before each token (*mask first*), or about the token
alone (*token first*, which is what it costs as long as the model's own token is never refused), and takes the token.
Processor time of one thread. Each order begins with engines that remember nothing yet, and what the first text costs
more is counted. Masks are compared without the end of the text, for which libraries have tokens of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from ggml import vocabulary_written
from others_grammars import gbnf, guidance_grammar
from peers import Checker, LlamaChecker, LlguidanceChecker, OurChecker
from workloads import SHARED, workloads

import derivable as dv


def mask_costs(name: str, files: Path, texts: Mapping[str, list[bytes]]) -> str:
    """A table for one of the shared tokenizers, in Markdown."""
    folder = SHARED / "data" / "tokenizers" / name
    vocabulary = dv.Vocabulary.from_tokenizer_json(folder)
    made: Any = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    end = vocabulary.eos_ids[0]
    text = np.array([token is not None for token in vocabulary.tokens])
    file = vocabulary_written(files / f"{name}.gguf", folder / "tokenizer.json", vocabulary.size, end)
    wrapped = import_module("transformers").PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=made.id_to_token(end)
    )
    other = import_module("llguidance.hf").from_tokenizer(wrapped, n_vocab=vocabulary.size)
    grammars = {workload.name: workload.grammar for workload in workloads(list(texts), for_tiny=True, prompts_each=1)}
    lines = [
        f"## What a mask costs with {name} ({vocabulary.size:,} tokens)\n",
        "| workload | engine | tokens | mask first, µs mean / p50 / p99 | token first | masks as ours |",
        "|---|---|---|---|---|---|",
    ]
    for workload, listed in texts.items():
        engines: dict[str, Callable[[], Checker]] = {
            "ours": lambda name=workload: OurChecker(dv.compile(grammars[name](), vocabulary)),  # type: ignore[misc]
            "llguidance": partial(LlguidanceChecker, other, guidance_grammar(workload).ll_grammar()),
            "llama.cpp": partial(LlamaChecker, file, gbnf(workload), vocabulary.size),
        }
        ids = [made.encode(one.decode("utf-8", "ignore"), add_special_tokens=False).ids for one in listed]
        expected: list[Any] = []
        for title, made_anew in engines.items():
            every, masks = _followed(made_anew(), ids, mask_first=True)
            alone, _ = _followed(made_anew(), ids, mask_first=False)
            expected = expected or masks
            equal = sum(bool((one == two)[text].all()) for one, two in zip(masks, expected, strict=False))
            lines.append(
                f"| {workload} | {title} | {len(masks)} | {_shown(every)} | {_shown(alone)} "
                f"| {equal if len(masks) == len(expected) else ''} |"
            )
    return "\n".join(lines) + "\n"


def _followed(engine: Checker, texts: list[list[int]], mask_first: bool) -> tuple[list[float], list[Any]]:
    """Seconds a token, and the masks."""
    seconds, masks = list[float](), list[Any]()
    for ids in texts:
        engine.restart()
        for token in ids:
            started = process_time()
            if mask_first:
                allowed = engine.allowed()
                fits = bool(allowed[token])
            else:
                fits = engine.allows(token)
            if not fits:
                break  # its language has no such text: the keys of a schema come in another order
            engine.accept(token)
            seconds.append(process_time() - started)
            if mask_first:
                masks.append(allowed)
    return seconds, masks


def _shown(seconds: list[float]) -> str:
    """Mean, median and p99 in microseconds."""
    if not seconds:
        return ""
    values = np.array(seconds) * 1e6
    return " / ".join(f"{value:,.0f}" for value in (values.mean(), *np.percentile(values, [50, 99])))
