"""Redis is over maxmemory: what is in goes on to its end, what makes room is done, and only new tasks are refused. Called by pytest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from runner.broker import Broker, Queue, Settled
from runner.config import ControllerSettings
from runner.controller import Controller
from runner.errors import OutOfMemoryError
from runner.queue import Declaration
from runner.stop import Stop
from tests.making import claim, later, submit


@pytest.fixture
def full(url: str, client: redis.Redis, mode: str) -> Iterator[Queue]:
    """A queue with a task that is held, one that is waiting, one that is nearly due, and two dead letters where one may stay."""
    queue = Broker(client).declare(Declaration("emails", mode=mode, dead_max=1, replay=()))
    for number in range(2):
        submit(queue, f"dead-{number}")
        queue.bury([Settled(claim(queue, f"t{number}").id, f"t{number}", reason="fatal")])
    submit(queue, "held")
    claim(queue, "holder")
    submit(queue, "waiting")
    submit(queue, "due", delay_ms=1)
    later(queue, queue.measure().now_ms + 2)
    client.config_set("maxmemory", 1)
    yield queue
    client.config_set("maxmemory", 0)


def test_a_full_redis_refuses_new_tasks_and_settles_those_it_has(full: Queue) -> None:
    with pytest.raises(OutOfMemoryError):
        submit(full, "new")

    assert full.extend("held", "holder") == "ok"
    assert full.complete("held", "holder", b"", b"{}") == "ok"
    assert claim(full, "next").id == "waiting"


def test_a_full_redis_is_cleaned_and_the_pass_recorded(full: Queue, client: redis.Redis) -> None:
    broker = Broker(client)

    good = Controller(broker, ControllerSettings(), Stop()).one_pass()

    assert good
    assert [letter.id for letter in full.dead_letters()] == ["dead-1"]
    assert full.measure().delayed == 0
    assert broker.last_pass()["failed"] == ""


def test_a_full_redis_refuses_a_declaration_but_no_pass(full: Queue, client: redis.Redis, tmp_path: Path) -> None:
    broker, path = Broker(client), tmp_path / "queues.json"
    path.write_text('{"another": {}}')

    with pytest.raises(OutOfMemoryError):
        broker.declare(Declaration("another"))
    good = Controller(broker, ControllerSettings(queues_file=str(path)), Stop()).one_pass()

    assert not good and broker.last_pass()["failed"] == "another"
    assert [letter.id for letter in full.dead_letters()] == ["dead-1"]


def test_a_full_redis_remembers_up_to_where_dead_letters_were_looked_at(full: Queue, client: redis.Redis) -> None:
    broker = Broker(client)

    broker.keep_mark(full, "5-0")

    assert broker.mark(full) == "5-0"
