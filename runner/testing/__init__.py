"""Fixtures of pytest for programs that submit tasks and handle them. A project asks for them: `pytest_plugins = ["runner.testing"]`.

Not an entry point of pytest: that would cost every test run of every project in whose environment this package happens to be.

    def test_an_order_is_confirmed(runner_queue, run_next):
        runner_queue("emails")
        place_order("a@example.com")            # submits, by `Producer()` with no URL
        ran = run_next()
        assert (ran.type, ran.state, ran.result) == ("order.confirm", "done", {"sent": 1})
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

from runner.broker import Broker
from runner.connect import connect
from runner.embedded import EmbeddedServer
from runner.producer import Producer
from runner.queue import Declaration
from runner.testing.stage import AT_MOST, WITHIN_S, Ran, Stage

__all__ = ["Ran", "RunAll", "RunNext", "run_all", "run_next", "runner_producer", "runner_queue", "runner_server", "runner_url"]


class RunNext(Protocol):
    """What the fixture `run_next` gives."""

    def __call__(self, queue: str = "", *, handlers: str = "", exec_command: str = "") -> Ran | None:
        """Let one pod take what is next, in this queue or in the first that has something: what it ran, None where nothing waits.

        The handler is called in this process, unless `handlers` (module names) or `exec_command` are given as a pod's settings would
        have them: then a worker process is started.
        """


class RunAll(Protocol):
    """What the fixture `run_all` gives."""

    def __call__(
        self, queue: str = "", *, handlers: str = "", exec_command: str = "", within_s: float = WITHIN_S, at_most: int = AT_MOST
    ) -> list[Ran]:
        """Let pods run until nothing waits any more, retries and follow-ups too, and nothing is due within so many seconds.

        AssertionError after `at_most` runs: handlers that submit each other for ever.
        """


@pytest.fixture(scope="session")
def runner_server() -> Iterator[EmbeddedServer]:
    """A Redis server of this test run's own; it goes away with it."""
    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def runner_url(runner_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's URL, with nothing in it; and the only RUNNER_ setting, so that `Producer()` finds it."""
    for name in [name for name in os.environ if name.startswith("RUNNER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RUNNER_REDIS_URL", runner_server.url)
    with connect(runner_server.url) as client:
        client.flushall()
    return runner_server.url


@pytest.fixture
def runner_queue(runner_url: str) -> Callable[..., str]:
    """Declares a queue: `runner_queue("emails", max_retries=1)`. Retries are due at once, unless `backoff_s` is given."""

    def declare(name: str, **fields: Any) -> str:
        with connect(runner_url) as client:
            return Broker(client).declare(Declaration(name, **{"backoff_s": 0.001, **fields})).name

    return declare


@pytest.fixture
def runner_producer(runner_url: str) -> Iterator[Producer]:
    """A producer, for tests whose program has none."""
    with Producer(runner_url) as producer:
        yield producer


@pytest.fixture
def _stage(runner_url: str) -> Iterator[Stage]:
    with Stage(runner_url) as stage:
        yield stage


@pytest.fixture
def run_next(_stage: Stage) -> RunNext:
    """See RunNext."""
    return _stage.run_next


@pytest.fixture
def run_all(_stage: Stage) -> RunAll:
    """See RunAll."""
    return _stage.run_all
