"""Settles claims that expired: through the one retry policy and the same scripts as any holder. Called by worker and controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from runner.attempt import lost_line
from runner.broker import Queue, Reaped, Settled
from runner.outcome import Action, Ending, Kind, Verdict
from runner.queue import Declaration
from runner.retry import decide
from runner.task import Claim, Counters


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of reaped claims: run again, buried, cancelled by somebody's wish, or not settled because another reaper was quicker."""

    retried: int = 0
    buried: int = 0
    cancelled: int = 0
    lost: int = 0

    @classmethod
    def of(cls, retried: list[str], buried: list[str]) -> Settlement:
        """Count the words that `retry` and `bury` answered."""
        both = Counter(retried + buried)
        return cls(_settled_of(retried), _settled_of(buried), both["cancelled"], both["lost"])


def _settled_of(words: list[str]) -> int:
    return sum(word in ("ok", "again") for word in words)


def settle_reaped(queue: Queue, claims: Sequence[Claim], now_ms: int) -> Settlement:
    """Settle what `reap` took over. `now_ms` is Redis's clock."""
    again, dead = _judged(queue.declaration, claims, now_ms)
    return Settlement.of(queue.retry(again), queue.bury(dead))


def reap_all(queue: Queue, stopping: Callable[[], bool] = lambda: False) -> Iterator[tuple[Reaped, Settlement]]:
    """Reap and settle, a chunk at a time, until nothing is expired or the end is asked for: each chunk and what became of it.

    Each settle carries the next reap, so that a chunk costs one round trip. A chunk that was taken over is always settled.
    """
    reaped = queue.reap()
    while reaped.claims:
        if stopping():
            yield reaped, settle_reaped(queue, reaped.claims, reaped.now_ms)
            return
        retried, buried, following = queue.settle_and_reap(*_judged(queue.declaration, reaped.claims, reaped.now_ms))
        yield reaped, Settlement.of(retried, buried)
        reaped = following


def _judged(declaration: Declaration, claims: Sequence[Claim], now_ms: int) -> tuple[list[Settled], list[Settled]]:
    """What runs again and what is dead. A lost claim's verdict has no chance in it, so equal counters are judged once."""

    @cache
    def verdict(counters: Counters) -> Verdict:
        return decide(Ending(Kind.LOST), counters, declaration, now_ms=now_ms, jitter=0.0)

    again: list[Settled] = []
    dead: list[Settled] = []
    for claim in claims:
        judged = verdict(claim.counters)
        (again if judged.action is Action.RETRY else dead).append(_settled(claim, judged, now_ms))
    return again, dead


def _settled(claim: Claim, verdict: Verdict, now_ms: int) -> Settled:
    detail = f"the claim of {claim.holder} expired: its pod, its node or Redis went away"
    line = lost_line(detail=detail, number=claim.counters.attempt, holder=claim.holder, started_ms=claim.started_ms, ended_ms=now_ms)
    return Settled(claim.id, claim.token, verdict.counter, line, verdict.delay_ms, verdict.reason, detail)
