"""The local scaler with real workers: one process per task, never more than allowed, and a killed one's task is done by another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.broker import Broker, Queue
from runner.connect import connect
from runner.queue import Declaration
from runner.reaper import settle_reaped
from runner.scaler import Scaler
from runner.tasks import Submission
from tests.waiting import until


@pytest.fixture
def queue(url: str, mode: str) -> Queue:
    return Broker(connect(url)).declare(Declaration("emails", mode=mode, priorities=("high", "normal"), lease_s=1, backoff_s=0.1))


@pytest.fixture
def scaler(queue: Queue, url: str, tmp_path: Path) -> Iterator[Scaler]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")}
    one = Scaler(queue, plain | {"RUNNER_REDIS_URL": url}, tmp_path, max_replicas=2, poll_s=0.1)
    yield one
    one.close()


def submit(queue: Queue, *ids: str, sleep_s: float = 0, priority: str = "normal") -> None:
    body = b'{"type":"runner.sleep","payload":{"s":%.1f}}' % sleep_s
    queue.submit([Submission(one, body, priority) for one in ids])


def state(queue: Queue, task_id: str) -> str:
    facts = queue.look(task_id)
    return facts.state if facts else "unknown"


def test_each_task_of_every_priority_gets_one_process_and_no_more_run_than_allowed(queue: Queue, scaler: Scaler) -> None:
    submit(queue, "a", "b", "c")
    submit(queue, "d", "e", priority="high")
    seen = []

    def settled() -> bool:
        scaler.poll()
        seen.append(len(scaler.running()))
        return all(state(queue, one) == "done" for one in "abcde") and not scaler.running()

    until(settled, within_s=30, every_s=0.05)

    assert scaler.started == 5
    assert dict(scaler.exit_codes) == {0: 5}
    assert max(seen) == 2


def test_an_empty_queue_starts_nothing(queue: Queue, scaler: Scaler) -> None:
    assert (scaler.poll(), scaler.started) == (0, 0)


def test_the_task_of_a_worker_killed_with_its_child_is_done_by_another(queue: Queue, scaler: Scaler, mode: str) -> None:
    submit(queue, "a", sleep_s=1.5)
    scaler.poll()
    until(lambda: state(queue, "a") == "claimed", within_s=10)

    killed = scaler.kill("worker-1")

    def done_by_another() -> bool:
        if mode == "list":  # there KEDA does not see a task in flight, so that the controller has to put it back
            settle_reaped(queue, queue.reap().claims, queue.measure().now_ms)
        scaler.poll()
        return state(queue, "a") == "done" and not scaler.running()

    until(done_by_another, within_s=20, every_s=0.05)

    assert killed
    assert not scaler.kill("worker-1")
    assert scaler.exit_codes[-9] == 1


def test_closing_hands_running_tasks_back(queue: Queue, scaler: Scaler) -> None:
    submit(queue, "a", sleep_s=60)
    scaler.poll()
    until(lambda: state(queue, "a") == "claimed", within_s=10)

    scaler.close()

    facts = queue.look("a")
    assert facts is not None
    assert (facts.state, facts.counters.releases, facts.counters.attempt) == ("waiting", 1, 1)
    assert scaler.running() == []
