"""How tasks come in: one script for a chunk of them. Called by producer and cli."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner import scripts
from runner.broker.base import Base, raw, text
from runner.errors import BodyTooLargeError, QueueFullError, UnknownPriorityError
from runner.scripts import Argument
from runner.tasks import Receipt, Submission

CHUNK_TASKS = 200
CHUNK_BYTES = 1024 * 1024


class Intake(Base):
    """Transitions from nothing to waiting or delayed."""

    def submit(self, chunk: Sequence[Submission]) -> list[Receipt]:
        """Take in tasks, at most CHUNK_TASKS or CHUNK_BYTES at a time: a receipt each, in order.

        Raises QueueFullError at the first one that the queue's max_length refuses, with the receipts before it in `accepted`,
        BodyTooLargeError and UnknownPriorityError before anything is written, OutOfMemoryError.
        """
        return self.receipts(chunk, self.take_in(chunk))

    def take_in(self, chunk: Sequence[Submission], client: Any = None) -> Any:
        """The same with the script's own answer, for `receipts`; checked again when the queue was declared again meanwhile.

        `client` runs the script in place of the queue's own.
        """
        return self.current(lambda: scripts.run(client or self.client, "submit", self.keys.all, (*self.head, *self.submit_args(chunk))))

    def submit_args(self, chunk: Sequence[Submission]) -> list[Argument]:
        """ARGV 7.. of lua/submit.lua."""
        self.check(chunk)
        number = self.plain(chunk)
        if number:
            return [number, chunk[0].priority, *(word for s in chunk for word in (raw(s.id), s.body))]
        args: list[Argument] = [0]
        for s in chunk:
            args += (raw(s.id), s.priority, s.delay_ms, s.expires_ms, raw(s.key), int(s.checked), s.body)
        return args

    def plain(self, chunk: Sequence[Submission]) -> int:
        """The number of the priority that all tasks of the chunk share, if none wants more than to wait there; else 0."""
        priority = chunk[0].priority
        wanted = (priority, 0, 0, "", False)
        return self.declaration.priorities.index(priority) + 1 if all([s[2:] == wanted for s in chunk]) else 0  # noqa: C419 - a list is twice as fast

    def check(self, chunk: Sequence[Submission]) -> None:
        """Refuse what the declaration does not allow."""
        limit, known = self.declaration.max_body_bytes, self.declaration.priorities
        for s in chunk:
            if len(s.body) > limit:
                raise BodyTooLargeError(len(s.body), limit)
            if s.priority not in known:
                raise UnknownPriorityError(self.name, s.priority, known)

    def receipts(self, chunk: Sequence[Submission], reply: Any) -> list[Receipt]:
        """The script's answer, a receipt per task."""
        made = [Receipt(s.id, "delayed" if s.delay_ms > 0 else "waiting", True) for s in chunk]
        for index, word, task_id, state, after in reply[1]:
            at = int(index)
            if word == b"full":
                raise QueueFullError(self.name, self.declaration.max_length, tuple(made[:at]))
            made[at] = Receipt(text(task_id), text(state), word == b"made", text(after) or None)
        return made
