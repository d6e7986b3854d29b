"""Stands where KEDA stands on a machine without Kubernetes: a worker process per task, by KEDA's own formulas. Called by demo and dev."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from runner import keda, logs
from runner.broker import Queue
from runner.connect import FAILURES
from runner.errors import RunnerError

WORKER = (sys.executable, "-m", "runner.worker")
GRACE_S = 5.0
PASSING: tuple[type[Exception], ...] = (*FAILURES, OSError)


class WorkerProcess:
    """One worker, which takes one task and exits. `folder` gets its log, and while it holds a task its ready file."""

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self._ready_file = folder / f"{name}.ready"
        own = {"RUNNER_POD": name, "RUNNER_READY_FILE": str(self._ready_file)}
        with (folder / f"{name}.log").open("wb") as log:
            # A session of its own: Ctrl-C in a terminal is for the scaler, which then asks its workers to end.
            self._process = subprocess.Popen(
                command, env={**environ, **own}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def ready(self) -> bool:
        """What a readiness probe would say: true from the claim to the end."""
        return self._ready_file.exists()

    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        code = self._process.poll()
        if code is not None:
            self._ready_file.unlink(missing_ok=True)
        return code

    def terminate(self) -> None:
        """Ask it to hand its task back and end."""
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL to the worker and its child, as a node that goes away; nobody is left to record anything."""
        children = _children_of(self._process.pid)
        # The worker first: one that outlived its child would see a crash, and settle it.
        self._process.kill()
        for child in children:
            with suppress(ProcessLookupError):  # it ends by itself too, once its parent is gone
                os.killpg(child, signal.SIGKILL)

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within this time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return self.exit_code() is not None


def _children_of(pid: int) -> list[int]:
    """Each leads a group of its own, so a signal to the worker's group does not reach it."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has ended, or this is no Linux
        return []


class Scaler:
    """Starts workers for one queue, at most `max_replicas` at a time, until it is closed."""

    def __init__(
        self,
        queue: Queue,
        environ: Mapping[str, str],
        folder: Path,
        *,
        max_replicas: int = 2,
        poll_s: float = 1.0,
        command: Sequence[str] = WORKER,
    ) -> None:
        """`environ` is the workers' environment: what they need besides the queue's name and prefix, such as RUNNER_HANDLERS."""
        self.queue, self.folder, self.max_replicas, self.poll_s = queue, folder, max_replicas, poll_s
        self.started = 0
        """How many workers were started; KEDA would have created as many Jobs."""
        self.exit_codes: Counter[int] = Counter()
        self.failure: RunnerError | None = None
        self.paused = False
        """True starts no worker until it is False again; those that run go on."""
        self._environ = {**environ, "RUNNER_QUEUE": queue.name, "RUNNER_PREFIX": queue.prefix}
        self._command = command
        self._workers: dict[str, WorkerProcess] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._keep_polling, name="scaler", daemon=True)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> int:
        """One look at the queue; how many workers it started."""
        # Counted before the lengths are read: a task that ends in between makes this poll start one too few, never one too many.
        self._reap()
        running, pending = len(self._workers), sum(not worker.ready for worker in self._workers.values())
        metric = keda.metric_of(self.queue.measure().watched.values(), self.max_replicas)
        strategy = keda.STRATEGY_OF_MODE[self.queue.declaration.mode]
        missing = 0 if self.paused else keda.jobs_to_start(strategy, metric, running, pending, self.max_replicas)
        for _ in range(missing):
            self._start()
        return missing

    def running(self) -> list[str]:
        """The names of the workers that had not ended at the last poll."""
        return list(self._workers)

    def kill(self, name: str) -> bool:
        """Kill one worker with its child; False if it has ended."""
        worker = self._workers.get(name)
        if worker is None or worker.exit_code() is not None:
            return False
        worker.kill()
        return True

    def close(self, grace_s: float = GRACE_S) -> None:
        """Start no more, and end those that run: they hand their tasks back, or are killed after the grace."""
        self._closed.set()
        if self._thread.ident:
            self._thread.join()
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            if not worker.wait(grace_s):
                worker.kill()
                worker.wait(grace_s)
        self._reap()

    def _start(self) -> None:
        name = f"worker-{self.started + 1}"
        self._workers[name] = WorkerProcess(name, self._command, self._environ, self.folder)
        self.started += 1

    def _reap(self) -> None:
        for name, worker in list(self._workers.items()):
            code = worker.exit_code()
            if code is not None:
                self.exit_codes[code] += 1
                del self._workers[name]

    def _keep_polling(self) -> None:
        while not self._closed.is_set():
            try:
                self.poll()
            except PASSING as error:  # as KEDA does: what this poll missed, the next one finds
                logs.event("poll failed", "warning", queue=self.queue.name, error=str(error))
            except RunnerError as error:
                self.failure = error
                logs.event("scaler ended", "error", queue=self.queue.name, error=str(error))
                return
            self._closed.wait(self.poll_s)
