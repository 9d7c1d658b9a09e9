"""A small BPE tokenizer as a `tokenizer.json`."""

from __future__ import annotations

import json
import random
from pathlib import Path

__all__ = ["trained"]


def trained(path: Path, seed: int) -> Path:
    """A small BPE without a pattern, with a byte for every character that it lacks."""
    rng = random.Random(seed)
    merges: list[tuple[str, str]] = []
    pieces = list("abc▁")
    while len(merges) < 14:
        pair = (rng.choice(pieces), rng.choice(pieces))
        if "".join(pair) not in pieces and len("".join(pair)) < 6:
            merges.append(pair)
            pieces.append("".join(pair))
    texts = ["<end>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    model = {
        "type": "BPE",
        "vocab": {text: at for at, text in enumerate(texts)},
        "merges": [list(pair) for pair in merges],
        "byte_fallback": True,
        "fuse_unk": True,
        "unk_token": "<end>",
        "ignore_merges": False,
    }
    added = [{"id": 0, "content": "<end>", "special": True, "single_word": False}]
    added[0] |= {"lstrip": False, "rstrip": False, "normalized": False}
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": False}
    decoders = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}
    ]  # fmt: skip
    document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None}
    document |= {"pre_tokenizer": space, "post_processor": None, "model": model}
    document["decoder"] = {"type": "Sequence", "decoders": decoders}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
