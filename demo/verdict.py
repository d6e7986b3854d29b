"""Whether the demo kept what it promises; each broken promise is one line. Pure but for a look at the pictures; called by __main__."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from demo.plan import FAILS
from demo.report import Row
from demo.story import PASSES_AFTER


def broken_promises(rows: Sequence[Row], *, killed: str, replay_max: int, passes_sat_out: int, started: int) -> list[str]:
    """Empty when all went as promised. `killed` is the worker that was killed, `started` how many there were."""
    by_role = {one.told.planned.role: one for one in rows}
    return [
        *_unfinished(rows),
        *_flaky(by_role["flaky"]),
        *_killed(by_role["killed"], killed),
        *_poison(by_role["poison"], replay_max, passes_sat_out),
        *_sheet(by_role.get("sheet")),
        *_one_task_each(rows, started),
    ]


def _unfinished(rows: Sequence[Row]) -> Iterator[str]:
    for one in rows:
        label, facts = one.told.planned.label, one.told.facts
        unreadable = one.state == "dead" and facts is not None and facts.reason == "fatal"
        if one.told.planned.role == "poison" or unreadable:
            continue
        if one.state != "done":
            yield f"{label} is {one.state}, not done"
        elif not Path(one.told.planned.payload["target"]).is_file():
            yield f"{label} is done, but its picture is not there"


def _flaky(one: Row) -> Iterator[str]:
    if one.kinds.count("error") != FAILS or one.kinds[-1:] != ("done",):
        yield f"{one.told.planned.label} was to fail {FAILS} times and then succeed: {', '.join(one.kinds) or 'it never ran'}"


def _killed(one: Row, killed: str) -> Iterator[str]:
    if not killed:
        yield "no worker was killed in the middle of its task"
    elif ("lost", killed) not in zip(one.kinds, one.workers, strict=True) or one.workers[-1:] == (killed,):
        yield f"the task of {killed}, which was killed, was not done by another: {', '.join(one.workers)}"


def _poison(one: Row, replay_max: int, passes_sat_out: int) -> Iterator[str]:
    facts = one.told.facts
    if facts is None or facts.state != "dead" or facts.counters.replays != replay_max:
        yield f"the poison task was to be replayed {replay_max} time and then stay dead: {one.state}, {', '.join(one.kinds)}"
    elif passes_sat_out < PASSES_AFTER:
        yield "no pass of the controller showed that the poison task stays dead"


def _sheet(one: Row | None) -> Iterator[str]:
    if one is None:
        yield "there is no contact sheet"


def _one_task_each(rows: Sequence[Row], started: int) -> Iterator[str]:
    held = Counter(worker for one in rows for worker in one.workers)
    for worker, tasks in held.items():
        if tasks > 1:
            yield f"{worker} ran {tasks} tasks, not one"
    if sum(held.values()) > started:
        yield f"{sum(held.values())} attempts, but only {started} workers were started"
