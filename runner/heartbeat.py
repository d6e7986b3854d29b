"""Keeps a claim alive while its task runs, and hears of a lost claim or a cancel. A thread of the worker's parent; called by errand."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runner import logs
from runner.broker import Queue
from runner.connect import FAILURES
from runner.errors import RunnerError


class Heartbeat:
    """Extends one claim every third of its lease. Redis away is no reason to stop: the silence rule keeps the claim."""

    def __init__(self, queue: Queue, task_id: str, token: str, progress: Callable[[], str], hear: Callable[[str], None]) -> None:
        """`progress` gives the word to send, `-` for none; `hear` is told `cancel` or `lost`, once each."""
        self._queue, self._task_id, self._token = queue, task_id, token
        self._progress, self._hear = progress, hear
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, without waiting for a beat that hangs in the network: its token fences it."""
        self._ended.set()

    def _beat(self) -> None:
        every_s, heard = self._queue.declaration.lease_s / 3, {"ok", ""}
        while "lost" not in heard and not self._ended.wait(every_s):
            word = self._extend()
            if word not in heard and not self._ended.is_set():
                heard.add(word)
                self._hear(word)

    def _extend(self) -> str:
        try:
            return self._queue.extend(self._task_id, self._token, self._progress())
        except FAILURES as error:
            failure: Exception = error
        except RunnerError as error:
            failure = error
        logs.event("heartbeat failed", "warning", task_id=self._task_id, error=str(failure))
        return ""
