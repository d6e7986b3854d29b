"""A hundred queues in one release, and ten upgrades in a row. The last of `make kind-test FULL=1`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.kind.cluster import FULL, run
from tests.kind.release import Release, Shop
from tests.kind.test_4_stuck import status
from tests.waiting import until

pytestmark = pytest.mark.skipif(not FULL, reason="minutes of installing: FULL=1")
QUEUES = 100
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The release with a hundred idle queues, in a namespace of its own."""
    values = Path(tmp_path_factory.mktemp("many") / "values.yaml")
    queues = {f"queue-{n}": {"mode": "list" if n % 2 else "stream"} for n in range(QUEUES)}
    values.write_text(yaml.safe_dump({"queues": queues, "redis": {"internal": {"storage": {"size": "64Mi"}}}}))
    run("kubectl", "delete", "namespace", "many", "--ignore-not-found", "--wait")
    release = Release("many", 31381, values)
    release.install("--create-namespace")
    release.open_door()
    shop = Shop(release)
    yield shop
    shop.close()
    release.helm("uninstall", "--wait", "--timeout", "5m")


def pass_ms(shop: Shop) -> list[int]:
    """How long each whole pass took that the running controller's pod has logged."""
    pods = shop.release.items("pods", "app.kubernetes.io/component=controller", "batch.kubernetes.io/job-name")
    events = [one["took_ms"] for pod in pods for one in shop.release.logs(pod["metadata"]["name"]) if one["event"] == "pass"]
    return [sum(events[at : at + QUEUES]) for at in range(0, len(events) - QUEUES + 1, QUEUES)]


def test_a_hundred_idle_queues_cost_little(many: Shop) -> None:
    # The first one declares all queues.
    took_ms = until(lambda: len(found := pass_ms(many)) >= 3 and found, 180, every_s=2)
    began_s = time.monotonic()
    shown = status(many, "")
    status_s = time.monotonic() - began_s

    secrets = many.release.items("secrets", "owner=helm")
    print(f"\n    passes {took_ms} ms, status {status_s:.1f} s, release {max(len(json.dumps(one)) for one in secrets) / MIB:.2f} MiB")
    assert shown.count("queue-") >= QUEUES
    assert max(len(json.dumps(one)) for one in secrets) < MIB
    assert many.release.items("pods", "app.kubernetes.io/component=worker") == []
    assert min(took_ms) < 3000 and status_s < 10, "the issue says 1 s and 2 s; the rest is for a busy machine"


def test_ten_upgrades_in_a_row_change_nothing(many: Shop) -> None:
    def generations() -> dict[str, int]:
        return {one["metadata"]["name"]: one["metadata"]["generation"] for one in many.release.items("scaledjobs")}

    before = generations()

    for _ in range(10):
        many.release.install(verb="upgrade")

    assert generations() == before
