"""Submitting many tasks at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from runner import wire
from runner.broker import Queue
from runner.errors import QueueFullError, RefusedError
from runner.producer import NewTask, Producer, Submitted
from runner.tasks import Receipt
from tests.making import claim


def test_items_of_all_forms_arrive_in_order(queue: Queue, producer: Producer) -> None:
    receipts: list[Receipt] = []

    done = producer.submit_many(
        [("a", 1), {"type": "b", "payload": 2, "task_id": 206}, NewTask("c", 3, key="k"), ("d", 4)],
        queue="emails",
        on_receipt=receipts.append,
    )

    assert done == Submitted(created=4, existing=0)
    claims = [claim(queue, f"t{n}") for n in range(4)]
    assert [one.id for one in claims] == [one.id for one in receipts]
    assert [(task.type, task.payload) for task in (wire.read(one.body) for one in claims)] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def test_what_is_there_already_is_counted_and_left_alone(queue: Queue, producer: Producer) -> None:
    items = [{"type": "a", "task_id": n} for n in range(500)]
    producer.submit_many(items[:300], queue="emails")

    assert producer.submit_many(items, queue="emails") == Submitted(created=200, existing=300)
    assert queue.measure().waiting == 500


def test_priorities_delays_and_plain_tasks_mix_in_one_chunk(queue: Queue, producer: Producer) -> None:
    items = [NewTask("a", n, priority=("high", None, "low")[n % 3], delay_s=60 if n % 5 == 0 else 0) for n in range(300)]

    producer.submit_many(items, queue="emails")
    producer.submit_many([NewTask("a", priority="low")] * 10, queue="emails")

    measures = queue.measure()
    assert (measures.waiting, measures.delayed) == (250, 60)
    assert measures.watched == {"high": 80, "normal": 80, "low": 90}


def test_an_iterable_of_any_size_takes_constant_memory(queue: Queue, producer: Producer, full: bool) -> None:
    def peak(number: int) -> int:
        tracemalloc.start()
        try:
            producer.submit_many((("a", "x" * 1000) for _ in range(number)), queue="emails")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1000)
    assert peak(20_000 if full else 4000) < 1.1 * peak(2000)


def test_large_bodies_are_cut_into_chunks_of_a_megabyte(queue: Queue, producer: Producer) -> None:
    done = producer.submit_many((("a", "x" * 400_000) for _ in range(20)), queue="emails")

    assert done.created == queue.measure().waiting == 20


def test_an_item_that_is_refused_is_named_and_ends_the_call(queue: Queue, producer: Producer) -> None:
    receipts: list[Receipt] = []
    items: list[Any] = [("a", n) for n in range(650)]
    items[450] = ("a", 1j)

    with pytest.raises(RefusedError, match="of type complex") as refused:
        producer.submit_many(items, queue="emails", on_receipt=receipts.append)

    assert "item 450" in refused.value.__notes__[0]
    assert len(receipts) == queue.measure().waiting == 400


@pytest.mark.parametrize(("item", "said"), [({"typo": 1}, "no field 'typo'"), ({"payload": 1}, "needs a `type`"), ("a", "'a' is no task")])
def test_what_is_no_task_is_refused(queue: Queue, producer: Producer, item: Any, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        producer.submit_many([item], queue="emails")


def test_a_queue_that_fills_up_refuses_the_rest(declared: Callable[..., Queue], producer: Producer) -> None:
    queue, receipts, taken = declared(max_length=250), [], []

    def items() -> Iterator[tuple[str, int]]:
        for n in range(10_000):
            taken.append(n)
            yield ("a", n)

    with pytest.raises(QueueFullError) as refused:
        producer.submit_many(items(), queue="emails", on_receipt=receipts.append)

    assert len(receipts) == queue.measure().waiting == 250
    assert "250 tasks of this call are in" in refused.value.__notes__[0]
    assert len(taken) < 2000


def test_an_error_of_the_iterable_comes_out_with_all_receipts(queue: Queue, producer: Producer) -> None:
    receipts: list[Receipt] = []

    def items() -> Iterator[tuple[str, int]]:
        for n in range(1000):
            if n == 700:
                raise ValueError("the file ended early")
            yield ("a", n)

    with pytest.raises(ValueError, match="ended early"):
        producer.submit_many(items(), queue="emails", on_receipt=receipts.append)

    assert len(receipts) == queue.measure().waiting == 600
    assert producer.submit("a", queue="emails").created


def test_nothing_is_nothing(queue: Queue, producer: Producer) -> None:
    assert producer.submit_many([], queue="emails") == Submitted()


@pytest.mark.cheap
def test_a_cluster_takes_one_and_many(cluster_url: str, mode: str) -> None:
    from runner.broker import Broker
    from runner.connect import connect
    from runner.queue import Declaration

    client = connect(cluster_url)
    queue = Broker(client).declare(Declaration("emails", mode=mode))
    with Producer(cluster_url) as producer:
        assert producer.submit("a", queue="emails").created
        assert producer.submit_many([("a", n) for n in range(450)], queue="emails").created == 450

    assert queue.measure().waiting == 451
    client.close()


def test_an_error_of_the_items_own_redis_is_not_told_as_ours(queue: Queue, producer: Producer) -> None:
    def items() -> Iterator[tuple[str, int]]:
        yield "a", 1
        raise redis.ConnectionError("their other server")

    with pytest.raises(redis.ConnectionError, match="their other server"):
        producer.submit_many(items(), queue="emails")
