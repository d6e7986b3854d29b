"""What each type used of CPU, memory and time, beside what its pods ask for: `runner status --usage`. Called by status."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runner.cli import costs, view
from runner.cli.common import each_asked, opened_broker
from runner.cli.output import say, say_json, say_table
from runner.cli.progress import advancing
from runner.cluster.quantities import quantity, resources

if TYPE_CHECKING:
    from runner.broker import Queue
    from runner.cluster import Snapshot

MOST = 10_000
"""Tasks whose attempts are read of each queue, the ones that ended last first."""
SPREADS = ("cpu_s", "peak_mib", "wall_s")
HEADS = ("CPU s p50/p95/max", "MiB p50/p95/max", "s p50/p95/max")
PER_1000 = "per 1000"
"""What a thousand runs of the type cost, by what they used."""
MIB = 1024**2


def show(queue: str, namespace: str, release: str, prices: tuple[float, float], as_json: bool) -> int:
    """Read the attempts that the queues keep, and say what they used."""
    price = costs.Price(*prices)
    seen, why = view.looked(namespace, release)
    with opened_broker() as broker:
        told, broken = each_asked(broker, queue, lambda one: _of_queue(one, seen, price))
    if as_json:
        say_json({"queues": told, "prices": price._asdict(), "not_asked": why, "broken": broken})
        return 1 if broken else 0
    for number, one in enumerate(told):
        print("\n" * bool(number and one["attempts"]), end="")
        _tell(one, price)
    if why:
        say(f"Kubernetes was not asked: {why}")
    for said in broken.values():
        say(said)
    return 1 if broken else 0


def _of_queue(queue: Queue, seen: Snapshot | None, price: costs.Price) -> dict[str, Any]:
    runs = list(costs.runs_of(_kept(queue)))
    told: dict[str, Any] = {"queue": queue.name, "attempts": len(runs), "types": costs.by_type(runs, price)}
    told |= {"from_ms": min((run.started_ms for run in runs), default=None), "to_ms": max((run.ended_ms for run in runs), default=None)}
    told |= {"cost_used": costs.used(runs, price), "cost_reserved": None, "requests": {}, "limits": {}, "idle": None}
    part = seen.of(queue.name) if seen else None
    if part is None or not part.scaled_jobs:
        return told
    asked = resources(part.scaled_jobs[0].spec)
    cpus, memory = (quantity(asked["requests"].get(name)) or 0.0 for name in ("cpu", "memory"))
    return told | asked | {"idle": costs.idle(part, runs), "cost_reserved": costs.reserved(runs, price, cpus, memory / 1024**3)}


def _kept(queue: Queue) -> Iterator[bytes]:
    with advancing(f"reading {queue.name}", None) as more:
        for lines in queue.attempts_kept(MOST):
            more(1)
            yield lines


def _tell(one: dict[str, Any], price: costs.Price) -> None:
    if not one["attempts"]:
        print(f"{one['queue']}: no attempt is kept that ran")
        return
    since, until = (time.strftime("%Y-%m-%d %H:%M", time.localtime(one[word] / 1000)) for word in ("from_ms", "to_ms"))
    capped = " (no more are read)" if one["attempts"] >= MOST else ""
    print(f"{one['queue']}: {one['attempts']} attempts{capped} from {since} to {until}")
    last = PER_1000 if any(price) else "failed"
    rows = [[row["type"], row["runs"], *(_three(row[word]) for word in SPREADS), _last(row, last)] for row in one["types"]]
    say_table(("type", "runs", *HEADS, last), rows)
    for line in _beside(one, price):
        say(line)


def _last(row: dict[str, Any], word: str) -> object:
    return _money(row["cost"] / row["runs"] * 1000) if word == PER_1000 else row[word]


def _money(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.6f}"


def _three(values: dict[str, float]) -> str:
    return "/".join(_short(values[word]) for word in ("p50", "p95", "max"))


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _beside(one: dict[str, Any], price: costs.Price) -> Iterator[str]:
    for kind in ("requests", "limits"):
        if one["idle"]:
            yield f"{kind}: " + (", ".join(f"{name} {value}" for name, value in sorted(one[kind].items())) or "none")
    limit = quantity(one["limits"].get("memory"))
    if limit and (tight := costs.tight(one["types"], limit / MIB)):
        yield f"{', '.join(tight)} came within a tenth of the memory limit of {one['limits']['memory']}: raise it, or name oom_to"
    if one["idle"]:
        yield "idle: {idle_s:.0f} of {pod_s:.0f} pod-seconds, in {pods} pods that ended and are still there".format(**one["idle"])
    if any(price):
        more = "" if one["cost_reserved"] is None else f"; {_money(one['cost_reserved'])} for what the requests set aside meanwhile"
        yield f"cost: {_money(one['cost_used'])} for what was used{more}"
