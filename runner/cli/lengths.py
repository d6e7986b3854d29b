"""The lengths of the queues, as status reads and shows them. Called by status and its live screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.cli.common import age, each_asked

if TYPE_CHECKING:
    from runner.broker import Broker, Measures
    from runner.queue import Declaration

COLUMNS = ("queue", "mode", "waiting", "delayed", "claimed", "expired", "dead", "oldest wait", "dead by reason")
NARROW = (*COLUMNS[:-2], "oldest", "reasons")
NO_QUEUE = "No queue is declared yet: `runner queue declare NAME`"
Measured = list[tuple["Declaration", "Measures"]]


@dataclass(frozen=True, slots=True)
class Lengths:
    """What could be measured, and by name what is wrong with the queues that could not."""

    measured: Measured
    broken: dict[str, str]


def measure(broker: Broker, queue: str) -> Lengths:
    """One queue, whose error is raised, or all, of which each answers for itself."""
    return Lengths(*each_asked(broker, queue, lambda one: (one.declaration, one.measure())))


def rows(measured: Measured) -> list[list[object]]:
    """A line of the table for each queue."""
    return [
        [d.name, d.mode, m.waiting, m.delayed, m.claimed, m.expired_claims, m.dead, oldest(m), _reasons(m.dead_by_reason)]
        for d, m in measured
    ]


def oldest(measures: Measures) -> str:
    """For how long the longest waiting task has waited."""
    return age(measures.oldest_waiting_ms, measures.now_ms)


def arrived(measures: Measures) -> int:
    """How many tasks ever came in, bare pushes too: what is there and what has left. Grows by exactly what arrives."""
    ended = sum(measures.counts.get(word, 0) for word in ("done", "cancelled", "moved", "buried", "duplicates"))
    return measures.waiting + measures.delayed + measures.claimed + ended - measures.counts.get("replayed", 0)


def _reasons(dead: dict[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in sorted(dead.items()) if n) or "-"
