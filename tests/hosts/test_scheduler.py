"""What servers do to matchers, without a model: thousands of random schedules of batches, drafts, overlapped steps,
preemptions, forks and cancellations, under which every text comes out as it does alone."""

from __future__ import annotations

import pytest
from scheduler import Schedule

SCHEDULES, MANY = 1_000, 30_000
"""In a fast run, and in a slow one. `python tests/support/scheduler.py` runs as many as one likes."""


def serve(seeds: range) -> None:
    done = 0
    for seed in seeds:
        schedule = Schedule(seed)
        try:
            schedule.run()
        except Exception as error:
            raise AssertionError(f"schedule {seed}: {error!r}") from error
        done += schedule.done
    assert done > 3 * len(seeds)


@pytest.mark.parametrize("part", range(4))
def test_texts_are_what_they_are_alone(part: int) -> None:
    serve(range(part * SCHEDULES // 4, (part + 1) * SCHEDULES // 4))


@pytest.mark.slow
def test_many_schedules() -> None:
    serve(range(SCHEDULES, MANY))
