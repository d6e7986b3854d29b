"""read a queue: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.saying import measured
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import one_of_each

TABLE = [
    Row(
        name="an empty queue",
        given=lambda q: None,
        when=lambda q, _: measured(q),
        says={
            "waiting": 0,
            "delayed": 0,
            "claimed": 0,
            "dead": 0,
            "watched": {"high": 0, "normal": 0, "low": 0},
            "counts": {},
            "by reason": {},
            "times": [False, False],
        },
        again={
            "waiting": 0,
            "delayed": 0,
            "claimed": 0,
            "dead": 0,
            "watched": {"high": 0, "normal": 0, "low": 0},
            "counts": {},
            "by reason": {},
            "times": [False, False],
        },
        before={},
        after=UNCHANGED,
    ),
    Row(
        name="one of each",
        given=lambda q: one_of_each(q),
        when=lambda q, _: measured(q),
        says={
            "stream": {
                "waiting": 2,
                "delayed": 1,
                "claimed": 1,
                "dead": 1,
                "watched": {"high": 1, "normal": 2, "low": 0},
                "counts": {"submitted": 5, "buried": 1, "done": 1},
                "by reason": {"fatal": 1},
                "times": [True, True],
            },
            "list": {
                "waiting": 2,
                "delayed": 1,
                "claimed": 1,
                "dead": 1,
                "watched": {"high": 1, "normal": 1, "low": 0},
                "counts": {"submitted": 5, "buried": 1, "done": 1},
                "by reason": {"fatal": 1},
                "times": [True, True],
            },
        },
        again={
            "stream": {
                "waiting": 2,
                "delayed": 1,
                "claimed": 1,
                "dead": 1,
                "watched": {"high": 1, "normal": 2, "low": 0},
                "counts": {"submitted": 5, "buried": 1, "done": 1},
                "by reason": {"fatal": 1},
                "times": [True, True],
            },
            "list": {
                "waiting": 2,
                "delayed": 1,
                "claimed": 1,
                "dead": 1,
                "watched": {"high": 1, "normal": 1, "low": 0},
                "counts": {"submitted": 5, "buried": 1, "done": 1},
                "by reason": {"fatal": 1},
                "times": [True, True],
            },
        },
        before={
            "stream watched high": ["waiting: {}"],
            "list watched high": ["ref:waiting"],
            "stream watched normal": ["claimed: {}", "bare"],
            "list watched normal": ["bare"],
            "tasks": {"claimed": "claimed normal token=t2", "delayed": "delayed normal", "waiting": "waiting high"},
            "claims": {"claimed": "held"},
            "held": {"t2": "pod-1 - claimed"},
            "stream bodies": {"delayed": "{}"},
            "list bodies": {"claimed": "{}", "delayed": "{}", "waiting": "{}"},
            "delayed": ["delayed"],
            "dead": ["dead: {} (fatal) 0,0,0,0,0,0,0"],
            "buried": {"dead": "t1"},
            "done": {"i:done": "done t3"},
            "counts": {"submitted": 5, "dead:fatal": 1, "buried": 1, "done": 1},
        },
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_measure(queue: Queue, row: Row) -> None:
    row.holds(queue)
