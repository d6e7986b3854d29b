"""The worker's child without a process: the handler is called where the test runs. Called by runner.testing in place of a Supervisor.

Breakpoints, patched functions, coverage and plain variables reach the handler so, and it starts in no time. What only a process can suffer
does not happen: no timeout strikes, nothing is killed, and a handler that exits is an error.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from runner import handlers, invoke, program
from runner.ending import Outcome, Stopping, judge
from runner.outcome import Ending, Kind
from runner.process import Reaped
from runner.replies import Known


class InlineChild:
    """Does for an Errand what a Supervisor does."""

    stopping = False
    progress: tuple[float, str] | None = None

    def __init__(self) -> None:
        self._stop = handlers.Stop()
        self._told: Stopping | None = None

    def await_ready(self) -> Known:
        """The handlers that the test and its modules have registered. HandlersError for one that cannot work."""
        handlers.REGISTRY.prepare()
        return Known({type: None if versions is None else tuple(versions) for type, versions in handlers.REGISTRY.types()})

    def waits(self, at_most_s: float = 0.0) -> bool:
        """It always does."""
        threading.Event().wait(at_most_s)
        return True

    def run(self, facts: dict[str, Any], body: bytes, timeout_s: float) -> Ending:
        """Call the handler as the child does."""
        context = handlers.Context({**facts, "deadline_ms": int((time.time() + timeout_s) * 1000)}, self._stop, self._report)
        began_s, cpu_s = time.monotonic(), time.thread_time()
        with _named(context.id), _breakable():
            said = Outcome.of_reply(invoke.outcome_of(body, context, self._stop))
        outcome = judge(said, self._told, Reaped(0, 0.0, 0), oom_killed=False)
        told = (outcome.kind or Kind.CRASH, outcome.detail, outcome.result, outcome.after_s)
        return Ending(*told, wall_s=time.monotonic() - began_s, cpu_s=time.thread_time() - cpu_s)

    def stop(self, kind: Kind, detail: str = "", *, grace_s: float | None = None) -> None:
        """A cancel, or a lost claim: seen by a handler that asks `context.cancelled()`."""
        self._told = self._told or Stopping(kind, detail)
        self._stop.asked = True

    def _report(self, fraction: float, note: str) -> None:
        self.progress = (fraction, note)


@contextmanager
def _named(task_id: str) -> Iterator[None]:
    """RUNNER_TASK_ID, as in the child."""
    before = os.environb.pop(b"RUNNER_TASK_ID", None)
    program.tell_id(task_id)
    try:
        yield
    finally:
        del os.environb[b"RUNNER_TASK_ID"]
        if before is not None:
            os.environb[b"RUNNER_TASK_ID"] = before


@contextmanager
def _breakable() -> Iterator[None]:
    """Lets Ctrl-C end the test run: to `outcome_of` it is one more thing that a handler raised, to be recorded and tried again."""
    before, pressed = signal.getsignal(signal.SIGINT), threading.Event()
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed.is_set():
        raise KeyboardInterrupt
