"""The dead letters: read, replay, purge, trim. Called by controller and cli."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runner.broker.base import Base, counters, raw, text
from runner.tasks import Counters

PAGE = 200
UNCOUNTED = 2**53
"""More dead letters than there can be: a cap of none."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One buried task. `entry` names it in the dead stream; times in ms since the epoch.

    `whole` False: another program put the entry there, and nothing but `entry` is known.
    """

    entry: str
    id: str = ""
    reason: str = ""
    detail: str = ""
    counters: Counters = field(default_factory=Counters)
    first_ms: int = 0
    priority: str = ""
    body: bytes = field(repr=False, default=b"")
    attempts: bytes = field(repr=False, default=b"")
    whole: bool = True

    @property
    def buried_ms(self) -> int:
        """When it was buried, by Redis's clock."""
        return int(self.entry.split("-")[0])


@dataclass(frozen=True, slots=True)
class Heading:
    """A dead letter without its body. `whole` False: another program put the entry there, and nothing but `entry` is known."""

    entry: str
    whole: bool = False
    id: str = ""
    reason: str = ""
    counters: Counters = field(default_factory=Counters)
    first_ms: int = 0

    @property
    def buried_ms(self) -> int:
        """When it was buried, by Redis's clock."""
        return int(self.entry.split("-")[0])


class Dead(Base):
    """Transitions out of `dead`."""

    def dead_letters(self, newest_first: bool = False, page: int = PAGE, behind: str = "") -> Iterator[DeadLetter]:
        """The dead letters, those behind the entry `behind`, in constant memory: a page or about 1 MiB at a time."""
        while rows := self.run("letters", "newest" if newest_first else "oldest", behind, page):
            for entry, fields in rows:
                yield _letter(text(entry), dict(zip(fields[::2], fields[1::2], strict=True)))
            behind = text(rows[-1][0])

    def headings(self, after: str = "", limit: int = PAGE) -> list[Heading]:
        """The dead letters behind the entry `after`, oldest first; fewer than `limit` where bodies are large, none at the end only."""
        return [_heading(row) for row in self.run("scan", after, limit)]

    def replay(self, entries: Sequence[str], attempt: bytes) -> int:
        """Run dead letters again; how many were. Each becomes exactly one waiting task, however many replay at once."""
        replayed = at = 0
        while at < len(entries):
            chunk = entries[at : at + PAGE]
            looked, made = self.run("replay", attempt, *chunk)
            at, replayed = at + int(looked), replayed + int(made)
        return replayed

    def rerun(self, task_id: str, new_id: str, attempt: bytes) -> str:
        """Run a dead task's bytes again as a new task: `ok`, or the state that cannot be: `waiting`, `done`, `unknown`, ..."""
        return text(self.run("rerun", raw(task_id), new_id, attempt))

    def purge(self, entries: Sequence[str]) -> int:
        """Drop dead letters for good; how many were."""
        purged = at = 0
        while at < len(entries):
            looked, dropped = self.run("purge", "purged", *entries[at : at + PAGE])
            at, purged = at + int(looked), purged + int(dropped)
        return purged

    def trim_dead(self, now_ms: int) -> int:
        """Drop one chunk of dead letters that are over the caps of age or count; how many were."""
        declared = self.declaration
        oldest_ms = now_ms - int(declared.dead_max_age_s * 1000) if declared.dead_max_age_s else 0
        return int(self.run("purge", "trimmed", "*", declared.dead_max or UNCOUNTED, oldest_ms, PAGE)[1])


def _heading(row: bytes) -> Heading:
    entry, *rest = text(row).split(" ", 4)
    try:
        reason, counts, first_ms, task_id = rest
        return Heading(entry, True, task_id, reason, counters(counts), int(first_ms))
    except (ValueError, TypeError):  # fields are missing, or are no numbers
        return Heading(entry)


def _letter(entry: str, fields: dict[bytes, bytes]) -> DeadLetter:
    try:
        return DeadLetter(
            entry=entry,
            id=text(fields[b"id"]),
            reason=text(fields[b"reason"]),
            detail=text(fields[b"detail"]),
            counters=counters(fields[b"counters"]),
            first_ms=int(fields[b"first_ms"]),
            priority=text(fields[b"priority"]),
            body=fields[b"body"],
            attempts=fields.get(b"attempts", b""),
        )
    except (KeyError, ValueError, TypeError):  # fields are missing, or are no numbers
        return DeadLetter(entry, whole=False)
