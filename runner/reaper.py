"""Settles claims that expired: through the one retry policy and the same scripts as any holder. Called by worker and controller."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from runner.attempt import attempt_line
from runner.broker import Queue, Settled
from runner.outcome import Action, Ending, Kind, Verdict
from runner.retry import decide
from runner.task import Claim


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of reaped claims: run again, buried, or not settled because another reaper was quicker."""

    retried: int = 0
    buried: int = 0
    lost: int = 0


def settle_reaped(queue: Queue, claims: Sequence[Claim], now_ms: int) -> Settlement:
    """Settle what `reap` took over. `now_ms` is Redis's clock."""
    judged = [(claim, _judge(queue, claim, now_ms)) for claim in claims]
    retried = queue.retry([_settled(c, v, now_ms) for c, v in judged if v.action is Action.RETRY])
    buried = queue.bury([_settled(c, v, now_ms) for c, v in judged if v.action is Action.BURY])
    return Settlement(len(retried) - retried.count("lost"), len(buried) - buried.count("lost"), (retried + buried).count("lost"))


def _ending(claim: Claim) -> Ending:
    return Ending(Kind.LOST, f"the claim of {claim.holder} expired: its pod, its node or Redis went away")


def _judge(queue: Queue, claim: Claim, now_ms: int) -> Verdict:
    return decide(_ending(claim), claim.counters, queue.declaration, now_ms=now_ms, jitter=random.random())


def _settled(claim: Claim, verdict: Verdict, now_ms: int) -> Settled:
    line = attempt_line(_ending(claim), number=claim.counters.attempt, holder=claim.holder, started_ms=claim.started_ms, ended_ms=now_ms)
    return Settled(claim.id, claim.token, verdict.counter, line, verdict.delay_ms, verdict.reason, verdict.detail)
