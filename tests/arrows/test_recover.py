"""waiting -> waiting, dead: what another program took out of the watched keys. Called by pytest.

No table: one begins with keys that agree, and these do not.
"""

from __future__ import annotations

from runner.broker import Queue
from tests.keyspace import Keyspace, dump
from tests.making import held, submit


def test_what_is_there_is_left_alone(queue: Queue) -> None:
    held(queue, "a")
    submit(queue, "b")
    before = dump(queue)

    assert queue.recover() == (0, 0)

    assert dump(queue) == before


def test_a_task_whose_key_somebody_deleted_is_put_back_or_buried(queue: Queue) -> None:
    submit(queue, "a", b"A")
    queue.client.delete(queue.keys.main)

    said = queue.recover(), queue.recover()

    found = queue.look("a")
    assert found is not None
    if queue.declaration.mode == "list":
        assert said == ((1, 0), (0, 0)) and (found.state, found.body) == ("waiting", b"A")
    else:
        assert said == ((0, 1), (0, 0)) and (found.state, found.reason) == ("dead", "unreadable")
    Keyspace(queue).check()


def test_a_claimed_task_is_left_alone_though_its_entry_is_gone(queue: Queue) -> None:
    held(queue, "a")
    queue.client.delete(queue.keys.main)

    assert queue.recover() == (0, 0)

    assert queue.complete("a", "t1", b"", b"") == "ok"


def test_measure_tells_what_is_mislaid_and_nothing_else(queue: Queue) -> None:
    for name in ("a", "b", "c"):
        submit(queue, name)
    submit(queue, "later", delay_ms=60_000)
    held_before = queue.measure().mislaid

    queue.claim("t1", "pod")
    queue.client.delete(queue.keys.main)

    assert (held_before, queue.measure().mislaid) == (0, 2 if queue.declaration.mode == "list" else 3)
