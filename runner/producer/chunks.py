"""A bulk submit: items cut into chunks, their answers counted. Called by Producer.submit_many and AsyncProducer.submit_many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from runner.broker import Queue
from runner.broker.intake import CHUNK_BYTES, CHUNK_TASKS
from runner.broker.lane import Lane
from runner.connect import TOLD
from runner.errors import QueueFullError, ReplicationError
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
            return self.received(error.accepted)
        self.received(receipts)

    def received(self, receipts: Iterable[object]) -> None:
        """Pass receipts on to whoever wants them."""
        for receipt in receipts:
            if self._on_receipt and isinstance(receipt, Receipt):
                self._on_receipt(receipt)

    def checked(self) -> Submitted:
        """What was done; QueueFullError if the queue refused a task."""
        if self.full:
            self.full.add_note(f"{self.done.created} tasks of this call are in, {self.done.existing} were there before.")
            raise self.full
        return self.done


class Bulk:
    """One bulk submit. AsyncProducer feeds it in parts, in which its items are counted on."""

    def __init__(self, lane: Lane, on_receipt: Callable[[Receipt], None] | None, encoding: str) -> None:
        self.tally = Tally(lane.queue, on_receipt)
        self.theirs: BaseException | None = None
        """An error that looks like Redis's and is not: the caller's own items raised it."""
        self._lane, self._numbers, self._encoding = lane, count(), encoding

    def take(self, items: Iterable[Item]) -> None:
        """Take in all items, or those before the first that is refused."""
        try:
            self._lane.flow(self._chunks(self._watched(items)), self.tally.answered)
        except ReplicationError as error:
            self.tally.received(error.receipts)
            raise

    def _watched(self, items: Iterable[Item]) -> Iterator[Item]:
        try:
            yield from items
        except TOLD as error:
            self.theirs = error
            raise

    def _chunks(self, items: Iterable[Item]) -> Iterator[list[Submission]]:
        """Chunks that one script call takes; no more of them once the queue is full."""
        declaration, chunk, size = self._lane.queue.declaration, list[Submission](), 0
        for item, number in zip(items, self._numbers, strict=False):
            one = prepared_item(declaration, item, number, self._encoding)
            if chunk and (len(chunk) == CHUNK_TASKS or size + len(one.body) > CHUNK_BYTES):
                yield chunk
                if self.tally.full:
                    return
                chunk, size = [], 0
            chunk.append(one)
            size += len(one.body)
        if chunk:
            yield chunk
