"""What types used, beside what their pods ask for, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runner.attempt import attempt_line
from runner.broker import Queue
from runner.cli import costs
from runner.cluster.quantities import quantity, resources
from runner.outcome import Ending, Kind
from tests.controller.town import UIDS, seen, stopped
from tests.making import bury, claim, dead, submit


def line(name: str = "mail.send", kind: Kind = Kind.DONE, wall_s: float = 4, cpu_s: float = 1, mib: int = 100, uid: str = "u") -> bytes:
    ending = Ending(kind, wall_s=wall_s, cpu_s=cpu_s, peak_kib=mib * 1024)
    return attempt_line(ending, number=1, holder=f"pod/{uid}/node", started_ms=1000, ended_ms=1000 + int(wall_s * 1000), task_type=name)


def test_a_spread_is_what_half_and_95_percent_stay_under() -> None:
    assert costs.spread([float(n) for n in range(1, 101)]) == {"p50": 50, "p95": 95, "max": 100, "sum": 5050}
    assert costs.spread([3.0]) == {"p50": 3, "p95": 3, "max": 3, "sum": 3}


def test_types_are_told_apart_and_lost_attempts_left_out() -> None:
    kept = [line() + b"\n" + line(kind=Kind.ERROR), line("image.resize", cpu_s=9), b'{"kind":"rerun","of":"1"}', line(wall_s=0), b""]

    rows = costs.by_type(list(costs.runs_of(kept)), costs.Price())

    assert [(row["type"], row["runs"], row["failed"]) for row in rows] == [("image.resize", 1, 0), ("mail.send", 2, 1)]


def test_a_price_counts_cpu_by_the_second_and_memory_as_long_as_it_ran() -> None:
    runs = list(costs.runs_of([line(wall_s=3600, cpu_s=1800, mib=2048)]))

    assert costs.used(runs, costs.Price(cpu=1, gib=0)) == pytest.approx(0.5)
    assert costs.used(runs, costs.Price(cpu=0, gib=1)) == pytest.approx(2)
    assert costs.reserved(runs, costs.Price(cpu=1, gib=1), cpus=0.25, gib=0.5) == pytest.approx(0.75)


def test_idle_are_the_seconds_of_ended_pods_without_an_attempt() -> None:
    pods = seen(stopped(1, ran_from_s=100.0, ran_to_s=110.0), stopped(2, ran_from_s=100.0, ran_to_s=135.0), stopped(3))

    assert costs.idle(pods, costs.runs_of([line(uid=UIDS[1])])) == {"pods": 2, "pod_s": 45.0, "idle_s": 41.0}


def test_a_type_is_near_its_limit_with_the_worker_beside_it() -> None:
    rows = costs.by_type(list(costs.runs_of([line("small", mib=20), line("large", mib=100)])), costs.Price())

    assert (costs.tight(rows, 128), costs.tight(rows, 256)) == (["large"], [])


@pytest.mark.parametrize(
    ("text", "number"),
    [("250m", 0.25), ("1", 1), ("0.5", 0.5), ("128Mi", 128 * 2**20), ("1G", 1e9), ("2e3", 2000), ("1Zi", None), ("-.", None), (None, None)],
)
def test_a_quantity_is_read_as_kubernetes_does(text: object, number: float | None) -> None:
    assert quantity(text) == number


def test_the_requests_are_those_of_the_container_that_works() -> None:
    containers = [{"name": "proxy"}, {"name": "worker", "resources": {"requests": {"cpu": 1}, "limits": None}}]
    spec = {"jobTargetRef": {"template": {"spec": {"containers": containers}}}}

    assert resources(spec) == {"requests": {"cpu": "1"}, "limits": {}}
    assert resources({}) == {"requests": {}, "limits": {}}


def test_attempts_of_done_living_and_dead_tasks_are_read(queue: Queue, said: Callable[..., tuple[int, str, str]]) -> None:
    dead(queue, "d", "untold")
    queue.client.xadd(queue.keys.part("dead"), {"put": "by another program"})
    for name, kind in (("a", "done"), ("b", "dead"), ("c", "again")):
        submit(queue, name)
        token = claim(queue, name).token
        if kind == "done":
            queue.complete(name, token, b"", line())
        elif kind == "dead":
            bury(queue, name, token, attempt=line(kind=Kind.ERROR))
        else:
            queue.release(name, token, line(kind=Kind.RELEASED))

    out = json.loads(said("status", "--usage", "--json", "--cpu-hour", "3600")[1])

    (one,) = out["queues"]
    assert (one["attempts"], one["types"][0]["runs"], one["types"][0]["failed"]) == (3, 3, 2)
    assert (one["cost_used"], one["cost_reserved"], one["idle"]) == (3.0, None, None)
    shown = said("status", "--usage", "--queue", "emails", "--cpu-hour", "3600")[1]
    assert "mail.send" in shown and "1.00/1.00/1.00" in shown and "cost: 3.00 for what was used" in shown


@pytest.mark.parametrize("mode", ["list"])
def test_a_queue_of_which_nothing_ran_says_so(queue: Queue, said: Callable[..., tuple[int, str, str]]) -> None:
    assert said("status", "--usage") == (0, "emails: no attempt is kept that ran\n", "")
    assert said("status", "--usage", "--watch")[0] == 2
