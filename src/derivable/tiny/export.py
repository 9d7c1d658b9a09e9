"""Write the embedded model as a transformers folder.

    from derivable.tiny.export import export
    export("/tmp/tiny-hf")     # then AutoModelForCausalLM.from_pretrained("/tmp/tiny-hf")

Nothing but numpy is needed: the safetensors format is a length, a JSON header and the raw arrays.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.tiny.model import load_arrays
from derivable.tiny.tokenizer import TinyTokenizer, tokenizer_path

__all__ = ["export"]

_TYPES = {"float16": "F16", "float32": "F32"}


def export(folder: str | os.PathLike[str], *, dtype: str = "float32") -> Path:
    """Write config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json.

    Args:
        folder: created where it does not exist; files of these names are replaced.
        dtype: ``"float32"`` (what the numpy runner computes in) or ``"float16"`` (half the size).

    Returns:
        The folder.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    config, arrays = load_arrays()
    bos, eos = int(config["bos_token_id"]), int(config["eos_token_id"])
    full = {
        **config,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "num_key_value_heads": config["num_attention_heads"],
        "head_dim": int(config["hidden_size"]) // int(config["num_attention_heads"]),
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "pad_token_id": eos,
        "torch_dtype": dtype,
    }
    name_of = {token: text for text, token in TinyTokenizer.load().special_ids.items()}
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": name_of[bos],
        "eos_token": name_of[eos],
        "pad_token": name_of[eos],
        "model_max_length": config["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
    }
    _write_json(target / "config.json", full)
    _write_json(target / "generation_config.json", {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": eos})
    _write_json(target / "tokenizer_config.json", tokenizer)
    shutil.copyfile(tokenizer_path(), target / "tokenizer.json")
    _write_safetensors(target / "model.safetensors", {name: array.astype(dtype) for name, array in arrays.items()})
    return target


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _write_safetensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """The safetensors format: u64 header length, JSON header padded to 8 bytes, little-endian arrays."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, array in arrays.items():
        end = offset + array.nbytes
        header[name] = {
            "dtype": _TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)))
        stream.write(text)
        for array in arrays.values():
            stream.write(np.ascontiguousarray(array).tobytes())
