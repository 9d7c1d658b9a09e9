"""A tiny llama of random weights with a tokenizer of its own, as a folder that hosts load."""

from __future__ import annotations

import json
from pathlib import Path

from paths import ROOT

SPECIAL = ["<s>", "</s>", "<think>", "</think>", "<tool_call>", "</tool_call>"]


def write_tokenizer(folder: Path) -> int:
    """Byte-level BPE of 1,000 tokens; returns how many there are.

    It is trained on a text that stays as it is, four of the project's pages of November 2026: what models of random
    weights write depends on it, and so do the counts that tests expect of them.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1000, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train([str(ROOT / "testdata" / "tokenizer" / "text.txt")], trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    config["chat_template"] = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return int(tokenizer.get_vocab_size())


def write_model(folder: Path, size: int, bos: int, eos: int | list[int], hidden: int = 64) -> None:
    """Two layers of random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        num_attention_heads=hidden // 32,
        num_key_value_heads=hidden // 32,
        max_position_embeddings=2048,
        bos_token_id=bos,
        eos_token_id=eos,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
