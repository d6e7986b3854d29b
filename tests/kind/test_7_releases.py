"""The life of a release: first task, helm test, upgrades that change nothing, neighbours, the end. Part of `make kind-test`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from tests.kind.cluster import CHART, FULL, Data, run
from tests.kind.release import Release, Shop
from tests.kind.test_6_redis import submitted
from tests.waiting import until

SMALL: Data = {
    "image": {"worker": {"repository": "runner-kind", "tag": "1"}},
    "redis": {"internal": {"storage": {"size": "64Mi"}}},
    "queueDefaults": {"priorities": ["normal"], "pollingInterval": 1},
    "queues": {"first": {}, "first-list": {"mode": "list"}},
}
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


def test_an_uninstalled_release_leaves_its_volume_and_logins_and_nothing_that_runs(corner: Release, small: Shop) -> None:
    (task_id,) = small.submit("first", s=60)
    small.holder("first", task_id)
    small.close()

    corner.helm("uninstall", "--wait", "--timeout", "5m")

    until(lambda: not corner.items("jobs,pods,scaledjobs,cronjobs,statefulsets"), 120, every_s=1)
    assert [one["metadata"]["name"] for one in corner.items("pvc")] == ["data-runner-redis-0"]
    assert "runner-redis-logins" in [one["metadata"]["name"] for one in corner.items("secrets")]


def test_without_keda_the_install_is_refused_in_one_sentence() -> None:
    said = (Path(os.environ["KUBECONFIG"]).parent / "without-keda.txt").read_text()

    (line,) = [one for one in said.splitlines() if one.startswith("Error:")]
    assert "install KEDA 2.19 or later first" in line
