"""Submitting while Redis fails: no task is lost, none is doubled, and the error says what is wrong (C36, C43)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from runner.broker import Broker, Queue
from runner.errors import BrokerError, OutOfMemoryError, UnavailableError
from runner.producer import Producer
from runner.queue import Declaration
from tests.producer.proxy import Proxy
from tests.servers import SentinelServers, Server, free_port
from tests.waiting import until


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    proxy = Proxy(url)
    yield proxy
    proxy.close()


def test_a_lost_answer_neither_loses_nor_doubles_a_task(queue: Queue, proxy: Proxy) -> None:
    with Producer(proxy.url) as producer:
        producer.submit("a", queue="emails")  # the script is known from here on
        proxy.lose(1)

        receipt = producer.submit("a", queue="emails")

    assert proxy.lost == 1
    assert (receipt.created, receipt.state) == (True, "waiting")
    assert queue.look(receipt.id) is not None
    assert queue.measure().waiting == 2


def test_three_answers_lost_in_a_row_do_not_matter(queue: Queue, proxy: Proxy) -> None:
    with Producer(proxy.url) as producer:
        producer.submit("a", queue="emails")
        proxy.lose(3)

        producer.submit("a", queue="emails", delay_s=60)

    assert proxy.lost == 3
    assert queue.measure().delayed == 1


def test_the_task_that_filled_the_queue_is_not_refused_when_its_answer_was_lost(declared: Callable[..., Queue], proxy: Proxy) -> None:
    queue = declared(max_length=2)
    with Producer(proxy.url) as producer:
        producer.submit("a", queue="emails")
        proxy.lose(1)

        assert producer.submit("a", queue="emails").created

    assert queue.measure().waiting == 2


def test_a_bulk_submit_with_a_lost_answer_is_whole(queue: Queue, proxy: Proxy) -> None:
    seen: list[str] = []
    with Producer(proxy.url) as producer:
        producer.submit_many([("a", 0)], queue="emails")
        proxy.lose(1)

        done = producer.submit_many((("a", n) for n in range(1000)), queue="emails", on_receipt=lambda receipt: seen.append(receipt.id))

    assert proxy.lost == 1
    assert done.created == len(set(seen)) == 1000
    assert queue.measure().waiting == 1001


def test_a_lost_script_cache_is_not_seen(queue: Queue, producer: Producer, client: redis.Redis) -> None:
    for _ in range(3):
        client.script_flush()
        producer.submit("a", queue="emails")
        client.script_flush()
        producer.submit_many([("a", n) for n in range(450)], queue="emails")

    assert queue.measure().waiting == 3 * 451


def test_a_read_only_server_is_waited_for(queue: Queue, producer: Producer, client: redis.Redis) -> None:
    """C36: a failover leaves the old master read-only for a while."""
    producer.submit("a", queue="emails")
    client.replicaof("127.0.0.1", str(free_port()))
    try:
        with ThreadPoolExecutor(1) as pool:
            pending = pool.submit(lambda: producer.submit("a", queue="emails"))
            until(lambda: client.info("errorstats").get("errorstat_READONLY"))
            client.replicaof("NO", "ONE")
            assert pending.result(10).created
    finally:
        client.replicaof("NO", "ONE")

    assert queue.measure().waiting == 2


def test_a_server_that_stays_read_only_is_told_in_one_line(queue: Queue, url: str, client: redis.Redis) -> None:
    client.replicaof("127.0.0.1", str(free_port()))
    try:
        with Producer(url, retry_s=0.2) as producer, pytest.raises(UnavailableError, match="read-only replica"):
            producer.submit("a", queue="emails", task_id="x")
    finally:
        client.replicaof("NO", "ONE")

    assert queue.look("x") is None


def test_a_redis_that_is_not_there_is_told_in_one_line() -> None:
    port = free_port()

    with Producer(f"redis://user:geheim@127.0.0.1:{port}/0", retry_s=0.1) as producer, pytest.raises(UnavailableError) as told:
        producer.submit("a", queue="emails")

    assert f"127.0.0.1:{port}/0 refused the connection" in str(told.value)
    assert "geheim" not in str(told.value)


def test_full_memory_is_a_typed_error_and_nothing_is_written(queue: Queue, producer: Producer, client: redis.Redis) -> None:
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(OutOfMemoryError, match="maxmemory"):
            producer.submit("a", queue="emails", task_id="x")
        with pytest.raises(OutOfMemoryError):
            producer.submit_many((("a", n) for n in range(2000)), queue="emails")
    finally:
        client.config_set("maxmemory", 0)

    assert queue.measure().waiting == 0
    assert producer.submit("a", queue="emails").created


@pytest.mark.slow
def test_a_master_that_wants_replicas_refuses_without_them(queue: Queue, producer: Producer, client: redis.Redis) -> None:
    """C43: with min-replicas-to-write, what a failover could lose is refused instead."""
    client.config_set("min-replicas-to-write", 1)
    try:
        with pytest.raises(BrokerError, match="NOREPLICAS"):
            producer.submit("a", queue="emails", task_id="x")
    finally:
        client.config_set("min-replicas-to-write", 0)

    assert queue.look("x") is None


def test_submits_go_on_when_redis_is_killed_and_started_again(server: Server, mode: str) -> None:
    with redis.Redis.from_url(server.url) as client:
        queue = Broker(client).declare(Declaration("emails", mode=mode))
        with Producer(server.url) as producer, ThreadPoolExecutor(1) as pool:
            producer.submit("a", queue="emails")
            server.kill()
            pending = pool.submit(lambda: [producer.submit("a", queue="emails").id for _ in range(5)])
            server.start()
            ids = pending.result(20)

        assert len(set(ids)) == 5
        assert queue.measure().waiting == 6


def test_threads_share_a_producer(queue: Queue, producer: Producer) -> None:
    ids: list[str] = []

    def submit() -> None:
        ids.extend(producer.submit("a", queue="emails").id for _ in range(200))

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(ids)) == queue.measure().waiting == 800


def test_submits_survive_a_failover(sentinel: SentinelServers, mode: str) -> None:
    """C43: what was acknowledged and replicated is there; what Redis acknowledged and did not replicate is Redis's to lose."""
    with Producer(sentinel.url, retry_s=40) as producer:
        Broker(producer._broker.client).declare(Declaration("emails", mode=mode))
        before = producer.submit("a", queue="emails").id
        with redis.Redis.from_url(sentinel.master.url) as master:
            master.wait(1, 5000)
        sentinel.master.kill()

        after = producer.submit("a", queue="emails").id

        assert all(producer.find(one) for one in (before, after))
