"""Masks that stay on the device: each is sent once, and a step sends their numbers.

A mask of 128,256 tokens takes 16 kB, and a batch asks for the same masks again and again. So a table on the device
keeps those that were met. For a step the host works out which row of the table each sequence has, four bytes a row, and
sends rows only where some are new.

Which row a mask has is known by its name: the number of its constraint in this process, and that of the mask in the
constraint's index. A name is learned when a mask is met for the first time, by its words: masks of different
constraints share a row where all their words are equal. A mask that has no name, since it depends on more than the
place in the grammar (a budget that runs out, items that must differ), is compared by its words each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from types import NoneType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _kernel
from .apply import apply_rows, refused_by
from .batch import allocate_bitmask, fill_bitmasks
from .canonical.narrowed import NarrowedMatcher
from .errors import ArgumentError, BitmaskShapeError
from .matcher import Matcher
from .matchers import PrefetchingMatcher
from .support.arguments import instance, integer, items
from .vocabulary import Vocabulary

__all__ = ["MaskTable", "apply_mask_ids", "fill_mask_ids"]

_Array = TypeVar("_Array")

_PLAIN = frozenset({Matcher, NoneType})

_ALL = 0
"""The row that allows everything."""

_NAMES = 16
"""Names of masks that are kept for each row that there may be: constraints come and go, and have masks in common."""


class MaskTable:
    """The masks of a vocabulary that are known on a device.

    Args:
        vocabulary: of the matchers.
        device: of torch (`"cuda"`, `torch.device("cpu")`, ...); `None`: a table of numpy, for logits of numpy.
        first, most: rows to begin with, and at most. The table doubles; when it is full, the row that was not used for
            longest makes room. Where `rows` must stay one tensor, as CUDA graphs want it, both are one number.
        steps: rows that the last so many calls of `fill_mask_ids` have written stay where they are. With 2 a batch may
            be filled before the one before it was applied, as schedulers do that overlap the host's work with the
            device's.

    Attributes:
        rows: int32 [capacity, ceil(V / 32)] on the device; row 0 allows everything. A larger one takes its place when
            the table grows.

    Raises:
        ArgumentError: something that is no vocabulary, no device, or no number.

    Example:
        >>> import derivable as dv, numpy as np
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
        >>> matchers = [dv.compile(dv.Grammar.from_regex(p), vocab).matcher() for p in ("a", "b", "a+")]
        >>> table, ids = dv.MaskTable(vocab), np.zeros(4, np.int32)
        >>> dv.fill_mask_ids([*matchers, None], ids, table)  # so many rows were sent
        2
        >>> ids.tolist()
        [1, 2, 1, 0]
        >>> dv.apply_mask_ids(np.zeros((4, 3), np.float32), table, ids).tolist()
        [[0.0, -inf, -inf], [-inf, 0.0, -inf], [0.0, -inf, -inf], [0.0, 0.0, 0.0]]

    Cost: as much memory on the host as on the device; 131 MB where 8,192 rows of 128,256 tokens are known.
    """

    def __init__(
        self, vocabulary: Vocabulary, device: Any = None, *, first: int = 64, most: int = 8192, steps: int = 2
    ) -> None:
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        self.vocabulary = vocabulary
        self.most = integer("most", most, 2, 1 << 31)
        capacity = min(integer("first", first, 1, 1 << 31), self.most)
        self.steps = integer("steps", steps, 1, 1 << 31)
        self._words = -(-vocabulary.size // 32)
        self._lock = Lock()
        self._row_of: dict[bytes, int] = {}  # by the words of a mask
        self._words_of: dict[int, bytes] = {}
        self._named: dict[tuple[int, int], int] = {}
        self._names_of: dict[int, list[tuple[int, int]]] = {}
        self._size = 1
        self._step = 0
        self._used: NDArray[np.int64] = np.zeros(capacity, np.int64)  # the last step of each row
        everything = allocate_bitmask(1, vocabulary.size)
        everything[:] = -1
        self._keep(_ALL, everything[0].tobytes())
        self.device = _device(device)
        self.rows: Any = self._allocated(capacity)
        self.rows[0] = -1

    def __len__(self) -> int:
        """How many masks are known."""
        return self._size

    def __repr__(self) -> str:
        return f"MaskTable({self._size} of {self.most} masks of {self.vocabulary.size:,} tokens, device={self.device})"

    def _find(self, matchers: list[Matcher | None], threads: int | None) -> tuple[NDArray[np.int32], int]:
        """The row of each matcher's mask, and how many rows were sent to the device. `fill_mask_ids` says more."""
        with self._lock:
            self._step += 1
            names = _names(matchers)
            named = self._named
            found = [_ALL if m is None else named.get(name) for m, name in zip(matchers, names)]  # type: ignore[arg-type]
            new = [at for at, row in enumerate(found) if row is None]
            rows = np.array([_ALL if row is None else row for row in found], np.int32)
            self._used[rows] = self._step
            sent = self._learn(matchers, new, rows, threads) if new else 0
            return rows, sent

    def _learn(
        self, matchers: list[Matcher | None], new: list[int], rows: NDArray[np.int32], threads: int | None
    ) -> int:
        """The rows of masks that have no known name, found by their words."""
        asked = [matchers[at] for at in new]
        for matcher in asked:
            size = self.vocabulary.size if matcher is None else matcher.constraint.vocabulary.size
            if size != self.vocabulary.size:
                raise BitmaskShapeError(
                    f"a matcher over a vocabulary of {size:,} tokens does not go with a table for one of "
                    f"{self.vocabulary.size:,}. Make a table for its vocabulary."
                )
        masks = allocate_bitmask(len(new), self.vocabulary.size)
        fill_bitmasks(asked, masks, threads=threads)
        names = _names(asked)
        places: list[int] = []
        sent: list[int] = []
        try:
            for at, (place, name) in enumerate(zip(new, names)):
                words = masks[at].tobytes()
                row = self._row_of.get(words)
                if row is None:
                    row = self._free_row()
                    self._keep(row, words)
                    places.append(row)
                    sent.append(at)
                self._used[row] = self._step
                rows[place] = row
                if name is not None:
                    self._name(name, row)
        finally:  # also where there was no room for all: these are known from now on
            if sent:
                self._send(masks[sent], places)
        return len(sent)

    def _name(self, name: tuple[int, int], row: int) -> None:
        if len(self._named) >= _NAMES * self.most:
            self._named.clear()
            self._names_of.clear()
        self._named[name] = row
        self._names_of.setdefault(row, []).append(name)

    def _forget(self, row: int) -> None:
        del self._row_of[self._words_of.pop(row)]
        for name in self._names_of.pop(row, ()):
            self._named.pop(name, None)

    def _keep(self, row: int, words: bytes) -> None:
        self._row_of[words] = row
        self._words_of[row] = words

    def _free_row(self) -> int:
        """A row for a new mask: the next one, or that which was not used for longest.

        Raises:
            BitmaskShapeError: all are in use.
        """
        if self._size < self.most:
            if self._size == len(self._used):
                self._grow()
            self._size += 1
            return self._size - 1
        row = 1 + int(self._used[1:].argmin())
        if self._used[row] > self._step - self.steps:
            raise BitmaskShapeError(
                f"a table of {self.most:,} masks is too small: the last {self.steps} calls have told them all. Make it "
                "larger with MaskTable(..., most=...)."
            )
        if row in self._words_of:
            self._forget(row)
        return row

    def _grow(self) -> None:
        capacity = min(2 * len(self._used), self.most)
        rows = self._allocated(capacity)
        rows[: self._size] = self.rows[: self._size]
        self.rows = rows
        self._used = np.append(self._used, np.zeros(capacity - len(self._used), np.int64))

    def _allocated(self, capacity: int) -> Any:
        if self.device is None:
            return allocate_bitmask(capacity, self.vocabulary.size)
        import torch

        return torch.zeros((capacity, self._words), dtype=torch.int32, device=self.device)

    def _send(self, masks: NDArray[np.int32], rows: list[int]) -> None:
        """New rows, in one copy: each with its number behind its words."""
        if self.device is None:
            self.rows[rows] = masks
            return
        import torch

        packed = np.concatenate([masks, np.array(rows, np.int32)[:, None]], axis=1)
        try:
            there = _sent(torch.from_numpy(packed), self.device)
            self.rows.index_copy_(0, there[:, -1].long(), there[:, :-1])
        except BaseException:  # no memory on the device
            for row in rows:
                self._forget(row)
            raise


def _device(device: Any) -> Any:
    """A device of torch.

    Raises:
        ArgumentError: there is no such device, or no torch.
    """
    if device is None:
        return None
    try:
        import torch

        return torch.empty(0, device=device).device  # with its index
    except ImportError as error:
        raise ArgumentError("device", "None, since torch is not installed (pip install torch)", device) from error
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        raise ArgumentError("device", f"one that torch has ({str(error).splitlines()[0]})", device) from error


def _sent(tensor: Any, device: Any) -> Any:
    """A tensor of the host on the device, without waiting for it."""
    if device.type == "cpu":
        return tensor
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


def _names(matchers: list[Matcher | None]) -> list[tuple[int, int] | None]:
    """What names each matcher's mask in this process; `None` where the index does not say."""
    if _PLAIN.issuperset(map(type, matchers)):
        return _kernel.mask_numbers(matchers)
    for matcher in matchers:
        if isinstance(matcher, PrefetchingMatcher):
            matcher.leave_to_caller()
    return _kernel.mask_numbers([None if isinstance(matcher, NarrowedMatcher) else matcher for matcher in matchers])


def fill_mask_ids(matchers: Sequence[Matcher | None], ids: Any, table: MaskTable, *, threads: int | None = None) -> int:
    """Writes which row of a table is the mask of each matcher of a batch, and sends the device the rows that are new.

    The masks are those of `fill_bitmasks`: a matcher that is finished allows the end of sequence only, and `None`
    allows everything.

    Args:
        matchers: of any constraints over the table's vocabulary.
        ids: int32 [batch]: an array of numpy, or a tensor of torch on any device.
        table: where the masks are. Calls of several threads come one after the other.
        threads: as in `fill_bitmasks`, for masks that have not been met.

    Returns:
        How many rows were sent: 0 in most steps.

    Raises:
        BitmaskShapeError: `ids` of another shape or dtype, matchers over a vocabulary of another size, or more
            different masks than the table has rows.
        ArgumentError: something that is no matcher, no table or no array.
        LimitError: as `fill_bitmasks`. Nothing is written.

    Cost: of a row whose mask has been met, 0.4 us where many rows are of one constraint, 2 us where each is of another.
    Else as `fill_bitmasks`, and 5 us at 128,256 tokens to compare it. `benchmarks/serving/mask_tables.py` measures it.
    """
    instance("table", table, MaskTable, "a MaskTable")
    listed = list(items("matchers", matchers, "a list of matchers"))
    is_tensor = _check_ids(ids, len(listed))
    rows, sent = table._find(listed, threads)
    if is_tensor:
        import torch

        ids.copy_(_sent(torch.from_numpy(rows), ids.device), non_blocking=True)
    else:
        ids[:] = rows
    return sent


def _check_ids(ids: Any, count: int) -> bool:
    """Whether they are a tensor."""
    if not hasattr(ids, "shape") or not hasattr(ids, "dtype"):
        raise ArgumentError("ids", "an int32 array of numpy, or a tensor of torch", ids)
    if str(ids.dtype).removeprefix("torch.") != "int32" or tuple(ids.shape) != (count,):
        raise BitmaskShapeError(
            f"ids of shape {tuple(ids.shape)} and dtype {ids.dtype} do not fit a batch of {count}. Give int32, one for "
            "each row."
        )
    is_tensor = not isinstance(ids, np.ndarray)
    if not is_tensor and not ids.flags.writeable:
        raise ArgumentError("ids", "an array that can be written", ids)
    return is_tensor


def apply_mask_ids(logits: _Array, table: MaskTable, ids: Any) -> _Array:
    """Sets the logits of tokens that are not allowed to minus infinity, in place, by rows of a table.

    It is what `apply_bitmask` does with the rows of `fill_bitmasks`. On a device nothing waits for it: the rows are
    gathered there. It may be part of what `torch.compile` compiles, also with `fullgraph=True`.

    Args:
        logits: [batch, W], of a floating point dtype, on the table's device; of numpy for a table of numpy. Those past
            the vocabulary's words are set to minus infinity as well.
        table: the one that `ids` were filled from.
        ids: int32 [batch], where the logits are, as `fill_mask_ids` has written them.

    Returns:
        `logits` itself.

    Raises:
        BitmaskShapeError: the shapes or dtypes do not go together, or (on the CPU) an id is that of no row.
        ArgumentError: something that is no array or no table, or is on another device.

    Cost: on the CPU as `apply_bitmask`.
    """
    instance("table", table, MaskTable, "a MaskTable")
    logits_: Any = logits
    rows = table.rows
    if table.device is None:
        for name, array in (("logits", logits), ("ids", ids)):
            if not isinstance(array, np.ndarray):
                raise ArgumentError(name, "an array of numpy, as the table is one (MaskTable(..., device=))", array)
        _check_shapes(logits_, rows, ids, True)  # of numpy's dtypes `apply_rows` judges
        return _apply_on_host(logits, rows, ids)
    import torch

    _check_devices(logits_, rows, ids)
    _check_shapes(logits_, rows, ids, logits_.is_floating_point())
    if torch.compiler.is_compiling():
        return _masked(logits_, rows, ids)  # type: ignore[no-any-return]
    if logits_.is_cpu and not logits_.requires_grad:
        return _apply_on_host(logits, rows.numpy(), ids.numpy())
    if logits_.is_cuda and (kernel := _triton_kernel()) is not None:
        return kernel(logits_, rows, ids)  # type: ignore[no-any-return]
    return _masked(logits_, rows, ids)  # type: ignore[no-any-return]


def _apply_on_host(logits: _Array, rows: NDArray[np.int32], ids: NDArray[np.int32]) -> _Array:
    if ids.size and not 0 <= ids.min() <= ids.max() < len(rows):
        raise BitmaskShapeError(
            f"ids from {int(ids.min())} to {int(ids.max())} are not rows of a table of {len(rows)}. Fill them with "
            "fill_mask_ids."
        )
    return apply_rows(logits, rows, ids.tolist())


def _check_devices(logits: Any, rows: Any, ids: Any) -> None:
    import torch

    if not isinstance(logits, torch.Tensor):
        raise ArgumentError("logits", "a tensor of torch, as the table is one", logits)
    if not isinstance(ids, torch.Tensor):
        raise ArgumentError("ids", "a tensor of torch, where the logits are", ids)
    for name, tensor in (("logits", logits), ("ids", ids)):
        if tensor.device != rows.device:
            raise ArgumentError(name, f"on the table's device, {rows.device}", tensor.device)


def _check_shapes(logits: Any, rows: Any, ids: Any, is_floating: bool) -> None:
    """What can be told without looking at numbers on a device."""
    is_batch = len(logits.shape) == 2 and tuple(ids.shape) == (logits.shape[0],)
    if not (is_batch and is_floating and str(ids.dtype).removeprefix("torch.") == "int32"):
        raise BitmaskShapeError(
            f"logits of shape {tuple(logits.shape)} and dtype {logits.dtype} do not fit ids of shape "
            f"{tuple(ids.shape)} and dtype {ids.dtype}. Use floating point logits [batch, W], and int32 ids [batch]."
        )
    if rows.shape[1] > -(-logits.shape[1] // 32):
        raise BitmaskShapeError(
            f"logits of {logits.shape[1]} tokens do not fit a table of {rows.shape[1]} words a row. Make a table for "
            "the model's vocabulary."
        )


def _masked(logits: Any, rows: Any, ids: Any) -> Any:
    """By operations of torch, none of which waits for a device: what is compiled becomes one kernel."""
    return logits.masked_fill_(refused_by(rows.index_select(0, ids), logits.shape[1]), float("-inf"))


@cache  # PERF: an import that fails is tried again each time
def _triton_kernel() -> Any:
    """The kernel for GPUs; `None` where Triton is not installed."""
    try:
        from .mask_kernel import apply_rows
    except ImportError:
        return None
    return apply_rows
