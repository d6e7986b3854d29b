"""A holder's only write: an ended attempt goes through the retry policy into Redis, for as long as it takes. Called by errand."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from runner import logs
from runner.attempt import attempt_line
from runner.broker import Queue, Settled
from runner.connect import FAILURES
from runner.errors import BrokerError, ClaimLostError, ConfigError, UnrecordedError
from runner.moves import move_or_retry
from runner.outcome import Action, Ending, Kind, Verdict
from runner.retry import decide
from runner.tasks import Claim, Task

Answer = TypeVar("Answer")
PAUSE_S = 1.0
PASSING: tuple[type[Exception], ...] = (*FAILURES, BrokerError)
"""Also a refusal, such as NOREPLICAS, MISCONF of a full disk, or BUSY of somebody's script."""


class Settler:
    """Settles one claim of one holder. `settle_s` is how long Redis may fail meanwhile; the client is patient besides."""

    def __init__(self, queue: Queue, claim: Claim, holder: str, settle_s: float) -> None:
        self.queue, self.claim, self.holder, self.settle_s = queue, claim, holder, settle_s
        self.task_id = claim.id
        self._began_s = time.monotonic()

    @property
    def now_ms(self) -> int:
        """Redis's clock, as far as the claim told it."""
        return self.claim.started_ms + int((time.monotonic() - self._began_s) * 1000)

    def adopted(self, task: Task) -> bool:
        """Give a bare push the id and key that its body names; False when that settled it, as a duplicate."""
        named = task.task_id or self.claim.id
        if not self.claim.fresh or (named == self.claim.id and not task.key):
            return True
        if not self.queue.adopt(self.claim, named, task.key or ""):
            logs.event("duplicate", task_id=named, queue=self.queue.name)
            return False
        self.task_id = named
        return True

    def settle(self, ending: Ending, task: Task | None) -> None:
        """Record what became of the attempt.

        Raises ClaimLostError when another holder has the task, UnrecordedError when the queue is gone, and Redis's own error or refusal
        when it lasted for longer than `settle_s`.
        """
        if ending.kind is Kind.LOST:
            raise ClaimLostError(self.task_id)
        verdict = self._judged(ending, task)
        facts: dict[str, Any] = {"number": self.claim.counters.attempt, "holder": self.holder, "task_type": task.type if task else ""}
        line = attempt_line(ending, started_ms=self.claim.started_ms, ended_ms=self.now_ms, **facts)
        word = self._persist(lambda: self._write(verdict, ending, line))
        if word == "lost":
            raise ClaimLostError(self.task_id)
        self._log(verdict, ending, task, word)

    def _judged(self, ending: Ending, task: Task | None) -> Verdict:
        own = task.max_retries if task else None
        counters, declared = self.claim.counters, self.queue.declaration
        return decide(ending, counters, declared, now_ms=self.now_ms, jitter=random.random(), max_retries=own)

    def _write(self, verdict: Verdict, ending: Ending, line: bytes) -> str:
        task_id, token = self.task_id, self.claim.token
        if verdict.action is Action.COMPLETE:
            return self.queue.complete(task_id, token, ending.result, line)
        if verdict.action is Action.RELEASE:
            return self.queue.release(task_id, token, line)
        if verdict.action is Action.CANCEL:
            return self.queue.cancel(task_id, token, line)
        if verdict.action is Action.MOVE:
            return move_or_retry(self.queue, replace(self.claim, id=task_id), verdict, line, self.now_ms)
        settled = Settled(task_id, token, verdict.counter, line, verdict.delay_ms, verdict.reason, verdict.detail)
        return (self.queue.retry if verdict.action is Action.RETRY else self.queue.bury)([settled])[0]

    def _persist(self, write: Callable[[], Answer]) -> Answer:
        """Every settle can be repeated, so a lost reply, or a Redis that is away or refuses for a while, costs nothing but time."""
        deadline_s = time.monotonic() + self.settle_s
        while True:
            try:
                return write()
            except ClaimLostError:
                raise
            except ConfigError as error:  # a FLUSHALL; told as it is, it read as if the worker had refused to start
                raise UnrecordedError(self.task_id, str(error)) from error
            except PASSING as error:
                if time.monotonic() + PAUSE_S > deadline_s:
                    raise
                logs.event("settle failed, will be repeated", "warning", task_id=self.task_id, error=str(error))
                threading.Event().wait(PAUSE_S)

    def _log(self, verdict: Verdict, ending: Ending, task: Task | None, word: str) -> None:
        facts: dict[str, Any] = {"queue": self.queue.name, "task_id": self.task_id, "type": task.type if task else None}
        facts |= {"kind": str(ending.kind), "action": str(verdict.action), "attempt": self.claim.counters.attempt}
        facts |= {"detail": verdict.detail or None, "delay_ms": verdict.delay_ms or None, "word": None if word == "ok" else word}
        facts |= {"wall_s": round(ending.wall_s, 3), "cpu_s": round(ending.cpu_s, 3), "peak_kib": ending.peak_kib or None}
        logs.event("settled", **{name: value for name, value in facts.items() if value is not None})
