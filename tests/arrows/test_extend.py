"""claimed -> claimed: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import held, retry

TABLE = [
    Row(
        name="a heartbeat",
        given=lambda q: held(q),
        when=lambda q, _: q.extend("a", "t1"),
        says="ok",
        again="ok",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a heartbeat with progress",
        given=lambda q: held(q),
        when=lambda q, it: q.extend("a", "t1", "half of it"),
        says="ok",
        again="ok",
        before=HELD,
        after={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 half_of_it a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
    ),
    Row(
        name="a heartbeat hears of a wish to cancel",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: q.extend("a", "t1"),
        says="cancel",
        again="cancel",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal wish=cancel token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a wrong token extends nothing",
        given=lambda q: held(q),
        when=lambda q, _: q.extend("a", "t9"),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a settled token extends nothing",
        given=lambda q: (held(q), retry(q, "a", "t1")),
        when=lambda q, _: q.extend("a", "t1"),
        says="lost",
        again="lost",
        before={
            "tasks": {"a": "delayed normal counters=1,0,0,0,0,0,0 last=t1"},
            "bodies": {"a": "{}"},
            "delayed": ["a"],
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 1, "retried": 1},
        },
        after=UNCHANGED,
    ),
    Row(
        name="an unknown id",
        given=lambda q: None,
        when=lambda q, _: q.extend("a", "t1"),
        says="lost",
        again="lost",
        before={},
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_extend(queue: Queue, row: Row) -> None:
    row.holds(queue)
