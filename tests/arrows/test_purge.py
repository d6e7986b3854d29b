"""dead -> (nothing): every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import dead

TABLE = [
    Row(
        name="by name",
        given=lambda q: (entry := dead(q), dead(q, "b", "t2"), entry),
        when=lambda q, it: q.purge([it]),
        says=1,
        again=0,
        before={
            "dead": ["a: {} (fatal) 0,0,0,0,0,0,0", "b: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"a": "t1", "b": "t2"},
            "counts": {"submitted": 2, "dead:fatal": 2, "buried": 2},
        },
        after={
            "dead": ["b: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"b": "t2"},
            "counts": {"submitted": 2, "dead:fatal": 1, "buried": 2, "purged": 1},
        },
    ),
    Row(
        name="an unknown entry is passed over",
        given=lambda q: dead(q),
        when=lambda q, _: q.purge(["1-1"]),
        says=0,
        again=0,
        before={"dead": ["a: {} (fatal) 0,0,0,0,0,0,0"], "buried": {"a": "t1"}, "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="over the cap of count, the oldest first",
        given=lambda q: [dead(q, n, n) for n in "abc"],
        when=lambda q, _: int(q.run("purge", "trimmed", "*", 1, 0, 200)[1]),
        says=2,
        again=0,
        before={
            "dead": ["a: {} (fatal) 0,0,0,0,0,0,0", "b: {} (fatal) 0,0,0,0,0,0,0", "c: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"a": "a", "b": "b", "c": "c"},
            "counts": {"submitted": 3, "dead:fatal": 3, "buried": 3},
        },
        after={
            "dead": ["c: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"c": "c"},
            "counts": {"submitted": 3, "dead:fatal": 1, "buried": 3, "trimmed": 2},
        },
    ),
    Row(
        name="over the cap of age",
        given=lambda q: dead(q),
        when=lambda q, _: q.trim_dead(q.measure().now_ms + 31 * 86_400_000),
        says=1,
        again=0,
        before={"dead": ["a: {} (fatal) 0,0,0,0,0,0,0"], "buried": {"a": "t1"}, "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1}},
        after={"counts": {"submitted": 1, "buried": 1, "trimmed": 1}},
    ),
    Row(
        name="within both caps",
        given=lambda q: dead(q),
        when=lambda q, _: q.trim_dead(q.measure().now_ms),
        says=0,
        again=0,
        before={"dead": ["a: {} (fatal) 0,0,0,0,0,0,0"], "buried": {"a": "t1"}, "counts": {"submitted": 1, "dead:fatal": 1, "buried": 1}},
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_purge(queue: Queue, row: Row) -> None:
    row.holds(queue)
