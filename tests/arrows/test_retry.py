"""claimed -> delayed | waiting: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue, Settled
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import held, retry

TABLE = [
    Row(
        name="a delayed task leaves the watched key",
        given=lambda q: held(q, body=b"body"),
        when=lambda q, _: retry(q, "a", "t1", 60_000),
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
        after={
            "tasks": {"a": "delayed normal counters=1,0,0,0,0,0,0 last=t1"},
            "bodies": {"a": "body"},
            "delayed": ["a"],
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 1, "retried": 1},
        },
    ),
    Row(
        name="at once",
        given=lambda q: held(q, body=b"body"),
        when=lambda q, _: retry(q, "a", "t1", 0, "crashes"),
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
        after={
            "stream watched normal": ["a: body"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal counters=0,0,1,0,0,0,0 last=t1"},
            "stream claims": {"a": "released"},
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 1, "retried": 1},
            "list bodies": {"a": "body"},
        },
    ),
    Row(
        name="the first meeting with an unknown type is noted",
        given=lambda q: held(q),
        when=lambda q, _: retry(q, "a", "t1", 60_000, "unknown_ms"),
        says="ok",
        again="again",
        before=HELD,
        after={
            "tasks": {"a": "delayed normal counters=0,0,0,0,0,0,MS last=t1"},
            "bodies": {"a": "{}"},
            "delayed": ["a"],
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 1, "retried": 1},
        },
    ),
    Row(
        name="a wish to cancel ends it",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: retry(q, "a", "t1"),
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
        after={"done": {"i:a": "cancelled t1 1,0,0,0,0,0,0", "l:a": '{"attempt":1}'}, "counts": {"submitted": 1, "cancelled": 1}},
    ),
    Row(
        name="a wrong token retries nothing",
        given=lambda q: held(q),
        when=lambda q, _: retry(q, "a", "t9"),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a chunk: each task has its own word",
        given=lambda q: (held(q), held(q, "b", "t2")),
        when=lambda q, _: q.retry([Settled("a", "t1", "errors", delay_ms=60_000), Settled("b", "t9"), Settled("c", "t1")]),
        says=["ok", "lost", "lost"],
        again=["again", "lost", "lost"],
        before={
            "stream watched normal": ["a: {}", "b: {}"],
            "tasks": {"a": "claimed normal token=t1", "b": "claimed normal token=t2"},
            "claims": {"a": "held", "b": "held"},
            "held": {"t1": "pod-1 - a", "t2": "pod-1 - b"},
            "counts": {"submitted": 2},
            "list bodies": {"a": "{}", "b": "{}"},
        },
        after={
            "stream watched normal": ["b: {}"],
            "tasks": {"a": "delayed normal counters=1,0,0,0,0,0,0 last=t1", "b": "claimed normal token=t2"},
            "claims": {"b": "held"},
            "held": {"t2": "pod-1 - b"},
            "stream bodies": {"a": "{}"},
            "list bodies": {"a": "{}", "b": "{}"},
            "delayed": ["a"],
            "counts": {"submitted": 2, "retried": 1},
        },
    ),
]


@rows(TABLE)
def test_retry(queue: Queue, row: Row) -> None:
    row.holds(queue)
