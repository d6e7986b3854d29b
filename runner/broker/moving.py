"""A task's way from one queue into another, in scripts of one slot each. Called by runner.moves, which knows their order."""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.broker.base import Base, counters, raw, text
from runner.broker.claims import REAPER_MS
from runner.scripts import Argument
from runner.tasks import Counters


@dataclass(frozen=True, slots=True)
class Leaving:
    """A task on its way into queue `to`. `move` names this move for ever; `counters` are those of the run to come."""

    id: str
    to: str
    move: str
    priority: str
    first_ms: int
    counters: Counters
    life: int
    key: str
    body: bytes = field(repr=False)
    attempts: bytes = field(repr=False)


class Moving(Base):
    """The halves of a move."""

    def move_out(self, task_id: str, token: str, to: str, attempt: bytes = b"") -> Leaving | str:
        """Begin a move, or go on with one that was taken over; else a word: `bodiless`, `cancelled`, `again` or `lost`."""
        word, *rest = self.run("move_out", raw(task_id), token, to, attempt, REAPER_MS)
        if not rest:
            return text(word)
        to_now, move, priority, first_ms, counts, life, key, body, attempts = rest
        return Leaving(
            id=task_id,
            to=text(to_now),
            move=text(move),
            priority=text(priority),
            first_ms=int(first_ms),
            counters=counters(counts),
            life=int(life),
            key=text(key),
            body=body,
            attempts=attempts,
        )

    def move_in(self, task: Leaving, attempts: bytes) -> str:
        """Take the task in: `made`, `exists` (this move was here before) or `taken` (another task has its id or key here)."""
        counts = ",".join(str(getattr(task.counters, name)) for name in Counters.__dataclass_fields__)
        told: list[Argument] = [task.priority, task.first_ms, counts, task.life, raw(task.key)]
        return text(self.run("move_in", raw(task.id), task.move, *told, task.body, attempts))

    def move_done(self, task_id: str, token: str, to: str) -> str:
        """Forget a task that the other queue has: `ok`, `again` or `lost`."""
        return text(self.run("move_done", raw(task_id), token, to))

    def move_back(self, task_id: str, token: str) -> str:
        """Claim the task again here, because the other queue cannot have it: `ok` or `lost`."""
        return text(self.run("move_back", raw(task_id), token))
