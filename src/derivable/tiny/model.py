"""The embedded model's forward pass in numpy, with a key/value cache.

A Llama network: token embedding, per layer (RMS norm, rotary causal attention, RMS norm, SwiGLU), a final
norm, and logits by the transposed embedding. The weights are float16 in ``weights.npz``; everything is
computed in float32. Sizes used below: ``V`` vocabulary, ``H`` hidden, ``M`` intermediate, ``A`` attention
heads, ``D`` head dimension (``A * D = H``), ``L`` layers, ``T`` tokens in one call.

Cost: one token takes about 0.5 ms; ``T`` tokens in one call cost far less than ``T`` calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.errors import DerivableError
from derivable.tiny.data import data_file

__all__ = ["State", "TinyModel", "load_arrays"]

Array = NDArray[np.float32]

_FIRST_CAPACITY = 128
_FEW = 16
"""Rows, the tokens of a draft at most, that are multiplied by parts of a matrix."""
_SMALL = 1_000_000
"""Multiplications of a product that OpenBLAS (0.3.17 and later) makes without copying the matrices."""


class State:
    """The key/value cache of one sequence.

    Positions ``0 .. length - 1`` hold what was appended by `TinyModel.forward`; the arrays grow by doubling.
    """

    def __init__(self, layers: int, heads: int, head_dim: int) -> None:
        self.length = 0
        #: float32 ``[L, A, capacity, D]``, rotated.
        self.keys: Array = np.empty((layers, heads, _FIRST_CAPACITY, head_dim), np.float32)
        #: float32 ``[L, A, capacity, D]``.
        self.values: Array = np.empty_like(self.keys)

    def reserve(self, count: int) -> None:
        """Make room for ``count`` more positions."""
        wanted, capacity = self.length + count, self.keys.shape[2]
        if wanted <= capacity:
            return
        capacity = max(wanted, 2 * capacity)
        for name in ("keys", "values"):
            old: Array = getattr(self, name)
            new = np.empty((*old.shape[:2], capacity, old.shape[3]), np.float32)
            new[:, :, : self.length] = old[:, :, : self.length]
            setattr(self, name, new)

    def truncate(self, length: int) -> None:
        """Forget everything after the first ``length`` positions, as after a rejected draft."""
        if not 0 <= length <= self.length:
            raise DerivableError(f"cannot truncate {self.length} positions to {length}; pass 0 to {self.length}.")
        self.length = length

    def copy(self) -> State:
        """An independent state with the same contents."""
        other = State.__new__(State)
        other.length, other.keys, other.values = self.length, self.keys.copy(), self.values.copy()
        return other


class _Layer:
    """The weights of one layer, transposed for ``x @ w`` and fused; all float32."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], prefix: str) -> None:
        def matrix(*names: str) -> Array:
            rows = np.concatenate([weights[f"{prefix}.{name}.weight"] for name in names])
            return np.ascontiguousarray(rows.T, np.float32)

        self.attention_norm: Array = weights[f"{prefix}.input_layernorm.weight"].astype(np.float32)  # [H]
        self.mlp_norm: Array = weights[f"{prefix}.post_attention_layernorm.weight"].astype(np.float32)  # [H]
        self.qkv = matrix("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")  # [H, 3H]
        self.out = matrix("self_attn.o_proj")  # [H, H]
        self.gate_up = matrix("mlp.gate_proj", "mlp.up_proj")  # [H, 2M]
        self.down = matrix("mlp.down_proj")  # [M, H]


class TinyModel:
    """The embedded model. Immutable once loaded; one instance serves any number of `State`s.

    Attributes:
        vocab_size: width of the logits.
        context: largest number of positions of a state, that of training.
        bos_id, eos_id: the tokens that begin and end every document.
        config: the dimensions, under the names of a transformers ``LlamaConfig``.
    """

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, NDArray[Any]]) -> None:
        self.config = dict(config)
        self.vocab_size = int(config["vocab_size"])
        self.context = int(config["max_position_embeddings"])
        self.bos_id, self.eos_id = int(config["bos_token_id"]), int(config["eos_token_id"])
        self._heads = int(config["num_attention_heads"])
        self._head_dim = int(config["hidden_size"]) // self._heads
        self._epsilon = np.float32(config["rms_norm_eps"])
        self._embedding: Array = weights["model.embed_tokens.weight"].astype(np.float32)  # [V, H]
        self._unembedding: Array = np.ascontiguousarray(self._embedding.T)  # [H, V]
        self._norm: Array = weights["model.norm.weight"].astype(np.float32)  # [H]
        self._layers = [_Layer(weights, f"model.layers.{i}") for i in range(int(config["num_hidden_layers"]))]
        half = self._head_dim // 2
        frequencies = float(config["rope_theta"]) ** (-np.arange(half) / half)
        angles = np.outer(np.arange(self.context), frequencies)
        self._cos: Array = np.cos(angles).astype(np.float32)  # [context, D/2]
        self._sin: Array = np.sin(angles).astype(np.float32)

    @classmethod
    def load(cls) -> TinyModel:
        """The model of the package. Read once per process (about 0.05 s)."""
        return _packaged()

    def start(self) -> State:
        """A state without any tokens. Feed `bos_id` first: every training document begins with it."""
        return State(len(self._layers), self._heads, self._head_dim)

    def forward(self, state: State, token_ids: Sequence[int]) -> Array:
        """Append tokens to a state.

        Args:
            state: changed in place; afterwards ``state.length`` is larger by ``len(token_ids)``.
            token_ids: the tokens, at least one.

        Returns:
            float32 ``[len(token_ids), V]``: row ``i`` is the prediction of what follows ``token_ids[i]``.

        Raises:
            DerivableError: no tokens, an id outside the vocabulary, or more than `context` positions.
        """
        return self.forward_batch([state], [token_ids])[0]

    def forward_batch(self, states: Sequence[State], token_ids: Sequence[Sequence[int]]) -> list[Array]:
        """Append tokens to several states in one pass: to each its own, and as many as there are.

        Args:
            states: all different; changed in place.
            token_ids: for each state, at least one.

        Returns:
            For each state what `forward` returns.

        Raises:
            DerivableError: as `forward`; nothing has changed.

        Cost: the matrices are read once for all states; attention is worked out state by state.
        """
        rows = [np.asarray(ids, dtype=np.int64) for ids in token_ids]
        for state, ids in zip(states, rows, strict=True):
            self._check(state, ids)
        ids = np.concatenate(rows)
        spans = [(state, state.length, state.length + len(row)) for state, row in zip(states, rows, strict=True)]
        bounds = np.cumsum([0, *map(len, rows)]).tolist()  # where each state's tokens lie among all, [S + 1]
        positions = np.concatenate([np.arange(start, end) for _, start, end in spans])
        for state, row in zip(states, rows, strict=True):
            state.reserve(len(row))
        cos, sin = self._cos[positions, None], self._sin[positions, None]  # [T, 1, D/2]
        scale = np.float32(self._head_dim**-0.5)
        x: Array = self._embedding[ids]  # [T, H]
        for index, layer in enumerate(self._layers):
            qkv = _product(self._normalized(x, layer.attention_norm), layer.qkv)
            qkv = qkv.reshape(len(ids), 3, self._heads, self._head_dim)
            queries = _rotated(qkv[:, 0], cos, sin) * scale
            keys = _rotated(qkv[:, 1], cos, sin)
            mixed = np.empty_like(queries)  # [T, A, D]
            for at, (state, start, end) in enumerate(spans):
                own = slice(bounds[at], bounds[at + 1])
                state.keys[index][:, start:end] = keys[own].transpose(1, 0, 2)
                state.values[index][:, start:end] = qkv[own, 2].transpose(1, 0, 2)
                mixed[own] = _attended(
                    queries[own].transpose(1, 0, 2), state.keys[index][:, :end], state.values[index][:, :end]
                )
            x = x + _product(mixed.reshape(len(ids), -1), layer.out)
            both = _product(self._normalized(x, layer.mlp_norm), layer.gate_up)  # [T, 2M]
            gate, up = both[:, : len(layer.down)], both[:, len(layer.down) :]
            mlp: Array = gate / (np.float32(1.0) + np.exp(-np.maximum(gate, np.float32(-80.0)))) * up
            x = x + _product(mlp, layer.down)
        for state, _, end in spans:
            state.length = end
        logits = _product(self._normalized(x, self._norm), self._unembedding)
        return [logits[bounds[at] : bounds[at + 1]] for at in range(len(spans))]

    def _check(self, state: State, ids: NDArray[np.int64]) -> None:
        if not len(ids) or ids.min() < 0 or ids.max() >= self.vocab_size:
            raise DerivableError(f"token ids must be a non-empty sequence of numbers below {self.vocab_size}.")
        if state.length + len(ids) > self.context:
            raise DerivableError(
                f"{state.length + len(ids)} positions are wanted, the context is {self.context}; shorten the text."
            )

    def _normalized(self, x: Array, weight: Array) -> Array:
        """RMS norm of every row of ``x`` ``[T, H]``."""
        mean = np.einsum("th,th->t", x, x) / np.float32(x.shape[1])
        result: Array = x * (1.0 / np.sqrt(mean + self._epsilon))[:, None] * weight
        return result


def _product(x: Array, weights: Array) -> Array:
    """``x @ weights``, of ``[T, H]`` and ``[H, N]``."""
    count, height = x.shape
    width = max(16, _SMALL // (count * height) // 16 * 16)
    if count == 1 or width >= weights.shape[1] or count > _FEW:
        product: Array = x @ weights
        return product
    # PERF: BLAS first copies matrices that are not small, which for a few rows takes as long as the product.
    result = np.empty((count, weights.shape[1]), np.float32)
    for start in range(0, weights.shape[1], width):
        np.matmul(x, weights[:, start : start + width], out=result[:, start : start + width])
    return result


def _attended(queries: Array, keys: Array, values: Array) -> Array:
    """Causal attention of the last ``T`` of ``end`` positions: ``[A, T, D]`` and ``[A, end, D]`` to ``[T, A, D]``."""
    count, end = queries.shape[1], keys.shape[1]
    scores = queries @ keys.transpose(0, 2, 1)  # [A, T, end]
    if count > 1:
        scores[:, :, end - count :] += np.triu(np.full((count, count), -np.inf, np.float32), 1)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: Array = (scores @ values).transpose(1, 0, 2)
    return mixed


def _rotated(x: Array, cos: Array, sin: Array) -> Array:
    """Rotary embedding of ``x`` ``[T, A, D]``; ``x[..., i]`` and ``x[..., i + D/2]`` are a pair."""
    half = x.shape[-1] // 2
    left, right = x[..., :half], x[..., half:]
    return np.concatenate((left * cos - right * sin, right * cos + left * sin), axis=-1)


def load_arrays() -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The configuration and the float16 arrays of the package, under their transformers names."""
    with np.load(data_file("weights.npz")) as archive:
        arrays = {name: archive[name] for name in archive.files}
    config: dict[str, Any] = json.loads(arrays.pop("config").tobytes())
    return config, arrays


@lru_cache(maxsize=1)
def _packaged() -> TinyModel:
    return TinyModel(*load_arrays())
