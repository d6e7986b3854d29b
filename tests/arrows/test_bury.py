"""claimed -> dead: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import LINE, bury, held

TABLE = [
    Row(
        name="with body, reason and counters",
        given=lambda q: held(q, body=b"body"),
        when=lambda q, _: bury(q, "a", "t1", "error", "errors", LINE),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: body"],
            "tasks": {"a": "claimed normal token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "body"},
        },
        after={"dead": ["a: body (error) 1,0,0,0,0,0,0"], "buried": {"a": "t1"}, "counts": {"submitted": 1, "dead:error": 1, "buried": 1}},
    ),
    Row(
        name="the key's marker links to it",
        given=lambda q: held(q, key="order 7"),
        when=lambda q, _: bury(q, "a", "t1"),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=t1 key=order 7"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "keys": {"order 7": "a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after={
            "dead": ["a: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"a": "t1"},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1},
        },
    ),
    Row(
        name="a wish to cancel ends it",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: bury(q, "a", "t1"),
        says="cancelled",
        again="again",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal wish=cancel token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after={"done": {"i:a": "cancelled t1"}, "counts": {"submitted": 1, "cancelled": 1}},
    ),
    Row(
        name="a wrong token buries nothing",
        given=lambda q: held(q),
        when=lambda q, _: bury(q, "a", "t9"),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_bury(queue: Queue, row: Row) -> None:
    row.holds(queue)
