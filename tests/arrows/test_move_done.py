"""moving -> forgotten here: the other queue has the task; every key before and after, and once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.going import HELD, MOVING, moving
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import held, submit

ROWS = [
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

@rows(ROWS)
def test_move_done(queue: Queue, row: Row) -> None:
    row.holds(queue)


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
