"""A bitmask is applied to logits: what is not allowed becomes minus infinity.

On the CPU the kernel does it where the numbers lie, a word of 32 tokens at a time: words that allow everything are
passed over, the numbers of words that allow nothing are overwritten without being read. Tensors of other devices are
masked there: the packed words travel, an eighth of a byte a token, and are unpacked on the device.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _kernel
from .errors import ArgumentError, BitmaskShapeError, MatcherError
from .support.arguments import integer, items
from .vocabulary import Vocabulary

__all__ = ["apply_bitmask", "apply_rows", "mask_words", "refused_by"]

_Array = TypeVar("_Array")

_MINUS_INFINITY = {
    dtype: int(np.array(-np.inf, dtype).view(f"u{dtype.itemsize}"))
    for dtype in map(np.dtype, ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"))
}
"""Its bits, as the machine reads them where they lie."""

_BFLOAT16_MINUS_INFINITY = 0xFF80


def apply_bitmask(logits: _Array, bitmask: Any, *, rows: Sequence[int] | None = None) -> _Array:
    """Sets the logits of tokens that are not allowed to minus infinity, in place.

    Args:
        logits: [batch, W] or [W], of float16, bfloat16, float32 or float64, with any strides: a numpy array, a torch
            tensor on any device, or what numpy can take by DLPack and write. Logits past the bitmask's vocabulary
            (models pad theirs) are set to minus infinity as well.
        bitmask: int32 [batch, ceil(V / 32)] as `fill_bitmask` writes it: a numpy array, a tensor, or by DLPack.
        rows: only these rows of the logits, each by the same row of the bitmask. By default all, and there must be as
            many of both.

    Returns:
        `logits` itself.

    Raises:
        BitmaskShapeError: the shapes or dtypes do not go together, or the bitmask has whole words for tokens that the
            logits do not have: it is of another vocabulary.
        ArgumentError: something that is no array, or logits that cannot be written.

    Example:
        >>> import derivable as dv, numpy as np
        >>> dv.apply_bitmask(np.zeros((1, 5), np.float32), np.array([[0b10110]], np.int32)).tolist()
        [[-inf, 0.0, 0.0, -inf, 0.0]]

    Cost: 1 us a row of 128,000 tokens, 6 ns a word of 32 tokens that it changes in part; without the interpreter lock.
    """
    if not hasattr(logits, "shape") or not hasattr(logits, "dtype"):
        raise ArgumentError("logits", "a numpy array or a torch tensor", logits)
    array: Any = logits
    on_device = _is_tensor(array) and (not array.is_cpu or array.requires_grad)
    words = bitmask if on_device and _is_tensor(bitmask) else _host_words(bitmask)
    dimensions = len(array.shape)
    count = array.shape[0] if dimensions == 2 else 1
    masks = words.shape[0] if len(words.shape) == 2 else 1
    is_int32 = str(words.dtype) == "torch.int32" if _is_tensor(words) else words.dtype == np.int32
    if not is_int32 or len(words.shape) not in (1, 2) or dimensions not in (1, 2) or (rows is None and count != masks):
        raise BitmaskShapeError(
            f"logits of shape {tuple(array.shape)} do not fit a bitmask of shape {tuple(words.shape)} and dtype "
            f"{words.dtype}. Use one int32 bitmask row per row of logits, or say which with rows=."
        )
    if words.shape[-1] > _words(array.shape[-1]):
        raise BitmaskShapeError(
            f"logits of {array.shape[-1]:,} tokens do not fit a bitmask of {words.shape[-1]} words, which is for a "
            f"vocabulary of {32 * words.shape[-1] - 31:,} to {32 * words.shape[-1]:,} tokens. Compile the grammar for "
            f"the model's vocabulary; or, if all tokens past its logits are special ones, give the first "
            f"{_words(array.shape[-1])} words of each row."
        )
    at = range(count) if rows is None else [integer("rows", row) for row in items("rows", rows, "a list of rows")]
    if any(row >= min(count, masks) for row in at):
        raise BitmaskShapeError(
            f"row {max(at)} is outside logits of {count} rows and a bitmask of {masks}. Give rows of both."
        )
    if on_device:
        _mask_on_device(array, words.reshape(masks, -1), None if rows is None else list(at))
        return logits
    numbers, minimum = _host_numbers(array)
    numbers = numbers if dimensions == 2 else numbers[None]
    _kernel.apply_bitmask(numbers, minimum, np.ascontiguousarray(words.reshape(masks, -1)), list(at), list(at))
    return logits


def apply_rows(logits: _Array, words: NDArray[np.int32], rows: Sequence[int]) -> _Array:
    """Masks logits [batch, W] on the host in place, each row by that row of `words` [rows, ceil(V / 32)] which `rows`
    says in its place.

    Raises:
        BitmaskShapeError: logits that cannot be minus infinity, or a row that is not there.
        ArgumentError: logits that are no array, or cannot be written.

    Example:
        >>> apply_rows(np.zeros((2, 3), np.float32), np.array([[7], [1]], np.int32), [1, 1]).tolist()
        [[0.0, -inf, -inf], [0.0, -inf, -inf]]
    """
    numbers, minimum = _host_numbers(logits)
    _kernel.apply_bitmask(numbers, minimum, words, list(range(len(rows))), list(rows))
    return logits


def mask_words(vocabulary: Vocabulary, width: int) -> int:
    """How many words of a bitmask logits of a width have, where they can be of a model with this vocabulary.

    Logits may be wider than the vocabulary: models pad theirs. They may be narrower by tokens that are no text: some
    tokenizers name special tokens that their models lack.

    Args:
        vocabulary: what the constraint was compiled for.
        width: of the logits.

    Raises:
        MatcherError: the vocabulary has text, or all its end tokens, past the logits: it is that of another model.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a"] * 40 + [None], eos=[40])
        >>> mask_words(vocab, 48)
        2
        >>> mask_words(vocab, 32)
        Traceback (most recent call last):
            ...
        derivable.errors.MatcherError: the model's logits are for 32 tokens, and the constraint is for a vocabulary of \
41: Vocabulary(size=41, eos=(40,), kind='bytes'). Compile the grammar for the model's own vocabulary.
    """
    if width < vocabulary.size:
        ends = vocabulary.eos_ids
        if any(vocabulary.tokens[width:]) or (ends and all(end >= width for end in ends)):
            raise MatcherError(
                f"the model's logits are for {width:,} tokens, and the constraint is for a vocabulary of "
                f"{vocabulary.size:,}: {vocabulary!r}. Compile the grammar for the model's own vocabulary."
            )
    return _words(width)


def _words(width: int) -> int:
    """Words of a bitmask for so many tokens."""
    return -(-width // 32)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "is_cpu")


def _host_words(bitmask: Any) -> NDArray[Any]:
    """A bitmask as an array of numpy, wherever it lies."""
    if isinstance(bitmask, np.ndarray):
        return bitmask
    try:
        if _is_tensor(bitmask):
            return bitmask.cpu().numpy()  # type: ignore[no-any-return]
        return np.asarray(bitmask) if isinstance(bitmask, list) else np.from_dlpack(bitmask)
    except (AttributeError, BufferError, TypeError, ValueError, RuntimeError) as error:  # ragged lists, other devices
        raise ArgumentError("bitmask", "an int32 array, as fill_bitmask writes it", bitmask) from error


def _host_numbers(logits: Any) -> tuple[NDArray[Any], int]:
    """The logits' memory as an array of numpy, and the bits of minus infinity in it. To numpy bfloat16 are integers."""
    name = str(logits.dtype) if _is_tensor(logits) else ""
    try:
        if name:
            import torch

            numbers: NDArray[Any] = (logits.view(torch.int16) if name == "torch.bfloat16" else logits).numpy()
        else:
            numbers = logits if isinstance(logits, np.ndarray) else np.from_dlpack(logits)
            if numbers.dtype not in _MINUS_INFINITY and numbers.dtype.name == "bfloat16":  # of the package ml_dtypes
                numbers, name = numbers.view(np.int16), "torch.bfloat16"
    except (AttributeError, BufferError, TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError("logits", "a numpy array or a torch tensor", logits) from error
    minimum = _BFLOAT16_MINUS_INFINITY if name == "torch.bfloat16" else _MINUS_INFINITY.get(numbers.dtype)
    if minimum is None:
        raise BitmaskShapeError(f"logits of dtype {logits.dtype} cannot be minus infinity. Use a floating point dtype.")
    if not numbers.flags.writeable:
        raise ArgumentError("logits", "an array that can be written", logits)
    return numbers, minimum


def _mask_on_device(logits: Any, bitmask: Any, rows: list[int] | None) -> None:
    """Masks a tensor of torch where it is: the words come to it."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a bitmask that cannot be written: it is only read
        words = torch.as_tensor(bitmask)
    words = words.contiguous().to(logits.device, non_blocking=True)
    numbers = logits if logits.dim() == 2 else logits.unsqueeze(0)
    if rows is not None:
        at = torch.tensor(rows, dtype=torch.int64, device=logits.device)
        words = words.index_select(0, at)
    refused = refused_by(words, numbers.shape[1])
    if rows is None:
        numbers.masked_fill_(refused, float("-inf"))
    else:
        numbers.index_copy_(0, at, numbers.index_select(0, at).masked_fill(refused, float("-inf")))


def refused_by(words: Any, width: int) -> Any:
    """The tokens that rows of words refuse: bool [rows, width], from int32 [rows, n], both tensors of torch on one
    device. No operation waits for the device. Tokens past the words are refused."""
    import torch

    if torch.compiler.is_compiling():  # PERF: with what comes before and after, this becomes one kernel
        bits = torch.arange(32, dtype=torch.int32, device=words.device)
        refused = (words.unsqueeze(-1) >> bits & 1).eq(0).flatten(1)
    else:  # PERF: a byte for each token, where the words would take four
        bits = torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8, device=words.device)
        refused = (words.view(torch.uint8).unsqueeze(-1) & bits).eq(0).flatten(1)
    known = refused.shape[1]
    if known < width:
        refused = torch.nn.functional.pad(refused, (0, width - known), value=True)
    return refused[:, :width]
