"""A queue in the test's mode and a producer for it. Called by tests/producer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from runner.broker import Broker, Queue
from runner.producer import Producer
from runner.queue import Declaration


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture
def declared(client: redis.Redis, mode: str) -> Callable[..., Queue]:
    """Declares `emails` in the test's mode, with the fields that the test names."""
    return lambda **fields: Broker(client).declare(Declaration("emails", mode=mode, **fields))


@pytest.fixture
def queue(declared: Callable[..., Queue]) -> Queue:
    return declared()


@pytest.fixture
def producer(url: str) -> Iterator[Producer]:
    with Producer(url, retry_s=5) as producer:
        yield producer


def body_of(queue: Queue, task_id: Any) -> bytes:
    """The bytes that a live task has in Redis."""
    facts = queue.look(str(task_id))
    assert facts is not None
    assert facts.body is not None
    return facts.body
