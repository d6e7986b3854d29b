"""A node is frozen under running tasks, and comes back. Run by `make kind-test-more`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kind.cluster import live, run
from tests.kind.release import Release, Shop
from tests.waiting import until

LOST = "runner-kind-worker"
LEASE_S = 10
TASKS = 3
QUEUES = ("lost", "lost-list")


@pytest.fixture
def two(request: pytest.FixtureRequest) -> Iterator[Shop]:
    """The release on two nodes."""
    release = Release("shop", 31379, Path(__file__).with_name("values.yaml"))
    there = run("helm", "status", "runner", "--namespace", "shop", check=False).returncode == 0
    release.install("--create-namespace", verb="upgrade" if there else "install")
    release.open_door()
    request.addfinalizer(lambda: run("docker", "unpause", LOST, check=False))  # noqa: PT021 - it must run before the clients close
    shop = Shop(release)
    yield shop
    shop.close()


def node_of(shop: Shop, queue: str, task_id: str) -> str:
    """Where this task runs; empty where it does not."""
    return str(shop.facts(queue, task_id).holder or "").split("/")[-1]


def test_tasks_of_a_lost_node_run_on_another_and_are_done_once_when_it_is_back(two: Shop) -> None:
    tasks = [(queue, task_id) for queue in QUEUES for task_id in two.submit(queue, TASKS, s=45)]
    for queue, task_id in tasks:
        until(lambda q=queue, t=task_id: node_of(two, q, t) == LOST, 120, every_s=0.2)  # type: ignore[misc]

    run("docker", "pause", LOST)
    lost_s = time.monotonic()
    for queue, task_id in tasks:
        until(lambda q=queue, t=task_id: node_of(two, q, t) not in ("", LOST), 300, every_s=0.2)  # type: ignore[misc]
        print(f"\n    {queue}: running again {time.monotonic() - lost_s:.1f} s after the node was lost (lease {LEASE_S} s)")
    by = {task_id: json.loads(two.done(queue, [task_id], within_s=240)[0].result)["pod"] for queue, task_id in tasks}
    run("docker", "unpause", LOST)
    run("kubectl", "wait", "--for=condition=Ready", f"node/{LOST}", "--timeout=180s")
    for queue in QUEUES:
        until(lambda q=queue: not live(two.release.pods(q)), 240, every_s=1)  # type: ignore[misc]

    for queue, task_id in tasks:
        facts = two.facts(queue, task_id)
        assert facts.state == "done" and json.loads(facts.result)["pod"] == by[task_id]
    assert {two.measure(queue).counts["done"] for queue in QUEUES} == {TASKS}
