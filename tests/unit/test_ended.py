"""What ended lately, out of samples of totals. Called by pytest."""

from __future__ import annotations

from itertools import pairwise

from runner.broker.ended import APART_MS, KEPT_MS, Ended, Sample, ended_since, with_sample


def test_samples_lie_apart_and_are_kept_for_an_hour() -> None:
    kept: list[Sample] = []
    for at_ms in range(1, 3 * KEPT_MS, 60_000):
        kept = with_sample(kept, [at_ms, 0, 0]) or kept

    times = [one[0] for one in kept]
    assert times[-1] - times[0] < KEPT_MS and len(times) == KEPT_MS // APART_MS
    assert min(later - sooner for sooner, later in pairwise(times)) >= APART_MS


def test_what_ended_is_counted_from_the_oldest_sample() -> None:
    assert ended_since([[1, 100, 10], [2, 150, 10]], [3, 190, 20]) == Ended(90, 10, 1)
    assert Ended(90, 10, 1).dead_percent == 10 and Ended(0, 0, 1).dead_percent == 0


def test_totals_that_began_anew_are_counted_from_there() -> None:
    assert ended_since([[1, 100, 10]], [3, 5, 1]) == Ended(5, 1, 0)
    assert ended_since([[1, 100, 10], [2, 2, 0]], [3, 5, 1]) == Ended(3, 1, 2)
