"""How many Jobs KEDA would start: its own formulas for ScaledJobs, since KEDA 2.19. Pure; called by the local scaler.

The parameters have KEDA's names. "Running" counts every Job that is neither complete nor failed, pending ones included.
Which strategy is right depends on what the length counts: `default` where tasks in flight are in it (XLEN with XDEL on
settle), `accurate` where they are not (LLEN).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Strategy = Literal["default", "accurate"]
MultipleScalersCalculation = Literal["max", "sum"]

STRATEGY_OF_MODE: dict[str, Strategy] = {"stream": "default", "list": "accurate"}
"""The strategy that each mode of a queue needs."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What a ScaledJob's triggers say together: all tasks there are, and how many Jobs that makes at most."""

    queue_length: int
    max_value: int


def metric_of(
    queue_lengths: Iterable[int],
    max_replica_count: int,
    target_average_value: int = 1,
    multiple_scalers_calculation: MultipleScalersCalculation = "sum",
) -> Metric:
    """One number out of one trigger per queue key; KEDA caps each trigger before it takes them together, and caps the sum."""
    each = [Metric(length, min(-(-length // target_average_value), max_replica_count)) for length in queue_lengths]
    if not each:
        return Metric(0, 0)
    if multiple_scalers_calculation == "max":
        return max(each, key=lambda one: one.max_value)
    return Metric(sum(one.queue_length for one in each), min(sum(one.max_value for one in each), max_replica_count))


def default(max_scale: int, running_job_count: int) -> int:
    """For a length with the tasks in flight in it: what is missing up to it."""
    return max_scale - running_job_count


def accurate(max_scale: int, running_job_count: int, pending_job_count: int, max_replica_count: int) -> int:
    """For a length without the tasks in flight: pending Jobs will take their share of it, and all Jobs stay under the cap."""
    return min(max_scale - pending_job_count, max_replica_count - running_job_count)


def jobs_to_start(strategy: Strategy, metric: Metric, running_job_count: int, pending_job_count: int, max_replica_count: int) -> int:
    """What one poll of KEDA starts: never below zero, never more than there are tasks."""
    if strategy == "default":
        effective_max_scale = default(metric.max_value, running_job_count)
    else:
        effective_max_scale = accurate(metric.max_value, running_job_count, pending_job_count, max_replica_count)
    return max(0, min(metric.queue_length, effective_max_scale))
