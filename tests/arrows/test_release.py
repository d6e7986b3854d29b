"""claimed -> waiting: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import LINE, claim, held, submit

TABLE = [
    Row(
        name="entry and place stay",
        given=lambda q: (submit(q, "a"), submit(q, "b"), claim(q)),
        when=lambda q, _: q.release("a", "t1", LINE),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: {}", "b: {}"],
            "list watched normal": ["ref:b"],
            "tasks": {"a": "claimed normal token=t1", "b": "waiting normal"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 2},
            "list bodies": {"a": "{}", "b": "{}"},
        },
        after={
            "stream watched normal": ["a: {}", "b: {}"],
            "list watched normal": ["ref:a", "ref:b"],
            "tasks": {"a": "waiting normal counters=0,0,0,0,1,0,0 last=t1", "b": "waiting normal"},
            "stream claims": {"a": "released"},
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 2, "released": 1},
            "list bodies": {"a": "{}", "b": "{}"},
        },
    ),
    Row(
        name="a wish to cancel ends it",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: q.release("a", "t1", LINE),
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
        after={"done": {"i:a": "cancelled t1", "l:a": '{"attempt":1}'}, "counts": {"submitted": 1, "cancelled": 1}},
    ),
    Row(
        name="a wrong token releases nothing",
        given=lambda q: held(q),
        when=lambda q, _: q.release("a", "t9", LINE),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_release(queue: Queue, row: Row) -> None:
    row.holds(queue)
