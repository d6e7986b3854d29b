"""A declared queue, and a way to run commands in this process. Called by pytest for the tests beside this file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from runner.broker import Broker, Queue
from runner.cli import run
from runner.queue import Declaration

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def queue(url: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    """A declared queue, and the settings that the commands read."""
    monkeypatch.setenv("RUNNER_REDIS_URL", url)
    with redis.Redis.from_url(url) as client:
        yield Broker(client).declare(Declaration("emails", mode=mode))


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs a command: its exit code, its output, its error."""

    def say(*args: str) -> tuple[int, str, str]:
        code = run(list(args))
        return code, *capsys.readouterr()

    return say
