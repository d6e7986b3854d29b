"""What happened to a task, in order: one event for each thing that is known to have had a time. Pure; called by inspect."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from runner.cli.common import lasting

if TYPE_CHECKING:
    from runner.broker import Facts

ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ENDED = {"done": "done", "cancelled": "cancelled", "released": "handed back, unburnt", "lost": "lost: its claim expired"}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened at `at_ms`, None where nobody noted when."""

    at_ms: int | None
    what: str


def timeline(task_id: str, facts: Facts, attempts: Sequence[Mapping[str, Any]]) -> list[Event]:
    """All events, the first first; what is still to come is last."""
    events = [*_submitted(task_id, facts, attempts)]
    for one in attempts:
        events += _attempted(one)
    return [*events, *_state(facts, attempts)]


def _submitted(task_id: str, facts: Facts, attempts: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    """A done task's marker does not keep when it was submitted; ids made here hold it."""
    at_ms = facts.first_ms if facts.first_ms is not None else made_ms(task_id)
    yield Event(at_ms, "submitted" + (f", priority {facts.priority}" if facts.priority else ""))
    first = next((one["attempt"] for one in attempts if "attempt" in one), 1)
    if first > 1:
        yield Event(None, f"{first - 1} attempts of which nothing is kept any more")


def made_ms(task_id: str) -> int | None:
    """The time in an id that was made here, a ULID; None for another."""
    if len(task_id) != 26 or task_id[0] > "7" or not set(task_id) <= set(ULID):
        return None
    number = 0
    for letter in task_id[:10]:
        number = number * 32 + ULID.index(letter)
    return number


def _attempted(one: Mapping[str, Any]) -> Iterator[Event]:
    if "started_ms" not in one:
        yield Event(one.get("at_ms"), _note(one))
        return
    yield Event(one["started_ms"], f"attempt {one['attempt']}: claimed by {place(str(one.get('holder', '')))}")
    kind = str(one["kind"])
    said = ENDED.get(kind, f"failed: {kind}")
    detail = f": {one['detail']}" if one.get("detail") else ""
    yield Event(one["ended_ms"], f"attempt {one['attempt']}: {said}{detail}{_used(one)}")


def _note(one: Mapping[str, Any]) -> str:
    """Lines without a run: replays, reruns, moves."""
    words = {"replay": "replayed", "rerun": "run again as a new task", "moved": "moved"}
    more = (("by", "by"), ("of", "of task"), ("detail", ""))
    parts = [f"{before} {one[key]}".strip() for key, before in more if one.get(key)]
    return " ".join([words.get(str(one.get("kind")), str(one.get("kind"))), *parts])


def _used(one: Mapping[str, Any]) -> str:
    code = f"; exit code {one['exit_code']}" if one.get("exit_code") else ""
    if not one.get("wall_s"):
        return code
    return f" (ran {lasting(one['wall_s'])}, CPU {lasting(one['cpu_s'])}, {one['peak_kib'] / 1024:.0f} MiB{code})"


def place(holder: str) -> str:
    """Who held it: the pod, and its node."""
    pod, *rest = holder.split("/")
    return pod + (f" on {rest[-1]}" if len(rest) > 1 else "")


def _state(facts: Facts, attempts: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    if facts.holder:
        yield Event(facts.started_ms, f"attempt {facts.counters.attempt}: claimed by {place(facts.holder)}, and runs")
        yield from _running(facts)
    elif facts.state == "delayed":
        yield Event(facts.due_ms, "is due")
    elif facts.state == "dead":
        told = bool(attempts) and attempts[-1].get("detail") == facts.detail
        yield Event(facts.ended_ms, f"dead: {facts.reason}" + (f": {facts.detail}" if facts.detail and not told else ""))
    elif facts.ended_ms is not None and not (attempts and attempts[-1].get("kind") == facts.state):
        yield Event(facts.ended_ms, facts.state)
    if facts.expires_ms is not None and facts.state in ("waiting", "delayed"):
        yield Event(facts.expires_ms, "expires, unless it was started by then")


def _running(facts: Facts) -> Iterator[Event]:
    if facts.progress and facts.progress != "-":
        yield Event(None, f"progress: {facts.progress.replace('_', ' ')}")
    if facts.wish == "cancel":
        yield Event(None, "somebody wants it cancelled: its worker ends it at the next heartbeat")
    yield Event(facts.lease_until_ms, "its claim expires, unless its worker is heard before")


def spans(events: Sequence[Event], now_ms: float | None = None) -> list[list[object]]:
    """Rows for people: the time here, how long after the one before, and what."""
    now_ms = now_ms or time.time() * 1000
    known = [one.at_ms for one in events]
    before = [None, *known]
    for number, (last, here) in enumerate(pairwise(before)):  # an event without a time lets the one behind it count from before it
        before[number + 1] = here if here is not None else last
    return [[_clock(one.at_ms, now_ms), _after(before[number], one.at_ms), one.what] for number, one in enumerate(events)]


def _after(before_ms: int | None, at_ms: int | None) -> str:
    return "" if before_ms is None or at_ms is None else f"{lasting(max(0, at_ms - before_ms) / 1000)}"


def _clock(at_ms: int | None, now_ms: float) -> str:
    if at_ms is None:
        return "-"
    today = time.strftime("%F", time.localtime(at_ms / 1000)) == time.strftime("%F", time.localtime(now_ms / 1000))
    said = time.strftime("%T" if today else "%F %T", time.localtime(at_ms / 1000))
    return f"{said} (in {lasting((at_ms - now_ms) / 1000)})" if at_ms > now_ms else said
