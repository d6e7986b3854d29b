"""Puts the planned tasks in, by every way there is, while Redis goes away under it; the ledger gets each answer. A thread of storm's."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import redis

from chaos.ledger import Ledger
from chaos.plan import TYPE, Planned
from runner import Producer, wire
from runner.broker import Queue
from runner.connect import connect
from runner.errors import OutOfMemoryError
from runner.tasks import Receipt

BACKLOG = 40
BULK = 12
LATER = 9
"""How many tasks further on a repeat or a cancel of a task comes."""


@dataclass
class Submitter:
    """Sends in the order of the plan, never more than BACKLOG ahead of the workers. `backlog` is set by storm."""

    url: str
    queue: Queue
    plan: list[Planned]
    ledger: Ledger
    backlog: int = 0
    sent: int = 0
    wrong: list[str] = field(default_factory=list)
    """Answers that break a promise."""
    failed: BaseException | None = None
    stopping: bool = False

    def start(self) -> threading.Thread:
        """Begin."""
        thread = threading.Thread(target=self._run, name="submitter", daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        try:
            with Producer(self.url, retry_s=60) as producer:
                self._all(producer)
        except BaseException as error:  # noqa: BLE001 - a thread's end is told by storm, which raises it
            self.failed = error

    def _all(self, producer: Producer) -> None:
        later: list[tuple[int, Callable[[], None]]] = []
        at = 0
        while (at < len(self.plan) or later) and not self.stopping:
            while self.backlog > BACKLOG and not self.stopping:
                time.sleep(0.01)
            chunk = self._chunk(at)
            _insisting(lambda chunk=chunk: self._send(producer, chunk))  # type: ignore[misc]
            for task in chunk:
                later += [(task.n + LATER * (turn + 1), self._repeat(producer, task)) for turn in range(task.repeats)]
                later += [(task.n + LATER * (task.n % 2), self._cancel(producer, task))] if task.cancelled else []
            at += len(chunk)
            self.backlog += len(chunk)
            self.sent = at
            for entry in [entry for entry in later if entry[0] <= at or not chunk]:
                later.remove(entry)
                _insisting(entry[1])

    def _chunk(self, at: int) -> list[Planned]:
        """One task, or a row of plain ones for a bulk submit."""
        row = self.plan[at : at + 1]
        while row and at % 5 == 0 and len(row) < BULK and at + len(row) < len(self.plan):
            following = self.plan[at + len(row)]
            if not all(task.way == "submit" for task in (row[0], following)):
                break
            row.append(following)
        return row

    def _send(self, producer: Producer, chunk: list[Planned]) -> None:
        for task in chunk:
            self.ledger.write(task.n, "sent", task.id)
        if len(chunk) > 1:
            waiting = iter(chunk)
            items = (_facts(task) for task in chunk)
            producer.submit_many(items, queue=self.queue.name, on_receipt=lambda receipt: self._acked(next(waiting), receipt))
        for task in chunk[:1] if len(chunk) == 1 else ():
            if task.way in ("submit", "checked"):
                self._acked(task, producer.submit(**_facts(task), queue=self.queue.name))
            else:
                self._push(task)

    def _acked(self, task: Planned, receipt: Receipt) -> None:
        if task.way == "checked" and receipt.id != task.id:
            self.wrong.append(f"{task.id}: its submit was answered with {receipt.id}")
        self.ledger.write(task.n, "acked", receipt.id)

    def _push(self, task: Planned) -> None:
        """A bare push by any client; one whose answer was lost is pushed again, as such a client would."""
        client = connect(self.url, retry_s=60)
        key, body = self.queue.keys.watched(task.priority), _bare_body(task)
        if self.queue.declaration.mode == "list":
            client.lpush(key, body)
        else:
            client.xadd(key, {"task": body} if task.n % 2 or task.way == "raw" else _flat(task))
        self.ledger.write(task.n, "acked", task.id if task.way == "bare" else "-")
        client.close()

    def _repeat(self, producer: Producer, task: Planned) -> Callable[[], None]:
        def repeat() -> None:
            other = _facts(task) | ({"task_id": f"{task.id}-other"} if task.key else {})
            receipt = producer.submit(**other, queue=self.queue.name)
            if receipt.created or receipt.id != task.id:
                self.wrong.append(f"{task.id}: a second submit was answered with {receipt}")

        return repeat

    def _cancel(self, producer: Producer, task: Planned) -> Callable[[], None]:
        return lambda: self.ledger.write(task.n, "cancel", producer.cancel(task.id, queue=self.queue.name))


def _insisting(send: Callable[[], None]) -> None:
    """Repeat what was refused because Redis is full; a refusal wrote nothing."""
    while True:
        try:
            return send()
        except (OutOfMemoryError, redis.exceptions.OutOfMemoryError):
            time.sleep(0.1)


def _payload(task: Planned) -> dict[str, Any]:
    return {"n": task.n, "do": task.do, "s": task.s, "fails": task.fails}


def _facts(task: Planned) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": TYPE, "payload": _payload(task), "priority": task.priority, "max_retries": task.max_retries}
    facts |= {"delay_s": task.delay_ms / 1000, "expires_s": task.expires_ms / 1000 or None, "key": task.key or None}
    facts |= {"timeout_s": task.timeout_ms / 1000 if task.timeout_ms else None}
    return facts | {"task_id": task.id if task.way == "checked" else None}


def _bare_body(task: Planned) -> bytes:
    if task.way == "raw":
        return raw_body(task)
    body = wire.write(TYPE, _payload(task), task_id=task.id, created_ms=0)
    return body if task.way == "bare" else body.replace(b'"task_id":"%s",' % task.id.encode(), b"")


def raw_body(task: Planned) -> bytes:
    """Bytes that are no envelope, and can be told from all others."""
    return b"\xff\xfe{" + task.id.encode()


def _flat(task: Planned) -> dict[Any, Any]:
    own = {"task_id": task.id} if task.way == "bare" else {}
    return {"type": TYPE, "payload": json.dumps(_payload(task))} | own
