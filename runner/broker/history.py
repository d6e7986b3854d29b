"""Bodies of done tasks, kept within a queue's `history_bytes`: read, trimmed. Called by controller and cli."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from runner.broker.base import Base, text
from runner.scripts import Argument

PAGE = 10
"""Entries read at once, each of which may have a body of 1 MiB."""
TRIMMED_AT_ONCE = 200
WHOLE = frozenset((b"id", b"body", b"priority"))
"""Fields of an entry."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A done task whose body is kept. `entry` names it in the history stream."""

    entry: str
    id: str
    priority: str
    body: bytes = field(repr=False)

    @property
    def ended_ms(self) -> int:
        """When it was done, by Redis's clock."""
        return int(self.entry.split("-")[0])


class History(Base):
    """What is kept of done tasks beside their markers."""

    def history(self) -> Iterator[Kept]:
        """The done tasks whose bodies are kept, the newest first, a page at a time; without what another program put there."""
        key, last = self.keys.part("history"), "+"
        while page := self.client.xrevrange(key, last, "-", count=PAGE):
            for entry, fields in page:
                if fields.keys() >= WHOLE:
                    yield Kept(text(entry), text(fields[b"id"]), text(fields[b"priority"]), fields[b"body"])
            last = f"({text(page[-1][0])}"

    def trim_history(self, now_ms: int) -> int:
        """Drop one chunk of bodies that are over the caps of bytes or age; how many were."""
        return int(self.run_fresh("trim_history", lambda: self._bounds(now_ms)))

    def _bounds(self, now_ms: int) -> tuple[Argument, ...]:
        d = self.declaration
        return (d.history_bytes, now_ms - int(d.keep_done_s * 1000), TRIMMED_AT_ONCE)
