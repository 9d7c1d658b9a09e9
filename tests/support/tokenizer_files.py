"""Tokenizer files made by hand, and texts that are hard for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from derivable.vocabulary import Vocabulary

__all__ = ["BYTE_LEVEL", "CHAT", "LLAMA", "TEXTS", "load", "tokenizer", "write"]


TEXTS = [
    "hello",
    " hello",
    "  two spaces",
    "\nfoo",
    "\r\n\t\ttabs and\u00a0no-break\u2003em space",
    "Zürich, naïve café, cafe\u0301, Ångström, İstanbul, ﬁ ligature, ① ½",
    "北京 東京 서울 こんにちは ไทย עברית العربية हिन्दी",
    "👨‍👩‍👧‍👦 👍🏽 🇨🇭 𝔘𝔫𝔦 \U0010ffff",
    "\x00\x01\x1b[0m\x7f\x85\ufeff\ufffd",
    " " * 83,
    "a" + " " * 17 + "\n" * 9 + "\t" * 5 + "b",
    "def f(x: int) -> str:\n    return f'{x!r:>10}'  # ≥ 3\n",
    '{"a": [1, -2.5e+10, null, true], "ключ": "\\u00e9\\n"}',
    "<s></s><unk><|eot_id|><|im_end|><0x0A>[INST]",
    "▁ literal ▁▁ lower one eighth block Ġ Ċ",
    "1234567890 3.14159 0x1F 100_000",
]


def write(folder: Path, name: str, document: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def tokenizer(
    vocab: dict[str, int] | list[Any],
    *,
    decoder: Any = None,
    added: tuple[tuple[int, str, bool], ...] = (),
    model: dict[str, Any] | None = None,
    **top: Any,
) -> dict[str, Any]:
    """A tokenizer.json; `added` holds (id, text, special)."""
    kind = "BPE" if isinstance(vocab, dict) else "Unigram"
    rest = {"merges": []} if kind == "BPE" else {}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": special}
            for i, text, special in added
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": {"type": kind, "vocab": vocab, **rest, **(model or {})},
        **top,
    }  # fmt: skip


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LLAMA = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


def load(folder: Path, document: dict[str, Any], **options: Any) -> Vocabulary:
    options.setdefault("eos", [])
    return Vocabulary.from_tokenizer_json(write(folder, "tokenizer.json", document), **options)


CHAT = tokenizer(
    {"a": 0, "b": 1},
    decoder=BYTE_LEVEL,
    added=((2, "<|end_of_text|>", True), (3, "<|eot_id|>", True), (4, "<|eom_id|>", True), (5, "<stop>", True)),
)
