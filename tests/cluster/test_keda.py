"""The nudge and the pause against a real KEDA: what makes it look again, and that no person's pause is touched. Called by pytest."""

from __future__ import annotations

import pytest

from runner.cluster import Cluster, ScaledJob, enter
from runner.controller.notices import PAUSED, WHY, nudge, pause, resume
from tests.cluster.kubectl import Namespace
from tests.waiting import until

SLOW_S = 90


@pytest.fixture
def cluster(space: Namespace) -> Cluster:
    return enter("shop", namespace=space.name, kubeconfig=space.kubeconfig)


def emails(cluster: Cluster, name: str = "emails") -> ScaledJob:
    return next(one for one in cluster.snapshot().scaled_jobs if one.name == name)


def written(cluster: Cluster, name: str = "emails") -> bool:
    """One look as the controller makes it; whether anything was written."""
    one = emails(cluster, name)
    changes = nudge(one, cluster.snapshot().now_s)
    return changes is not None and cluster.annotate(one.name, one.version, changes)


def test_keda_looks_again_when_nudged_and_pauses_nothing(cluster: Cluster, space: Namespace) -> None:
    space.scaled_job(f"redis.{space.name}.svc.cluster.local:6379")
    until(lambda: emails(cluster).ready == "False", SLOW_S, 1)
    space.redis()
    space.kubectl("wait", "--for=condition=Ready", "pod/redis", "--timeout=60s")

    def helped() -> bool:
        written(cluster)
        return emails(cluster).ready == "True"

    until(helped, within_s=SLOW_S, every_s=1)
    until(lambda: not written(cluster) and PAUSED not in emails(cluster).annotations, within_s=SLOW_S, every_s=1)
    assert emails(cluster).paused != "True"
    assert emails(cluster).queue == "emails"


def test_a_pause_of_ours_holds_until_the_specification_is_newer(cluster: Cluster, space: Namespace) -> None:
    space.scaled_job("redis.none:6379", "bulk")
    until(lambda: emails(cluster, "bulk").ready, SLOW_S, 1)
    until(lambda: _written(cluster, pause(emails(cluster, "bulk"), "it fails")), within_s=SLOW_S, every_s=1)
    until(lambda: emails(cluster, "bulk").paused == "True", SLOW_S, 1)
    assert resume(emails(cluster, "bulk")) is None

    space.kubectl("patch", "scaledjob", "bulk", "--type=merge", "-p", '{"spec": {"maxReplicaCount": 3}}')

    until(lambda: _written(cluster, resume(emails(cluster, "bulk"))), within_s=SLOW_S, every_s=1)
    until(lambda: emails(cluster, "bulk").paused != "True", SLOW_S, 1)
    assert WHY not in emails(cluster, "bulk").annotations


def _written(cluster: Cluster, changes: object) -> bool:
    return bool(changes) and cluster.annotate("bulk", emails(cluster, "bulk").version, changes)  # type: ignore[arg-type]


def test_what_was_written_meanwhile_is_not_overwritten(cluster: Cluster, space: Namespace) -> None:
    space.scaled_job("redis.none:6379", "third")
    old = until(lambda: emails(cluster, "third"), SLOW_S, 1)
    space.kubectl("annotate", "scaledjob", "third", f"{PAUSED}=true")

    assert not cluster.annotate("third", old.version, {PAUSED: "false"})
    assert emails(cluster, "third").annotations[PAUSED] == "true"
    assert nudge(emails(cluster, "third"), cluster.snapshot().now_s) is None
