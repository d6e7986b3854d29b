"""Whole passes between a real Redis and a real cluster. Called by pytest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from runner.broker import Broker, Queue
from runner.cluster import Cluster, Pod, enter
from runner.config import ControllerSettings
from runner.controller import Controller
from runner.controller.passes import Stop
from runner.queue import Declaration
from tests.cluster.kubectl import Namespace
from tests.making import claim, submit
from tests.waiting import until

SLOW_S = 90


@pytest.fixture
def cluster(space: Namespace) -> Iterator[Cluster]:
    yield enter("shop", namespace=space.name, kubeconfig=space.kubeconfig)
    space.kubectl("delete", "jobs", "--all", "--wait=true", "--timeout=60s")


@pytest.fixture
def queue(url: str, mode: str) -> Queue:
    return Broker(redis.Redis.from_url(url)).declare(Declaration("emails", mode=mode, lease_s=3600))


def one_pass(queue: Queue, cluster: Cluster, **settings: Any) -> bool:
    return Controller(Broker(queue.client), ControllerSettings(**settings), Stop(), cluster).one_pass()


def running(cluster: Cluster, job: str) -> Pod:
    """The pod of a Job, once it runs."""
    found = until(
        lambda: [one for one in cluster.snapshot().pods.values() if one.name.startswith(f"{job}-") and one.phase == "Running"], SLOW_S, 1
    )
    return found[0]


def hold(queue: Queue, pod: Pod, name: str = "206", token: str = "t1") -> None:
    submit(queue, name)
    claim(queue, token, f"{pod.name}/{pod.uid}/{pod.node}")


def last_attempt(queue: Queue) -> dict[str, Any]:
    facts = queue.look("206")
    assert facts is not None
    return dict(json.loads(facts.attempts.splitlines()[-1]))


def test_a_task_whose_pod_was_deleted_by_force_runs_again_in_the_next_pass(queue: Queue, cluster: Cluster, space: Namespace) -> None:
    space.job("works", "sleep 600")
    pod = running(cluster, "works")
    hold(queue, pod)
    one_pass(queue, cluster)
    assert queue.extend("206", "t1") == "ok"

    space.kubectl("delete", "pod", pod.name, "--force", "--grace-period=0")
    one_pass(queue, cluster)

    assert last_attempt(queue)["kind"] == "lost"
    assert pod.name in last_attempt(queue)["detail"]
    assert claim(queue, "t2").id == "206"


def test_a_task_whose_pod_was_killed_for_memory_is_counted_so(queue: Queue, cluster: Cluster, space: Namespace) -> None:
    space.job("grows", "sleep 5; x=aaaaaaaa; while :; do x=$x$x; done", container={"resources": {"limits": {"memory": "64Mi"}}})
    hold(queue, running(cluster, "grows"))

    until(lambda: one_pass(queue, cluster) and queue.extend("206", "t1") == "lost", SLOW_S, 1)

    assert (last_attempt(queue)["kind"], last_attempt(queue)["exit_code"]) == ("oom", 137)


def test_a_silent_holders_job_goes_with_its_pod(queue: Queue, cluster: Cluster, space: Namespace) -> None:
    space.job("freezes", "sleep 600")
    pod = running(cluster, "freezes")
    hold(queue, pod)
    queue.client.zadd(queue.keys.part("claims"), {"206": 1})

    one_pass(queue, cluster)

    until(lambda: cluster.pod(pod.name) is None, SLOW_S, 1)
    assert claim(queue, "t2").id == "206"


def test_a_stuck_job_is_named_and_then_deleted_and_one_that_works_is_not(queue: Queue, cluster: Cluster, space: Namespace) -> None:
    broker = Broker(queue.client)
    space.job("wrong", "true", container={"image": "runner.invalid/none:1"})
    space.job("right", "sleep 600")
    running(cluster, "right")
    found = until(lambda: one_pass(queue, cluster) and broker.findings(broker.now_ms()), SLOW_S, 1)

    one_pass(queue, cluster, stuck_s=0.0)

    assert found["emails"][0]["name"] == "wrong"
    assert found["emails"][0]["reason"] in ("ErrImagePull", "ImagePullBackOff")
    assert [one.name for one in cluster.snapshot().jobs] == ["right"]
