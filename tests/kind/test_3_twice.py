"""What Kubernetes may do twice or take away early: controllers, pods of one Job, a pod that has not claimed. Part of `make kind-test`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from uuid import uuid4

import pytest

from runner.broker import Facts
from tests.kind.cluster import Data, live
from tests.kind.release import Shop
from tests.kind.test_2_deaths import effects, force_delete, kinds
from tests.waiting import until

MORE = ("second", "third")
TASKS = 8
COUNTED = ("errors", "timeouts", "crashes", "ooms", "releases")


def passes(shop: Shop, job: str, queue: str) -> int:
    """How many passes over a queue the pod of this controller's Job has logged."""
    pods = shop.release.items("pods", f"batch.kubernetes.io/job-name={job}")
    events = [one for pod in pods for one in shop.release.logs(pod["metadata"]["name"])]
    return sum(one["event"] == "pass" and one["queue"] == queue for one in events)


@pytest.fixture
def controllers(shop: Shop) -> Iterator[None]:
    """Two more controllers at once with the CronJob's own, each after its first pass."""
    shop.release.kubectl("delete", "job", *MORE, "--ignore-not-found", "--wait")
    for name in MORE:
        shop.release.kubectl("create", "job", name, "--from=cronjob/runner-controller")
    until(lambda: all(passes(shop, name, "twice") for name in MORE), 90, every_s=0.5)
    yield
    shop.release.kubectl("delete", "job", *MORE, "--wait=false")


def counted(facts: Facts) -> int:
    """All that was counted against a task."""
    return sum(asdict(facts.counters)[name] for name in COUNTED)


@pytest.mark.usefixtures("controllers")
def test_three_controllers_at_once_count_no_attempt_twice_and_each_task_is_done_once(shop: Shop) -> None:
    place, before = f"twice-{uuid4().hex}", len(shop.release.jobs("twice"))
    made = {name: passes(shop, name, "twice") for name in MORE}
    payloads = [{"in": f"effects:{place}", "name": str(n), "s": 4} for n in range(TASKS)]
    ids = [shop.producer.submit("kind.effect", one, queue="twice", delay_s=2).id for one in payloads]

    for task_id in ids[:2]:
        victim = shop.holder("twice", task_id)
        until(lambda n=task_id: effects(shop, place).get(f"{ids.index(n)} began"), 30, every_s=0.1)  # type: ignore[misc]
        force_delete(shop, victim)
    found = shop.done("twice", ids, within_s=120)

    assert [counted(one) for one in found] == [1, 1] + [0] * (TASKS - 2)
    assert [len(kinds(one)) for one in found] == [2, 2] + [1] * (TASKS - 2)
    assert {n: effects(shop, place)[f"{n} ended"] for n in range(TASKS)} == dict.fromkeys(range(TASKS), 1)
    until(lambda: not live(shop.release.pods("twice")), 60, every_s=0.5)
    assert len(shop.release.jobs("twice")) <= before + TASKS + 2 + 2, "a death is worth one empty pod at most"
    assert all(passes(shop, name, "twice") > made[name] + 1 for name in MORE), "they were to work at the same time"


def job_of_two(shop: Shop, queue: str, name: str) -> Data:
    """A Job as KEDA makes them, of two pods."""
    (scaled,) = [one for one in shop.release.items("scaledjobs") if one["metadata"]["name"] == f"runner-{queue}"]
    target = scaled["spec"]["jobTargetRef"]
    labels = {**scaled["metadata"]["labels"], "scaledjob.keda.sh/name": f"runner-{queue}"}
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": target["template"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": spec}


@pytest.mark.parametrize("tasks", [1, 2])
def test_two_pods_of_one_job_do_each_task_once(shop: Shop, tasks: int) -> None:
    place, name = f"two-{uuid4().hex}", f"two-{uuid4().hex[:6]}"
    # Nobody but this Job is to make pods; the pause is a person's, and the controller leaves it alone.
    shop.release.kubectl("annotate", "scaledjob", "runner-two-pods", "autoscaling.keda.sh/paused=true", "--overwrite")
    ids = [shop.submit("two-pods", type="kind.effect", s=1, name=n, **{"in": f"effects:{place}"})[0] for n in "ab"[:tasks]]

    shop.release.apply(job_of_two(shop, "two-pods", name))
    shop.release.kubectl("wait", "--for=condition=Complete", f"job/{name}", "--timeout=90s")
    shop.release.kubectl("annotate", "scaledjob", "runner-two-pods", "autoscaling.keda.sh/paused-")

    found = shop.done("two-pods", ids)
    assert [kinds(one) for one in found] == [["done"]] * tasks
    assert set(effects(shop, place).values()) == {1}
    pods = shop.release.items("pods", f"batch.kubernetes.io/job-name={name}")
    assert [one["status"]["phase"] for one in pods] == ["Succeeded"] * 2
    assert len({json.loads(one.result)["pod"] for one in found}) == tasks, "one pod did two tasks"


def initialising(shop: Shop, queue: str) -> str:
    """The name of a queue's pod whose init container runs; empty as long as there is none."""
    for pod in live(shop.release.pods(queue)):
        statuses = pod["status"].get("initContainerStatuses", [])
        if any("running" in one["state"] for one in statuses):
            return str(pod["metadata"]["name"])
    return ""


@pytest.mark.parametrize("queue", ["early", "early-list"])
def test_a_pod_deleted_before_it_claimed_costs_its_task_nothing(shop: Shop, queue: str) -> None:
    (task_id,) = shop.submit(queue)
    pod = until(lambda: initialising(shop, queue), 60, every_s=0.1)
    assert shop.facts(queue, task_id).state == "waiting"

    shop.release.kubectl("delete", "pod", pod, "--wait=false")
    (facts,) = shop.done(queue, [task_id], within_s=120)

    assert json.loads(facts.result)["pod"] != pod
    assert kinds(facts) == ["done"] and counted(facts) == 0
