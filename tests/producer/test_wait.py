"""Waiting for a result: an answer or a distinct error within the timeout (C50)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from runner.broker import Broker, Queue
from runner.errors import RefusedError, TaskCancelledError, TaskDeadError, TaskExpiredError, TaskUnknownError, WaitError, WaitTimeoutError
from runner.producer import Producer
from runner.queue import Declaration
from tests.making import bury, claim
from tests.servers import Server
from tests.waiting import until


def test_the_result_arrives_as_soon_as_the_task_is_done(queue: Queue, producer: Producer) -> None:
    receipt = producer.submit("a", queue="emails")
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(lambda: producer.wait(receipt.id, 20))
        claim(queue)
        queue.complete(receipt.id, "t1", b'{"n":[1,2]}', b"")

        assert pending.result(10) == {"n": [1, 2]}


def test_a_timeout_that_no_clock_reaches_is_refused(queue: Queue, producer: Producer) -> None:
    receipt = producer.submit("a", queue="emails")

    with pytest.raises(RefusedError, match="nan"):
        producer.wait(receipt.id, float("nan"))


def test_a_task_without_a_result_gives_none(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id=206)
    claim(queue)
    queue.complete("206", "t1", b"", b"")

    assert producer.wait(206, 0, queue="emails") is None


def test_a_dead_task_says_why(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id="x")
    claim(queue)
    bury(queue, "x", "t1", reason="timeout")

    with pytest.raises(TaskDeadError, match=r"dead letters \(timeout\): no use"):
        producer.wait("x", 5)


def test_a_cancelled_task_says_so(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id="x")
    producer.cancel("x")

    with pytest.raises(TaskCancelledError):
        producer.wait("x", 5)


def test_an_expired_task_says_so(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id="x", expires_s=0.05)
    until(lambda: queue.expire() and queue.look("x").state == "dead")  # type: ignore[union-attr]

    with pytest.raises(TaskExpiredError):
        producer.wait("x", 5)


def test_an_unknown_id_is_told_at_once(queue: Queue, producer: Producer) -> None:
    began_s = time.monotonic()

    with pytest.raises(TaskUnknownError):
        producer.wait("x", 60)

    assert time.monotonic() - began_s < 5


def test_a_result_that_was_forgotten_is_unknown(declared: Callable[..., Queue], producer: Producer) -> None:
    queue = declared(keep_done_s=1)
    producer.submit("a", queue="emails", task_id="x")
    claim(queue)
    queue.complete("x", "t1", b"1", b"")
    until(lambda: queue.look("x") is None, within_s=10)

    with pytest.raises(TaskUnknownError):
        producer.wait("x", 5)


def test_a_task_that_does_not_end_times_out_with_its_state(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id="x")

    with pytest.raises(WaitTimeoutError, match=r"within 0\.1 s: it is waiting"):
        producer.wait("x", 0.1)


def test_a_redis_that_restarts_meanwhile_is_no_error(server: Server, mode: str) -> None:
    with redis.Redis.from_url(server.url) as client, Producer(server.url) as producer, ThreadPoolExecutor(1) as pool:
        queue = Broker(client).declare(Declaration("emails", mode=mode))
        producer.submit("a", queue="emails", task_id="x")
        pending = pool.submit(lambda: producer.wait("x", 30))
        server.kill()
        server.start()
        claim(queue)
        queue.complete("x", "t1", b"7", b"")

        assert pending.result(20) == 7


def test_a_redis_that_stays_away_ends_the_wait_with_its_reason(server: Server, mode: str) -> None:
    with redis.Redis.from_url(server.url) as client, Producer(server.url) as producer:
        Broker(client).declare(Declaration("emails", mode=mode))
        producer.submit("a", queue="emails", task_id="x")
        server.kill()

        with pytest.raises(WaitTimeoutError, match="could not be seen"):
            producer.wait("x", 0.3)


def test_all_ends_of_a_wait_are_one_family() -> None:
    kinds = (TaskDeadError, TaskCancelledError, TaskExpiredError, TaskUnknownError, WaitTimeoutError)

    assert all(issubclass(kind, WaitError) for kind in kinds)
    assert len(set(kinds)) == 5
