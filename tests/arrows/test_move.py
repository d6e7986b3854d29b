"""claimed -> moving -> (waiting in another queue): each half with every key before and after, and once more. Called by pytest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runner.broker import Queue
from runner.broker.moving import Leaving
from runner.tasks import Counters
from tests.arrows.table import UNCHANGED, Keys, Row, rows
from tests.making import LINE, bury, claim, held, rob, submit

COMING = Leaving("a", "emails", "m1", "high", 1_700_000_000_000, Counters(ooms=1), 2, "", b"body", LINE)
NAMED = LINE + b'\n{"kind":"moved","by":"m1"}'
HELD: Keys = {
    "stream watched normal": ["a: {}"],
    "tasks": {"a": "claimed normal token=t1 key=k"},
    "claims": {"a": "held"},
    "held": {"t1": "pod-1 - a"},
    "keys": {"k": "a"},
    "counts": {"submitted": 1},
    "list bodies": {"a": "{}"},
}
MOVING = HELD | {
    "tasks": {"a": "moving normal counters=0,0,0,1,0,0,0 wish=to:big token=t1 last=t1 key=k"},
    "lives": {"a": ['{"attempt":1}']},
}
IN: Keys = {
    "stream watched high": ["a: body"],
    "list watched high": ["ref:a"],
    "tasks": {"a": "waiting high counters=0,0,0,1,0,0,0 life=2"},
    "lives": {"a": ['{"attempt":1}', '{"kind":"moved","by":"m1"}']},
    "counts": {"moved_in": 1},
    "list bodies": {"a": "body"},
}


def out(queue: Queue, token: str = "t1") -> str:
    found = queue.move_out("a", token, "big", LINE)
    if isinstance(found, str):
        return found
    return f"{found.to} {found.move} {found.priority} {found.counters.ooms} {found.life} {found.key} {found.body!r} {found.attempts!r}"


def moving(queue: Queue) -> None:
    held(queue, key="k")
    out(queue)


def came(queue: Queue, **more: Any) -> str:
    return queue.move_in(replace(COMING, **more), NAMED)


SAID = "big t1 normal 1 1 k b'{}' b'{\"attempt\":1}'"
OUT = [
    Row(
        name="the task stays here and is on its way",
        given=lambda q: held(q, key="k"),
        when=lambda q, _: out(q),
        says=SAID,
        again=SAID,
        before=HELD,
        after=MOVING,
    ),
    Row(
        name="a wrong token moves nothing",
        given=lambda q: held(q, key="k"),
        when=lambda q, _: out(q, "t9"),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a wish to cancel ends it",
        given=lambda q: (held(q), q.cancel("a")),
        when=lambda q, _: out(q),
        says="cancelled",
        again="again",
        before={word: keys for word, keys in HELD.items() if word != "keys"} | {"tasks": {"a": "claimed normal wish=cancel token=t1"}},
        after={"done": {"i:a": "cancelled t1 0,0,0,1,0,0,0", "l:a": '{"attempt":1}'}, "counts": {"submitted": 1, "cancelled": 1}},
    ),
]
DONE = [
    Row(
        name="the task is forgotten, and its marker says where it is",
        given=moving,
        when=lambda q, _: q.move_done("a", "t1", "big"),
        says="ok",
        again="again",
        before=MOVING,
        after={
            "done": {"i:a": "moved t1 0,0,0,1,0,0,0 big", "l:a": '{"attempt":1}', "k:k": "moved a"},
            "counts": {"submitted": 1, "moved": 1},
        },
    ),
    Row(
        name="a wrong token forgets nothing",
        given=moving,
        when=lambda q, _: q.move_done("a", "t9", "big"),
        says="lost",
        again="lost",
        before=MOVING,
        after=UNCHANGED,
    ),
    Row(
        name="what is not moving is not forgotten",
        given=lambda q: held(q, key="k"),
        when=lambda q, _: q.move_done("a", "t1", "big"),
        says="lost",
        again="lost",
        before=HELD,
        after=UNCHANGED,
    ),
]
BACK = [
    Row(
        name="the mover holds it as before, with the kill counted",
        given=moving,
        when=lambda q, _: q.move_back("a", "t1"),
        says="ok",
        again="ok",
        before=MOVING,
        after=MOVING | {"tasks": {"a": "claimed normal counters=0,0,0,1,0,0,0 token=t1 last=t1 key=k"}},
    ),
    Row(
        name="nobody else brings it back",
        given=moving,
        when=lambda q, _: q.move_back("a", "t9"),
        says="lost",
        again="lost",
        before=MOVING,
        after=UNCHANGED,
    ),
    Row(
        name="nobody settles what is on its way, nor cancels it",
        given=moving,
        when=lambda q, _: [q.extend("a", "t1"), bury(q, "a", "t9"), q.cancel("a")],
        says=["lost", "lost", "moving"],
        again=["lost", "lost", "moving"],
        before=MOVING,
        after=UNCHANGED,
    ),
]
COMES = [
    Row(
        name="a task goes on under its id, with its counters, life and attempts",
        given=lambda q: None,
        when=lambda q, _: came(q),
        says="made",
        again="exists",
        before={},
        after=IN,
    ),
    Row(
        name="a priority that is not declared here becomes the default one",
        given=lambda q: None,
        when=lambda q, _: came(q, priority="urgent"),
        says="made",
        again="exists",
        before={},
        after={
            "stream watched normal": ["a: body"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal counters=0,0,0,1,0,0,0 life=2"},
            "lives": IN["lives"],
            "counts": {"moved_in": 1},
            "list bodies": {"a": "body"},
        },
    ),
    Row(
        name="another task of the id is not replaced",
        given=lambda q: submit(q, "a"),
        when=lambda q, _: came(q),
        says="taken",
        again="taken",
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal"},
            "counts": {"submitted": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a task that is done here under the id stays done",
        given=lambda q: (held(q), q.complete("a", "t1", b"", b"")),
        when=lambda q, _: came(q),
        says="taken",
        again="taken",
        before={"done": {"i:a": "done t1"}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a business key that lives here is not doubled",
        given=lambda q: submit(q, "b", key="k"),
        when=lambda q, _: came(q, key="k"),
        says="taken",
        again="taken",
        before={
            "stream watched normal": ["b: {}"],
            "list watched normal": ["ref:b"],
            "tasks": {"b": "waiting normal key=k"},
            "keys": {"k": "b"},
            "counts": {"submitted": 1},
            "list bodies": {"b": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a move that came before and is done is not run again",
        given=lambda q: (came(q), claim(q, "t5"), q.complete("a", "t5", b"", b"")),
        when=lambda q, _: came(q),
        says="exists",
        again="exists",
        before={
            "done": {"i:a": "done t5 0,0,0,1,0,0,0 life=2", "l:a": '{"attempt":1}\n{"kind":"moved","by":"m1"}'},
            "counts": {"moved_in": 1, "done": 1},
        },
        after=UNCHANGED,
    ),
]


@rows(OUT)
def test_move_out(queue: Queue, row: Row) -> None:
    row.holds(queue)


@rows(DONE)
def test_move_done(queue: Queue, row: Row) -> None:
    row.holds(queue)


@rows(BACK)
def test_move_back(queue: Queue, row: Row) -> None:
    row.holds(queue)


@rows(COMES)
def test_move_in(queue: Queue, row: Row) -> None:
    row.holds(queue)


def test_a_move_that_came_before_and_is_dead_is_not_run_again(queue: Queue) -> None:
    came(queue)
    claim(queue, "t5")
    bury(queue, "a", "t5")

    assert came(queue) == "exists"


def test_a_task_comes_back_to_a_queue_that_it_had_left(queue: Queue) -> None:
    moving(queue)
    queue.move_done("a", "t1", "big")

    assert came(queue) == "made"
    assert claim(queue, "t2").id == "a"


def test_a_task_whose_body_was_taken_away_does_not_move(queue: Queue) -> None:
    held(queue)
    rob(queue, "a")

    assert out(queue) == "bodiless"
    assert queue.extend("a", "t1") == "ok"


def test_what_moved_is_there_for_a_second_submit(queue: Queue) -> None:
    moving(queue)
    on_its_way = submit(queue, "a")
    queue.move_done("a", "t1", "big")

    same_id, same_key = submit(queue, "a"), submit(queue, "b", key="k")

    assert [(one.id, one.state, one.created) for one in (on_its_way, same_id, same_key)] == [
        ("a", "moving", False),
        ("a", "moved", False),
        ("a", "moved", False),
    ]
