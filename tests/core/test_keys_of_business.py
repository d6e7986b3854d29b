"""Business keys over several runs and several ids: one run at a time, and a done one answers. Called by pytest."""

from __future__ import annotations

import pytest
import redis

from runner.broker import Broker, Empty, Queue
from runner.queue import Declaration
from tests.keyspace import Keyspace
from tests.making import bury, claim, dead, held, later, push, submit

KEY = "order 7 / é"


@pytest.mark.slow
def test_a_done_run_answers_for_its_key_even_after_a_dead_one_in_another_bucket(client: redis.Redis, mode: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode, keep_done_s=4))
    for _ in range(4):
        held(queue, "first", key=KEY)
        bury(queue, "first", "t1")
        later(queue, queue.measure().now_ms // 2000 * 2000 + 2000)
        held(queue, "second", "t2", key=KEY)
        queue.complete("second", "t2", b"", b"")

        receipt = submit(queue, "third", key=KEY)

        assert (receipt.id, receipt.state, receipt.created) == ("second", "done", False)
        client.delete(*(queue.keys.part(f"done:{n}") for n in range(4)))


@pytest.mark.parametrize("how", ["submit", "push"])
def test_a_new_run_of_a_key_takes_the_place_of_its_dead_letter(queue: Queue, how: str) -> None:
    entry = dead(queue, "first", key=KEY, reason="crash")
    if how == "submit":
        assert submit(queue, "second", key=KEY).after == "dead first"
        claim(queue, "t2")
    else:
        push(queue, b"{}")
        assert queue.adopt(claim(queue, "t2"), "second", KEY)

    replayed = queue.replay([entry], b"")

    assert replayed == 0
    assert isinstance(queue.claim("t3", "pod"), Empty)
    assert list(Keyspace(queue).check().tasks) == ["second"]


def test_a_push_whose_key_is_done_is_settled_unrun(queue: Queue) -> None:
    held(queue, "first", key=KEY)
    queue.complete("first", "t1", b"", b"")
    push(queue, b"{}")

    assert not queue.adopt(claim(queue, "t2"), "second", KEY)
    assert Keyspace(queue).check().tasks == {}
