"""dead -> dead, or done -> done, and a new task -> waiting: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import LINE, done, held, keeps, retry_and_bury

TABLE = [
    Row(
        name="a dead letter stays, and a new task has its bytes",
        given=lambda q: retry_and_bury(q, key="order 7"),
        when=lambda q, _: q.rerun("a", "b", LINE),
        says="ok",
        again="ok",
        before={
            "dead": ["a: body (crash) 1,0,1,0,0,0,0"],
            "buried": {"a": "t2"},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 1, "retried": 1, "dead:crash": 1, "buried": 1},
        },
        after={
            "stream watched normal": ["b: body"],
            "list watched normal": ["ref:b"],
            "tasks": {"b": "waiting normal"},
            "dead": ["a: body (crash) 1,0,1,0,0,0,0"],
            "buried": {"a": "t2"},
            "lives": {"b": ['{"attempt":1}']},
            "done": {"k:order 7": "dead a"},
            "counts": {"submitted": 2, "retried": 1, "dead:crash": 1, "buried": 1},
            "list bodies": {"b": "body"},
        },
    ),
    Row(
        name="a live task is not run again",
        given=lambda q: held(q),
        when=lambda q, _: q.rerun("a", "b", LINE),
        says="claimed",
        again="claimed",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a done task whose body is kept stays done, and a new task has its bytes",
        given=lambda q: (keeps(q, 100), done(q, "a", "c")),
        when=lambda q, _: q.rerun("a", "b", LINE),
        says="ok",
        again="ok",
        before={
            "history": ["a: body", "c: body"],
            "done": {"i:a": "done token-of-a", "h:a": "ENTRY", "i:c": "done token-of-c", "h:c": "ENTRY"},
            "counts": {"submitted": 2, "done": 2, "history_bytes": 10},
        },
        after={
            "stream watched normal": ["b: body"],
            "list watched normal": ["ref:b"],
            "tasks": {"b": "waiting normal"},
            "lives": {"b": ['{"attempt":1}']},
            "history": ["a: body", "c: body"],
            "done": {"i:a": "done token-of-a", "h:a": "ENTRY", "i:c": "done token-of-c", "h:c": "ENTRY"},
            "counts": {"submitted": 3, "done": 2, "history_bytes": 10},
            "list bodies": {"b": "body"},
        },
    ),
    Row(
        name="a done task whose body had to go is not run again",
        given=lambda q: (keeps(q, 9), done(q, "a", "c")),
        when=lambda q, _: q.rerun("a", "b", LINE),
        says="done",
        again="done",
        before={
            "history": ["c: body"],
            "done": {"i:a": "done token-of-a", "h:a": "ENTRY", "i:c": "done token-of-c", "h:c": "ENTRY"},
            "counts": {"submitted": 2, "done": 2, "history_bytes": 5},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a done task's bytes are gone where none are kept",
        given=lambda q: q.complete(held(q).id, "t1", b"", b""),
        when=lambda q, _: q.rerun("a", "b", LINE),
        says="done",
        again="done",
        before={"done": {"i:a": "done t1"}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="an unknown id",
        given=lambda q: None,
        when=lambda q, _: q.rerun("a", "b", LINE),
        says="unknown",
        again="unknown",
        before={},
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_rerun(queue: Queue, row: Row) -> None:
    row.holds(queue)
