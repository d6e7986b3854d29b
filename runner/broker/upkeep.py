"""What passes do beside reaping: promote, expire, restore strays, drop foreign consumers. Called by controller and worker."""

from __future__ import annotations

from typing import Any

from redis.exceptions import ResponseError

from runner.broker.base import Base, text
from runner.broker.claims import CHUNK

GROUP = b"runner"
CONSUMER = b"runner"


class Upkeep(Base):
    """Transitions that time makes."""

    def promote(self, limit: int = CHUNK) -> tuple[int, int]:
        """Move one chunk of due tasks to their watched keys: how many, and when the next is due (ms, -1 for none)."""
        promoted, next_due_ms = self.run("promote", limit)
        return int(promoted), int(next_due_ms)

    def expire(self, limit: int = CHUNK) -> int:
        """Bury one chunk of tasks that were not started in time; how many were looked at."""
        return int(self.run("expire", limit))

    def restore(self) -> int:
        """Put entries that the group gave to nobody who holds them back to where a claim finds them; how many were."""
        if self.declaration.mode != "stream":
            return 0
        return sum(self._restore(priority) for priority in self.declaration.priorities)

    def _restore(self, priority: str) -> int:
        # The entries are read before the claims: an entry is delivered and claimed in one script, so one that is
        # delivered here and in no claim read later is either a stray or settled, and the script looks once more.
        delivered = self._delivered(self.keys.watched(priority))
        if not delivered:
            return 0
        held = self._held_entries()
        strays = [entry for entry in delivered if entry not in held]
        restored = 0
        for at in range(0, len(strays), CHUNK):
            restored += int(self.run("restore", priority, *strays[at : at + CHUNK]))
        return restored

    def _delivered(self, key: str) -> set[str]:
        last = self._last_delivered(key)
        entries, start = set[str](), "-"
        while last:
            page = self.client.execute_command("XRANGE", key, start, last, "COUNT", CHUNK)
            entries |= {text(row[0]) for row in page}
            if len(page) < CHUNK:
                break
            start = f"({text(page[-1][0])}"
        return entries

    def _last_delivered(self, key: str) -> str:
        try:
            groups = self.client.xinfo_groups(key)
        except ResponseError:  # no such key: nothing was ever pushed
            return ""
        return next((text(g["last-delivered-id"]) for g in groups if g["name"] == GROUP), "")

    def _held_entries(self) -> set[str]:
        entries: set[str] = set()
        for ids in self._claimed_ids():
            lines = self.client.hmget(self.keys.part("tasks"), ids)
            entries |= {text(line).split(" ", 3)[2] for line in lines if line}
        return entries

    def _claimed_ids(self) -> list[list[bytes]]:
        ids = list(self.client.zrange(self.keys.part("claims"), 0, -1))
        return [ids[at : at + CHUNK] for at in range(0, len(ids), CHUNK)]

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
