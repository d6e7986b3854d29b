"""Settles claims that were taken over: through the one retry policy and the same scripts as any holder. Called by worker and controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from runner.attempt import attempt_line, lost_line
from runner.broker import Queue, Reaped, Settled
from runner.errors import ClaimLostError
from runner.moves import move_or_retry
from runner.outcome import Action, Ending, Kind, Verdict
from runner.queue import Declaration
from runner.retry import decide
from runner.tasks import Claim, Counters

Endings = Mapping[str, Ending]
"""How attempts ended, by the task's id, where somebody knows; the others are lost."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of reaped claims: run again, buried, moved into another queue, handed back unburnt, cancelled by somebody's wish, or not
    settled because another reaper was quicker.
    """

    retried: int = 0
    buried: int = 0
    cancelled: int = 0
    lost: int = 0
    moved: int = 0
    released: int = 0

    @classmethod
    def of(cls, retried: list[str], buried: list[str], moved: Sequence[str] = (), released: Sequence[str] = ()) -> Settlement:
        """Count the words that the scripts answered."""
        every = Counter([*retried, *buried, *moved, *released])
        return cls(_settled_of(retried), _settled_of(buried), every["cancelled"], every["lost"], _settled_of(moved), _settled_of(released))


def _settled_of(words: Sequence[str]) -> int:
    return sum(word in ("ok", "again") for word in words)


@dataclass(slots=True)
class Piles:
    """What is to be done about a chunk of claims, by script."""

    again: list[Settled] = field(default_factory=list)
    dead: list[Settled] = field(default_factory=list)
    moving: list[tuple[Claim, Verdict, bytes]] = field(default_factory=list)
    back: list[tuple[Claim, bytes]] = field(default_factory=list)

    def put(self, claim: Claim, verdict: Verdict, line: bytes) -> None:
        """Put one claim where its verdict sends it. Only its body tells a bare push's own id, so it moves nowhere before that was asked."""
        if verdict.action is Action.MOVE and not claim.fresh:
            self.moving.append((claim, verdict, line))
        elif verdict.action is Action.RELEASE:
            self.back.append((claim, line))
        else:
            settled = Settled(claim.id, claim.token, verdict.counter, line, verdict.delay_ms, verdict.reason, verdict.detail)
            (self.dead if verdict.action is Action.BURY else self.again).append(settled)


def settle_reaped(queue: Queue, claims: Sequence[Claim], now_ms: int, endings: Endings | None = None) -> Settlement:
    """Settle what `reap` or `seize` took over. `now_ms` is Redis's clock."""
    piles = _judged(queue.declaration, claims, now_ms, endings or {})
    retried, buried = queue.retry(piles.again), queue.bury(piles.dead)
    return Settlement.of(retried, buried, *_one_by_one(queue, piles, now_ms))


def reap_all(queue: Queue, stopping: Callable[[], bool] = lambda: False) -> Iterator[tuple[Reaped, Settlement]]:
    """Reap and settle, a chunk at a time, until nothing is expired or the end is asked for: each chunk and what became of it.

    Each settle carries the next reap, so that a chunk costs one round trip. A chunk that was taken over is always settled.
    """
    reaped = queue.reap()
    while reaped.claims:
        if stopping():
            yield reaped, settle_reaped(queue, reaped.claims, reaped.now_ms)
            return
        piles = _judged(queue.declaration, reaped.claims, reaped.now_ms, {})
        retried, buried, following = queue.settle_and_reap(piles.again, piles.dead)
        yield reaped, Settlement.of(retried, buried, *_one_by_one(queue, piles, reaped.now_ms))
        reaped = following


def _one_by_one(queue: Queue, piles: Piles, now_ms: int) -> tuple[list[str], list[str]]:
    moved = [move_or_retry(queue, claim, verdict, line, now_ms) for claim, verdict, line in piles.moving]
    return moved, [_released(queue, claim, line) for claim, line in piles.back]


def _released(queue: Queue, claim: Claim, line: bytes) -> str:
    try:
        return queue.release(claim.id, claim.token, line)
    except ClaimLostError:
        return "lost"


def _judged(declaration: Declaration, claims: Sequence[Claim], now_ms: int, endings: Endings) -> Piles:
    """A lost claim's verdict has no chance in it, so equal counters are judged once."""

    @cache
    def lost(counters: Counters) -> Verdict:
        return decide(Ending(Kind.LOST), counters, declaration, now_ms=now_ms, jitter=0.0)

    piles = Piles()
    for claim in claims:
        ending = endings.get(claim.id) if endings and not claim.moving_to else None
        if ending is not None:
            piles.put(claim, *_known(claim, ending, declaration, now_ms))
        else:
            _put_lost(piles, claim, lost(claim.counters), now_ms)
    return piles


def _known(claim: Claim, ending: Ending, declaration: Declaration, now_ms: int) -> tuple[Verdict, bytes]:
    number = claim.counters.attempt
    line = attempt_line(ending, number=number, holder=claim.holder, started_ms=claim.started_ms, ended_ms=now_ms)
    return decide(ending, claim.counters, declaration, now_ms=now_ms, jitter=0.0), line


def _put_lost(piles: Piles, claim: Claim, verdict: Verdict, now_ms: int) -> None:
    """As `put`, short: a pass may settle 100,000 lost claims, which nothing moves or hands back."""
    detail = f"the claim of {claim.holder} expired: its pod, its node or Redis went away"
    line = lost_line(detail=detail, number=claim.counters.attempt, holder=claim.holder, started_ms=claim.started_ms, ended_ms=now_ms)
    if claim.moving_to:
        piles.moving.append((claim, verdict, line))
        return
    pile = piles.dead if verdict.action is Action.BURY else piles.again
    pile.append(Settled(claim.id, claim.token, verdict.counter, line, verdict.delay_ms, verdict.reason, detail))
