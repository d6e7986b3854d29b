"""The client against a real API: what it reads, what it may and may not do, and a token that is rotated. Called by pytest."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.cluster import Cluster, Job, Pod, Snapshot, enter
from runner.controller.holders import Holder, ending, ending_of, job_of
from runner.controller.jobs import stuck
from runner.errors import ClusterError
from runner.outcome import Kind
from tests.cluster.kubectl import Namespace
from tests.waiting import until

SLOW_S = 90


@pytest.fixture(scope="session")
def cluster(space: Namespace) -> Cluster:
    return enter("shop", namespace=space.name, kubeconfig=space.kubeconfig)


@pytest.fixture(scope="session")
def town(space: Namespace) -> Namespace:
    """Jobs that each end, or cannot start, in a way of their own; made at once, because most of the time is waiting."""
    space.job("runs", "echo at work; sleep 600")
    space.job("fails", "echo it failed; exit 3")
    space.job("eats", "x=a; while :; do x=$x$x; done", container={"resources": {"limits": {"memory": "24Mi"}}})
    space.job("late", "sleep 600", activeDeadlineSeconds=3)
    space.job("sleeps", "true", suspend=True)
    space.job("no-image", "true", container={"image": "runner.invalid/none:1"})
    space.job("no-node", "true", container={"resources": {"requests": {"memory": "999Gi"}}})
    space.job("no-secret", "true", container={"envFrom": [{"secretRef": {"name": "none"}}]})
    space.job("no-volume", "true", pod={"volumes": [{"name": "v", "secret": {"secretName": "none"}}]}, container=mounting("v"))
    space.job("no-account", "true", pod={"serviceAccountName": "none"})
    return space


def mounting(name: str) -> dict[str, Any]:
    return {"volumeMounts": [{"name": name, "mountPath": "/v"}]}


def named(seen: Snapshot, name: str) -> Job:
    return next(one for one in seen.jobs if one.name == name)


def pod_when(cluster: Cluster, name: str, holds: Callable[[Pod], bool]) -> Pod:
    """The pod of a Job, once this holds of it."""

    def found() -> Pod | None:
        seen = cluster.snapshot()
        return next((one for one in seen.pods_of(named(seen, name)) if holds(one)), None)

    pod = until(found, within_s=SLOW_S, every_s=1)
    assert pod is not None
    return pod


def test_a_pod_that_runs_lives_and_its_log_can_be_read(cluster: Cluster, town: Namespace) -> None:
    pod = pod_when(cluster, "runs", lambda one: one.phase == "Running")

    assert (pod.started, pod.ended, pod.queue, bool(pod.node)) == (True, False, "emails", True)
    assert 0 < pod.scheduled_s <= pod.heard_s
    assert cluster.log(pod.name, 10) == "at work\n"
    assert cluster.log("none", 10) is None
    assert ending(Holder(pod.name, pod.uid, pod.node), cluster.pod(pod.name), cluster.snapshot(), ()) is None


def test_a_pod_that_failed_says_how(cluster: Cluster, town: Namespace) -> None:
    pod = pod_when(cluster, "fails", lambda one: one.ended)

    assert (ending_of(pod).kind, ending_of(pod).exit_code) == (Kind.LOST, 3)
    assert until(lambda: named(cluster.snapshot(), "fails").ended, SLOW_S, 1) == "Failed"


def test_a_pod_killed_for_memory_says_so(cluster: Cluster, town: Namespace) -> None:
    pod = pod_when(cluster, "eats", lambda one: one.ended)

    assert ending_of(pod).kind is Kind.OOM, pod


def test_a_job_whose_deadline_passed_says_so_when_its_pod_is_gone(cluster: Cluster, town: Namespace) -> None:
    pod = pod_when(cluster, "late", lambda one: bool(one.node))
    until(lambda: cluster.pod(pod.name) is None or cluster.pod(pod.name).ended, SLOW_S, 1)  # type: ignore[union-attr]
    until(lambda: named(cluster.snapshot(), "late").ended, SLOW_S, 1)

    seen, holder = cluster.snapshot(), Holder(pod.name, pod.uid, pod.node)
    found = ending(holder, None, Snapshot(seen.now_s, {}, seen.jobs), ())

    assert named(seen, "late").reason == "DeadlineExceeded"
    assert job_of(holder, seen) == named(seen, "late")
    assert found is not None
    assert found.kind is Kind.RELEASED


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("no-image", ("ErrImagePull", "ImagePullBackOff")),
        ("no-node", ("Unschedulable",)),
        ("no-secret", ("CreateContainerConfigError",)),
        ("no-volume", ("FailedMount",)),
        ("no-account", ("FailedCreate",)),
    ],
)
def test_a_job_that_cannot_start_is_named_with_the_reason(cluster: Cluster, town: Namespace, name: str, reasons: tuple[str, ...]) -> None:
    found = until(lambda: [one for one in stuck(cluster.snapshot(), (), 300) if one.job.name == name], within_s=SLOW_S, every_s=1)

    assert found[0].reason in reasons
    assert found[0].message
    assert not found[0].over


def test_a_suspended_job_is_shown_as_one(cluster: Cluster, town: Namespace) -> None:
    assert named(cluster.snapshot(), "sleeps").suspended


def test_only_the_very_job_is_deleted_and_its_pods_follow(cluster: Cluster, space: Namespace) -> None:
    space.job("goes", "sleep 600")
    pod = pod_when(cluster, "goes", lambda one: one.phase == "Running")

    assert not cluster.delete_job("goes", "00000000-0000-4000-8000-000000000000")
    assert [one.uid for one in cluster.pods_of(pod.job_uid)] == [pod.uid]
    assert cluster.delete_job("goes", pod.job_uid)

    until(lambda: cluster.pod(pod.name) is None, within_s=SLOW_S, every_s=1)
    assert not cluster.delete_job("goes", pod.job_uid)


def test_another_release_is_not_seen(space: Namespace, town: Namespace) -> None:
    other = enter("another", namespace=space.name, kubeconfig=space.kubeconfig)

    assert other.snapshot().jobs == ()


def test_lists_are_read_to_their_end(cluster: Cluster, town: Namespace) -> None:
    whole = {one.name for one in cluster.snapshot().jobs}
    cluster._all = _in_pages_of_two(cluster._all)  # type: ignore[attr-defined]

    assert {one.name for one in cluster.snapshot().jobs} == whole
    del cluster._all  # type: ignore[attr-defined]


def _in_pages_of_two(all_of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda path, **query: all_of(path, **{**query, "limit": "2"})


def test_the_version_is_told(cluster: Cluster) -> None:
    assert cluster.versions()["Kubernetes"].startswith("1.")


@pytest.fixture(scope="session")
def account(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a pod of service account `visitor`, which may look at pods and nothing else, would be given."""
    space.kubectl("create", "serviceaccount", "visitor")
    space.kubectl("create", "role", "looks", "--verb=get,list", "--resource=pods")
    space.kubectl("create", "rolebinding", "looks", "--role=looks", f"--serviceaccount={space.name}:visitor")
    found = json.loads(space.kubectl("config", "view", "--raw", "--minify", "-o", "json"))["clusters"][0]["cluster"]
    folder = tmp_path_factory.mktemp("account")
    (folder / "ca.crt").write_bytes(base64.b64decode(found["certificate-authority-data"]))
    (folder / "namespace").write_text(space.name)
    (folder / "token").write_text(space.kubectl("create", "token", "visitor").strip())
    (folder / "host").write_text(found["server"].removeprefix("https://"))
    return folder


@pytest.fixture
def visitor(account: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster as seen from such a pod."""
    from runner.cluster.client import Kubernetes

    host, _, port = (account / "host").read_text().rpartition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    return Kubernetes("shop", account=account)


def test_a_token_that_was_rotated_is_read_again(visitor: Cluster, account: Path) -> None:
    """Case C59."""
    good = (account / "token").read_text()
    assert visitor.pod("none") is None
    (account / "token").write_text("a-token-that-has-run-out")
    visitor._log_in()  # type: ignore[attr-defined]
    with pytest.raises(ClusterError, match="401"):
        visitor.pod("none")

    (account / "token").write_text(good)

    assert visitor.pod("none") is None


def test_what_is_not_allowed_is_told_in_one_line(visitor: Cluster) -> None:
    with pytest.raises(ClusterError, match="403") as told:
        visitor.snapshot()

    assert "\n" not in str(told.value)


def test_an_api_that_does_not_answer_is_told_in_one_line(visitor: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "9")
    visitor._log_in()  # type: ignore[attr-defined]

    with pytest.raises(ClusterError, match="does not answer"):
        visitor.pod("none")
