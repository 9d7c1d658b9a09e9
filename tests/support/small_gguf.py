"""A tiny llama of random weights with a byte-level tokenizer, as a GGUF file that llama.cpp loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

_NORMAL, _CONTROL = 1, 3  # of GGUF's token types


def write_gguf(path: Path, tokenizer: Path, eos: str, pre: str = "gpt-2", padding: int = 0, hidden: int = 64) -> Path:
    """Two layers, tied embeddings.

    Args:
        tokenizer: a `tokenizer.json` of byte-level BPE.
        eos: the text of the token that ends a generation.
        pre: llama.cpp's name of the pattern that splits texts.
        padding: ids beyond the tokenizer's.
    """
    import gguf

    described: dict[str, Any] = json.loads(tokenizer.read_text(encoding="utf-8"))
    ids: dict[str, int] = dict(described["model"]["vocab"])
    special = {token["content"]: token["id"] for token in described["added_tokens"]}
    ids |= special
    texts = {token_id: text for text, token_id in ids.items()}
    size = max(texts) + 1 + padding
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in described["model"]["merges"]]

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_vocab_size(size)
    writer.add_context_length(2048)
    writer.add_embedding_length(hidden)
    writer.add_block_count(2)
    writer.add_feed_forward_length(2 * hidden)
    writer.add_head_count(hidden // 32)
    writer.add_head_count_kv(hidden // 32)
    writer.add_rope_dimension_count(32)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([texts.get(token_id, f"[PAD{token_id}]") for token_id in range(size)])
    kinds = [_NORMAL if texts.get(i) is not None and texts[i] not in special else _CONTROL for i in range(size)]
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(min(special.values()))
    writer.add_eos_token_id(special[eos])
    writer.add_add_bos_token(True)
    rng = np.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        values = np.ones(shape) if "norm" in name else rng.normal(0, 0.2, shape)
        writer.add_tensor(name, values.astype(np.float32))

    add("token_embd.weight", size, hidden)
    add("output_norm.weight", hidden)
    for layer in ("blk.0.", "blk.1."):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{layer}{name}.weight", hidden, hidden)
        add(f"{layer}attn_norm.weight", hidden)
        add(f"{layer}ffn_norm.weight", hidden)
        add(f"{layer}ffn_gate.weight", 2 * hidden, hidden)
        add(f"{layer}ffn_up.weight", 2 * hidden, hidden)
        add(f"{layer}ffn_down.weight", hidden, 2 * hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
