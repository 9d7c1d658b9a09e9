"""Generations that are ended: by the clock, by who reads them, from another thread, from an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from fixed_models import FixedModel, compiled, favouring, scattered
from writing_model import Writer

import derivable as dv


class Slow(FixedModel):
    """A pass takes a while; `begun` is set when one is under way."""

    def __init__(self, seconds: float = 0.02) -> None:
        def logits(ids: list[int]) -> Any:
            self.begun.set()
            time.sleep(seconds)
            return favouring(0).logits(ids)

        super().__init__(logits)
        self.begun = threading.Event()


def test_time_is_up() -> None:
    matcher = compiled("a+").matcher()
    begun = time.perf_counter()
    made = dv.generate(Slow(), [0], matcher, temperature=0, timeout=0.1, speculate=0, max_tokens=10_000)
    assert 0.1 <= time.perf_counter() - begun < 2
    assert made.finish_reason == "timeout" and 1 <= len(made.token_ids) < 20
    assert made.is_complete and made.value == made.text == "a" * len(made.token_ids)
    assert matcher.is_accepting and not matcher.is_finished  # it stands behind the text, and may go on
    cut = dv.generate(Slow(), [0], compiled("[ab]{30}"), temperature=0, timeout=0.05, speculate=0)
    assert (cut.finish_reason, cut.is_complete) == ("timeout", False)


def test_no_pass_is_begun_when_time_is_up() -> None:
    model = Slow(0.05)
    made = dv.generate(model, [0], compiled("a+"), timeout=0.04, forced=False)
    assert (made.finish_reason, len(made.token_ids), made.stats.model_calls) == ("timeout", 1, 1)


def test_what_ends_in_time_ends_as_ever() -> None:
    made = dv.generate(scattered(1), [0], compiled("[abc]{4}"), timeout=60)
    assert made.finish_reason == "stop"
    assert made.token_ids == dv.generate(scattered(1), [0], compiled("[abc]{4}")).token_ids


def test_rows_of_a_batch_have_one_clock() -> None:
    rows = dv.generate(Slow(), [[0], [0], [0]], compiled("a+"), temperature=0, timeout=0.1, speculate=0)
    assert [row.finish_reason for row in rows] == ["timeout"] * 3
    assert sum(len(row.token_ids) for row in rows) < 20


def test_closing_between_pieces() -> None:
    matcher = compiled("a+").matcher()
    stream = dv.generate(favouring(0), [0], matcher, temperature=0, stream=True, forced=False, speculate=0)
    pieces = [next(stream) for _ in range(3)]
    assert stream.generation is None
    stream.close()
    stream.close()
    assert stream.generation is not None and list(stream) == []
    assert (stream.generation.text, stream.generation.finish_reason) == ("".join(pieces), "cancelled")
    assert matcher.length == 3 and not matcher.is_finished


def test_closing_before_and_after() -> None:
    model = favouring(0)
    unread = dv.generate(model, [0], compiled("a+"), stream=True)
    unread.close()
    assert unread.generation is not None and unread.generation.token_ids == []
    whole = dv.generate(model, [0], compiled("aaa"), stream=True)
    assert "".join(whole) == "aaa"
    whole.close()
    assert whole.generation is not None and whole.generation.finish_reason == "stop"


def test_a_block_closes_it() -> None:
    with dv.generate(
        favouring(0), [0], compiled("a+"), temperature=0, stream=True, forced=False, speculate=0
    ) as stream:
        assert next(stream) == "a"
    assert stream.generation is not None and stream.generation.finish_reason == "cancelled"
    with pytest.raises(KeyError), dv.generate(favouring(0), [0], compiled("a+"), stream=True) as stream:
        raise KeyError
    assert stream.generation is not None


def test_closing_from_another_thread() -> None:
    model = Slow(0.1)
    stream = dv.generate(model, [0], compiled("a+"), temperature=0, stream=True, max_tokens=10_000, speculate=0)
    pieces: list[str] = []
    thread = threading.Thread(target=lambda: pieces.extend(stream))
    thread.start()
    assert model.begun.wait(10)
    with pytest.raises(dv.DerivableError, match="somebody else"):
        next(stream)
    stream.close()
    thread.join(10)
    assert not thread.is_alive() and stream.generation is not None
    assert stream.generation.finish_reason == "cancelled" and stream.generation.text == "".join(pieces)
    assert len(pieces) <= 2


def test_an_event_loop_goes_on_meanwhile() -> None:
    async def main() -> tuple[list[str], int, Any]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.005)
                beats += 1

        beating = asyncio.create_task(beat())
        stream = dv.generate(Slow(0.05), [0], compiled("a{5}"), temperature=0, stream=True, speculate=0, forced=False)
        pieces = [piece async for piece in stream]
        beating.cancel()
        return pieces, beats, stream.generation

    pieces, beats, generation = asyncio.run(main())
    assert "".join(pieces) == generation.text == "aaaaa" and len(pieces) == 5
    assert beats >= 10  # a loop that waits for every pass has one between two of them


def test_a_task_that_is_cancelled_ends_it() -> None:
    async def main() -> Any:
        stream = dv.generate(Slow(0.05), [0], compiled("a+"), temperature=0, stream=True, max_tokens=10_000)

        async def read() -> None:
            async with stream:
                async for _ in stream:
                    pass

        task = asyncio.create_task(read())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(400):
            if stream.generation is not None:
                break
            await asyncio.sleep(0.01)
            stream.close()
        return stream.generation

    generation = asyncio.run(main())
    assert generation.finish_reason == "cancelled" and len(generation.token_ids) < 50


def test_errors_of_the_model_come_through_the_loop() -> None:
    def fails(ids: list[int]) -> Any:
        raise RuntimeError("no memory")

    async def main() -> None:
        async for _ in dv.generate(FixedModel(fails), [0], compiled("a"), stream=True, forced=False):
            pass

    with pytest.raises(dv.ModelError, match="no memory"):
        asyncio.run(main())


@pytest.mark.parametrize("timeout", ["1", [1], True, object(), 0, -1, float("nan")])
def test_no_timeout(timeout: Any) -> None:
    with pytest.raises(dv.DerivableError, match="timeout"):
        dv.generate(favouring(0), [0], compiled("a"), timeout=timeout)


def test_text_that_was_cut_has_no_value() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    stream = dv.generate(Writer("[1, 2, 3]"), [0], schema, temperature=0, stream=True)
    next(stream)
    stream.close()
    assert stream.generation is not None
    with pytest.raises(dv.DerivableError, match="cancelled"):
        _ = stream.generation.value
