"""From the push to the first line of a handler, beside a pod that only runs bare redis-py. Part of `make kind-test`."""

from __future__ import annotations

import copy
import json
import statistics
import time
from typing import Any

from runner.cluster.facts import seconds
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
    ours_ms, theirs_ms, claimed_ms, up_ms = [], [], [], []

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
        up_ms.append(attempt["started_ms"] - container_ms(shop, json.loads(facts.result)["pod"]))

    more_ms = [ours - theirs for ours, theirs in zip(ours_ms, theirs_ms, strict=True)]
    rows = {"bare redis-py, first line": theirs_ms, "runner, claim": claimed_ms, "runner, handler's first line": ours_ms, "more": more_ms}
    show("the push", rows)
    show("its container started, to a second", {"runner, claim": up_ms})
    assert statistics.median(ours_ms) < 1.5 * statistics.median(theirs_ms) + 300, "300 ms alone on an idle machine; a busy one is slower"


def container_ms(shop: Shop, name: str) -> float:
    """When a pod's container started; Kubernetes tells whole seconds."""
    (status,) = (shop.release.pod(name) or {})["status"]["containerStatuses"]
    (state,) = status["state"].values()
    return seconds(state["startedAt"]) * 1000


def push_both(shop: Shop, bare: Any, name: str, ours_first: bool) -> tuple[float, str]:
    """Push one to each; when, and our task's id."""
    pushed_ms = time.time_ns() / 1_000_000
    if not ours_first:
        bare.xadd(STREAM, {"name": name})
    (task_id,) = shop.submit("latency")
    if ours_first:
        bare.xadd(STREAM, {"name": name})
    return pushed_ms, task_id


def show(since: str, rows: dict[str, list[float]]) -> None:
    """A table of times."""
    print(f"\n    {'ms since ' + since:<40}{'median':>8}{'p95':>8}{'least':>8}{'most':>8}")
    for name, values in rows.items():
        print(f"    {name:<40}{statistics.median(values):>8.0f}{p95(values):>8.0f}{min(values):>8.0f}{max(values):>8.0f}")


def p95(values: list[float]) -> float:
    """19 of 20 are not more."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def test_due_tasks_are_promoted_in_time(shop: Shop) -> None:
    count, ids, due_s = (140 if FULL else 60), [], []
    for number in range(count):
        delay_s = 3 + number / 2
        due_s.append(time.time() + delay_s)
        ids.append(shop.producer.submit("kind.work", {}, queue="delayed", delay_s=delay_s).id)

    promoted_s = promotions(shop, count)
    for task_id in ids:
        shop.producer.cancel(task_id, queue="delayed")
    late_ms = [(at - due) * 1000 for at, due in zip(promoted_s, due_s, strict=True)]
    show("it was due", {"promoted": late_ms})
    assert min(late_ms) > -100, "before it was due"
    assert p95(late_ms) < 5000


def promotions(shop: Shop, count: int) -> list[float]:
    """When each of so many delayed tasks was delayed no longer, in their order."""
    seen_s: list[float] = []

    def seen() -> bool:
        left = shop.measure("delayed").delayed
        seen_s.extend([time.time()] * (count - left - len(seen_s)))
        return left == 0

    until(seen, 180, every_s=0.05)
    return seen_s
