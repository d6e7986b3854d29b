"""New images, the old ones again, and KEDA's operator restarted, while tasks run. Part of `make kind-test`."""

from __future__ import annotations

import json

from tests.kind.cluster import Namespace
from tests.kind.release import Shop
from tests.waiting import until


def version(shop: Shop, task_id: str, within_s: float = 120) -> str:
    """Which version of the handlers did this task."""
    (facts,) = shop.done("upgraded", [task_id], within_s)
    assert facts.counters.attempt == 1
    return str(json.loads(facts.result)["version"])


def test_an_upgrade_leaves_a_running_task_alone_and_a_rollback_too(shop: Shop) -> None:
    shop.release.install(verb="upgrade")
    (long,) = shop.submit("upgraded", s=45)
    (unknown,) = shop.submit("upgraded", type="kind.new")
    pod = shop.holder("upgraded", long)
    until(lambda: shop.facts("upgraded", unknown).counters.unknown_ms, 90, every_s=0.2)

    shop.release.install("--set-string", "image.worker.tag=2", verb="upgrade")
    (new,) = shop.submit("upgraded")

    assert version(shop, new) == version(shop, unknown) == "2"
    shop.release.helm("rollback", "--timeout", "6m")
    (old,) = shop.submit("upgraded")
    assert version(shop, old) == version(shop, long) == "1"
    assert json.loads(shop.facts("upgraded", long).result)["pod"] == pod


def test_kedas_operator_may_be_restarted_under_running_tasks(shop: Shop) -> None:
    keda = Namespace("keda")
    (running,) = shop.submit("upgraded", s=15)
    pod = shop.holder("upgraded", running)

    keda.kubectl("rollout", "restart", "deployment/keda-operator")
    ids = shop.submit("upgraded", 3)

    shop.done("upgraded", [running, *ids], within_s=240)
    assert json.loads(shop.facts("upgraded", running).result)["pod"] == pod
    assert {shop.facts("upgraded", one).counters.attempt for one in (running, *ids)} == {1}
    keda.kubectl("rollout", "status", "deployment/keda-operator", "--timeout", "120s")
