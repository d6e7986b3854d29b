"""Pods that die or are asked to go in the middle of a task: it is done once all the same, by another. Part of `make kind-test`."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from runner.attempt import read_attempts
from runner.broker import Facts
from tests.kind.cluster import FULL, NODE, live, run, running
from tests.kind.release import Shop
from tests.waiting import until

LEASE_S = 10


def effects(shop: Shop, name: str) -> dict[str, int]:
    """What handlers counted in this hash, by `NAME began` and `NAME ended`."""
    found: Any = shop.broker.client.hgetall(f"effects:{name}")
    return {key.decode(): int(value) for key, value in found.items()}


def kinds(facts: Facts) -> list[object]:
    """How each attempt of a task ended."""
    return [one["kind"] for one in read_attempts(facts.attempts)]


def force_delete(shop: Shop, pod: str) -> None:
    """As for a pod of a lost node: it is gone at once to everybody who asks, its processes a moment later."""
    shop.release.kubectl("delete", "pod", pod, "--force", "--grace-period=0", "--wait=false")


def kill(_shop: Shop, pod: str) -> None:
    """SIGKILL to all processes of a pod, from its node, the parent first: it is not to see its child die."""
    each = f"for p in /proc/[0-9]*; do grep -qzx RUNNER_POD={pod} $p/environ 2>/dev/null && echo ${{p#/proc/}}; done | sort -n"
    run("docker", "exec", NODE, "sh", "-c", f"kill -9 $({each})")


@pytest.mark.parametrize("queue", ["killed", "killed-list"])
@pytest.mark.parametrize("strike", [kill, force_delete])
def test_a_task_whose_pod_dies_is_done_once_by_another(shop: Shop, queue: str, strike: Callable[[Shop, str], None]) -> None:
    place, before = f"{queue}-{uuid4().hex}", len(shop.release.jobs(queue))
    (task_id,) = shop.submit(queue, type="kind.effect", s=4, name="one", **{"in": f"effects:{place}"})
    victim = shop.holder(queue, task_id)
    until(lambda: effects(shop, place).get("one began"), 30, every_s=0.1)

    struck_s = time.time()
    strike(shop, victim)
    (facts,) = shop.done(queue, [task_id], within_s=120)

    done = json.loads(facts.result)
    print(f"\n    {queue}: running again {done['began_ms'] / 1000 - struck_s:.1f} s after it was struck (lease {LEASE_S} s)")
    assert done["pod"] != victim
    assert effects(shop, place) == {"one began": 2, "one ended": 1}
    # Exit code 137 without a word of Kubernetes's is taken for want of memory; who is force-deleted may still hear SIGTERM first.
    assert kinds(facts)[0] in {"lost", "oom" if strike is kill else "released"} and kinds(facts)[1:] == ["done"]
    until(lambda: not live(shop.release.pods(queue)), 60, every_s=0.5)
    assert len(shop.release.jobs(queue)) <= before + 2 + 1, "a kill is worth one empty pod at most"


class Tailed:
    """A pod's log with times, followed until the pod is gone; its events stay to be asked for afterwards."""

    def __init__(self, shop: Shop, pod: str, path: Path) -> None:
        self.path = path
        command = ["kubectl", "--namespace", shop.release.name, "logs", "--follow", "--timestamps", pod]
        with path.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def when(self, event: str) -> float:
        """When the container runtime saw this event, in seconds since the epoch; 0 if it did not."""
        for line in self.path.read_text().splitlines():
            at, _, said = line.partition(" ")
            if f'"{event}"' in said:
                return datetime.fromisoformat(at[:26].rstrip("Z") + "+00:00").timestamp()
        return 0.0


def test_a_graceful_delete_hands_the_task_back_at_once_and_burns_no_attempt(shop: Shop, tmp_path: Path) -> None:
    (task_id,) = shop.submit("killed", s=15)
    victim = shop.holder("killed", task_id)
    # The claim may be seen in Redis before the API knows that the container runs, and then there are no logs to follow yet.
    until(lambda: running([one for one in [shop.release.pod(victim)] if one]), 30, every_s=0.1)
    tailed = Tailed(shop, victim, tmp_path / "log")
    until(lambda: tailed.when("claimed"), 30, every_s=0.05)

    asked_s = time.time()
    shop.release.kubectl("delete", "pod", victim, "--wait=false")
    until(lambda: shop.facts("killed", task_id).counters.releases, 30, every_s=0.01)
    back_s = time.time()
    heard_s = until(lambda: tailed.when("asked to end"), 30, every_s=0.05)

    print(f"\n    SIGTERM logged {heard_s - asked_s:.2f} s after the delete was sent, task handed back {back_s - heard_s:.2f} s after that")
    assert heard_s - asked_s < 5, "the issue says 1 s; the rest is for a busy machine"
    assert back_s - heard_s < 4, "the issue says 2 s; the rest is for a busy machine"
    (facts,) = shop.done("killed", [task_id])
    assert kinds(facts) == ["released", "done"] and facts.counters.attempt == 1
    tailed.process.wait(30)


def test_evictions_burn_no_attempt(shop: Shop) -> None:
    evictions, place = 5 if FULL else 3, f"evicted-{uuid4().hex}"
    (task_id,) = shop.submit("evicted", s=3, type="kind.effect", name="one", **{"in": f"effects:{place}"})

    for number in range(evictions):
        until(lambda n=number: shop.facts("evicted", task_id).counters.releases == n, 60, every_s=0.1)  # type: ignore[misc]
        evict(shop, shop.holder("evicted", task_id))
    (facts,) = shop.done("evicted", [task_id])

    assert facts.counters.releases == evictions and facts.counters.attempt == 1
    assert kinds(facts) == ["released"] * evictions + ["done"]
    assert effects(shop, place)["one ended"] == 1


def evict(shop: Shop, pod: str) -> None:
    """What a drain of the node does to a pod."""
    asked = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": shop.release.name}}
    path = f"/api/v1/namespaces/{shop.release.name}/pods/{pod}/eviction"
    shop.release.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(asked))
