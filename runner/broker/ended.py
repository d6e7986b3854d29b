"""What ended lately, out of totals that only grow: samples of them, kept for an hour. Pure; called by Notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

APART_MS, KEPT_MS = 300_000, 3_600_000
Sample = Sequence[int]
"""At which time (ms), how many were done and how many buried since the queue was declared."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Tasks that ended well, and that were buried, since `since_ms`; 0 is since the queue was declared."""

    done: int
    buried: int
    since_ms: int

    @property
    def dead_percent(self) -> float:
        """Of those that ended, the buried ones."""
        return 100 * self.buried / (self.done + self.buried) if self.buried else 0.0


def sample_of(counts: Mapping[str, int], now_ms: int) -> Sample:
    """A sample of a queue's totals."""
    return [now_ms, counts.get("done", 0), counts.get("buried", 0)]


def with_sample(kept: Sequence[Sample], new: Sample) -> list[Sample] | None:
    """The samples to keep from now on; None while the last one is good enough."""
    if kept and new[0] - kept[-1][0] < APART_MS:
        return None
    return [*(one for one in kept if new[0] - one[0] < KEPT_MS), new]


def ended_since(kept: Sequence[Sample], now: Sample) -> Ended:
    """What ended since the oldest sample; all of it where there is none, or the totals began anew since."""
    began = next((one for one in kept if one[1] <= now[1] and one[2] <= now[2]), (0, 0, 0))
    return Ended(now[1] - began[1], now[2] - began[2], began[0])
