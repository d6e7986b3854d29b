"""Keeps a claim alive while its task runs, and hears of a lost claim or a cancel. A thread of the worker's parent; called by errand."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runner import logs
from runner.broker import Queue
from runner.connect import FAILURES
from runner.errors import RunnerError

Opened = Callable[[], Queue]
Hear = Callable[[str], None]


class Heartbeat:
    """Extends one claim every third of its lease. Redis away is no reason to stop: the silence rule keeps the claim."""

    def __init__(self, opened: Opened, every_s: float, task_id: str, token: str, progress: Callable[[], str], hear: Hear) -> None:
        """`opened` opens the queue, at the first beat. `progress` gives the word to send, `-` for none; `hear` gets `cancel` or `lost`."""
        self._opened, self._every_s, self._task_id, self._token = opened, every_s, task_id, token
        self._queue: Queue | None = None
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
        heard = {"ok", ""}
        while "lost" not in heard and not self._ended.wait(self._every_s):
            word = self._extend()
            if word not in heard and not self._ended.is_set():
                heard.add(word)
                self._hear(word)

    def _extend(self) -> str:
        try:
            self._queue = self._queue or self._opened()
            return self._queue.extend(self._task_id, self._token, self._progress())
        except FAILURES as error:
            failure: Exception = error
        except RunnerError as error:
            failure = error
        logs.event("heartbeat failed", "warning", task_id=self._task_id, error=str(failure))
        return ""
