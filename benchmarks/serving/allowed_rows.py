"""What a model's step takes when only the logits of the allowed tokens are computed.

    python benchmarks/serving/allowed_rows.py ../shared/data/tokenizers/llama-3/tokenizer.json --schemas 100

First a step of a random Llama by how many rows of its output layer are multiplied; then steps along the valid documents
of MaskBench schemas, each with all rows and, where the mask is small enough, with the rows of the mask. Weights are
random, so nothing is said about texts; the time of a step does not depend on them. One thread, thread time.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from pathlib import Path
from time import thread_time

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

import derivable as dv
from derivable.decoding.models import TransformersState
from derivable.decoding.output_layer import OutputLayer
from derivable.errors import DerivableError

PREFIX = 50
"""Tokens before the document."""


def model_of(size: int, hidden: int, layers: int, heads: int = 8) -> torch.nn.Module:
    """A Llama whose input and output embeddings are one matrix."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=size,
        hidden_size=hidden,
        intermediate_size=hidden * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    return transformers.LlamaForCausalLM(config).eval()


def timed(state: TransformersState, token_id: int, few: np.ndarray | None) -> tuple[float, np.ndarray]:
    """Milliseconds of a step, and the logits behind it; the step is taken back."""
    began = thread_time()
    rows = state.append([token_id]) if few is None else state.append_few([token_id], few)
    spent = thread_time() - began
    state.truncate(state.length - 1)
    return spent * 1e3, rows[-1]


def by_size(state: TransformersState, size: int, rounds: int) -> None:
    """A table: rows, milliseconds of a step."""
    sizes = [None, *(1 << power for power in range(0, size.bit_length(), 2)), size // 16, size // 8]
    draw = np.random.default_rng(0)
    print("| rows | ms of a step |\n|---:|---:|")
    for count in sorted({s for s in sizes if s is not None}):
        few = np.sort(draw.choice(size, count, replace=False)).astype(np.int32)
        print(f"| {count:,} | {np.median([timed(state, 5, few)[0] for _ in range(rounds)]):.1f} |", flush=True)
    print(f"| all {size:,} | {np.median([timed(state, 5, None)[0] for _ in range(rounds)]):.1f} |\n", flush=True)


def along_documents(state: TransformersState, vocabulary: dv.Vocabulary, options: argparse.Namespace) -> None:
    """Steps of documents, with all rows and with few."""
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    whole, narrow, few_steps, same, small = [], [], 0, 0, 0
    schemas = 0
    for line in options.maskbench.read_text(encoding="utf-8").splitlines():
        if schemas == options.schemas:
            break
        case = json.loads(line)
        valid = [test["data"] for test in case["tests"] if test["valid"]]
        try:
            constraint = dv.compile(dv.Grammar.from_json_schema(case["schema"], profile="spec"), vocabulary)
        except DerivableError:
            continue
        if not valid:
            continue
        schemas += 1
        matcher = constraint.matcher()
        text = json.dumps(valid[0], ensure_ascii=False)
        for token_id in tokenizer.encode(text, add_special_tokens=False).ids[: options.longest]:
            began = thread_time()
            allowed = matcher.allowed_tokens()
            mask = (thread_time() - began) * 1e3
            time, logits = timed(state, token_id, None)
            whole.append(time)
            small += len(allowed) <= 4096
            if 0 < len(allowed) <= state.few:
                time, found = timed(state, token_id, allowed)
                few_steps += 1
                same += int(np.argmax(found)) == int(allowed[np.argmax(logits[allowed])])
            narrow.append(time + mask)
            matcher.advance(token_id)
    print(
        f"{schemas} schemas, {len(whole):,} steps: {small / len(whole):.0%} of the masks hold at most 4,096 tokens, "
        f"{few_steps / len(whole):.0%} few enough ({state.few:,}); of these the likeliest allowed token is the same in "
        f"{same:,} of {few_steps:,}.\n"
        f"ms of a step: all rows {np.mean(whole):.1f}, rows of the mask where they are few {np.mean(narrow):.1f} (the "
        f"mask included): {1 - np.mean(narrow) / np.mean(whole):.0%} less."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--maskbench", type=Path, default=Path("../shared/data/maskbench/dev.jsonl"))
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--schemas", type=int, default=100)
    parser.add_argument("--longest", type=int, default=40, help="tokens of a document")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    vocabulary = dv.Vocabulary.from_tokenizer_json(options.tokenizer)
    model = model_of(vocabulary.size, options.hidden, options.layers)
    weights = sum(p.numel() for p in model.parameters())
    print(
        f"`python {' '.join(sys.argv)}`, {date.today()}, {platform.machine()}, Python {platform.python_version()}, "
        f"torch {torch.__version__}, one thread\n\n{weights / 1e6:.0f} million weights, {vocabulary.size:,} tokens\n"
    )
    state = TransformersState(model, torch, OutputLayer(model, torch))
    state.append(list(range(100, 100 + PREFIX)))
    by_size(state, vocabulary.size, options.rounds)
    along_documents(state, vocabulary, options)


if __name__ == "__main__":
    main()
