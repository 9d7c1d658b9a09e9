r"""Train the embedded model on a CPU, for a given number of minutes.

    nice -n 5 python train.py --data /tmp/tiny --tokenizer /tmp/tiny/tokenizer.json \
        --out /tmp/tiny/run --minutes 45

The learning rate follows the wall clock: a short warm-up, then a cosine that reaches zero when the time is
over, however fast the machine is. The last fifth of the time trains on sequences twice as long, so that the
rotary positions up to ``2 * --sequence`` are known. Checkpoints are written every few minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from generators.common import BOUNDARY
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Dimensions of the model; the names are those of a transformers ``LlamaConfig``."""

    vocab_size: int
    hidden_size: int = 192
    intermediate_size: int = 512
    num_hidden_layers: int = 4
    num_attention_heads: int = 6
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_attention_heads


class Block(nn.Module):
    """One Llama layer: attention and SwiGLU, each behind an RMS norm. Named as in transformers."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        h, m = shape.hidden_size, shape.intermediate_size
        self.shape = shape
        self.input_layernorm = nn.RMSNorm(h, eps=shape.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(h, eps=shape.rms_norm_eps)
        self.self_attn = nn.ModuleDict(
            {name: nn.Linear(h, h, bias=False) for name in ("q_proj", "k_proj", "v_proj", "o_proj")}
        )
        self.mlp = nn.ModuleDict(
            {
                "gate_proj": nn.Linear(h, m, bias=False),
                "up_proj": nn.Linear(h, m, bias=False),
                "down_proj": nn.Linear(m, h, bias=False),
            }
        )

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """``x`` is ``[batch, time, hidden]``; ``cos`` and ``sin`` are ``[time, head_dim]``."""
        batch, time_, hidden = x.shape
        y = self.input_layernorm(x)

        def heads(name: str) -> Tensor:
            z: Tensor = self.self_attn[name](y)
            return z.view(batch, time_, self.shape.num_attention_heads, self.shape.head_dim).transpose(1, 2)

        q, k, v = rotate(heads("q_proj"), cos, sin), rotate(heads("k_proj"), cos, sin), heads("v_proj")
        z = F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), is_causal=True)
        x = x + self.self_attn["o_proj"](z.transpose(1, 2).reshape(batch, time_, hidden))
        y = self.post_attention_layernorm(x)
        gated = F.silu(self.mlp["gate_proj"](y)) * self.mlp["up_proj"](y)
        return x + cast(Tensor, self.mlp["down_proj"](gated))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding, the halves of a head being the pairs (the convention of transformers)."""
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class Llama(nn.Module):
    """The whole network, with tied embeddings."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.num_hidden_layers))
        self.norm = nn.RMSNorm(shape.hidden_size, eps=shape.rms_norm_eps)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * shape.num_hidden_layers) if deep else 1.0))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits ``[batch, time, vocab]`` for ``ids`` ``[batch, time]``."""
        half = self.shape.head_dim // 2
        frequencies = self.shape.rope_theta ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.outer(torch.arange(ids.shape[1], dtype=torch.float32), frequencies)
        cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return F.linear(self.norm(x), self.embed_tokens.weight)


def encode(tokenizer: Tokenizer, path: Path, seed: int, split: float = 0.35) -> tuple[NDArray[np.uint16], int]:
    """All documents as one token array ``[tokens]``, each between begin and end, and their bytes.

    Where a document marks the beginning of an answer, its sides are encoded apart with probability ``split``.
    """
    rng = random.Random(seed)
    begin, end = (int(tokenizer.token_to_id(text) or 0) for text in ("<|begin|>", "<|end|>"))
    ids: list[int] = []
    size = 0
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            parts = json.loads(line).split(BOUNDARY)
            size += sum(len(part.encode()) for part in parts)
            pieces = [parts[0]]
            for part in parts[1:]:
                if rng.random() < split:
                    pieces.append(part)
                else:
                    pieces[-1] += part
            ids.append(begin)
            for encoding in tokenizer.encode_batch(pieces, add_special_tokens=False):
                ids += encoding.ids
            ids.append(end)
    return np.array(ids, dtype=np.uint16), size


def batch(data: NDArray[np.uint16], starts: NDArray[np.int64], length: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets ``[batch, length]`` from the given offsets."""
    rows = torch.from_numpy(np.stack([data[s : s + length + 1].astype(np.int64) for s in starts]))
    return rows[:, :-1], rows[:, 1:]


@torch.no_grad()
def evaluate(model: nn.Module, data: NDArray[np.uint16], length: int) -> float:
    """Mean loss in nats per token over the whole of ``data``, in windows of ``length``."""
    starts = np.arange(0, len(data) - length - 1, length)
    total = 0.0
    for i in range(0, len(starts), 16):
        x, y = batch(data, starts[i : i + 16], length)
        total += F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() * len(x)
    return total / len(starts)


def main() -> None:
    """Train; write ``checkpoint.pt`` and ``log.json`` to ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="start from the weights of this checkpoint")
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--sequence", type=int, default=512)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2.5e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--checkpoint-minutes", type=float, default=4.0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    options.out.mkdir(parents=True, exist_ok=True)

    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    data, train_bytes = encode(tokenizer, options.data / "train.jsonl", seed=1)
    held_out, held_out_bytes = encode(tokenizer, options.data / "val.jsonl", seed=2)
    bits = held_out_bytes and len(held_out) / held_out_bytes / math.log(2)
    train_bits = len(data) / train_bytes / math.log(2)
    model = Llama(Shape(vocab_size=tokenizer.get_vocab_size()))
    if options.resume:
        model.load_state_dict(torch.load(options.resume, weights_only=True)["model"])
    parameters = sum(p.numel() for p in model.parameters())
    print(
        f"{parameters / 1e6:.2f}M parameters, {len(data) / 1e6:.2f}M tokens, {train_bytes / 1e6:.1f} MB",
        flush=True,
    )

    decayed = [p for p in model.parameters() if p.dim() == 2]
    plain = [p for p in model.parameters() if p.dim() != 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
        lr=options.rate,
        betas=(0.9, 0.95),
        fused=True,
    )
    rng = np.random.default_rng(3)
    begun = saved = time.monotonic()
    budget = options.minutes * 60
    step, seen, smooth = 0, 0, float("nan")
    log: list[dict[str, float]] = []

    def save() -> None:
        record = {
            "shape": asdict(model.shape),
            "log": log,
            "parameters": parameters,
            "tokens_seen": seen,
            "train_tokens": len(data),
            "train_bytes": train_bytes,
            "minutes": (time.monotonic() - begun) / 60,
        }
        torch.save({"model": model.state_dict(), "record": record}, options.out / "checkpoint.tmp")
        (options.out / "checkpoint.tmp").rename(options.out / "checkpoint.pt")
        (options.out / "log.json").write_text(json.dumps(record, indent=1))

    def validate() -> None:
        model.eval()
        loss = evaluate(model, held_out, options.sequence)
        model.train()
        log.append({"step": step, "tokens": seen, "train": smooth * train_bits, "val": loss * bits})
        print(
            f"  val {loss:.4f} nats/token, {loss * bits:.4f} bits/byte; train {smooth * train_bits:.4f}",
            flush=True,
        )

    order, cursor = np.zeros(0, np.int64), 0
    previous_length = 0
    while (elapsed := time.monotonic() - begun) < budget:
        done = elapsed / budget
        long = done > 0.8
        length, rows = (2 * options.sequence, options.batch // 2) if long else (options.sequence, options.batch)
        if cursor + rows > len(order) or length != previous_length:  # a new epoch, at a new phase
            order = rng.permutation(np.arange(rng.integers(length), len(data) - length - 1, length))
            cursor, previous_length = 0, length
        x, y = batch(data, order[cursor : cursor + rows], length)
        cursor += rows
        rate = options.rate * min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
        loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step, seen = step + 1, seen + x.numel()
        smooth = loss.item() if smooth != smooth else 0.98 * smooth + 0.02 * loss.item()
        if step % 50 == 0:
            speed = seen / (time.monotonic() - begun)
            print(
                f"{step:5} {done:5.1%} loss {smooth:.4f} lr {rate:.2e} {speed:,.0f}/s {seen / 1e6:.1f}M",
                flush=True,
            )
        if time.monotonic() - saved > options.checkpoint_minutes * 60:
            saved = time.monotonic()
            validate()
            save()
    validate()
    save()


if __name__ == "__main__":
    main()
