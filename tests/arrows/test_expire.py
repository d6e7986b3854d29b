"""waiting, delayed -> dead: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import held, overdue, submit

TABLE = [
    Row(
        name="a waiting task",
        given=lambda q: (submit(q, "a", b"body", expires_ms=60_000), overdue(q, "a")),
        when=lambda q, _: q.expire(),
        says=1,
        again=0,
        before={
            "stream watched normal": ["a: body"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal"},
            "expiries": ["a"],
            "counts": {"submitted": 1},
            "list bodies": {"a": "body"},
        },
        after={
            "dead": ["a: body (expired) 0,0,0,0,0,0,0"],
            "buried": {"a": "-"},
            "counts": {"submitted": 1, "dead:expired": 1, "buried": 1},
        },
    ),
    Row(
        name="a delayed task",
        given=lambda q: (submit(q, "a", b"body", delay_ms=60_000, expires_ms=60_000), overdue(q, "a")),
        when=lambda q, _: q.expire(),
        says=1,
        again=0,
        before={"tasks": {"a": "delayed normal"}, "bodies": {"a": "body"}, "delayed": ["a"], "expiries": ["a"], "counts": {"submitted": 1}},
        after={
            "dead": ["a: body (expired) 0,0,0,0,0,0,0"],
            "buried": {"a": "-"},
            "counts": {"submitted": 1, "dead:expired": 1, "buried": 1},
        },
    ),
    Row(
        name="what is not over stays",
        given=lambda q: submit(q, "a", expires_ms=60_000),
        when=lambda q, _: q.expire(),
        says=0,
        again=0,
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal"},
            "expiries": ["a"],
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a claimed task has no expiry",
        given=lambda q: held(q, expires_ms=60_000),
        when=lambda q, _: q.expire(),
        says=0,
        again=0,
        before=HELD,
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_expire(queue: Queue, row: Row) -> None:
    row.holds(queue)
