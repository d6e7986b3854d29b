"""claimed -> moving: it stays in its queue until the other has it; every key before and after, and once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from tests.arrows.going import HELD, MOVING, out
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import held, rob

SAID = "big t1 normal 1 1 k b'{}' b'{\"attempt\":1}'"
ROWS = [
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

@rows(ROWS)
def test_move_out(queue: Queue, row: Row) -> None:
    row.holds(queue)


def test_a_task_whose_body_was_taken_away_does_not_move(queue: Queue) -> None:
    held(queue)
    rob(queue, "a")

    assert out(queue) == "bodiless"
    assert queue.extend("a", "t1") == "ok"
