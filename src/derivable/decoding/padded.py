"""Several sequences of a `transformers` model in one key/value cache, for common forward passes.

The cache is a rectangle of slots, `[rows, slots]`; rows have different numbers of tokens, and different numbers of new
ones in a pass. New tokens go behind everything there is, in all rows alike; the slots that a row does not fill, and
those of tokens that it forgot, are masked out for ever. Positions are told apart from slots (`position_ids`), so a row
does not notice its holes. When more than half of the slots are holes, and when rows leave, the rest is packed anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PaddedCache", "can_be_joined", "name_of_cache"]


def name_of_cache(model: Any) -> str:
    """What a model calls its cache, where it takes and gives it: `cache` from transformers 5.24 on."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"


def can_be_joined(cache: Any) -> bool:
    """Whether a cache holds keys and values of all positions, layer by layer: not those of sliding windows (a window of
    slots is not one of positions) and of recurrent layers."""
    layers = getattr(cache, "layers", None)
    if not layers:
        return False
    return all(
        getattr(layer, "keys", None) is not None
        and not getattr(layer, "is_sliding", False)
        and layer.keys.ndim == 4
        and layer.keys.shape[2] == cache.get_seq_length()
        for layer in layers
    )


class PaddedCache:
    """A cache of several rows.

    Args:
        torch: the library.
        model: the causal model.
        caches: of one row each, without holes (`can_be_joined`).

    Attributes:
        slots: of each row, where its tokens lie, in order.
    """

    def __init__(self, torch: Any, model: Any, caches: Sequence[Any]) -> None:
        self._torch, self._model, self._name = torch, model, name_of_cache(model)
        lengths = [int(cache.get_seq_length()) for cache in caches]
        self.slots = [list(range(length)) for length in lengths]
        self._width: int = max(lengths)
        self._mask = torch.zeros((len(caches), self._width), dtype=torch.long, device=model.device)
        for row, length in enumerate(lengths):
            self._mask[row, :length] = 1
        self._cache = import_module("transformers").DynamicCache()
        for index, layers in enumerate(zip(*(cache.layers for cache in caches), strict=True)):
            keys, values = ([getattr(layer, name) for layer in layers] for name in ("keys", "values"))
            self._cache.update(self._stacked(keys), self._stacked(values), index)

    def _stacked(self, rows: list[Any]) -> Any:
        """`[1, A, length, D]` each to `[rows, A, width, D]`."""
        whole = rows[0].new_zeros((len(rows), *rows[0].shape[1:2], self._width, rows[0].shape[3]))
        for at, row in enumerate(rows):
            whole[at, :, : row.shape[2]] = row[0]
        return whole

    @property
    def is_loose(self) -> bool:
        """More than half of the slots are holes in every row."""
        return self._width > 2 * max(map(len, self.slots))

    def append(self, token_ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Appends tokens to every row, in one pass; returns the logits that follow each, `[T, W]` for each row."""
        torch = self._torch
        most = max(map(len, token_ids))
        ids = torch.zeros((len(token_ids), most), dtype=torch.long)
        positions = torch.zeros_like(ids)
        new = torch.zeros_like(ids)
        for row, tokens in enumerate(token_ids):
            ids[row, : len(tokens)] = torch.tensor(list(tokens))
            positions[row] = torch.arange(most) + len(self.slots[row])
            new[row, : len(tokens)] = 1
        device = self._model.device
        mask = torch.cat((self._mask, new.to(device)), dim=1)
        with torch.inference_mode():
            output = self._model(
                input_ids=ids.to(device),
                attention_mask=mask,
                position_ids=positions.to(device),
                use_cache=True,
                **{self._name: self._cache},
            )
        self._cache, self._mask = getattr(output, self._name), mask
        for row, tokens in enumerate(token_ids):
            self.slots[row] += range(self._width, self._width + len(tokens))
        self._width += most
        logits = output.logits.float().cpu().numpy()
        return [logits[row, : len(tokens)] for row, tokens in enumerate(token_ids)]

    def truncate(self, row: int, length: int) -> None:
        """Has a row forget all but its first `length` tokens."""
        forgotten = self.slots[row][length:]
        if forgotten:
            self._mask[row, forgotten] = 0
            del self.slots[row][length:]

    def alone(self, row: int) -> Any:
        """A cache of one row, without holes."""
        torch = self._torch
        kept = torch.tensor(self.slots[row], device=self._model.device)
        cache = import_module("transformers").DynamicCache()
        for index, layer in enumerate(self._cache.layers):
            keys, values = (part[row : row + 1].index_select(2, kept) for part in (layer.keys, layer.values))
            cache.update(keys, values, index)
        return cache
