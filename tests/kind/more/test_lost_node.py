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
QUEUES = ("lost", "lost-list", "apart", "apart-list")


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


def send(shop: Shop, only_to_lost: bool) -> None:
    """Have new pods go to the node that will be lost, or to any; those that run stay where they are."""
    terms = [{"matchExpressions": [{"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}]}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}} if only_to_lost else None
    change = {"spec": {"jobTargetRef": {"template": {"spec": {"affinity": {"nodeAffinity": rule}}}}}}
    for queue in QUEUES:
        shop.release.kubectl("patch", "scaledjob", f"runner-{queue}", "--type=merge", "--patch", json.dumps(change))


def again_s(shop: Shop, tasks: list[tuple[str, str]]) -> dict[str, float]:
    """How long from now until all tasks of each queue run on another node."""
    since_s, took_s = time.monotonic(), dict.fromkeys(QUEUES, 0.0)
    waiting = list(tasks)

    def moved() -> bool:
        for queue, task_id in list(waiting):
            if node_of(shop, queue, task_id) not in ("", LOST):
                waiting.remove((queue, task_id))
                took_s[queue] = time.monotonic() - since_s
        return not waiting

    until(moved, 240, every_s=0.2)
    return took_s


def test_tasks_of_a_lost_node_run_on_another_and_are_done_once_when_it_is_back(two: Shop) -> None:
    before = {queue: two.measure(queue).counts.get("done", 0) for queue in QUEUES}
    send(two, only_to_lost=True)
    tasks = [(queue, task_id) for queue in QUEUES for task_id in two.submit(queue, TASKS, s=45)]
    for queue, task_id in tasks:
        until(lambda q=queue, t=task_id: node_of(two, q, t) == LOST, 120, every_s=0.2)  # type: ignore[misc]
    send(two, only_to_lost=False)

    run("docker", "pause", LOST)
    took_s = again_s(two, tasks)
    print(f"\n    running again, all of a queue, after the node was lost (lease {LEASE_S} s): {({q: round(s) for q, s in took_s.items()})}")
    # Where pods keep away from each other, the next one goes elsewhere at once; else Kubernetes may send it to the lost node until that
    # counts as NotReady, after some 50 s, and the controller has each such pod given up after 15 s.
    assert max(s for queue, s in took_s.items() if queue.startswith("apart")) <= LEASE_S + 20
    assert max(took_s.values()) <= 90
    by = {task_id: json.loads(two.done(queue, [task_id], within_s=240)[0].result)["pod"] for queue, task_id in tasks}
    run("docker", "unpause", LOST)
    run("kubectl", "wait", "--for=condition=Ready", f"node/{LOST}", "--timeout=180s")
    for queue in QUEUES:
        until(lambda q=queue: not live(two.release.pods(q)), 240, every_s=1)  # type: ignore[misc]

    for queue, task_id in tasks:
        facts = two.facts(queue, task_id)
        assert facts.state == "done" and json.loads(facts.result)["pod"] == by[task_id]
        assert facts.counters.attempt == 2
    assert {queue: two.measure(queue).counts["done"] for queue in QUEUES} == {queue: before[queue] + TASKS for queue in QUEUES}
