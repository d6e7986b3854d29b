"""The life of a release: first task, helm test, upgrades that change nothing, neighbours, the end. Part of `make kind-test`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from runner.errors import OutOfMemoryError
from tests.kind.cluster import CHART, FULL, Data, run, running
from tests.kind.release import Release, Shop
from tests.kind.test_6_redis import submitted
from tests.waiting import until

SMALL: Data = {
    "image": {"worker": {"repository": "runner-kind", "tag": "1"}},
    "redis": {"internal": {"storage": {"size": "256Mi"}, "resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}}}},
    "controller": {"mode": "Deployment", "everySeconds": 2},
    "queueDefaults": {"priorities": ["normal"], "pollingInterval": 1},
    "queues": {"first": {}, "first-list": {"mode": "list"}},
}
CONTROLLERS = "app.kubernetes.io/component=controller,pod-template-hash"
ROLES = ("producer", "worker", "controller", "keda")


@pytest.fixture(scope="module")
def corner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """A release in a namespace of its own, installed here and uninstalled at the end."""
    values = tmp_path_factory.mktemp("corner") / "values.yaml"
    values.write_text(yaml.safe_dump(SMALL))
    found = Release("corner", 31380, values)
    run("kubectl", "delete", "namespace", "corner", "--ignore-not-found", "--wait")
    found.install("--create-namespace")
    found.open_door()
    yield found
    found.helm("uninstall", "--ignore-not-found")


@pytest.fixture(scope="module")
def small(corner: Release) -> Iterator[Shop]:
    """That release, with clients to its Redis."""
    opened = Shop(corner)
    yield opened
    opened.close()


def ready_ms(release: Release) -> float:
    """Since when Redis's pod is Ready."""
    pod = release.pod("runner-redis-0") or {}
    conditions: list[Any] = pod.get("status", {}).get("conditions", [])
    (since,) = [one["lastTransitionTime"] for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
    return datetime.fromisoformat(since).timestamp() * 1000


def test_the_first_task_runs_soon_although_keda_saw_its_queue_before_redis_was_there(small: Shop) -> None:
    ids = {queue: small.submit(queue)[0] for queue in ("first", "first-list")}
    began = {queue: small.done(queue, [task_id])[0].ended_ms or 0 for queue, task_id in ids.items()}

    took_s = max(began.values()) / 1000 - ready_ms(small.release) / 1000
    print(f"\n    first tasks done {took_s:.1f} s after Redis was Ready")
    assert took_s < 45, "the issue says 15 s; the rest is for a busy machine and the time that helm takes"


@pytest.mark.skipif(not FULL, reason="two minutes of waiting: FULL=1")
def test_tasks_run_soon_after_redis_was_away_for_minutes(small: Shop) -> None:
    small.release.kubectl("scale", "statefulset", "runner-redis", "--replicas=0")
    small.release.kubectl("wait", "--for=delete", "pod/runner-redis-0", "--timeout=90s")
    run("sh", "-c", "sleep 120")
    small.release.kubectl("scale", "statefulset", "runner-redis", "--replicas=1")
    small.release.kubectl("rollout", "status", "statefulset/runner-redis", "--timeout=120s")

    (facts,) = small.done("first", small.submit("first"))

    assert (facts.ended_ms or 0) - ready_ms(small.release) < 90_000


def test_helm_test_passes(corner: Release) -> None:
    assert "Succeeded" in corner.helm("test", "--timeout", "3m").stdout


def objects_of(release: Release) -> dict[str, str]:
    """What an upgrade that changes nothing must leave as it is: generations and the Secret's content."""
    things = release.items("scaledjobs,statefulsets")
    found = {f"{one['kind']}/{one['metadata']['name']}": str(one["metadata"]["generation"]) for one in things}
    (secret,) = [one for one in release.items("secrets") if one["metadata"]["name"] == "runner-redis-logins"]
    (redis,) = release.items("pods", "app.kubernetes.io/component=redis")
    return found | {"logins": str(secret["data"]), "redis": redis["metadata"]["uid"]}


def test_an_upgrade_that_changes_nothing_changes_nothing(corner: Release) -> None:
    before = objects_of(corner)

    corner.install(verb="upgrade")

    assert objects_of(corner) == before


def test_the_manifests_are_applied_twice_without_a_difference(corner: Release) -> None:
    manifest = run("helm", "get", "manifest", "runner", "--namespace", "corner")
    apply = ("--server-side", "--force-conflicts", "--field-manager", "twice", "-f", "-")
    corner.kubectl("apply", *apply, stdin=manifest.stdout)

    done = run("kubectl", "--namespace", "corner", "diff", *apply, stdin=manifest.stdout, check=False)

    assert done.returncode == 0, done.stdout


def neighbour() -> Data:
    """The values of a second release with the same queue on the first one's Redis, under a prefix."""
    roles = {role: {"username": role, "password": f"{role}-password"} for role in ROLES}
    secret = {"name": "shared", "keys": {"password": ""}, "roles": roles}
    external = {"url": "redis://runner-redis.corner.svc.cluster.local:6379/0", "secret": secret}
    redis = {"internal": {"enabled": False}, "external": external}
    return SMALL | {"prefix": "next", "redis": redis, "queues": {"first": {}}}


def test_a_neighbour_with_a_prefix_shares_redis_unseen(corner: Release, small: Shop, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(neighbour()))
    logins = {role: role for role in ROLES} | {f"{role}-password": corner.password(role) for role in ROLES}
    corner.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shared"}, "stringData": logins})
    run("helm", "install", "next", str(CHART), "--namespace", "corner", "--values", str(values), "--timeout", "5m")
    next_door = Shop(corner, prefix="next")

    before = small.measure("first").counts
    ids = next_door.submit("first", 2)
    next_door.done("first", ids)

    assert small.measure("first").counts == before
    assert len(corner.items("jobs", "scaledjob.keda.sh/name=next-runner-first")) == 2
    next_door.close()
    run("helm", "uninstall", "next", "--namespace", "corner", "--wait")


def test_a_password_is_changed_under_a_running_task(corner: Release, small: Shop) -> None:
    (running,) = small.submit("first", s=20)
    pod, old = small.holder("first", running), corner.password("worker")
    changed = {"stringData": {"worker-password-previous": old, "worker-password": uuid4().hex}}

    corner.kubectl("patch", "secret", "runner-redis-logins", "--patch", json.dumps(changed))
    corner.kubectl("delete", "pod", "runner-redis-0")
    corner.kubectl("rollout", "status", "statefulset/runner-redis", "--timeout=180s")
    more = until(lambda: submitted(small, "first"), 60, every_s=0.5)

    first, *_ = small.done("first", [running, *more], within_s=180)
    assert json.loads(first.result)["pod"] == pod and first.counters.attempt == 1


def test_a_full_redis_refuses_what_is_new_and_lets_running_tasks_end(corner: Release, small: Shop) -> None:
    (long,) = small.submit("first", s=20)
    pod = small.holder("first", long)
    (before,) = corner.items("pods", "app.kubernetes.io/component=redis")

    kept: list[str] = []
    # Where a large one does not fit any more, a smaller one may.
    for size in (900_000, 9_000, 90):
        with pytest.raises(OutOfMemoryError):
            fill(small, kept, size)
    state, (facts,) = small.facts("first", long).state, small.done("first", [long])
    for task_id in kept[:20]:
        small.producer.cancel(task_id, queue="first")
    small.done("first", small.submit("first"))

    assert state == "claimed", "it was to settle while Redis was full"
    assert json.loads(facts.result)["pod"] == pod and facts.counters.attempt == 1
    (after,) = corner.items("pods", "app.kubernetes.io/component=redis")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert [one["restartCount"] for one in after["status"]["containerStatuses"]] == [0]


def fill(shop: Shop, kept: list[str], size: int) -> None:
    """Tasks for another day, until Redis takes no more of this size; `kept` gets their ids."""
    for _ in range(5000):
        kept.append(shop.producer.submit("kind.work", {"large": "x" * size}, queue="first", delay_s=86400).id)


def test_the_controller_may_be_a_deployment_and_ends_when_it_is_asked_to(corner: Release, small: Shop) -> None:
    (pod,) = running(corner.items("pods", CONTROLLERS))
    task = small.producer.submit("kind.work", {}, queue="first", delay_s=1)
    small.done("first", [task.id])
    passed, asked_s = small.broker.last_pass(), time.monotonic()

    corner.kubectl("delete", "pod", pod["metadata"]["name"], "--timeout=60s")

    ended_s = time.monotonic() - asked_s
    print(f"\n    the controller's pod was gone {ended_s:.1f} s after it was asked to end")
    assert ended_s < 15, "half of its grace"
    assert corner.items("cronjobs") == []
    until(lambda: small.broker.last_pass()["host"] != passed["host"], 60, every_s=0.5)


def test_an_uninstalled_release_leaves_its_volume_and_logins_and_nothing_that_runs(corner: Release, small: Shop) -> None:
    (task_id,) = small.submit("first", s=60)
    small.holder("first", task_id)
    small.close()

    corner.helm("uninstall", "--wait", "--timeout", "5m")

    until(lambda: not corner.items("jobs,pods,scaledjobs,deployments,statefulsets"), 120, every_s=1)
    assert [one["metadata"]["name"] for one in corner.items("pvc")] == ["data-runner-redis-0"]
    assert "runner-redis-logins" in [one["metadata"]["name"] for one in corner.items("secrets")]


def test_without_keda_the_install_is_refused_in_one_sentence() -> None:
    said = (Path(os.environ["KUBECONFIG"]).parent / "without-keda.txt").read_text()

    (line,) = [one for one in said.splitlines() if one.startswith("Error:")]
    assert "install KEDA 2.19 or later first" in line
