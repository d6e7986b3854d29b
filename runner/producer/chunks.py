"""A bulk submit: items cut into chunks, their answers counted. Called by Producer.submit_many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.broker import Queue
from runner.broker.intake import CHUNK_BYTES, CHUNK_TASKS
from runner.errors import QueueFullError
from runner.producer.prepare import NewTask, prepared_item
from runner.tasks import Receipt, Submission

Item = NewTask | Mapping[str, Any] | tuple[str, Any]
"""A task for `submit_many`; a tuple is (type, payload)."""


@dataclass(slots=True)
class Submitted:
    """What a bulk submit did: tasks that it made, and tasks whose id or key was there already."""

    created: int = 0
    existing: int = 0


class Tally:
    """Counts answers, and makes receipts where somebody wants them."""

    def __init__(self, queue: Queue, on_receipt: Callable[[Receipt], None] | None) -> None:
        self.done = Submitted()
        self.full: QueueFullError | None = None
        self._queue, self._on_receipt = queue, on_receipt

    def answered(self, chunk: list[Submission], reply: Any) -> None:
        """One chunk's answer of lua/submit.lua."""
        accepted, rows = reply
        self.done.created += int(accepted)
        self.done.existing += sum(row[1] == b"there" for row in rows)
        if self._on_receipt or any(row[1] == b"full" for row in rows):
            self._tell(chunk, reply)

    def _tell(self, chunk: list[Submission], reply: Any) -> None:
        try:
            receipts = self._queue.receipts(chunk, reply)
        except QueueFullError as error:
            self.full = self.full or error
            receipts = [one for one in error.accepted if isinstance(one, Receipt)]
        for receipt in receipts:
            if self._on_receipt:
                self._on_receipt(receipt)

    def check(self) -> None:
        """Raise QueueFullError if the queue refused a task."""
        if self.full:
            self.full.add_note(f"{self.done.created} tasks of this call are in, {self.done.existing} were there before.")
            raise self.full


def chunks(queue: Queue, items: Iterable[Item], tally: Tally) -> Iterator[list[Submission]]:
    """Chunks that one script call takes; no more of them once the queue is full."""
    chunk: list[Submission] = []
    size = 0
    for number, item in enumerate(items):
        one = prepared_item(queue.declaration, item, number)
        if chunk and (len(chunk) == CHUNK_TASKS or size + len(one.body) > CHUNK_BYTES):
            yield chunk
            if tally.full:
                return
            chunk, size = [], 0
        chunk.append(one)
        size += len(one.body)
    if chunk:
        yield chunk
