"""waiting, delayed, claimed -> cancelled: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import LINE, dead, held, submit

TABLE = [
    Row(
        name="a waiting task ends at once",
        given=lambda q: submit(q, "a", key="order 7", expires_ms=60_000),
        when=lambda q, _: q.cancel("a"),
        says="cancelled",
        again="cancelled",
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal key=order 7"},
            "expiries": ["a"],
            "keys": {"order 7": "a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after={"done": {"i:a": "cancelled -", "k:order 7": "cancelled a"}, "counts": {"submitted": 1, "cancelled": 1}},
    ),
    Row(
        name="a delayed task ends at once",
        given=lambda q: submit(q, "a", delay_ms=60_000),
        when=lambda q, _: q.cancel("a"),
        says="cancelled",
        again="cancelled",
        before={"tasks": {"a": "delayed normal"}, "bodies": {"a": "{}"}, "delayed": ["a"], "counts": {"submitted": 1}},
        after={"done": {"i:a": "cancelled -"}, "counts": {"submitted": 1, "cancelled": 1}},
    ),
    Row(
        name="a released task ends at once",
        given=lambda q: (held(q), q.release("a", "t1", LINE)),
        when=lambda q, _: q.cancel("a"),
        says="cancelled",
        again="cancelled",
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal counters=0,0,0,0,1,0,0 last=t1"},
            "stream claims": {"a": "released"},
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 1, "released": 1},
            "list bodies": {"a": "{}"},
        },
        after={
            "done": {"i:a": "cancelled - 0,0,0,0,1,0,0", "l:a": '{"attempt":1}'},
            "counts": {"submitted": 1, "released": 1, "cancelled": 1},
        },
    ),
    Row(
        name="a claimed task is wished to end",
        given=lambda q: held(q),
        when=lambda q, _: q.cancel("a"),
        says="cancelling",
        again="cancelling",
        before=HELD,
        after={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal wish=cancel token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
    ),
    Row(
        name="its holder ends it",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: q.cancel("a", "t1", LINE),
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
        name="a wrong token ends nothing",
        given=lambda q: held(q),
        when=lambda q, _: q.cancel("a", "t9", LINE),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a done task is done",
        given=lambda q: q.complete(held(q).id, "t1", b"", b""),
        when=lambda q, _: q.cancel("a"),
        says="done",
        again="done",
        before={"done": {"i:a": "done t1"}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a dead task is dead",
        given=lambda q: dead(q),
        when=lambda q, _: q.cancel("a"),
        says="dead",
        again="dead",
        before={"dead": ["a: {} (fatal) 0,0,0,0,0,0,0"], "buried": {"a": "t1"}, "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="an unknown id leaves no trace",
        given=lambda q: None,
        when=lambda q, _: q.cancel("a"),
        says="unknown",
        again="unknown",
        before={},
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_cancel(queue: Queue, row: Row) -> None:
    row.holds(queue)
