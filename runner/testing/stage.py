"""Pods for tests: claim, run, settle as in a cluster, one after the other, and what came of it. Called by the fixtures beside this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from runner import logs
from runner.attempt import read_attempts
from runner.broker import Broker, Facts, Queue
from runner.config import WorkerSettings
from runner.connect import connect
from runner.errand import Errand
from runner.errors import ConfigError, HandlersError, RunnerError
from runner.testing.inline import InlineChild

WITHIN_S = 1.0
AT_MOST = 1000


@dataclass(frozen=True, slots=True)
class Ran:
    """One attempt, as it was recorded."""

    id: str
    type: str | None
    """None for a body that cannot be read."""
    queue: str
    attempt: int
    kind: str
    """How the attempt ended: `done`, `error`, `retry`, `fatal`, ... (docs/errors.md)."""
    state: str
    """Of the task now: `done`, `dead`, `cancelled`, `delayed` or `waiting` for another attempt."""
    result: Any = None
    error: str = ""
    """What went wrong, as `runner inspect` shows it."""
    facts: Facts | None = field(default=None, repr=False)
    """All that is known of the task."""


class Stage:
    """The queues of one server, and pods for them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = connect(url, client_name="runner-testing")
        self._broker = Broker(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run_next(self, queue: str = "", *, handlers: str = "", exec_command: str = "") -> Ran | None:
        """See RunNext."""
        for one in self._asked(queue):
            if ran := self._pod(one, handlers, exec_command):
                return ran[-1]
        return None

    def run_all(
        self, queue: str = "", *, handlers: str = "", exec_command: str = "", within_s: float = WITHIN_S, at_most: int = AT_MOST
    ) -> list[Ran]:
        """See RunAll."""
        done: list[Ran] = []
        while len(done) <= at_most:
            more = [ran for one in self._asked(queue) for ran in self._pod(one, handlers, exec_command)]
            done += more
            if not more and not self._awaited(queue, within_s):
                return done
        raise AssertionError(f"more than {at_most} runs, the last of type {done[-1].type!r}: do handlers submit each other for ever?")

    def _asked(self, queue: str) -> list[Queue]:
        if not queue and not self._broker.names():
            raise ConfigError("no queue is declared: the test is to call runner_queue('emails') first")
        return [self._broker.open(queue)] if queue else self._broker.queues()

    def _awaited(self, queue: str, within_s: float) -> bool:
        """Wait for the next delayed task; False where none is due soon."""
        measured = [one.measure() for one in self._asked(queue)]
        left_s = [max(0, one.next_due_ms - one.now_ms) / 1000 for one in measured if one.delayed]
        if not left_s or min(left_s) > within_s:
            return False
        threading.Event().wait(min(left_s) + 0.001)
        return True

    def _pod(self, queue: Queue, handlers: str, exec_command: str) -> list[Ran]:
        """What one pod settled: at most one task that ran, and before it those that could not."""
        events = self._worker(queue, handlers, exec_command) if handlers or exec_command else self._inline(queue)
        return [self._ran(queue, one) for one in events if one["event"] == "settled"]

    def _inline(self, queue: Queue) -> list[dict[str, Any]]:
        with _heard() as events:
            Errand(WorkerSettings(redis_url=self._url, queue=queue.name, pod="test"), InlineChild()).run()
        return events

    def _worker(self, queue: Queue, handlers: str, exec_command: str) -> list[dict[str, Any]]:
        if handlers and exec_command:
            raise ConfigError("`handlers` and `exec_command` are both given, and a pod has but one: leave one out")
        given = {"RUNNER_REDIS_URL": self._url, "RUNNER_QUEUE": queue.name, "RUNNER_POD": "test"}
        given |= {"RUNNER_HANDLERS": handlers} if handlers else {"RUNNER_EXEC": exec_command}
        path = os.pathsep.join(one or os.getcwd() for one in sys.path)  # noqa: PTH109 - as the test finds its modules
        environ = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")}
        command = [sys.executable, "-m", "runner.worker"]
        done = subprocess.run(command, env={**environ, "PYTHONPATH": path, **given}, capture_output=True, check=False)
        said = done.stderr.decode(errors="replace")
        sys.stderr.write(said)
        events = [json.loads(line) for line in said.splitlines() if line.startswith('{"ts"')]
        if done.returncode:
            kind = HandlersError if events and events[-1].get("kind") == "HandlersError" else RunnerError
            raise kind(f"the worker ended with exit code {done.returncode}: {events[-1].get('error') if events else said}")
        return events

    def _ran(self, queue: Queue, event: dict[str, Any]) -> Ran:
        task_id = event["task_id"]
        found = self._broker.find(task_id, [queue])
        facts = found[1] if found else None
        told: dict[str, Any] = {"result": json.loads(facts.result)} if facts and facts.state == "done" and facts.result else {}
        attempts = read_attempts(facts.attempts) if facts else []
        error = event.get("detail") or (attempts[-1].get("detail", "") if attempts else "")
        state = facts.state if facts else "unknown"
        return Ran(task_id, event.get("type"), queue.name, event["attempt"], event["kind"], state, error=str(error), facts=facts, **told)


@contextmanager
def _heard() -> Iterator[list[dict[str, Any]]]:
    """The events of a pod in this process."""
    events: list[dict[str, Any]] = []
    logs.hand_to(events.append)
    try:
        yield events
    finally:
        logs.hand_to(None)
