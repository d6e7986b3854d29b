"""Real worker processes and the queue they work on, for the tests beside this file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from runner.broker import Broker, Queue
from runner.queue import Declaration
from runner.tasks import Submission
from runner.wire import write
from tests.waiting import until

HANDLERS = "tests.worker.handlers_pod"
ROOT = Path(__file__).parents[2]


class Pod:
    """One worker process, its log, and its exit code."""

    def __init__(self, folder: Path, name: str, url: str, **settings: str) -> None:
        self.log_path = folder / f"{name}.log"
        given = {"RUNNER_REDIS_URL": url, "RUNNER_QUEUE": "emails", "RUNNER_HANDLERS": HANDLERS, "RUNNER_POD": name, "NOTES": str(folder)}
        environ = {k: v for k, v in os.environ.items() if not k.startswith("RUNNER_")}
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "runner.worker"], env=environ | given | settings, stderr=log, cwd=ROOT)

    def ended(self, within_s: float = 15) -> int:
        """Its exit code, once it has one."""
        until(lambda: self.process.poll() is not None, within_s)
        return int(self.process.returncode)

    def signal(self, number: int) -> None:
        """Send a signal to the worker's parent process."""
        os.kill(self.process.pid, number)

    @property
    def child(self) -> int:
        """The pid of its child process."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def events(self) -> list[dict[str, Any]]:
        """What it logged, without what its child printed."""
        return [json.loads(line) for line in self.log_path.read_text(errors="replace").splitlines() if line.startswith('{"ts"')]

    def event(self, name: str) -> dict[str, Any]:
        """The first event of that name, waited for."""
        return until(lambda: next((e for e in self.events() if e["event"] == name), None), 15) or {}

    def last(self) -> dict[str, Any]:
        """Its last event."""
        return self.events()[-1]


class Cluster:
    """A queue, and as many pods as a test starts."""

    def __init__(self, folder: Path, url: str, **declared: Any) -> None:
        self.folder, self.url, self.client = folder, url, redis.Redis.from_url(url)
        declared = {"lease_s": 1.0, "backoff_s": 0.01} | declared
        self.queue: Queue = Broker(self.client).declare(Declaration("emails", **declared))
        self.pods: list[Pod] = []

    def pod(self, **settings: str) -> Pod:
        """Start one worker."""
        self.pods.append(Pod(self.folder, f"pod-{len(self.pods)}", self.url, **settings))
        return self.pods[-1]

    def submit(self, task_type: str, payload: Any = None, task_id: str = "t1", **limits: Any) -> None:
        """Put one task in."""
        body = write(task_type, payload, task_id=task_id, created_ms=1, **limits)
        self.queue.submit([Submission(task_id, body, self.queue.declaration.default_priority)])

    def state(self, task_id: str = "t1") -> str:
        """The task's state, `unknown` for none."""
        facts = self.queue.look(task_id)
        return facts.state if facts else "unknown"

    def attempts(self, task_id: str = "t1") -> list[dict[str, Any]]:
        """The attempts recorded so far."""
        facts = self.queue.look(task_id)
        return [json.loads(line) for line in facts.attempts.splitlines()] if facts else []

    def notes(self, name: str) -> list[str]:
        """The lines that handlers wrote outside Redis."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def push(self, *words: str | bytes) -> None:
        """A bare push, as any service would make it: fields of a stream entry, or one list item."""
        if self.queue.declaration.mode == "stream":
            self.client.execute_command("XADD", "emails", "*", *words)
        else:
            self.client.lpush("emails", words[-1])


@contextmanager
def cluster(folder: Path, url: str, **declared: Any) -> Iterator[Cluster]:
    """A cluster whose pods are gone afterwards."""
    made = Cluster(folder, url, **declared)
    try:
        yield made
    finally:
        for pod in made.pods:
            if pod.process.poll() is None:
                pod.process.send_signal(signal.SIGKILL)
            pod.process.wait()
        made.client.close()
