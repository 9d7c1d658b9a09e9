"""The output layer of a `transformers` model, where a grammar leaves few tokens: only their rows are multiplied.

A model ends with one product, `hidden @ W.T`, with a row of W for each token of the vocabulary. Of a small model with a
large vocabulary that is most of a step: with 91 million weights and 128,256 tokens 61% of its time on a CPU. A mask
that is known before the pass says which rows are wanted; the other logits would be thrown away.
"""

from __future__ import annotations

from threading import Lock, local
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OutputLayer"]

_LEAST_WEIGHTS = 1 << 24
"""PERF: of a layer with fewer a product takes no longer than the rest of a step (4 ms)."""

_SHARE = 16
"""PERF: rows that are apart in memory are copied first, which takes up to eight times as long as to multiply them. With
a sixteenth of them a pass takes half as long (`benchmarks/serving/allowed_rows.py`)."""


class OutputLayer:
    """The last layer of a model.

    Args:
        model: a causal model of transformers.
        torch: the module.

    Attributes:
        size: tokens that have a row; 0 if the layer is none of the usual kind.
        few: with so many tokens or fewer it pays to ask for them alone; 0: never. It does on a CPU, with a plain linear
            layer that is large.
    """

    def __init__(self, model: Any, torch: Any) -> None:
        layer: Any = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
        is_plain = type(layer) is torch.nn.Linear and layer.weight.is_floating_point()
        pays = is_plain and layer.weight.device.type == "cpu" and layer.weight.numel() >= _LEAST_WEIGHTS
        self.size = int(layer.weight.shape[0]) if is_plain else 0
        self.few = self.size // _SHARE if pays else 0
        self._layer, self._torch = layer, torch
        self._wanted, self._lock = local(), Lock()

    def only(self, token_ids: NDArray[np.int32]) -> _Only:
        """Within this context the layer, in this thread, has logits of these tokens alone: [..., len(token_ids)]."""
        return _Only(self, self._torch.from_numpy(token_ids.astype(np.int64)))

    def _forward(self, hidden: Any) -> Any:
        linear, layer, rows = self._torch.nn.functional.linear, self._layer, getattr(self._wanted, "rows", None)
        if rows is None:
            return linear(hidden, layer.weight, layer.bias)
        bias = None if layer.bias is None else layer.bias.index_select(0, rows)
        return linear(hidden, layer.weight.index_select(0, rows), bias)


class _Only:
    """What the model does with logits behind the layer (scales, caps) it goes on doing, since only the layer is another
    meanwhile. One pass at a time; other threads see the whole layer."""

    def __init__(self, of: OutputLayer, rows: Any) -> None:
        self._of, self._rows = of, rows

    def __enter__(self) -> None:
        self._of._lock.acquire()
        self._of._wanted.rows = self._rows
        self._of._layer.forward = self._of._forward

    def __exit__(self, *_: object) -> None:
        del self._of._layer.forward, self._of._wanted.rows
        self._of._lock.release()
