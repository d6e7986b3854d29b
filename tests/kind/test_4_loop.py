"""Pods that end before they claim, again and again: bounded, named, and over with a better image. Part of `make kind-test`."""

from __future__ import annotations

from runner.controller.notices import PAUSED, WHY
from runner.controller.starts import MOST
from tests.kind.cluster import live
from tests.kind.release import Shop
from tests.kind.test_4_stuck import status
from tests.waiting import until


def annotations(shop: Shop, queue: str) -> dict[str, str]:
    """Those of a queue's ScaledJob."""
    (scaled,) = [one for one in shop.release.items("scaledjobs") if one["metadata"]["name"] == f"runner-{queue}"]
    return dict(scaled["metadata"].get("annotations", {}))


def test_a_queue_whose_pods_end_before_they_claim_is_paused_until_its_specification_is_mended(shop: Shop) -> None:
    before = len(shop.release.jobs("loops"))
    (task_id,) = shop.submit("loops")

    until(lambda: "is paused by the controller" in status(shop, "loops"), 240, every_s=1)
    until(lambda: not live(shop.release.pods("loops")), 60, every_s=0.5)

    made = len(shop.release.jobs("loops")) - before
    print(f"\n    {made} Jobs: {annotations(shop, 'loops')[WHY]}")
    assert annotations(shop, "loops")[PAUSED] == "true"
    assert "ended without claiming a task" in annotations(shop, "loops")[WHY]
    assert MOST <= made <= MOST + 3, "a pod or two may start before the controller looks"
    assert shop.facts("loops", task_id).state == "waiting"
    shop.release.install("--set", "queues.loops.handlers={kind_handlers}", verb="upgrade")
    (facts,) = shop.done("loops", [task_id], within_s=120)
    assert facts.counters.attempt == 1
    assert PAUSED not in annotations(shop, "loops")
