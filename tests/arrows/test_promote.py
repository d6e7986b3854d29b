"""delayed -> waiting: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import due, submit

TABLE = [
    Row(
        name="what is due",
        given=lambda q: (submit(q, "a", b"body", delay_ms=60_000, priority="low"), due(q, "a")),
        when=lambda q, _: q.promote()[0],
        says=1,
        again=0,
        before={"tasks": {"a": "delayed low"}, "bodies": {"a": "body"}, "delayed": ["a"], "counts": {"submitted": 1}},
        after={
            "stream watched low": ["a: body"],
            "list watched low": ["ref:a"],
            "tasks": {"a": "waiting low"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "body"},
        },
    ),
    Row(
        name="what is not due stays",
        given=lambda q: submit(q, "a", delay_ms=60_000),
        when=lambda q, _: q.promote()[0],
        says=0,
        again=0,
        before={"tasks": {"a": "delayed normal"}, "bodies": {"a": "{}"}, "delayed": ["a"], "counts": {"submitted": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a due task may expire before it starts",
        given=lambda q: (submit(q, "a", delay_ms=60_000, expires_ms=90_000), due(q, "a")),
        when=lambda q, _: q.promote()[0],
        says=1,
        again=0,
        before={"tasks": {"a": "delayed normal"}, "bodies": {"a": "{}"}, "delayed": ["a"], "expiries": ["a"], "counts": {"submitted": 1}},
        after={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal"},
            "expiries": ["a"],
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
    ),
]


@rows(TABLE)
def test_promote(queue: Queue, row: Row) -> None:
    row.holds(queue)
