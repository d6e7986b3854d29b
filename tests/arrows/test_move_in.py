"""A moving task -> waiting in this queue; every key before and after, and once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.going import came, moving
from tests.arrows.table import UNCHANGED, Keys, Row, rows
from tests.making import bury, claim, held, submit

IN: Keys = {
    "stream watched high": ["a: body"],
    "list watched high": ["ref:a"],
    "tasks": {"a": "waiting high counters=0,0,0,1,0,0,0 life=2"},
    "lives": {"a": ['{"attempt":1}', '{"kind":"moved","by":"m1"}']},
    "counts": {"moved_in": 1},
    "list bodies": {"a": "body"},
}
ROWS = [
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

@rows(ROWS)
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
