"""A small BPE tokenizer as a `tokenizer.json`."""

from __future__ import annotations

import json
import random
from pathlib import Path

__all__ = ["splitting", "trained"]


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


def splitting(path: Path, seed: int, pattern: str, alphabet: str, *, alone: bool = False, merges: int = 14) -> Path:
    """A small byte-level BPE that splits texts by a pattern first, for texts of some characters.

    `alone`: there are tokens that merges do not lead to, for pieces that are just such a token.
    """
    rng = random.Random(seed)
    spelled = {0x20: "Ġ", 0x0A: "Ċ", 0x0D: "č", 0x09: "ĉ"}
    pieces = list(dict.fromkeys(spelled.get(byte, chr(byte)) for byte in alphabet.encode()))
    singles, pairs = list(pieces), list[tuple[str, str]]()
    while len(pairs) < merges:
        pair = (rng.choice(pieces), rng.choice(pieces))
        if "".join(pair) not in pieces and len("".join(pair)) < 6:
            pairs.append(pair)
            pieces.append("".join(pair))
    while alone and len(pieces) < len(singles) + merges + 6:
        text = "".join(rng.choices(singles, k=rng.randint(2, 5)))
        if text not in pieces:
            pieces.append(text)
    model = {
        "type": "BPE",
        "vocab": {text: at for at, text in enumerate(["<end>", *pieces])},
        "merges": [list(p) for p in pairs],
    }
    model |= {"byte_fallback": False, "fuse_unk": False, "unk_token": None, "ignore_merges": alone}
    added = [{"id": 0, "content": "<end>", "special": True, "single_word": False}]
    added[0] |= {"lstrip": False, "rstrip": False, "normalized": False}
    parts = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    ]
    document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None}
    document |= {"pre_tokenizer": {"type": "Sequence", "pretokenizers": parts}, "post_processor": None, "model": model}
    document["decoder"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
