"""dead -> waiting: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import LINE, dead, forget_key, retry_and_bury, submit

TABLE = [
    Row(
        name="a dead letter waits again, with its attempts",
        given=lambda q: retry_and_bury(q, key="order 7"),
        when=lambda q, it: q.replay([it], LINE),
        says=1,
        again=0,
        before={
            "dead": ["a: body (crash) 1,0,1,0,0,0,0"],
            "buried": {"a": "t2"},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 1, "retried": 1, "dead:crash": 1, "buried": 1},
        },
        after={
            "stream watched normal": ["a: body"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal counters=0,0,0,0,0,1,0 key=order 7"},
            "keys": {"order 7": "a"},
            "lives": {"a": ['{"attempt":1}', '{"attempt":1}']},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 1, "retried": 1, "buried": 1, "replayed": 1},
            "list bodies": {"a": "body"},
        },
    ),
    Row(
        name="an unknown entry is passed over",
        given=lambda q: dead(q),
        when=lambda q, _: q.replay(["1-1"], b""),
        says=0,
        again=0,
        before={"dead": ["a: {} (fatal) 0,0,0,0,0,0,0"], "buried": {"a": "t1"}, "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a key that lives again stays with the one that has it",
        given=lambda q: (entry := dead(q, key="order 7"), forget_key(q), submit(q, "b", key="order 7"), entry),
        when=lambda q, it: q.replay([it], LINE),
        says=1,
        again=0,
        before={
            "stream watched normal": ["b: {}"],
            "list watched normal": ["ref:b"],
            "tasks": {"b": "waiting normal key=order 7"},
            "keys": {"order 7": "b"},
            "dead": ["a: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"a": "t1"},
            "counts": {"submitted": 2, "dead:fatal": 1, "buried": 1},
            "list bodies": {"b": "{}"},
        },
        after={
            "stream watched normal": ["b: {}", "a: {}"],
            "list watched normal": ["ref:b", "ref:a"],
            "tasks": {"b": "waiting normal key=order 7", "a": "waiting normal counters=0,0,0,0,0,1,0"},
            "keys": {"order 7": "b"},
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 2, "buried": 1, "replayed": 1},
            "list bodies": {"b": "{}", "a": "{}"},
        },
    ),
]


@rows(TABLE)
def test_replay(queue: Queue, row: Row) -> None:
    row.holds(queue)
