"""The CronJob over minutes: a pod of its own that cannot go, and consumers that nobody needs any more. Part of `make kind-test`."""

from __future__ import annotations

import json
import time
from typing import Any

from runner.cluster.facts import seconds
from tests.kind.cluster import Data
from tests.kind.release import Shop
from tests.waiting import until

TICKS = 3
CONSUMERS = 50


def ended_s(shop: Shop) -> float:
    """When a pod of the CronJob ended well last."""
    cron = json.loads(shop.release.kubectl("get", "cronjob", "runner-controller", "--output", "json"))
    return seconds(cron["status"].get("lastSuccessfulTime"))


def test_a_pod_of_the_controller_that_cannot_go_keeps_no_other_from_coming(shop: Shop, held: Data) -> None:
    since_s = seconds(held["metadata"]["creationTimestamp"])
    # It ends after a minute itself; this is the end of the third one after it.
    until(lambda: ended_s(shop) > since_s + 60 * (TICKS + 1), 60 * (TICKS + 2), every_s=1)

    pod = shop.release.pod(held["metadata"]["name"])
    task = shop.producer.submit("kind.work", {}, queue="first", delay_s=2)
    shop.done("first", [task.id])

    assert pod is not None and "deletionTimestamp" in pod["metadata"], "it was to be there all the time, though Kubernetes wants it gone"
    assert time.time() - int(shop.broker.last_pass()["at_ms"]) / 1000 < 15


def test_consumers_of_fifty_finished_pods_are_dropped(shop: Shop) -> None:
    """Our own pods share one consumer; those of another program are each their own."""
    client: Any = shop.broker.client
    for number in range(CONSUMERS):
        entry = client.xadd("first", {"payload": "{}"})
        client.xreadgroup("runner", f"pod-{number}", {"first": ">"}, count=1)
        client.xack("first", "runner", entry)
        client.xdel("first", entry)
    assert len(client.xinfo_consumers("first", "runner")) >= CONSUMERS

    until(lambda: len(client.xinfo_consumers("first", "runner")) <= 1, 90, every_s=0.5)
