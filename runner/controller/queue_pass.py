"""One pass over one queue: each step by itself, so that one that fails stops no other. Called by passes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from runner import logs
from runner.broker import Broker, Queue
from runner.connect import FAILURES
from runner.controller.cluster_pass import ClusterPass
from runner.controller.replays import replay_due
from runner.reaper import reap_all

MEASURED = ("waiting", "delayed", "claimed", "expired_claims", "dead", "mislaid", "watched", "dead_by_reason")


REAPERS = 2
"""Reapers side by side in one pass: Redis settles the chunk of one while the other judges its own. Two are harmless anyway."""


@dataclass
class QueuePass:
    """A pass over one queue. `did` holds what the steps did, by name; `failed` the steps that could not be done."""

    broker: Broker
    queue: Queue
    now_ms: int
    stopping: Callable[[], bool]
    cluster: ClusterPass | None = None

    def __post_init__(self) -> None:
        self.did: dict[str, int] = {}
        self.failed: list[str] = []
        self.silent: set[str] = set()
        self.kept_bytes = 0

    def run(self) -> bool:
        """All steps in their order, then the queue's line; whether all of them could be done."""
        began_s = time.monotonic()
        for step in self._steps():
            if not self.stopping():
                self._tried(step.__name__, step)
        self._tried("measure", lambda: self._tell(began_s))
        return not self.failed

    def _steps(self) -> list[Callable[[], None]]:
        known = [self.promote, self.reap, self.expire, self.replay, self.restore, self.recover, self.drop_consumers]
        known += [self.trim_dead, self.trim_history]
        if self.cluster is None:
            return known
        # What pods tell comes before what leases tell: it has a reason, and comes sooner.
        return [self.promote, self.cluster.seize, *known[1:], self.cluster.jobs, self.cluster.scaled]

    def _tried(self, name: str, step: Callable[[], None]) -> None:
        try:
            step()
        except FAILURES:
            raise
        except Exception as error:  # noqa: BLE001  (whatever one step meets, the others and the other queues go on; it is told, and the exit code is 1)
            self._fault(name, f"{type(error).__name__}: {error}")

    def _fault(self, name: str, error: str) -> None:
        self.failed.append(name)
        logs.event("step failed", "error", queue=self.queue.name, step=name, error=error)

    def _count(self, name: str, number: int) -> None:
        self.did[name] = self.did.get(name, 0) + number

    def promote(self) -> None:
        """What was due when the pass began; what becomes due meanwhile is the next one's."""
        due_ms = 0
        while 0 <= due_ms <= self.now_ms and not self.stopping():
            promoted, due_ms = self.queue.promote()
            self._count("promoted", promoted)

    def reap(self) -> None:
        """Expired claims, settled through the one retry policy; the Jobs of pods that may still be there are ended."""
        with ThreadPoolExecutor(REAPERS) as reapers:
            shares = [reapers.submit(self._reap_share) for _ in range(REAPERS)]
        for share in shares:
            for name, number in share.result().items():
                self._count(name, number)
        if self.cluster is not None:
            self.cluster.end_reaped(self.silent)

    def _reap_share(self) -> Counter[str]:
        did: Counter[str] = Counter()
        for reaped, settled in reap_all(self.queue, self.stopping):
            did.update({f"reaped_{name}": number for name, number in asdict(settled).items() if number})
            if self.cluster is not None:
                self.silent.update(claim.holder for claim in reaped.claims)
        return did

    def expire(self) -> None:
        """Tasks that were not started in time."""
        while not self.stopping() and (looked := self.queue.expire()):
            self._count("expired", looked)

    def replay(self) -> None:
        """Dead letters that may run again."""
        done = replay_due(self.queue, self.broker, self.now_ms, self.stopping)
        self._count("replayed", done.replayed)
        if done.strange:
            first = ", ".join(done.strange[:10])
            self._fault("replay", f"{len(done.strange)} entries of another program lie among the dead letters, left there: {first}")

    def restore(self) -> None:
        """Entries that the group gave to nobody who holds them; before their consumers go."""
        self._count("restored", self.queue.restore())

    def recover(self) -> None:
        """Waiting tasks whose entry another program removed; without this they waited for ever, and their ids were taken."""
        found = self.queue.measure()
        self.kept_bytes = found.counts.get("history_bytes", 0)
        if found.mislaid:
            put_back, buried = self.queue.recover()
            self._count("recovered", put_back)
            self._count("recovered_buried", buried)

    def drop_consumers(self) -> None:
        """Consumers that other programs left in the group."""
        self._count("consumers_dropped", self.queue.drop_consumers())

    def trim_dead(self) -> None:
        """Dead letters over the caps. Markers of done tasks need no step: their keys expire whole, by themselves."""
        while not self.stopping() and (dropped := self.queue.trim_dead(self.now_ms)):
            self._count("trimmed", dropped)

    def trim_history(self) -> None:
        """Bodies of done tasks over the caps of bytes and age; nothing is asked where none are kept."""
        while not self.stopping() and self.kept_bytes and (dropped := self.queue.trim_history(self.now_ms)):
            self._count("forgotten", dropped)

    def _tell(self, began_s: float) -> None:
        found = self.queue.measure()
        self.broker.note_ended(self.queue.name, found.counts, found.now_ms)
        facts: dict[str, Any] = {name: getattr(found, name) for name in MEASURED} | self.did
        facts |= self.cluster.did if self.cluster else {}
        facts["oldest_wait_s"], facts["failed"] = round(found.oldest_wait_s, 3), self.failed
        logs.event("pass", queue=self.queue.name, **facts, took_ms=int((time.monotonic() - began_s) * 1000))
