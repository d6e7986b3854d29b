"""claimed -> claimed, by whoever saw that the pod is gone: every key before, every key after, and the call once more. Called by pytest."""

from __future__ import annotations

from runner.broker import Queue
from runner.tasks import Holding
from tests.arrows.saying import rows_of
from tests.arrows.table import UNCHANGED, Row, rows
from tests.making import claim, held, retry

HELD = {
    "stream watched normal": ["a: {}"],
    "tasks": {"a": "claimed normal token=t1"},
    "claims": {"a": "held"},
    "held": {"t1": "pod-1 - a"},
    "counts": {"submitted": 1},
    "list bodies": {"a": "{}"},
}


def seized(queue: Queue, token: str = "t1") -> list[str]:
    return rows_of(queue.run("seize", "stem", 15_000, "a", token))


TABLE = [
    Row(
        name="a claim that lives by its lease goes to the reaper, who knows its holder",
        given=lambda q: held(q),
        when=lambda q, _: seized(q),
        says=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        again=["normal MS 0,0,0,0,0,0,0 - MS pod-1 stem:1 a"],
        before=HELD,
        after=HELD | {"tasks": {"a": "claimed normal token=stem:1"}, "held": {"stem:1": "pod-1 - a"}},
    ),
    Row(
        name="a claim of another token is left alone",
        given=lambda q: held(q),
        when=lambda q, _: seized(q, "t0"),
        says=[],
        again=[],
        before=HELD,
        after=UNCHANGED,
    ),
    Row(
        name="a released task is nobody's to take",
        given=lambda q: (held(q), q.release("a", "t1", b"")),
        when=lambda q, _: (seized(q), seized(q, "-")),
        says=[[], []],
        again=[[], []],
        before={
            "stream watched normal": ["a: {}"],
            "list watched normal": ["ref:a"],
            "tasks": {"a": "waiting normal counters=0,0,0,0,1,0,0 last=t1"},
            "stream claims": {"a": "released"},
            "counts": {"submitted": 1, "released": 1},
            "list bodies": {"a": "{}"},
        },
        after=UNCHANGED,
    ),
    Row(
        name="a task that is gone is not made again",
        given=lambda q: (held(q), q.complete("a", "t1", b"", b"")),
        when=lambda q, _: seized(q),
        says=[],
        again=[],
        before={"done": {"i:a": "done t1"}, "counts": {"submitted": 1, "done": 1}},
        after=UNCHANGED,
    ),
    Row(
        name="a half-done move is taken over with where it goes",
        given=lambda q: (held(q), q.move_out("a", "t1", "big")),
        when=lambda q, _: seized(q),
        says=["normal MS 0,0,0,1,0,0,0 to:big MS pod-1 stem:1 a"],
        again=["normal MS 0,0,0,1,0,0,0 to:big MS pod-1 stem:1 a"],
        before=HELD | {"tasks": {"a": "moving normal counters=0,0,0,1,0,0,0 wish=to:big token=t1 last=t1"}},
        after=HELD
        | {"tasks": {"a": "moving normal counters=0,0,0,1,0,0,0 wish=to:big token=stem:1 last=t1"}, "held": {"stem:1": "pod-1 - a"}},
    ),
]


@rows(TABLE)
def test_seize(queue: Queue, row: Row) -> None:
    row.holds(queue)


def test_the_next_holder_of_a_task_keeps_it_from_who_saw_the_last_one(queue: Queue) -> None:
    held(queue)
    seen = queue.holdings()
    retry(queue, "a", "t1", 0)
    claim(queue, "t2")

    taken = queue.seize(seen)

    assert seen[0] == Holding("a", "t1", "pod-1", seen[0].started_ms)
    assert taken.claims == ()
    assert queue.extend("a", "t2") == "ok"


def test_aliases_of_bare_pushes_are_no_holdings(queue: Queue) -> None:
    queue.client.hset(queue.keys.part("held"), "entry:normal:1-1", "a")

    assert queue.holdings() == []
