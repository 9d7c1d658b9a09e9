"""A small model of `TrainedModel`'s kind, or the embedded one, run by llama.cpp: the file it reads, and its passes.

`written` makes a GGUF file (`pip install gguf`) with the weights as float32 numbers and the tokenizer's own tokens, and
`GgmlModel` runs it by `llama-cpp-python`'s low-level interface, one sequence at a time on one thread. What comes out
are the logits of the numpy runner, up to rounding, so every method can be run by either.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NORMAL, _CONTROL = 1, 3  # kinds of tokens
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def written(path: Path, config: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], tokenizer: Path) -> Path:
    """Writes a Llama model as GGUF.

    Args:
        path: the file.
        config, arrays: under the names of transformers, as the embedded model has them.
        tokenizer: a tokenizer.json of a BPE over bytes.
    """
    gguf: Any = import_module("gguf")
    writer = gguf.GGUFWriter(path, "llama")
    heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(hidden // heads)
    writer.add_rope_freq_base(config["rope_theta"])
    _add_tokens(writer, tokenizer, int(config["vocab_size"]), int(config["eos_token_id"]))
    for name, array in arrays.items():
        writer.add_tensor(_renamed(name), _laid_out(name, array.astype(np.float32), heads))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def vocabulary_written(path: Path, tokenizer: Path, size: int, end: int) -> Path:
    """Writes a vocabulary without weights as GGUF."""
    gguf: Any = import_module("gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_vocab_size(size)
    _add_tokens(writer, tokenizer, size, end)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def _add_tokens(writer: Any, tokenizer: Path, size: int, end: int) -> None:
    document = json.loads(tokenizer.read_text(encoding="utf-8"))
    special = {entry["content"] for entry in document["added_tokens"] if entry["special"]}
    ids = document["model"]["vocab"] | {entry["content"]: entry["id"] for entry in document["added_tokens"]}
    texts = {token: text for text, token in ids.items()}
    tokens = [texts.get(token, f"<|unused {token}|>") for token in range(size)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")  # only prompts would be split by it, and they come as tokens
    writer.add_token_list(tokens)
    plain = [at in texts and token not in special for at, token in enumerate(tokens)]
    writer.add_token_types([_NORMAL if is_plain else _CONTROL for is_plain in plain])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in document["model"]["merges"]])
    writer.add_eos_token_id(end)


def _renamed(name: str) -> str:
    if "layers" not in name:
        return {"embed_tokens": "token_embd.weight", "norm": "output_norm.weight"}[name.split(".")[1]]
    _, _, layer, inner = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{_NAMES[inner]}.weight"


def _laid_out(name: str, array: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """With the pairs of a rotation next to each other, as llama.cpp has them, not half a head apart."""
    if not name.endswith(("q_proj.weight", "k_proj.weight")):
        return array
    rows, columns = array.shape
    pairs = array.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2)
    return np.ascontiguousarray(pairs.reshape(rows, columns))


class GgmlModel:
    """A language model for `dv.generate`, run by llama.cpp.

    Args:
        path: what `written` wrote.
        own: the same model, run by numpy: prompts are encoded as it does.
    """

    def __init__(self, path: Path, own: Any) -> None:
        self.library: Any = import_module("llama_cpp.llama_cpp")
        self.vocabulary, self.context, self.encode, self.decode = own.vocabulary, own.context, own.encode, own.decode
        self.size: int = own.vocabulary.size
        self.model = loaded(path)
        self.vocab = self.library.llama_model_get_vocab(self.model)
        settings = self.library.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = int(own.context)
        settings.n_threads = settings.n_threads_batch = 1
        settings.type_k = settings.type_v = 0  # float32, as numpy
        self.running = self.library.llama_init_from_model(self.model, settings)
        self.memory = self.library.llama_get_memory(self.running)
        self.batch = self.library.llama_batch_init(int(own.context), 0, 1)
        self.started = 0

    def start(self) -> GgmlState:
        """A state without tokens; the one before it is given up."""
        self.started += 1
        self.library.llama_memory_clear(self.memory, True)
        return GgmlState(self)


class GgmlState:
    """The sequence that llama.cpp holds."""

    def __init__(self, model: GgmlModel) -> None:
        self._model, self._number = model, model.started
        self.length = 0

    def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """The logits behind each token, `[len(token_ids), V]`."""
        model, count = self._model, len(token_ids)
        assert self._number == model.started, "another sequence was begun"
        batch = model.batch
        batch.n_tokens = count
        for at, token in enumerate(token_ids):
            batch.token[at], batch.pos[at], batch.logits[at] = token, self.length + at, True
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, 0
        assert model.library.llama_decode(model.running, batch) == 0
        self.length += count
        first = ctypes.addressof(model.library.llama_get_logits(model.running).contents)
        numbers: Any = (ctypes.c_float * (count * model.size)).from_address(first)
        rows: NDArray[np.float32] = np.array(numbers, np.float32).reshape(count, model.size)
        return rows

    def truncate(self, length: int) -> None:
        """Forgets the tokens behind the first ones."""
        assert self._number == self._model.started, "another sequence was begun"
        self._model.library.llama_memory_seq_rm(self._model.memory, 0, length, -1)
        self.length = length


_QUIET: list[Any] = []


def loaded(path: Path, vocabulary_only: bool = False) -> Any:
    """A model of llama.cpp, or its vocabulary alone; what it says of itself is not printed."""
    library: Any = import_module("llama_cpp.llama_cpp")
    if not _QUIET:
        _QUIET.append(library.llama_log_callback(lambda level, text, data: None))
        library.llama_log_set(_QUIET[0], ctypes.c_void_p(0))
        library.llama_backend_init()
    settings = library.llama_model_default_params()
    settings.vocab_only, settings.n_gpu_layers = vocabulary_only, 0
    model = library.llama_model_load_from_file(str(path).encode(), settings)
    assert model, f"llama.cpp does not read {path}"
    return model
