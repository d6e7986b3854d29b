"""A task between two queues: what it takes along, and each half of the move in one call. Called by the four test_move files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runner.broker import Queue
from runner.broker.moving import Leaving
from runner.tasks import Counters
from tests.arrows.table import Keys
from tests.making import LINE, held

COMING = Leaving("a", "emails", "m1", "high", 1_700_000_000_000, Counters(ooms=1), 2, "", b"body", LINE)
NAMED = LINE + b'\n{"kind":"moved","by":"m1"}'
HELD: Keys = {
    "stream watched normal": ["a: {}"],
    "tasks": {"a": "claimed normal token=t1 key=k"},
    "claims": {"a": "held"},
    "held": {"t1": "pod-1 - a"},
    "keys": {"k": "a"},
    "counts": {"submitted": 1},
    "list bodies": {"a": "{}"},
}
MOVING = HELD | {
    "tasks": {"a": "moving normal counters=0,0,0,1,0,0,0 wish=to:big token=t1 last=t1 key=k"},
    "lives": {"a": ['{"attempt":1}']},
}


def out(queue: Queue, token: str = "t1") -> str:
    """Move task `a` out, and what the script answers, in a line."""
    found = queue.move_out("a", token, "big", LINE)
    if isinstance(found, str):
        return found
    return f"{found.to} {found.move} {found.priority} {found.counters.ooms} {found.life} {found.key} {found.body!r} {found.attempts!r}"


def moving(queue: Queue) -> None:
    """Task `a`, on its way to queue `big`."""
    held(queue, key="k")
    out(queue)


def came(queue: Queue, **more: Any) -> str:
    """Let it come into this queue."""
    return queue.move_in(replace(COMING, **more), NAMED)
