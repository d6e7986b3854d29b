"""claimed -> done: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.table import HELD, UNCHANGED, Row, rows
from tests.making import LINE, claim, done, end_lease, held, keeps, retry

TABLE = [
    Row(
        name="the marker answers from now on",
        given=lambda q: held(q),
        when=lambda q, _: q.complete("a", "t1", b'{"n": 1}', LINE),
        says="ok",
        again="again",
        before=HELD,
        after={"done": {"i:a": 'done t1 {"n": 1}', "l:a": '{"attempt":1}'}, "counts": {"submitted": 1, "done": 1}},
    ),
    Row(
        name="the body is kept where there is room for it",
        given=lambda q: (keeps(q, 3), held(q)),
        when=lambda q, _: q.complete("a", "t1", b"", b""),
        says="ok",
        again="again",
        before=HELD,
        after={
            "done": {"i:a": "done t1", "h:a": "ENTRY"},
            "history": ["a: {}"],
            "counts": {"submitted": 1, "done": 1, "history_bytes": 3},
        },
    ),
    Row(
        name="a body that is larger than all that may be kept costs no other its place",
        given=lambda q: (keeps(q, 10), done(q, "z", body=b"x"), held(q, body=b"0123456789")),
        when=lambda q, _: q.complete("a", "t1", b"", b""),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: 0123456789"],
            "tasks": {"a": "claimed normal token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "done": {"i:z": "done token-of-z", "h:z": "ENTRY"},
            "history": ["z: x"],
            "counts": {"submitted": 2, "done": 1, "history_bytes": 2},
            "list bodies": {"a": "0123456789"},
        },
        after={
            "done": {"i:z": "done token-of-z", "h:z": "ENTRY", "i:a": "done t1"},
            "history": ["z: x"],
            "counts": {"submitted": 2, "done": 2, "history_bytes": 2},
        },
    ),
    Row(
        name="the oldest make room, no more of them than needed",
        given=lambda q: (keeps(q, 6), done(q, "x", "y", "z", body=b"1"), held(q)),
        when=lambda q, _: q.complete("a", "t1", b"", b""),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "done": {field: word for n in "xyz" for field, word in ((f"i:{n}", f"done token-of-{n}"), (f"h:{n}", "ENTRY"))},
            "history": ["x: 1", "y: 1", "z: 1"],
            "counts": {"submitted": 4, "done": 3, "history_bytes": 6},
            "list bodies": {"a": "{}"},
        },
        after={
            "done": {
                **{field: word for n in "xyz" for field, word in ((f"i:{n}", f"done token-of-{n}"), (f"h:{n}", "ENTRY"))},
                "i:a": "done t1",
                "h:a": "ENTRY",
            },
            "history": ["z: 1", "a: {}"],
            "counts": {"submitted": 4, "done": 4, "history_bytes": 5},
        },
    ),
    Row(
        name="the key is free and its marker answers",
        given=lambda q: held(q, key="order 7"),
        when=lambda q, _: q.complete("a", "t1", b"", b""),
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
        after={"done": {"i:a": "done t1", "k:order 7": "done a"}, "counts": {"submitted": 1, "done": 1}},
    ),
    Row(
        name="earlier attempts go to the marker",
        given=lambda q: (held(q), retry(q, "a", "t1", 0), claim(q, "t2")),
        when=lambda q, _: q.complete("a", "t2", b"", LINE),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal counters=1,0,0,0,0,0,0 token=t2 last=t1"},
            "claims": {"a": "held"},
            "held": {"t2": "pod-1 - a"},
            "lives": {"a": ['{"attempt":1}']},
            "counts": {"submitted": 1, "retried": 1},
            "list bodies": {"a": "{}"},
        },
        after={
            "done": {"i:a": "done t2 1,0,0,0,0,0,0", "l:a": '{"attempt":1}\n{"attempt":1}'},
            "counts": {"submitted": 1, "retried": 1, "done": 1},
        },
    ),
    Row(
        name="a wish to cancel came too late",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: q.complete("a", "t1", b"", b""),
        says="ok",
        again="again",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal wish=cancel token=t1"},
            "claims": {"a": "held"},
            "held": {"t1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after={"done": {"i:a": "done t1"}, "counts": {"submitted": 1, "done": 1}},
    ),
    Row(
        name="a wrong token completes nothing",
        given=lambda q: held(q),
        when=lambda q, _: q.complete("a", "t9", b"", b""),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a token whose claim was reaped completes nothing",
        given=lambda q: (held(q), end_lease(q, "a"), q.run("reap", "stem", 9, 15_000)),
        when=lambda q, _: q.complete("a", "t1", b"", b""),
        says="lost",
        again="lost",
        before={
            "stream watched normal": ["a: {}"],
            "tasks": {"a": "claimed normal token=stem:1"},
            "claims": {"a": "held"},
            "held": {"stem:1": "pod-1 - a"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
]


@rows(TABLE)
def test_complete(queue: Queue, row: Row) -> None:
    row.holds(queue)


def test_a_settle_drops_no_more_than_a_hundred_bodies_and_keeps_its_own_only_where_they_made_room(queue: Queue) -> None:
    keeps(queue, 510)
    done(queue, *(f"{n:04}" for n in range(102)), body=b"x")

    done(queue, "big", body=b"y" * 505)
    after_one = [kept.id for kept in queue.history()]
    done(queue, "big 2", body=b"y" * 505)

    assert after_one == ["0101", "0100"]
    assert [kept.id for kept in queue.history()] == ["big 2"]
