"""The one retry policy: what is to be done about an ended attempt. Pure; called by worker and reaper."""

from __future__ import annotations

from runner.outcome import Action, Ending, Kind, Verdict
from runner.queue import Declaration
from runner.tasks import Counters

UNKNOWN_TYPE_DELAY_MS = 30_000
"""Longest pause between two looks for a worker that knows the type."""


def backoff_ms(declaration: Declaration, failed: int, jitter: float) -> int:
    """Pause before the next run after the `failed`-th failure: doubling, capped, half of it random.

    `jitter` is from 0 to 1. Equal jitter, after "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
    """
    whole_s = min(declaration.backoff_s * 2.0 ** min(failed - 1, 30), declaration.max_backoff_s)
    return int(1000 * whole_s * (0.5 + jitter / 2))


def decide(
    ending: Ending, counters: Counters, declaration: Declaration, *, now_ms: int, jitter: float, max_retries: int | None = None
) -> Verdict:
    """Judge an ended attempt. `max_retries` is the task's own cap on errors, None for the queue's; `now_ms` is Redis's clock."""
    kind, detail = ending.kind, ending.detail
    if kind in (Kind.DONE, Kind.CANCELLED):
        return Verdict(Action.COMPLETE if kind is Kind.DONE else Action.CANCEL, kind, detail)
    if kind in (Kind.FATAL, Kind.UNREADABLE, Kind.EXPIRED):
        return Verdict(Action.BURY, kind, detail)
    if kind is Kind.RELEASED:
        return _released(detail, counters, declaration)
    if kind is Kind.UNKNOWN_TYPE:
        return _unknown_type(detail, counters, declaration, now_ms)
    return _failed(ending, counters, declaration, jitter, max_retries)


def _released(detail: str, counters: Counters, declaration: Declaration) -> Verdict:
    if counters.releases >= declaration.max_releases:
        said = f"handed back {counters.releases + 1} times, the cap is {declaration.max_releases}"
        return Verdict(Action.BURY, Kind.RELEASED, said, "releases")
    return Verdict(Action.RELEASE, Kind.RELEASED, detail, "releases")


def _unknown_type(detail: str, counters: Counters, declaration: Declaration, now_ms: int) -> Verdict:
    grace_ms = int(declaration.unknown_type_grace_s * 1000)
    waited_ms = now_ms - counters.unknown_ms if counters.unknown_ms else 0
    if waited_ms >= grace_ms:
        return Verdict(Action.BURY, Kind.UNKNOWN_TYPE, f"{detail} (no worker knew it for {waited_ms // 1000} s)")
    delay_ms = min(UNKNOWN_TYPE_DELAY_MS, max(1000, grace_ms // 20))
    return Verdict(Action.RETRY, Kind.UNKNOWN_TYPE, detail, "unknown_ms", min(delay_ms, grace_ms - waited_ms))


def _failed(ending: Ending, counters: Counters, declaration: Declaration, jitter: float, max_retries: int | None) -> Verdict:
    retries = declaration.max_retries if max_retries is None else max_retries
    counter, before, starts = {
        Kind.TIMEOUT: ("timeouts", counters.timeouts, declaration.max_timeouts),
        Kind.CRASH: ("crashes", counters.crashes, declaration.max_crashes),
        Kind.LOST: ("crashes", counters.crashes, declaration.max_crashes),
        Kind.OOM: ("ooms", counters.ooms, declaration.max_ooms),
    }.get(ending.kind, ("errors", counters.errors, retries + 1))
    if before + 1 >= starts:
        return Verdict(Action.BURY, ending.kind, ending.detail, counter)
    again = Action.MOVE if ending.kind is Kind.OOM and declaration.oom_to else Action.RETRY
    return Verdict(again, ending.kind, ending.detail, counter, _pause_ms(ending, declaration, before + 1, jitter))


def _pause_ms(ending: Ending, declaration: Declaration, failed: int, jitter: float) -> int:
    if ending.after_s is not None:
        return int(ending.after_s * 1000)
    # A lost claim has waited for a whole lease already, and the pod that reaped it may run it at once.
    return 0 if ending.kind is Kind.LOST else backoff_ms(declaration, failed, jitter)
