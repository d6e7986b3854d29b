"""What passes do beside reaping: promote, expire, restore strays, drop foreign consumers. Called by controller and worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from redis.exceptions import ResponseError

from runner.broker.base import Base, text
from runner.broker.claims import CHUNK

GROUP = b"runner"
CONSUMER = b"runner"
FEW = 10
"""Entries read at once where each may have a body of 1 MiB."""


class Upkeep(Base):
    """Transitions that time makes."""

    def promote(self, limit: int = CHUNK) -> tuple[int, int]:
        """Move one chunk of due tasks to their watched keys: how many, and when the next is due (ms, -1 for none)."""
        promoted, next_due_ms = self.run("promote", limit)
        return int(promoted), int(next_due_ms)

    def expire(self, limit: int = CHUNK) -> int:
        """Bury one chunk of tasks that were not started in time; how many were looked at."""
        return int(self.run("expire", limit))

    def recover(self) -> tuple[int, int]:
        """See to waiting tasks whose entry another program removed: how many were put back, and how many buried.

        A list is looked at only while it is empty: which of its references are missing, Redis cannot tell cheaply.
        """
        listed = self.declaration.mode == "list"
        if listed and any(self.client.llen(self.keys.watched(priority)) for priority in self.declaration.priorities):
            return 0, 0
        records = self.client.hgetall(self.keys.part("tasks"))
        waiting = [task_id for task_id, record in records.items() if record.startswith(b"waiting ")]
        pushed = buried = 0
        for at in range(0, len(waiting), CHUNK):
            _, again, dead = self.run("recover", int(listed), *waiting[at : at + CHUNK])
            pushed, buried = pushed + int(again), buried + int(dead)
        return pushed, buried

    def restore(self) -> int:
        """Put entries that the group gave to nobody who holds them back to where a claim finds them; how many were."""
        if self.declaration.mode != "stream":
            return 0
        return sum(self._restore(priority) for priority in self.declaration.priorities)

    def _restore(self, priority: str) -> int:
        restored = at = 0
        strays = self._strays(priority)
        while at < len(strays):
            looked, moved = self.run("restore", priority, *strays[at : at + CHUNK])
            at, restored = at + int(looked), restored + int(moved)
        return restored

    def _strays(self, priority: str) -> list[str]:
        # What was delivered last is read before the claims: an entry is delivered and claimed in one script, so one up to there and in no
        # claim read later is either a stray or settled, and the script looks once more. Only the gaps between the claimed entries are read:
        # the bodies of 10,000 running tasks have no business on this wire.
        key = self.keys.watched(priority)
        last = self._last_delivered(key)
        if not last:
            return []
        held = sorted((entry for entry in self._held_entries(priority) if _place(entry) < _place(last)), key=_place)
        around = [f"({entry}" for entry in held]
        gaps = list(zip(["-", *around], [*around, last], strict=True))
        return [entry for gap in self._filled_gaps(key, gaps) for entry in self._entries(key, *gap)]

    def _filled_gaps(self, key: str, gaps: list[tuple[str, str]]) -> list[tuple[str, str]]:
        filled: list[tuple[str, str]] = []
        for at in range(0, len(gaps), CHUNK):
            pipeline = self.client.pipeline(transaction=False)
            for gap in gaps[at : at + CHUNK]:
                pipeline.execute_command("XRANGE", key, *gap, "COUNT", 1)
            filled += [gap for gap, found in zip(gaps[at : at + CHUNK], pipeline.execute(), strict=True) if found]
        return filled

    def _entries(self, key: str, start: str, end: str) -> Iterator[str]:
        while page := self.client.execute_command("XRANGE", key, start, end, "COUNT", FEW):
            yield from (text(row[0]) for row in page)
            start = f"({text(page[-1][0])}"

    def _last_delivered(self, key: str) -> str:
        try:
            groups = self.client.xinfo_groups(key)
        except ResponseError:  # no such key: nothing was ever pushed
            return ""
        return next((text(g["last-delivered-id"]) for g in groups if g["name"] == GROUP), "")

    def _held_entries(self, priority: str) -> set[str]:
        ids, entries = list(self.client.zrange(self.keys.part("claims"), 0, -1)), set[str]()
        for at in range(0, len(ids), CHUNK):
            words = [text(line).split(" ", 3) for line in self.client.hmget(self.keys.part("tasks"), ids[at : at + CHUNK]) if line]
            # Two streams may name their entries alike.
            entries |= {entry for _, name, entry, _ in words if name == priority and entry != "-"}
        return entries

    def drop_consumers(self) -> int:
        """Delete consumers that are not ours and idle for a lease; what they were given is restored by `restore` first."""
        dropped = 0
        for priority in self.declaration.priorities if self.declaration.mode == "stream" else ():
            key = self.keys.watched(priority)
            idle = [c["name"] for c in self._consumers(key) if c["name"] != CONSUMER and c["idle"] > self.declaration.lease_ms]
            for name in idle:
                self.client.xgroup_delconsumer(key, GROUP, name)
            dropped += len(idle)
        return dropped

    def _consumers(self, key: str) -> list[dict[str, Any]]:
        try:
            return list(self.client.xinfo_consumers(key, GROUP))
        except ResponseError:  # no such key or group
            return []


def _place(entry: str) -> tuple[int, int]:
    """Where an entry's id stands in its stream."""
    ms, _, number = entry.partition("-")
    return int(ms), int(number)
