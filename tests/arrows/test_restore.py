"""waiting -> waiting: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import adopt, foreign, held, push, pushed, submit

TABLE = [
    Row(
        name="what a foreign consumer took goes to the tail",
        given=lambda q: (submit(q, "a"), foreign(q), submit(q, "b")),
        when=lambda q, _: q.restore(),
        says={"stream": 1, "list": 0},
        again=0,
        before={
            "stream watched normal": ["a: {}", "b: {}"],
            "list watched normal": ["ref:a", "ref:b"],
            "tasks": {"a": "waiting normal", "b": "waiting normal"},
            "counts": {"submitted": 2},
            "list bodies": {"a": "{}", "b": "{}"},
        },
        after={
            "stream watched normal": ["b: {}", "a: {}"],
            "list watched normal": ["ref:a", "ref:b"],
            "tasks": {"a": "waiting normal", "b": "waiting normal"},
            "stream counts": {"submitted": 2, "restored": 1},
            "list counts": {"submitted": 2},
            "list bodies": {"a": "{}", "b": "{}"},
        },
    ),
    Row(
        name="a bare push that a foreign consumer took",
        given=lambda q: (push(q, b"bare"), foreign(q)),
        when=lambda q, _: q.restore(),
        says={"stream": 1, "list": 0},
        again=0,
        before={"watched normal": ["bare"]},
        after={"watched normal": ["bare"], "stream counts": {"restored": 1}},
    ),
    Row(
        name="claimed and released entries are left alone",
        given=lambda q: (held(q), held(q, "b", "t2"), q.release("b", "t2", b"")),
        when=lambda q, _: q.restore(),
        says=0,
        again=0,
        before={
            "stream watched normal": ["a: {}", "b: {}"],
            "list watched normal": ["ref:b"],
            "tasks": {"a": "claimed normal token=t1", "b": "waiting normal counters=0,0,0,0,1,0,0 last=t2"},
            "stream claims": {"b": "released", "a": "held"},
            "list claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 2, "released": 1},
            "list bodies": {"a": "{}", "b": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="an adopted push is left alone",
        given=lambda q: adopt(q, pushed(q), "206"),
        when=lambda q, _: q.restore(),
        says=0,
        again=0,
        before={
            "stream watched normal": ['{"task_id":206}'],
            "tasks": {"206": "claimed normal token=t1"},
            "claims": {"206": "held"},
            "held": {"t1": "pod-1 - 206"},
            "stream aliases": {"normal": "206"},
            "list bodies": {"206": '{"task_id":206}'},
        },
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_restore(queue: Queue, row: Row) -> None:
    row.holds(queue)
