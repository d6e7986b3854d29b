"""From the push to the first line of a handler, beside a pod that only runs bare redis-py. Part of `make kind-test`."""

from __future__ import annotations

import copy
import json
import statistics
import time
from typing import Any

from runner.connect import connect
from tests.kind.cluster import FULL, Data, live
from tests.kind.release import Shop
from tests.waiting import until

STREAM = "bare"


def bare_scaled_job(shop: Shop) -> Data:
    """The queue's own ScaledJob, with another stream and a bare script in its pods."""
    (ours,) = [one for one in shop.release.items("scaledjobs") if one["metadata"]["name"] == "runner-latency"]
    spec: Data = copy.deepcopy(ours["spec"])
    (container,) = spec["jobTargetRef"]["template"]["spec"]["containers"]
    container["command"] = ["python", "/app/bare.py"]
    container["env"].append({"name": "BARE_STREAM", "value": STREAM})
    spec["jobTargetRef"]["template"]["metadata"]["labels"] = {"runner/queue": STREAM}
    (trigger,) = spec["triggers"]
    trigger["metadata"]["stream"] = STREAM
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "bare"}, "spec": spec}


def test_a_task_starts_nearly_as_soon_as_a_bare_script_would(shop: Shop) -> None:
    bare: Any = connect(shop.release.url("controller"))
    if bare.type(STREAM) != b"stream":
        bare.xgroup_create(STREAM, "bare", mkstream=True)
    shop.release.apply(bare_scaled_job(shop))
    shop.release.kubectl("wait", "--for=condition=Ready", "scaledjob/bare", "--timeout=60s")
    rounds = 20 if FULL else 8
    ours_ms, theirs_ms, claimed_ms = [], [], []

    for number in range(rounds):
        name = f"{time.time_ns()}"
        # Both at once, in turns first: they share the poll, the node and its noise.
        pushed_ms, task_id = push_both(shop, bare, name, number % 2 == 0)
        (facts,) = shop.done("latency", [task_id])
        ours_ms.append(json.loads(facts.result)["began_ms"] - pushed_ms)
        began: Any = until(lambda one=name: bare.hget(f"{STREAM}:began", one), 60, every_s=0.1)  # type: ignore[misc]
        theirs_ms.append(int(began) - pushed_ms)
        attempt = json.loads(facts.attempts.splitlines()[-1])
        claimed_ms.append(attempt["started_ms"] - pushed_ms)
        until(lambda: not live(shop.release.pods("latency")) and not live(shop.release.pods(STREAM)), 60, every_s=0.2)

    more_ms = [ours - theirs for ours, theirs in zip(ours_ms, theirs_ms, strict=True)]
    show({"bare redis-py, first line": theirs_ms, "runner, claim": claimed_ms, "runner, handler's first line": ours_ms, "more": more_ms})
    assert statistics.median(ours_ms) < 1.5 * statistics.median(theirs_ms) + 300, "300 ms alone on an idle machine; a busy one is slower"


def push_both(shop: Shop, bare: Any, name: str, ours_first: bool) -> tuple[float, str]:
    """Push one to each; when, and our task's id."""
    pushed_ms = time.time_ns() / 1_000_000
    if not ours_first:
        bare.xadd(STREAM, {"name": name})
    (task_id,) = shop.submit("latency")
    if ours_first:
        bare.xadd(STREAM, {"name": name})
    return pushed_ms, task_id


def show(rows: dict[str, list[float]]) -> None:
    """A table of the times since the push."""
    print(f"\n    {'ms since the push':<30}{'median':>8}{'least':>8}{'most':>8}")
    for name, values in rows.items():
        print(f"    {name:<30}{statistics.median(values):>8.0f}{min(values):>8.0f}{max(values):>8.0f}")


def test_delayed_tasks_become_due_in_time(shop: Shop) -> None:
    due_ms, late_ms = {}, []
    for number in range(10):
        delay_s = 3 + number / 2
        due_ms[shop.producer.submit("kind.work", {}, queue="latency", delay_s=delay_s).id] = (time.time() + delay_s) * 1000

    for task_id, due in due_ms.items():
        (facts,) = shop.done("latency", [task_id])
        late_ms.append(json.loads(facts.result)["began_ms"] - due)

    show({"started after it was due": late_ms})
    assert min(late_ms) > -500
    assert statistics.median(late_ms) < 20_000
