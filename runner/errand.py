"""A worker's way from the ready child to the recorded outcome; the sentence is in `run`. Called by worker once its child was forked."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

from runner import logs, wire
from runner.broker import Broker, Empty, Queue
from runner.broker.claims import new_token
from runner.config import WorkerSettings
from runner.connect import TOLD, connect, explain
from runner.errors import ConfigError, HandlersError, StoppedError, UnreadableError
from runner.heartbeat import Heartbeat
from runner.outcome import Ending, Kind
from runner.reaper import settle_reaped
from runner.settle import Settler
from runner.supervisor import Known
from runner.tasks import Claim, Task

REAPED_AT_ONCE = 10
UNRUN_AT_MOST = 10
"""A pod that meets a row of unreadable or unknown tasks leaves after so many; the next pods go on."""
LOOK_EVERY_S = 0.5


class Child(Protocol):
    """What an errand needs of its child: a Supervisor is one, and what runs a test's handlers in place (runner/testing)."""

    @property
    def progress(self) -> tuple[float, str] | None:
        """The handler's last word."""

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end."""

    def await_ready(self) -> Known:
        """What it can run."""

    def waits(self, at_most_s: float = 0.0) -> bool:
        """Whether it still waits for its task."""

    def run(self, facts: dict[str, Any], body: bytes, timeout_s: float) -> Ending:
        """Run the task."""

    def stop(self, kind: Kind, detail: str = "") -> None:
        """End it."""


class Errand:
    """One worker's work. Its child knows when the pod was asked to end, and then nothing new is taken."""

    def __init__(self, settings: WorkerSettings, child: Child) -> None:
        self.settings, self.child = settings, child
        self.holder = "/".join("_".join(part.split()) for part in (settings.pod, settings.pod_uid, settings.node) if part) or "-"

    def run(self) -> int:
        """The child is ready, a task is found, it runs, its outcome is recorded; the exit code."""
        try:
            client = connect(self.settings.redis_url, retry_s=self.settings.connect_s, client_name="runner-worker")
            known = self.child.await_ready()
            queue = Broker(client, self.settings.prefix).open(self.settings.queue)
            self._check(queue)
            for _ in range(UNRUN_AT_MOST):
                claim = self._find(queue)
                if claim is None or self._handled(queue, claim, known):
                    return 0
        except StoppedError:
            logs.event("stopped before a claim", queue=self.settings.queue)
        except TOLD as error:
            raise explain(error, self.settings.redis_url) from error
        return 0

    def _check(self, queue: Queue) -> None:
        """What is wrong is told before anything is claimed."""
        folder = Path(self.settings.ready_file).parent
        if self.settings.ready_file and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise ConfigError(f"RUNNER_READY_FILE is {self.settings.ready_file!r}: allowed is a path in a folder that may be written to")
        least_s = queue.declaration.lease_s + 5
        if 0 < self.settings.idle_s < least_s:
            wrong = f"RUNNER_IDLE_S is {self.settings.idle_s:g}, but queue {queue.name!r} needs at least its lease + 5 s, {least_s:g}"
            raise ConfigError(f"{wrong}: raise it, or leave it unset")

    def _find(self, queue: Queue) -> Claim | None:
        """Claim. While nothing waits but claims are held, wait for those not heard of since, and take over what expires.

        A claim that expires later than a lease from the first look has had a heartbeat meanwhile: its holder lives. So the
        wait is over when every claim seen at the start is settled, taken over, or known to be alive.
        """
        token, seen_until_ms, pause_s = new_token(), 0, 0.0
        deadline_s = time.monotonic() + (self.settings.idle_s or queue.declaration.lease_s + 5)
        while self.child.waits(pause_s):
            found, reaped = self._look(queue, token)
            if isinstance(found, Claim):
                return found
            seen_until_ms = seen_until_ms or found.now_ms + queue.declaration.lease_ms
            if not reaped and (not 0 <= found.expiry_ms <= seen_until_ms or time.monotonic() > deadline_s):
                logs.event("nothing to claim", queue=queue.name)
                return None
            # Looks further apart than half a lease would be a silence themselves, and spare the claim that is waited for.
            first_s = max(0.01, (found.earliest_ms - found.now_ms) / 1000)
            pause_s = 0.0 if reaped else min(LOOK_EVERY_S, queue.declaration.lease_s / 4, first_s)
        if not self.child.stopping:
            raise HandlersError("the child ended before it was given a task; nothing was claimed")
        raise StoppedError("stopped before a claim")

    def _look(self, queue: Queue, token: str) -> tuple[Claim | Empty, int]:
        _, reaped, found = queue.begin(token, self.holder, REAPED_AT_ONCE)
        if reaped.claims:
            now_ms = found.now_ms if isinstance(found, Empty) else found.started_ms
            settled = settle_reaped(queue, reaped.claims, now_ms)
            ids = [claim.id for claim in reaped.claims]
            logs.event("reaped", "warning", queue=queue.name, task_ids=ids, retried=settled.retried, buried=settled.buried)
        return found, len(reaped.claims)

    def _handled(self, queue: Queue, claim: Claim, known: Known) -> bool:
        """Run or settle one claim; whether it ran, so that this pod is done."""
        settler = Settler(queue, claim, self.holder, self.settings.settle_s)
        try:
            task = wire.read(claim.body, queue.declaration.default_type, claim.id)
        except UnreadableError as error:
            settler.settle(Ending(Kind.UNREADABLE, str(error)), None)
            return False
        if not settler.adopted(task):
            return False
        if settler.claim.cancelled:
            settler.settle(Ending(Kind.CANCELLED, "cancelled before it started"), task)
            return False
        if not known.knows(task.type, task.version):
            said = f"this worker knows no handler for type {task.type!r}" + (f", version {task.version}" if task.version else "")
            settler.settle(Ending(Kind.UNKNOWN_TYPE, said), task)
            return False
        self._ran(queue, settler, task)
        return True

    def _ran(self, queue: Queue, settler: Settler, task: Task) -> None:
        if self.settings.ready_file:
            Path(self.settings.ready_file).touch()
        declared, claim = queue.declaration, settler.claim
        timeout_s = min(task.timeout_ms / 1000 if task.timeout_ms else declared.timeout_s, declared.max_timeout_s)
        facts: dict[str, Any] = {"id": settler.task_id, "type": task.type, "version": task.version, "queue": queue.name}
        facts["attempt"] = claim.counters.attempt
        logs.event("claimed", timeout_s=timeout_s, **facts)
        every_s = declared.lease_s / 3
        with Heartbeat(lambda: self._for_beats(queue, every_s / 2), every_s, settler.task_id, claim.token, self._progress, self._hear):
            settler.settle(self.child.run(facts, claim.body, timeout_s), task)

    def _for_beats(self, queue: Queue, timeout_s: float) -> Queue:
        """The queue on a connection that gives up early enough to beat again within the lease.

        A server whose pod is gone does not refuse: it never answers. Waiting for that longer than the lease leaves cost living claims.
        """
        settings, timeout_s = self.settings, min(5.0, timeout_s)
        client = connect(settings.redis_url, retry_s=settings.connect_s, client_name="runner-worker", timeout_s=timeout_s)
        return Queue(client, self.settings.prefix, queue.declaration)

    def _progress(self) -> str:
        said = self.child.progress
        return f"{said[0]:.3f} {said[1].encode(errors='replace').decode()}" if said else "-"

    def _hear(self, word: str) -> None:
        logs.event(f"heard {word}", "warning", queue=self.settings.queue)
        if word == "cancel":
            self.child.stop(Kind.CANCELLED, "somebody cancelled it")
        else:
            self.child.stop(Kind.LOST, "the claim was lost")
