"""One Job for each task, and no more at once than the queue allows. The first scenario of `make kind-test`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.controller.notices import NUDGE
from tests.kind.cluster import FULL, Data, live, unfinished
from tests.kind.release import Shop
from tests.waiting import until

QUEUES = ("stream", "list", "stream-ranks", "list-ranks")
TASKS = 20
KEPT = 100


@pytest.fixture(scope="module")
def before(shop: Shop) -> dict[str, int]:
    """The Jobs that an earlier run on a kept cluster left."""
    return {name: len(shop.release.jobs(name)) for name in QUEUES}


@pytest.fixture(scope="module")
def pushed(shop: Shop, held: Data, before: dict[str, int]) -> dict[str, list[str]]:
    """Twenty tasks in each queue, all queues at the same time, from zero pods."""
    assert [name for name in QUEUES if live(shop.release.pods(name))] == []
    # KEDA begins anew with a ScaledJob that changes; a Job that it is making at that moment is made all the same, and not counted.
    until(lambda: all(at_rest(shop, name) for name in QUEUES), 90, every_s=0.5)
    return {name: _pushed(shop, name) for name in QUEUES}


def at_rest(shop: Shop, queue: str) -> bool:
    """Whether KEDA watches a queue, and nobody nudges it any more."""
    (scaled,) = [one for one in shop.release.items("scaledjobs") if one["metadata"]["name"] == f"runner-{queue}"]
    ready = {one["type"]: one["status"] for one in scaled.get("status", {}).get("conditions", [])}.get("Ready")
    return ready == "True" and "finalizers" in scaled["metadata"] and NUDGE not in scaled["metadata"].get("annotations", {})


def _pushed(shop: Shop, queue: str) -> list[str]:
    ranks = ("high", "normal", "low") if queue.endswith("ranks") else ("normal",)
    return [id for n in range(TASKS) for id in shop.submit(queue, priority=ranks[n % len(ranks)], s=1)]


@pytest.mark.parametrize("queue", QUEUES)
def test_twenty_tasks_make_twenty_jobs_and_go_back_to_zero(
    shop: Shop, pushed: dict[str, list[str]], before: dict[str, int], queue: str
) -> None:
    found = shop.done(queue, pushed[queue], within_s=240)
    until(lambda: not live(shop.release.pods(queue)), 60, every_s=0.5)

    assert [one.counters.attempt for one in found] == [1] * TASKS
    assert len({json.loads(one.result)["pod"] for one in found}) == TASKS, "one pod did two tasks"
    assert len(shop.release.jobs(queue)) == before[queue] + TASKS
    assert shop.measure(queue).waiting == shop.measure(queue).claimed == 0


@pytest.mark.parametrize(
    ("queue", "push"),
    [
        ("stream", ("XADD", "stream", "*", "id", "bare-1", "type", "kind.work", "payload", '{"s": 0}')),
        ("list", ("LPUSH", "list", '{"id": "bare-1", "type": "kind.work", "payload": {"s": 0}}')),
    ],
)
def test_a_bare_push_is_done_like_any_other(shop: Shop, pushed: dict[str, list[str]], queue: str, push: tuple[str, ...]) -> None:
    shop.done(queue, pushed[queue], within_s=240)
    before = len(shop.release.jobs(queue))

    shop.release.redis_cli(*push)
    shop.done(queue, ["bare-1"])

    until(lambda: not live(shop.release.pods(queue)), 60, every_s=0.5)
    assert len(shop.release.jobs(queue)) == before + 1


def test_finished_pods_leave_no_consumers_behind(shop: Shop, pushed: dict[str, list[str]]) -> None:
    shop.done("stream", pushed["stream"], within_s=240)

    consumers: Any = shop.broker.client.xinfo_consumers("stream", "runner")  # type: ignore[union-attr]

    assert len(consumers) <= 1


def test_never_more_than_max_replicas_run(shop: Shop) -> None:
    tasks, most, claimed, before = (100 if FULL else 25), 0, 0, len(shop.release.jobs("bounded"))
    done = shop.measure("bounded").counts.get("done", 0)
    ids = shop.submit("bounded", tasks, s=3 if FULL else 1)

    def over() -> bool:
        nonlocal most, claimed
        most, claimed = max(most, len(unfinished(shop.release.jobs("bounded")))), max(claimed, shop.measure("bounded").claimed)
        return shop.measure("bounded").counts.get("done", 0) >= done + tasks

    until(over, 15 * tasks, every_s=0.2)
    shop.done("bounded", ids)
    until(lambda: not live(shop.release.pods("bounded")), 60, every_s=0.5)

    print(f"\n    {tasks} tasks: at most {most} Jobs, {claimed} claims at once")
    assert most <= 5 and claimed <= 5
    assert len(shop.release.jobs("bounded")) == min(before + tasks, KEPT), "KEPT is the history limit of values.yaml"
