"""read one id: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.saying import looked
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import LINE, held, retry_and_bury, submit

TABLE = [
    Row(
        name="an unknown id",
        given=lambda q: None,
        when=lambda q, _: looked(q),
        says={},
        again={},
        before={},
        after=UNCHANGED,
    ),
    Row(
        name="a waiting one",
        given=lambda q: submit(q, "a", b"body", key="order 7", expires_ms=60_000),
        when=lambda q, _: looked(q),
        says={
            "state": "waiting",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "key": "order 7",
            "wish": "-",
            "body": "body",
            "times": ["first_ms", "expires_ms"],
        },
        again={
            "state": "waiting",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "key": "order 7",
            "wish": "-",
            "body": "body",
            "times": ["first_ms", "expires_ms"],
        },
        before={
            "stream watched normal": ["a: body"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal key=order 7"},
            "expiries": ["a"],
            "keys": {"order 7": "a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "body"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a delayed one",
        given=lambda q: submit(q, "a", b"body", delay_ms=60_000),
        when=lambda q, _: looked(q),
        says={
            "state": "delayed",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "wish": "-",
            "body": "body",
            "times": ["first_ms", "due_ms"],
        },
        again={
            "state": "delayed",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "wish": "-",
            "body": "body",
            "times": ["first_ms", "due_ms"],
        },
        before={"tasks": {"a": "delayed normal"}, "bodies": {"a": "body"}, "delayed": ["a"], "counts": {"submitted": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a claimed one",
        given=lambda q: (held(q, body=b"body"), q.extend("a", "t1", "0.5")),
        when=lambda q, _: looked(q),
        says={
            "state": "claimed",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "wish": "-",
            "holder": "pod-1",
            "progress": "0.5",
            "body": "body",
            "times": ["first_ms", "lease_until_ms", "started_ms"],
        },
        again={
            "state": "claimed",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "wish": "-",
            "holder": "pod-1",
            "progress": "0.5",
            "body": "body",
            "times": ["first_ms", "lease_until_ms", "started_ms"],
        },
        before={
            "stream watched normal": ["a: body"],
            "tasks": {"a": "claimed normal token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 0.5 a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "body"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a dead one",
        given=lambda q: retry_and_bury(q),
        when=lambda q, _: looked(q),
        says={
            "state": "dead",
            "counters": "Counters(errors=1, timeouts=0, crashes=1, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "reason": "crash",
            "detail": "no use",
            "body": "body",
            "attempts": '{"attempt":1}',
            "times": ["first_ms", "ended_ms"],
        },
        again={
            "state": "dead",
            "counters": "Counters(errors=1, timeouts=0, crashes=1, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "priority": "normal",
            "reason": "crash",
            "detail": "no use",
            "body": "body",
            "attempts": '{"attempt":1}',
            "times": ["first_ms", "ended_ms"],
        },
        before={
            "dead": ["a: body (crash) 1,0,1,0,0,0,0"],
            "buried": {"a": "t2"},
            "counts": {"submitted": 1, "retried": 1, "dead:crash": 1, "buried": 1},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a done one",
        given=lambda q: q.complete(held(q).id, "t1", b"1", LINE),
        when=lambda q, _: looked(q),
        says={
            "state": "done",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "result": "1",
            "attempts": '{"attempt":1}',
            "times": ["ended_ms"],
        },
        again={
            "state": "done",
            "counters": "Counters(errors=0, timeouts=0, crashes=0, ooms=0, releases=0, replays=0, unknown_ms=0)",
            "life": 1,
            "result": "1",
            "attempts": '{"attempt":1}',
            "times": ["ended_ms"],
        },
        before={"done": {"i:a": "done t1 1", "l:a": '{"attempt":1}'}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_look(queue: Queue, row: Row) -> None:
    row.holds(queue)
