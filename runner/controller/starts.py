"""Pods that end without claiming anything, again and again: bounded, or the bill runs. Pure; called by cluster_pass.

A queue's count of claims stands still while its Jobs fail: so these failed before they claimed. Jobs that Kubernetes or their deadline
ended do not count, they never got so far by no fault of the image.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from runner.cluster import Job

WITHIN_S, MOST = 600.0, 5


@dataclass(frozen=True, slots=True)
class Starts:
    """What is remembered from pass to pass: the count of claims, and since it changed (or the queue was paused) which Jobs failed when."""

    turn: int = -1
    since_s: float = 0.0
    failed: Mapping[str, float] = field(default_factory=dict)

    @property
    def looping(self) -> bool:
        """Whether enough pods ended without a claim."""
        return len(self.failed) >= MOST


def noted(before: Starts, turn: int, jobs: Collection[Job], now_s: float) -> Starts:
    """Look at the Jobs once more. A claim since the last look makes the count begin anew: some pods do work."""
    if turn != before.turn:
        return Starts(turn, now_s)
    new = {
        one.uid: one.ended_s
        for one in jobs
        if one.ended == "Failed" and one.reason != "DeadlineExceeded" and one.created_s >= before.since_s
    }
    return replace(before, failed={uid: at for uid, at in (dict(before.failed) | new).items() if now_s - at < WITHIN_S})
