"""One declared queue in the mode under test, for the promises of the core. Called by pytest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from runner.broker import Broker, Queue
from runner.queue import Declaration


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture
def queue(client: redis.Redis, mode: str) -> Queue:
    return Broker(client).declare(Declaration("emails", mode=mode))
