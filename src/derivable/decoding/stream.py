"""The text of a generation while it is being written."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Iterator, Sequence
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from derivable.decoding.generation import Generation
from derivable.decoding.policy import Halt
from derivable.decoding.run import OnToken, Run
from derivable.errors import DerivableError
from derivable.values.partial import SoFar

if TYPE_CHECKING:
    from typing_extensions import Self

    from derivable.trees import Captures

__all__ = ["Stream"]


class Stream(Iterator[str], AsyncIterator[str]):
    """The text of a generation, piece by piece as it is chosen. What may be the beginning of a stop string, or half a
    character, is held back until it is not.

    `async for` does the same, with every forward pass in a thread, so that the event loop goes on meanwhile. As a
    context manager (`with`, `async with`) it is closed at the end of the block.

    `value_so_far`, `complete` and `writing` are about the pieces that were given out. What has not been asked for costs
    nothing.

    Attributes:
        generation: when it is exhausted or closed, all of it; `None` before.

    Example:
        >>> import derivable as dv
        >>> grammar = dv.Grammar.from_regex("[a-z]{30}")
        >>> with dv.generate("tiny", "Letters: ", grammar, stream=True) as stream:  # doctest: +SKIP
        ...     first = next(stream)
        >>> stream.generation.finish_reason  # doctest: +SKIP
        'cancelled'
    """

    def __init__(self, run: Run, halt: Halt, on_token: OnToken | None) -> None:
        self.generation: Generation | None = None
        self._halt = halt
        self._waiting = Lock()
        self._given: list[str] = []
        self._fed = 0  # of the pieces given, how many `_so_far` has
        self._constraint = run.constraint
        self._so_far = SoFar(run.reader) if run.reader is not None and run.reader.is_json else None
        self._pieces = self._each(run, on_token)

    def _each(self, run: Run, on_token: OnToken | None) -> Iterator[str]:
        characters = codecs.getincrementaldecoder("utf-8")("replace")
        given = 0
        for decoder in run.steps(on_token):
            end = len(decoder.text)
            if decoder.finish_reason is None:
                end -= _held_back(decoder.text, decoder.policy.stop)
            if end > given and (piece := characters.decode(bytes(decoder.text[given:end]))):
                self._given.append(piece)
                yield piece
            given = max(given, end)
        if rest := characters.decode(b"", final=True):
            self._given.append(rest)
            yield rest
        self.generation = run.ended()

    @property
    def value_so_far(self) -> Any:
        """What the text so far stands for. Of a JSON Schema the Python value, half a string included; a number or word
        counts once it is complete. Of a model or dataclass a `derivable.Partial`, whose fields are `derivable.MISSING`
        until they begin, and what the type makes of them once they are complete; of the whole what `Generation.value`
        has. `MISSING` before the first value; where nothing is known of the text, the text.

        Raises:
            DerivableError: the type refuses a part that is complete, or pydantic is not installed.

        Cost: what is new is read, the string in progress once more, and a pointer copied for each member of an object
        or array in progress: 12 to 19 us at every token of a text of 12,600 (docs/decoding.md).
        """
        so_far = self._current()
        return "".join(self._given) if so_far is None else so_far.value

    @property
    def complete(self) -> tuple[str, ...]:
        """The JSON pointers of what is complete, such as `/name` and `/tags/0`, in the order in which it became so; of
        the whole `""`. A number is complete when something stands behind it."""
        so_far = self._current()
        if so_far is not None:
            return so_far.complete
        return ("",) if self.generation is not None and self.generation.is_complete else ()

    @property
    def writing(self) -> str | None:
        """The JSON pointer of the innermost value in progress; `None` before the first, and behind the whole."""
        so_far = self._current()
        if so_far is not None:
            return so_far.progress.writing
        return "" if self._given and not self.complete else None

    @property
    def captures(self) -> Captures:
        """What is captured in the pieces given out, as far as it is complete whatever follows (`Constraint.captures`).

        Raises:
            DerivableError: there is no grammar that the text begins a text of.

        Cost: what is there is read from its beginning each time.
        """
        if self.generation is not None:
            return self.generation.captures
        if self._constraint is None:
            raise DerivableError("nothing is captured without a grammar. Give generate() one, or a constraint.")
        return self._constraint.captures("".join(self._given))

    def _current(self) -> SoFar | None:
        """What has been made of the pieces given out, these included."""
        so_far = self._so_far
        if so_far is not None:
            new = self._given[self._fed :]
            so_far.feed("".join(new))
            self._fed += len(new)
            if self.generation is not None and self.generation.is_complete:
                so_far.progress.finish()
        return so_far

    def close(self) -> None:
        """Ends the generation; from any thread. Nothing happens where it has ended.

        Where another thread is waiting for the next piece, that thread gets what the forward pass under way brings, and
        then the end. Otherwise `generation` has what there is at once, with `finish_reason` `cancelled`; a matcher that
        was given stands behind it.
        """
        self._halt.cancel()
        if self._waiting.acquire(blocking=False):
            try:
                for _ in self._pieces:
                    pass
            finally:
                self._waiting.release()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if not self._waiting.acquire(blocking=False):
            raise DerivableError(
                "somebody else is waiting for the next piece of this stream. Let one thread or task iterate over it."
            )
        try:
            return next(self._pieces)
        finally:
            self._waiting.release()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        import asyncio  # PERF: a sixth of importing this library, for those who have no loop

        try:
            piece = await asyncio.to_thread(next, self, None)
        except asyncio.CancelledError:
            self._halt.cancel()
            raise
        if piece is None:
            raise StopAsyncIteration
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _held_back(text: bytearray, stops: Sequence[bytes]) -> int:
    """Bytes at the end that may be the beginning of a stop string."""
    longest = max((len(stop) for stop in stops), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(stop.startswith(bytes(text[-length:])) for stop in stops):
            return length
    return 0
