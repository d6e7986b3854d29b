"""Follows one task to its end, look by look; the pauses between are its caller's. Called by Producer.wait and AsyncProducer.wait."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

from runner.broker import Broker, Facts, Queue
from runner.connect import FAILURES, explain
from runner.errors import (
    NestedWaitError,
    RefusedError,
    TaskCancelledError,
    TaskDeadError,
    TaskExpiredError,
    TaskUnknownError,
    WaitTimeoutError,
)

FIRST_S, LONGEST_S, GROWTH = 0.02, 1.0, 1.5


def check_alone(allow_nested: bool) -> None:
    """Raise NestedWaitError in the process of a handler, or of a program that a worker runs: both have RUNNER_TASK_ID."""
    task_id = os.environ.get("RUNNER_TASK_ID")
    if task_id and not allow_nested:
        raise NestedWaitError(task_id)


class Waiter:
    """Looks for the end of one task. The broker's client raises at the first failure, so that the deadline is this one's own."""

    def __init__(self, broker: Broker, url: str, task_id: str, queue: str | None, timeout_s: float) -> None:
        if math.isnan(timeout_s):  # no time is after it: the wait would never end
            raise RefusedError("`timeout_s` is nan, not a number of seconds")
        self._broker, self._url, self._id, self._name = broker, url, task_id, queue
        self._home: Queue | None = None
        self._last = "was not looked at"
        self._timeout_s, self._deadline_s, self._pause_s = timeout_s, time.monotonic() + timeout_s, FIRST_S
        self.result: Any = None

    def pause_s(self) -> float | None:
        """Look once: None when the task is done and `result` is there, else how long to wait before the next look.

        Raises the errors of Producer.wait. There is at least one look, and one at the very end.
        """
        facts = self._look()
        if facts is not None and facts.state == "done":
            self.result = json.loads(facts.result) if facts.result else None
            return None
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise self.over()
        pause_s, self._pause_s = min(self._pause_s, left_s), min(LONGEST_S, self._pause_s * GROWTH)
        return pause_s

    def over(self) -> WaitTimeoutError:
        """The error of a wait whose time is over, with what was seen last."""
        return WaitTimeoutError(f"task {self._id!r} did not end within {self._timeout_s:g} s: it {self._last}")

    def _look(self) -> Facts | None:
        """What is known, None while Redis is away; raises where the task came to an end without a result."""
        try:
            facts = self._facts()
        except FAILURES as error:
            self._last = f"could not be seen: {explain(error, self._url)}"
            return None
        if facts is None:
            where = f"queue {self._name!r} does not know" if self._name else "no queue knows"
            raise TaskUnknownError(f"{where} task {self._id!r}: never submitted, purged, or done longer ago than results are kept")
        self._last = f"is {facts.state}"
        self._refuse(facts)
        return facts

    def _facts(self) -> Facts | None:
        if self._home is None or (facts := self._home.look(self._id)) is None or facts.state == "moved":
            found = self._broker.find(self._id, [self._broker.open(self._name)] if self._name else None)
            self._home, facts = found if found else (None, None)
        # The queue that it moved to does not know it any more.
        return None if facts is not None and facts.state == "moved" else facts

    def _refuse(self, facts: Facts) -> None:
        if facts.state == "cancelled":
            raise TaskCancelledError(f"task {self._id!r} was cancelled")
        if facts.state == "dead" and facts.reason == "expired":
            raise TaskExpiredError(f"task {self._id!r} expired before a worker took it")
        if facts.state == "dead":
            detail = f": {facts.detail}" if facts.detail else ""
            raise TaskDeadError(f"task {self._id!r} is among the dead letters ({facts.reason}){detail}")
