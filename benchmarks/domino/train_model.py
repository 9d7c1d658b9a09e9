r"""Trains the model that accuracy is measured on: a Llama of 1.1 million parameters, for the problems of `tasks.py`.

    nice -n 19 python benchmarks/domino/train_model.py --out /tmp/domino-model --minutes 20

or for those of `sql_tasks.py`:

    nice -n 19 python benchmarks/domino/train_model.py --out /tmp/sql-model --minutes 20 --of sql

On a busy machine a training that would take too long can be stopped, and its last weights trained to an end in fewer
minutes (`--begin`).

Needs `torch` and `tokenizers`; one thread. The network is that of the embedded model (`training/train.py`), whose numpy
runs the weights (`model.py`). Documents are drawn from a seed; the learning rate follows the processor's clock, so
weights differ from run to run. Writes `weights.npz`, `tokenizer.json` and `training.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sql_tasks
import torch
import torch.nn.functional as F
from tasks import problems, written
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

sys.path.append(str(Path(__file__).resolve().parents[2] / "training"))

from train import Llama, Shape

SEED = 20261122
LONGEST = 224  # tokens of a document; longer ones are left out
# Llama 3's pattern without English contractions: numbers are one token as long as they have three digits, and a run of
# punctuation stays together, so `":`, `},` and `}, {"` become tokens that cross the terminals of JSON.
PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL = ["<|begin|>", "<|end|>"]


Documents = Callable[[int], Iterator[tuple[str, str]]]
"""Prompts and answers without end, of a seed."""


def answers(seed: int) -> Iterator[tuple[str, str]]:
    """Those of `tasks.py`."""
    rng = random.Random(seed)
    sources = {task: problems(task, seed, measured=False) for task in ("arithmetic", "entities")}
    while True:
        problem = next(sources["arithmetic" if rng.random() < 0.65 else "entities"])
        yield problem.prompt, written(problem, rng)


SOURCES: dict[str, Documents] = {"answers": answers, "sql": sql_tasks.documents}


def tokenizer(path: Path, entries: int, documents: Documents) -> Tokenizer:
    """A byte-level BPE of the documents."""
    made = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(PATTERN), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=entries, special_tokens=SPECIAL, show_progress=False, initial_alphabet=alphabet
    )
    source = documents(SEED)
    made.train_from_iterator(("".join(next(source)) for _ in range(20_000)), trainer)
    made.save(str(path))
    return made


def batches(made: Tokenizer, size: int, seed: int, documents: Documents) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens `[rows, length + 1]` and which of them are part of an answer; rows of a batch are of like length."""
    source, rng = documents(seed), random.Random(seed)
    while True:
        rows: list[tuple[list[int], int]] = []
        while len(rows) < 2048:
            prompt, answer = next(source)
            # Prompt and answer are tokenized apart, as they are when the model is asked.
            parts = made.encode_batch([prompt, answer], add_special_tokens=False)
            ids = [0, *parts[0].ids, *parts[1].ids, 1]
            if len(ids) <= LONGEST:
                rows.append((ids, 1 + len(parts[0].ids)))
        rows.sort(key=lambda row: len(row[0]))
        groups: list[list[tuple[list[int], int]]] = [[]]
        for row in rows:
            if (len(groups[-1]) + 1) * len(row[0]) > size:
                groups.append([])
            groups[-1].append(row)
        rng.shuffle(groups)
        for group in groups:
            width = max(len(ids) for ids, _ in group)
            tokens = np.ones((len(group), width), np.int64)
            weights = np.zeros((len(group), width), np.float32)
            for at, (ids, start) in enumerate(group):
                tokens[at, : len(ids)] = ids
                weights[at, 1 : len(ids)] = 0.1
                weights[at, start : len(ids)] = 1.0
            yield torch.from_numpy(tokens), torch.from_numpy(weights)


def begun_by(model: Llama, folder: Path) -> dict[str, float]:
    """Takes the weights of an earlier training; returns what it recorded."""
    with np.load(folder / "weights.npz") as archive:
        model.load_state_dict({name: torch.from_numpy(archive[f"model.{name}"]).float() for name in model.state_dict()})
    recorded: dict[str, float] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return recorded


def save(model: Llama, out: Path, record: dict[str, float]) -> None:
    """Weights as float16, with the configuration of the embedded model's runner."""
    config = asdict(model.shape) | {"max_position_embeddings": 512, "bos_token_id": 0, "eos_token_id": 1}
    arrays = {f"model.{name}": value.numpy().astype(np.float16) for name, value in model.state_dict().items()}
    np.savez(out / "weights.tmp.npz", config=np.frombuffer(json.dumps(config).encode(), np.uint8), **arrays)
    (out / "weights.tmp.npz").rename(out / "weights.npz")
    (out / "training.json").write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--of", choices=SOURCES, default="answers", help="what it is trained on")
    parser.add_argument("--begin", type=Path, help="a folder of an earlier training, whose weights are trained further")
    parser.add_argument("--minutes", type=float, default=20.0, help="of processor time")
    parser.add_argument("--entries", type=int, default=1024)
    parser.add_argument("--tokens", type=int, default=1024, help="of a batch")
    parser.add_argument("--rate", type=float, default=2.5e-3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    options.out.mkdir(parents=True, exist_ok=True)
    documents = SOURCES[options.of]
    if options.begin:
        made = Tokenizer.from_file(str(options.begin / "tokenizer.json"))
        made.save(str(options.out / "tokenizer.json"))
    else:
        made = tokenizer(options.out / "tokenizer.json", options.entries, documents)
    shape = Shape(made.get_vocab_size(), 160, 416, num_hidden_layers=3, num_attention_heads=5)
    model = Llama(shape)
    before = begun_by(model, options.begin) if options.begin else {"step": -1, "tokens": 0, "minutes": 0}
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters / 1e6:.2f}M parameters, {made.get_vocab_size()} entries", flush=True)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=options.rate, betas=(0.9, 0.97), fused=True)
    begun = saved = time.process_time()
    seen, mean, seed = 0, float("nan"), SEED + 2 + int(before["step"])
    for step, (tokens, weights) in enumerate(batches(made, options.tokens, seed, documents)):
        done = (time.process_time() - begun) / (options.minutes * 60)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * min(1, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * min(1, done)))
        logits = model(tokens[:, :-1])
        losses = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        weight = weights[:, 1:].flatten()
        loss = (losses * weight).sum() / weight.sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seen += tokens.numel()
        mean = loss.item() if mean != mean else 0.98 * mean + 0.02 * loss.item()
        spent = {"step": step + 1, "tokens": seen, "minutes": (time.process_time() - begun) / 60}
        record = {"loss": mean} | {name: before[name] + value for name, value in spent.items()}
        if step % 50 == 0:
            print(f"{step:6} {done:5.1%} {mean:.4f} {seen / (time.process_time() - begun):,.0f}/s", flush=True)
        if time.process_time() - saved > 120 or done >= 1:
            saved = time.process_time()
            save(model, options.out, record | {"parameters": parameters, "seed": SEED})
        if done >= 1:
            return


if __name__ == "__main__":
    main()
