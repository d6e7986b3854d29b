"""claimed -> claimed, by the reaper: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.saying import reaped
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import end_lease, held

TABLE = [
    Row(
        name="an expired claim goes to the reaper, who knows its holder",
        given=lambda q: (held(q), end_lease(q, "a")),
        when=lambda q, _: reaped(q),
        says=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        again=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        before=HELD,
        after={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=stem:1"},
            "claims": {"a": "held"},
            "held": {"stem:1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
    ),
    Row(
        name="a living claim stays",
        given=lambda q: held(q),
        when=lambda q, _: reaped(q),
        says=[],
        again=[],
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a released task is not reaped",
        given=lambda q: (held(q), q.release("a", "t1", b"")),
        when=lambda q, _: reaped(q),
        says=[],
        again=[],
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal counters=0,0,0,0,1,0,0 last=t1"},
            "stream claims": {"a": "released"},
            "counts": {"submitted": 1, "released": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="no more than the limit",
        given=lambda q: (held(q), held(q, "b", "t2"), end_lease(q, "a", "b")),
        when=lambda q, _: reaped(q, 1),
        says=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        again=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        before={
            "stream watched normal": ["a: {}", "b: {}"],
            "tasks": {"a": "claimed normal token=t1", "b": "claimed normal token=t2"},
            "claims": {"a": "held", "b": "held"},
            "held": {"t1": "pod-1 - a", "t2": "pod-1 - b"},
            "counts": {"submitted": 2},
            "list bodies": {"a": "{}", "b": "{}"},
        },
        after={
            "stream watched normal": ["a: {}", "b: {}"],
            "tasks": {"a": "claimed normal token=stem:1", "b": "claimed normal token=t2"},
            "claims": {"b": "held", "a": "held"},
            "held": {"t2": "pod-1 - b", "stem:1": "pod-1 - a"},
            "counts": {"submitted": 2},
            "list bodies": {"a": "{}", "b": "{}"},
        },
    ),
    Row(
        name="a reaper that died is reaped, and the first holder is still known",
        given=lambda q: (held(q), end_lease(q, "a"), reaped(q, stem="dead"), end_lease(q, "a")),
        when=lambda q, _: reaped(q),
        says=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        again=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=dead:1"},
            "claims": {"a": "held"},
            "held": {"dead:1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=stem:1"},
            "claims": {"a": "held"},
            "held": {"stem:1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
    ),
]


@rows(TABLE)
def test_reap(queue: Queue, row: Row) -> None:
    row.holds(queue)
