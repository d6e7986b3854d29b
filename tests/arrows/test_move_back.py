"""moving -> claimed: the other queue did not take the task; every key before and after, and once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.going import MOVING, moving
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import bury

ROWS = [
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

@rows(ROWS)
def test_move_back(queue: Queue, row: Row) -> None:
    row.holds(queue)
