"""(nothing) -> waiting | delayed: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.saying import received
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import dead, held, retry_and_bury, submit

TABLE = [
    Row(
        name="a new id waits",
        given=lambda q: None,
        when=lambda q, _: received(submit(q, "a", b"body")),
        says="a waiting",
        again="a waiting, there already",
        before={},
        after={
            "stream watched normal": ["a: body"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "body"},
        },
    ),
    Row(
        name="a delayed one is in no watched key",
        given=lambda q: None,
        when=lambda q, _: received(submit(q, "a", delay_ms=60_000)),
        says="a delayed",
        again="a delayed, there already",
        before={},
        after={"tasks": {"a": "delayed normal"}, "bodies": {"a": "{}"}, "delayed": ["a"], "counts": {"submitted": 1}},
    ),
    Row(
        name="key and expiry are kept",
        given=lambda q: None,
        when=lambda q, _: received(submit(q, "a", key="order 7", expires_ms=60_000, priority="low")),
        says="a waiting",
        again="a waiting, there already",
        before={},
        after={
            "stream watched low": ["a: {}"],
            "list watched low": ["ref:a"],
            "tasks": {"a": "waiting low key=order 7"},
            "expiries": ["a"],
            "keys": {"order 7": "a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
    ),
    Row(
        name="a waiting id answers and changes nothing",
        given=lambda q: submit(q, "a", b"first"),
        when=lambda q, _: received(submit(q, "a", b"second", priority="high")),
        says="a waiting, there already",
        again="a waiting, there already",
        before={
            "stream watched normal": ["a: first"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "first"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a delayed id answers",
        given=lambda q: submit(q, "a", delay_ms=60_000),
        when=lambda q, _: received(submit(q, "a")),
        says="a delayed, there already",
        again="a delayed, there already",
        before={"tasks": {"a": "delayed normal"}, "bodies": {"a": "{}"}, "delayed": ["a"], "counts": {"submitted": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a claimed id answers",
        given=lambda q: held(q),
        when=lambda q, _: received(submit(q, "a")),
        says="a claimed, there already",
        again="a claimed, there already",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a done id answers",
        given=lambda q: q.complete(held(q).id, "t1", b"", b""),
        when=lambda q, _: received(submit(q, "a")),
        says="a done, there already",
        again="a done, there already",
        before={"done": {"i:a": "done t1"}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a live key answers with the first id",
        given=lambda q: submit(q, "a", key="order 7"),
        when=lambda q, _: received(submit(q, "b", key="order 7")),
        says="a waiting, there already",
        again="a waiting, there already",
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal key=order 7"},
            "keys": {"order 7": "a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a done key answers with the first id",
        given=lambda q: q.complete(held(q, key="order 7").id, "t1", b"", b""),
        when=lambda q, _: received(submit(q, "b", key="order 7")),
        says="a done, there already",
        again="a done, there already",
        before={"done": {"i:a": "done t1", "k:order 7": "done a"}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a dead id begins a new life and its dead letter leaves",
        given=lambda q: retry_and_bury(q),
        when=lambda q, _: received(submit(q, "a", b"new")),
        says="a waiting, after dead a",
        again="a waiting, there already",
        before={
            "dead": ["a: body (crash) 1,0,1,0,0,0,0"],
            "buried": {"a": "t2"},
            "counts": {"submitted": 1, "retried": 1, "dead:crash": 1, "buried": 1},
        },
        after={
            "stream watched normal": ["a: new"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal life=2"},
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 2, "retried": 1, "buried": 1},
            "list bodies": {"a": "new"},
        },
    ),
    Row(
        name="a cancelled id begins a new life",
        given=lambda q: (submit(q, "a"), q.cancel("a")),
        when=lambda q, _: received(submit(q, "a")),
        says="a waiting, after cancelled a",
        again="a waiting, there already",
        before={"done": {"i:a": "cancelled -"}, "counts": {"submitted": 1, "cancelled": 1}},
        after={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal life=2"},
            "counts": {"submitted": 2, "cancelled": 1},
            "list bodies": {"a": "{}"},
        },
    ),
    Row(
        name="a dead key is linked and its dead letter leaves",
        given=lambda q: dead(q, key="order 7"),
        when=lambda q, _: received(submit(q, "b", key="order 7")),
        says="b waiting, after dead a",
        again="b waiting, there already",
        before={
            "dead": ["a: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"a": "t1"},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1},
        },
        after={
            "stream watched normal": ["b: {}"],
            "list watched normal": ["ref:b"],
            "tasks": {"b": "waiting normal key=order 7"},
            "keys": {"order 7": "b"},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 2, "buried": 1},
            "list bodies": {"b": "{}"},
        },
    ),
]


@rows(TABLE)
def test_submit(queue: Queue, row: Row) -> None:
    row.holds(queue)
