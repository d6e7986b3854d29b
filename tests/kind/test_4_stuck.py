"""Jobs that cannot start are named in `runner status`, and heal without `kubectl delete`. Part of `make kind-test`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.kind.cluster import run
from tests.kind.release import Shop
from tests.waiting import until

QUEUES = {
    "wrong-tag": "never-built",
    "no-volume": "not-made-yet",
    "no-secret": "not-made-yet",
    "too-big": "Insufficient memory",
    "over-quota": "exceeded quota",
}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "none-of-this-class"},
    "spec": {
        "hard": {"pods": "0"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["kind-test"]}]},
    },
}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "kind-test"}, "value": 0}


def status(shop: Shop, queue: str) -> str:
    """What `runner status` prints outside the cluster, where only Redis can be asked."""
    plain = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "RUNNER_KIND")}
    environ = plain | {"RUNNER_REDIS_URL": shop.release.url("controller")}
    command = [str(Path(sys.executable).with_name("runner")), "status", *(["--queue", queue] if queue else [])]
    return run(*command, environ=environ).stdout


@pytest.fixture(scope="module")
def pushed(shop: Shop) -> dict[str, str]:
    """One task in each queue whose pods cannot start."""
    shop.release.apply(CLASS, QUOTA)
    return {queue: shop.submit(queue)[0] for queue in QUEUES}


@pytest.mark.parametrize("queue", QUEUES)
def test_a_job_that_cannot_start_is_named_with_its_reason(shop: Shop, pushed: dict[str, str], queue: str) -> None:
    until(lambda: QUEUES[queue] in status(shop, queue), 120, every_s=1)

    (line,) = [one for one in status(shop, queue).splitlines() if QUEUES[queue] in one]
    print(f"\n    {line[:200]}")
    # KEDA itself reads the Secrets of envFrom, and makes no Job where one is missing.
    assert f"of queue {queue} {'is not ready' if queue == 'no-secret' else 'cannot start'}" in line
    assert shop.facts(queue, pushed[queue]).state == "waiting"


def test_all_of_them_heal_when_what_was_wrong_is_mended(shop: Shop, pushed: dict[str, str]) -> None:
    shop.release.kubectl("delete", "resourcequota", "none-of-this-class")
    shop.release.kubectl("create", "secret", "generic", "not-made-yet", "--from-literal=KEY=value")
    small = "queues.too-big.resources.requests.memory=24Mi,queues.too-big.resources.limits.memory=128Mi"
    # A new specification, for KEDA to look at once; the controller's nudges would also come, ever later.
    shop.release.install("--set-string", f"queues.wrong-tag.image.tag=1,{small},queues.no-secret.podLabels.mended=yes", verb="upgrade")

    for queue, task_id in pushed.items():
        (facts,) = shop.done(queue, [task_id], within_s=300)
        assert facts.counters.attempt == 1, "a pod that never started burnt an attempt"
    for queue in QUEUES:
        until(lambda one=queue: QUEUES[one] not in status(shop, one), 60, every_s=1)  # type: ignore[misc]
