"""done -> done, its body dropped: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from typing import Any

from runner.broker import Queue
from runner.broker.history import TRIMMED_AT_ONCE
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import done, keeps

MARKERS = {field: word for n in "abc" for field, word in ((f"i:{n}", f"done token-of-{n}"), (f"h:{n}", "ENTRY"))}


def three(queue: Queue) -> None:
    """Three done tasks whose bodies are kept."""
    keeps(queue, 100)
    done(queue, "a", "b", "c")


def kept(*names: str) -> dict[str, Any]:
    """The keys while the bodies of these are there."""
    there = {"history": [f"{name}: body" for name in names]} if names else {}
    return {**there, "done": MARKERS, "counts": {"submitted": 3, "done": 3, **({"history_bytes": 5 * len(names)} if names else {})}}


TABLE = [
    Row(
        name="what is within the caps stays",
        given=three,
        when=lambda q, _: q.trim_history(0),
        says=0,
        again=0,
        before=kept("a", "b", "c"),
        after=UNCHANGED,
    ),
    Row(
        name="the oldest go until the bytes are within a bound that was lowered",
        given=lambda q: (three(q), keeps(q, 9)),
        when=lambda q, _: q.trim_history(0),
        says=2,
        again=0,
        before=kept("a", "b", "c"),
        after=kept("c"),
    ),
    Row(
        name="all go once the queue keeps none, and their markers answer on",
        given=lambda q: (three(q), keeps(q, 0)),
        when=lambda q, _: q.trim_history(0),
        says=3,
        again=0,
        before=kept("a", "b", "c"),
        after=kept(),
    ),
    Row(
        name="those that are older than keep_done_s go",
        given=three,
        when=lambda q, _: q.trim_history(10**14),
        says=3,
        again=0,
        before=kept("a", "b", "c"),
        after=kept(),
    ),
]


@rows(TABLE)
def test_trim_history(queue: Queue, row: Row) -> None:
    row.holds(queue)


def test_a_call_has_an_end(queue: Queue) -> None:
    keeps(queue, 10**6)
    done(queue, *(f"task-{n}" for n in range(TRIMMED_AT_ONCE + 1)))
    keeps(queue, 0)

    assert [queue.trim_history(0) for _ in range(3)] == [TRIMMED_AT_ONCE, 1, 0]


def test_the_newest_are_read_first_with_all_their_bytes(queue: Queue) -> None:
    keeps(queue, 10**6)
    done(queue, *(f"task-{n}" for n in range(11)), body=b"\xff\x00")

    found = list(queue.history())

    assert [one.id for one in found] == [f"task-{n}" for n in range(10, -1, -1)]
    assert {(one.body, one.priority) for one in found} == {(b"\xff\x00", "normal")}


def test_where_somebody_deleted_the_bodies_their_bytes_are_no_longer_counted(queue: Queue) -> None:
    three(queue)
    queue.client.delete(queue.keys.part("history"))

    dropped = queue.trim_history(0)

    done(queue, "d")
    assert (dropped, queue.measure().counts["history_bytes"]) == (0, 5)


def test_what_another_program_put_there_is_no_body_and_counts_for_nothing(queue: Queue) -> None:
    key = queue.keys.part("history")
    queue.client.xadd(key, {"id": "x" * 50}, id="1-1")
    three(queue)
    queue.client.xadd(key, {"foreign": "entry"})

    found = [one.id for one in queue.history()]
    dropped = queue.trim_history(int(queue.declaration.keep_done_s * 1000) + 2)

    assert (found, dropped) == (["c", "b", "a"], 1)
    assert queue.measure().counts["history_bytes"] == 15
