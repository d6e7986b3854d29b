"""Submitting with wait_replicas: back once replicas have it, or an error that says that the task is in, and on how many."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from runner import AsyncProducer, Producer
from runner.broker import Broker
from runner.errors import ConfigError, QueueFullError, ReplicationError
from runner.queue import Declaration
from runner.tasks import Receipt
from tests.producer.proxy import Proxy
from tests.servers import VOLATILE, SentinelServers, Server, binary_of, free_port
from tests.waiting import until


class Pair:
    """A master and its replica."""

    def __init__(self, program: str) -> None:
        self.master = Server(program, (*VOLATILE, "--repl-diskless-sync-delay", "0"), free_port())
        self.replica = Server(program, (*VOLATILE, "--replicaof", f"127.0.0.1 {self.master.port}"), free_port())


@pytest.fixture(scope="module")
def _pair(backend: str) -> Iterator[Pair]:
    pair = Pair(binary_of(backend))
    with pair.master, pair.replica:
        yield pair


@pytest.fixture
def pair(_pair: Pair) -> Iterator[Pair]:
    _pair.replica.resume()
    _pair.master.fresh()
    with redis.Redis.from_url(_pair.master.url) as client:
        until(lambda: client.wait(1, 100), within_s=20)
        Broker(client).declare(Declaration("emails"))
    yield _pair
    _pair.replica.resume()


def waiting(url: str) -> int:
    with redis.Redis.from_url(url) as client:
        return Broker(client).open("emails").measure().waiting


def test_what_is_back_is_on_the_replica(pair: Pair) -> None:
    with Producer(pair.master.url, wait_replicas=1) as producer:
        assert producer.submit("a", queue="emails").created
        assert producer.submit_many((("a", n) for n in range(450)), queue="emails").created == 450

        assert waiting(pair.replica.url) == 451


def test_too_few_replicas_are_told_with_the_receipt_of_the_task_that_is_in(pair: Pair) -> None:
    pair.replica.pause()

    said = r"the task is in, but 0 of the 1 replicas asked for acknowledged within 0\.05 s"
    with Producer(pair.master.url, wait_replicas=1, wait_replicas_s=0.05) as producer, pytest.raises(ReplicationError, match=said) as told:
        producer.submit("a", queue="emails", task_id="x")

    assert told.value.receipts == (Receipt("x", "waiting", True),)
    assert waiting(pair.master.url) == 1


def test_a_bulk_submit_ends_at_the_first_chunk_that_is_not_replicated_with_its_receipts(pair: Pair) -> None:
    pair.replica.pause()
    seen: list[Receipt] = []

    async def submitted() -> None:
        async with AsyncProducer(pair.master.url, wait_replicas=1, wait_replicas_s=0.05) as producer:
            await producer.submit_many([("a", n) for n in range(450)], queue="emails", on_receipt=seen.append)

    with pytest.raises(ReplicationError, match="200 tasks are in"):
        asyncio.run(submitted())

    assert len(seen) == waiting(pair.master.url) == 200


def test_a_queue_that_is_full_is_told_rather_than_its_replicas(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        Broker(client).declare(Declaration("emails", max_length=1))
    with Producer(url, wait_replicas=1, wait_replicas_s=0.001) as producer:
        with pytest.raises(ReplicationError) as told:
            producer.submit_many([("a", 1), ("a", 2)], queue="emails")
        with pytest.raises(QueueFullError):
            producer.submit("a", queue="emails")

    assert len(told.value.receipts) == 1


def test_a_lost_script_cache_and_a_lost_answer_are_not_seen(pair: Pair, url: str) -> None:
    """The server of `url` has no replica, and says so to each; the task is in once."""
    with redis.Redis.from_url(url) as client:
        queue = Broker(client).declare(Declaration("emails"))
    proxy = Proxy(url)
    with Producer(proxy.url, wait_replicas=1, wait_replicas_s=0.001) as producer:
        with pytest.raises(ReplicationError):
            producer.submit("a", queue="emails")
        proxy.lose(1)
        with pytest.raises(ReplicationError) as told:
            producer.submit("a", queue="emails")
    proxy.close()

    assert proxy.lost == 1
    assert [one.created for one in told.value.receipts if isinstance(one, Receipt)] == [True]
    assert waiting(url) == 2
    assert queue.name == "emails"


def test_on_a_cluster_the_node_of_the_queue_is_asked(cluster_url: str) -> None:
    from runner.connect import connect

    with connect(cluster_url) as client:
        for name in ("emails", "images", "x"):
            Broker(client).declare(Declaration(name))
    with Producer(cluster_url, wait_replicas=1, wait_replicas_s=0.01) as producer:
        for name in ("emails", "images", "x"):
            with pytest.raises(ReplicationError, match="0 of the 1"):
                producer.submit("a", queue=name)


def test_behind_a_sentinel_the_replica_has_it(sentinel: SentinelServers) -> None:
    with Producer(sentinel.url, wait_replicas=1, wait_replicas_s=4) as producer:
        Broker(producer._broker.client).declare(Declaration("emails"))
        producer.submit("a", queue="emails")

        assert waiting(sentinel.replica.url) == 1


@pytest.mark.parametrize("make", [Producer, AsyncProducer])
@pytest.mark.parametrize(
    "wrong",
    [
        *({"wait_replicas": -1}, {"wait_replicas": True}, {"wait_replicas": 2**63}),
        *({"wait_replicas_s": 0}, {"wait_replicas_s": 5}, {"wait_replicas_s": "1"}),
        *({"retry_s": -1}, {"retry_s": float("nan")}, {"retry_s": "1"}, {"retry_s": None}),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(make: type[Producer | AsyncProducer], wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        make("unix:///nowhere.sock", **wrong)
