"""The producer: submit, follow, cancel and rerun tasks from any Python program. Called by users and cli; logs nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from runner.broker import Broker, Facts, Queue
from runner.broker.lane import Lane
from runner.broker.replicas import ReplicatedLane, Wanted
from runner.connect import TOLD, Client, connect, explain, unretried
from runner.errors import RefusedError, TaskUnknownError
from runner.producer.chunks import Bulk, Item, Submitted
from runner.producer.prepare import check_encoding, check_wanted, new_id, now_ms, prepared
from runner.producer.waiting import Waiter, check_alone
from runner.tasks import Receipt
from runner.url import from_environment


class Producer:
    """Submits to the queues of one Redis. Threads may share it; close it, or use it in a `with`.

    `url` is RUNNER_REDIS_URL, with the login beside it, where it is empty; `retry_s` is how long Redis may fail at each call before
    UnavailableError is raised. With `wait_replicas` a submit returns once so many replicas have its tasks; ReplicationError, where that
    takes longer than `wait_replicas_s`, says that they are in. `encoding` is that of bodies, `json` or `msgpack`.
    Every method raises UndeclaredQueueError for a queue that nobody declared.
    """

    def __init__(
        self,
        url: str = "",
        prefix: str = "",
        *,
        retry_s: float = 15.0,
        wait_replicas: int = 0,
        wait_replicas_s: float = 1.0,
        encoding: str = "json",
    ) -> None:
        self._url = url or from_environment(os.environ)
        self._prefix = prefix
        self._lanes: dict[str, Lane] = {}
        self._encoding = check_encoding(encoding)
        self._wanted = Wanted(*check_wanted(wait_replicas, wait_replicas_s, retry_s))
        with self._explained():
            self._broker = Broker(connect(self._url, retry_s=retry_s, client_name="runner-producer"), prefix)

    @cached_property
    def _quick(self) -> Client:
        """Raises at the first failure, where the broker's client is patient."""
        return unretried(self._url, client_name="runner-producer")

    def close(self) -> None:
        """Close the connections; the next call would open new ones."""
        self._broker.client.close()
        if "_quick" in self.__dict__:
            self._quick.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def submit(
        self,
        type: str,
        payload: Any = None,
        *,
        queue: str,
        priority: str | None = None,
        delay_s: float = 0,
        expires_s: float | None = None,
        timeout_s: float | None = None,
        max_retries: int | None = None,
        task_id: str | int | None = None,
        key: str | int | None = None,
        version: int | None = None,
    ) -> Receipt:
        """Take in one task; the parameters are NewTask's. From the moment it returns, the task is not lost.

        Raises RefusedError (nothing was written), UnavailableError, OutOfMemoryError. When Redis stayed away after the task was sent,
        UnavailableError leaves open whether it is in: with a task_id of your own, submitting again cannot double it.
        """
        try:
            lane = self._lanes.get(queue) or self._lane(queue)
            declared, how = lane.queue.declaration, self._encoding
            one = prepared(declared, type, payload, priority, delay_s, expires_s, timeout_s, max_retries, task_id, key, version, how)
            return lane.queue.receipts([one], lane.submit([one]))[0]
        except TOLD as error:
            raise explain(error, self._url) from error

    def submit_many(self, items: Iterable[Item], *, queue: str, on_receipt: Callable[[Receipt], None] | None = None) -> Submitted:
        """Take in any number of tasks in constant memory, in chunks of 200; `on_receipt` is given a receipt for each, in order.

        An item that is refused ends the call: what was sent before is in and has its receipts, it and all behind it is not.
        Raises what `submit` does. QueueFullError has the receipts of the last chunk's tasks in `accepted`.
        """
        bulk = self._bulk(queue, on_receipt)
        self._take(bulk, items)
        return bulk.tally.checked()

    def wait(self, task_id: str | int, timeout_s: float, *, queue: str | None = None, allow_nested: bool = False) -> Any:
        """The task's result, as soon as it is done; a Redis that is away meanwhile is no error until the timeout.

        Raises TaskDeadError, TaskCancelledError, TaskExpiredError, TaskUnknownError, WaitTimeoutError, and NestedWaitError in a handler:
        `allow_nested` is for one whose queue cannot run out of pods by it.
        """
        waiter = self._waiter(task_id, timeout_s, queue, allow_nested)
        while (pause_s := self._look(waiter)) is not None:
            time.sleep(pause_s)
        return waiter.result

    def cancel(self, task_id: str | int, *, queue: str | None = None) -> str:
        """`cancelled`, `cancelling` (its worker ends it within a heartbeat), or what cannot be: `done`, `dead`, `unknown`, or
        `moving`: it is on its way into another queue for a moment, ask again.
        """
        with self._explained():
            opened, _ = self._home(str(task_id), queue)
            return opened.cancel(str(task_id)) if opened else "unknown"

    def find(self, task_id: str | int, *, queue: str | None = None) -> tuple[str, Facts] | None:
        """The queue that knows this id, and all that is known of it; None if no queue does."""
        with self._explained():
            found = self._broker.find(str(task_id), [self._broker.open(queue)] if queue else None)
            return (found[0].name, found[1]) if found else None

    def rerun(self, task_id: str | int, *, queue: str | None = None) -> Receipt:
        """Run a dead task, or a done one whose body is kept, again under a new id, which keeps a line that names the old one.

        Nothing of the old one changes. Raises TaskUnknownError, and RefusedError where the body is not kept or it will run anyway.
        """
        with self._explained():
            opened, before = self._home(str(task_id), queue)
            fresh, line = new_id(now_ms()), json.dumps({"kind": "rerun", "of": str(task_id)}).encode()
            state = opened.rerun(str(task_id), fresh, line) if opened else "unknown"
        if state == "unknown":
            raise TaskUnknownError(f"no queue knows task {task_id!r}")
        if state in ("done", "cancelled"):
            hint = ", or declare the queue with history_bytes" if state == "done" else ""
            raise RefusedError(f"task {task_id!r} is {state} and its body is not kept: submit it again{hint}")
        if state != "ok":
            raise RefusedError(f"task {task_id!r} is {state} and will run anyway: only one that ended can be run again")
        return Receipt(fresh, "waiting", True, f"{before.state if before else 'dead'} {task_id}")

    def _home(self, task_id: str, queue: str | None) -> tuple[Queue | None, Facts | None]:
        """The queue to ask about this id, and what it said of it."""
        asked = [self._broker.open(queue)] if queue else None
        found = self._broker.find(task_id, asked)
        return found or (asked[0] if asked else None, None)

    def _lane(self, queue: str) -> Lane:
        opened = self._broker.open(queue)
        lane = ReplicatedLane(self._quick, opened, self._wanted) if self._wanted.replicas else Lane(self._quick, opened)
        return self._lanes.setdefault(queue, lane)

    def _bulk(self, queue: str, on_receipt: Callable[[Receipt], None] | None) -> Bulk:
        with self._explained():
            return Bulk(self._lanes.get(queue) or self._lane(queue), on_receipt, self._encoding)

    def _take(self, bulk: Bulk, items: Iterable[Item]) -> None:
        try:
            bulk.take(items)
        except TOLD as error:
            if error is bulk.theirs:
                raise
            raise explain(error, self._url) from error

    def _waiter(self, task_id: str | int, timeout_s: float, queue: str | None, allow_nested: bool) -> Waiter:
        check_alone(allow_nested)
        with self._explained():
            return Waiter(Broker(self._quick, self._prefix), self._url, str(task_id), queue, timeout_s)

    def _look(self, waiter: Waiter) -> float | None:
        with self._explained():
            return waiter.pause_s()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except TOLD as error:
            raise explain(error, self._url) from error
