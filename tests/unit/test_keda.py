"""KEDA's formulas against what was measured on a real operator (KEDA 2.20), and their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from runner import keda

STRATEGIES = some.sampled_from(["default", "accurate"])
COUNTS = some.integers(0, 300)


def started(strategy: keda.Strategy, length: int, *, running: int, pending: int = 0, cap: int = 100) -> int:
    return keda.jobs_to_start(strategy, keda.metric_of([length], cap), running, pending, cap)


@pytest.mark.parametrize(
    ("length", "running", "pending", "cap", "by_default", "by_accurate"),
    [
        pytest.param(10, 3, 0, 100, 7, 10, id="LLEN of 10 waiting, 3 in flight"),
        pytest.param(13, 3, 0, 100, 10, 13, id="XLEN of 10 waiting, 3 in flight"),
        pytest.param(10, 13, 10, 100, 0, 0, id="LLEN, the next poll, 10 new pods pending"),
        pytest.param(13, 13, 10, 100, 0, 3, id="XLEN, the next poll, 10 new pods pending"),
        pytest.param(10, 3, 0, 5, 2, 2, id="LLEN, at most 5"),
        pytest.param(13, 3, 0, 5, 2, 2, id="XLEN, at most 5"),
    ],
)
def test_the_table_of_both_strategies(length: int, running: int, pending: int, cap: int, by_default: int, by_accurate: int) -> None:
    assert started("default", length, running=running, pending=pending, cap=cap) == by_default
    assert started("accurate", length, running=running, pending=pending, cap=cap) == by_accurate


@pytest.mark.parametrize(("mode", "length"), [("stream", 13), ("list", 10)])
def test_each_mode_has_the_strategy_that_starts_one_job_per_waiting_task(mode: str, length: int) -> None:
    strategy = keda.STRATEGY_OF_MODE[mode]

    assert started(strategy, length, running=3) == 10
    assert started(strategy, length, running=13, pending=10) == 0


@pytest.mark.parametrize("strategy", ["default", "accurate"])
def test_one_task_and_no_pod_starts_one_job(strategy: keda.Strategy) -> None:
    assert started(strategy, 1, running=0) == 1


def test_three_streams_with_nine_tasks_and_five_at_most_start_five_then_four() -> None:
    first = keda.jobs_to_start("default", keda.metric_of([3, 3, 3], 5), 0, 0, 5)
    second = keda.jobs_to_start("default", keda.metric_of([2, 1, 1], 5), 0, 0, 5)

    assert (first, second) == (5, 4)


def test_sum_adds_the_keys_of_all_priorities_and_max_takes_the_longest() -> None:
    assert keda.metric_of([4, 0, 3], 100) == keda.Metric(7, 7)
    assert keda.metric_of([4, 0, 3], 100, multiple_scalers_calculation="max") == keda.Metric(4, 4)


def test_a_target_of_five_tasks_per_job_needs_a_fifth_of_the_jobs_rounded_up() -> None:
    assert keda.metric_of([11], 100, target_average_value=5) == keda.Metric(11, 3)


def test_no_key_is_no_task() -> None:
    assert keda.metric_of([], 5) == keda.Metric(0, 0)


@given(STRATEGIES, some.lists(COUNTS, min_size=1, max_size=5), some.data(), some.integers(0, 100))
def test_never_a_negative_number_and_never_more_running_than_the_cap(
    strategy: keda.Strategy, lengths: list[int], data: some.DataObject, cap: int
) -> None:
    running = data.draw(some.integers(0, cap))
    pending = data.draw(some.integers(0, running))

    jobs = keda.jobs_to_start(strategy, keda.metric_of(lengths, cap), running, pending, cap)

    assert 0 <= jobs <= cap - running


@given(STRATEGIES, COUNTS, some.data())
def test_more_jobs_running_than_a_lowered_cap_start_none(strategy: keda.Strategy, length: int, data: some.DataObject) -> None:
    running = data.draw(some.integers(1, 100))
    cap = data.draw(some.integers(0, running - 1))

    assert started(strategy, length, running=running, cap=cap) == 0


@given(waiting=COUNTS, claimed=some.integers(0, 50), starting=some.integers(0, 50))
def test_both_modes_start_exactly_the_missing_jobs_whatever_is_in_flight(waiting: int, claimed: int, starting: int) -> None:
    missing = max(0, waiting - starting)

    assert started("default", waiting + claimed, running=claimed + starting, cap=1000) == missing
    assert started("accurate", waiting, running=claimed + starting, pending=starting, cap=1000) == missing
