"""The process in a worker pod: one task, run by a child, its outcome recorded, exit. `python -m runner.worker`; called by KEDA's Job.

Exit code 0: an outcome was recorded, or there was nothing to do. 1: Redis or the handlers failed, or the claim was lost; nothing
was written then. 2: a setting is wrong. The child is forked before redis is imported: it is small, and starts while its parent
connects.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from runner import logs
from runner.config import NO_OPTIONS, WorkerSettings, load
from runner.errors import ConfigError, RunnerError
from runner.outcome import Kind
from runner.supervisor import Supervisor


def main() -> int:
    """Run one worker; the exit code."""
    try:
        settings = load(WorkerSettings)
        logs.least(settings.log_level)
        return _supervised(settings)
    except ConfigError as error:
        logs.event("refused to start", "error", error=str(error))
        return 2
    except RunnerError as error:
        logs.event("failed", "error", kind=type(error).__name__, error=str(error))
        return 1


def _supervised(settings: WorkerSettings) -> int:
    child = Supervisor(settings.handlers, settings.exec, grace_s=settings.grace_s, start_s=settings.start_s)
    # First of all: PID 1 of a container has no default action, so a SIGTERM before this line is lost.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: _hand_back(child, number))
    child.start()
    try:
        from runner.errand import Errand  # redis is imported while the child imports the handlers

        return Errand(settings, child).run()
    finally:
        child.close()
        if settings.ready_file:
            Path(settings.ready_file).unlink(missing_ok=True)


def _hand_back(child: Supervisor, number: int) -> None:
    logs.event("asked to end", signal=signal.Signals(number).name)
    child.stop(Kind.RELEASED, "the pod was asked to end")


def leave(code: int) -> None:
    """End the process now: threads and grandchildren must not keep a pod alive whose outcome is recorded."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1:]:
        logs.event("refused to start", "error", error=NO_OPTIONS)
        leave(2)
    leave(main())
