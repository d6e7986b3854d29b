"""What the shell offers while somebody types: names of queues, types that ran, nothing at all when Redis is away."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from runner.attempt import attempt_line
from runner.broker import Queue
from runner.outcome import Ending, Kind
from tests.making import claim, submit

Offer = Callable[[str], list[str]]
pytestmark = pytest.mark.parametrize("mode", ["stream"])


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, said: Callable[..., tuple[int, str, str]]) -> Offer:
    """What Tab gives at the end of a line."""

    def offer(line: str) -> list[str]:
        monkeypatch.setenv("_RUNNER_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        _, out, err = said()
        assert err == ""
        return out.split()

    return offer


def ran(queue: Queue, task_id: str, task_type: str) -> None:
    submit(queue, task_id)
    claim(queue, task_id)
    ending = Ending(Kind.DONE, wall_s=1)
    queue.complete(task_id, task_id, b"", attempt_line(ending, number=1, holder="p", started_ms=1, ended_ms=2, task_type=task_type))


def test_the_declared_queues_are_offered(queue: Queue, offered: Offer, said: Callable[..., tuple[int, str, str]]) -> None:
    said("queue", "declare", "images")

    assert offered("runner status -q ") == ["emails", "images"]
    assert offered("runner status --queue im") == ["images"]
    assert offered("runner queue declare e") == ["emails"]


def test_the_types_that_ran_are_offered(queue: Queue, offered: Offer) -> None:
    ran(queue, "a", "mail.send")
    ran(queue, "b", "image.resize")

    assert offered("runner submit -q emails m") == ["mail.send"]
    assert offered("runner submit i") == ["image.resize"]


def test_a_redis_that_is_away_offers_nothing_at_once(queue: Queue, offered: Offer) -> None:
    began_s = time.monotonic()

    assert offered("runner --redis-url redis://127.0.0.1:9/0 status -q ") == []
    assert offered("runner --redis-url nonsense status -q ") == []
    assert time.monotonic() - began_s < 5
