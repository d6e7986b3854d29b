"""The encoding that a producer chooses: the same values for handlers, other bytes in Redis. Called by pytest."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import msgpack
import pytest

from runner import wire
from runner.broker import Queue
from runner.errors import BodyTooLargeError, ConfigError, UnencodableError
from runner.producer import AsyncProducer, NewTask, Producer
from tests.producer.conftest import body_of

PAYLOAD = {"raw": b"\xff", "at": datetime(2025, 11, 30, tzinfo=UTC)}


def test_messagepack_is_a_producers_choice_one_by_one_and_in_bulk(queue: Queue, url: str) -> None:
    bodies = []
    with Producer(url, encoding="msgpack") as producer:
        bodies.append(body_of(queue, producer.submit("a", PAYLOAD, queue="emails").id))
        items: list[Any] = [("a", PAYLOAD), NewTask("a", PAYLOAD), {"type": "a", "payload": PAYLOAD}]
        producer.submit_many(items, queue="emails", on_receipt=lambda receipt: bodies.append(body_of(queue, receipt.id)))

    assert len(bodies) == 4
    for body in bodies:
        assert msgpack.unpackb(body)["payload"] == {"raw": b"\xff", "at": "2025-11-30T00:00:00+00:00"}
        assert wire.read(body).type == "a"


def test_the_async_producer_takes_the_same_choice(queue: Queue, url: str) -> None:
    async def submitted() -> str:
        async with AsyncProducer(url, encoding="msgpack") as producer:
            return (await producer.submit("a", b"\xff", queue="emails")).id

    assert wire.read(body_of(queue, asyncio.run(submitted()))).payload == b"\xff"


def test_json_is_what_nobody_chose_and_stays_readable(queue: Queue, producer: Producer) -> None:
    receipt = producer.submit("a", {"name": "größe 日"}, queue="emails")

    assert '"größe 日"'.encode() in body_of(queue, receipt.id)
    assert json.loads(body_of(queue, receipt.id))["payload"] == {"name": "größe 日"}


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ([2**64], "payload[0] is an integer beyond 64 bits"),
        ({"a": {"\ud800": 1}}, "payload.a holds half a surrogate pair"),
        ({"a": float("nan")}, "payload.a is nan"),
        ({1: 1}, "payload has the key 1"),
        ([datetime(2025, 11, 30)], "payload[0] is a time without a zone"),
    ],
)
def test_what_messagepack_cannot_hold_is_refused_by_its_place(queue: Queue, url: str, payload: Any, said: str) -> None:
    with Producer(url, encoding="msgpack") as producer, pytest.raises(UnencodableError) as caught:
        producer.submit("a", payload, queue="emails")

    assert str(caught.value).startswith(said)
    assert queue.measure().waiting == 0


@pytest.mark.parametrize("encoding", wire.ENCODINGS)
def test_a_body_over_a_mebibyte_is_refused_with_its_size(queue: Queue, url: str, encoding: str) -> None:
    said = r"has 1048[67]\d\d bytes, the limit is 1048576"
    with Producer(url, encoding=encoding) as producer, pytest.raises(BodyTooLargeError, match=said):
        producer.submit("a", "x" * 2**20, queue="emails")


def test_an_encoding_that_no_worker_reads_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="`encoding` is 'yaml': use one of json, msgpack"):
        Producer(url, encoding="yaml")
