"""What attempts used, in numbers: percentiles by type, idle seconds of pods, prices. Pure; called by usage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from runner.cluster import Snapshot

UNTOLD = "(not noted)"
"""The type of attempts that an older release recorded, which did not name it."""
WORKER_MIB = 32
"""The handler's process is what an attempt measures; its parent is in the same container."""
HOUR_S, GIB_KIB = 3600, 1024 * 1024


class Run(NamedTuple):
    """One attempt that ran."""

    type: str
    done: bool
    cpu_s: float
    peak_kib: int
    wall_s: float
    started_ms: int
    ended_ms: int
    pod_uid: str


class Price(NamedTuple):
    """What an hour costs."""

    cpu: float = 0.0
    gib: float = 0.0


def runs_of(kept: Iterable[bytes]) -> Iterator[Run]:
    """The attempts that ran, of the lines of many tasks; a lost one used what nobody measured."""
    for lines in kept:
        for line in lines.split(b"\n"):
            one = json.loads(line) if line else {}
            if one.get("wall_s"):
                uid = str(one.get("holder", "")).partition("/")[2].partition("/")[0]
                when = int(one["started_ms"]), int(one["ended_ms"])
                use = float(one["cpu_s"]), int(one["peak_kib"]), float(one["wall_s"])
                yield Run(str(one.get("type", UNTOLD)), one["kind"] == "done", *use, *when, uid)


def by_type(runs: Sequence[Run], price: Price) -> list[dict[str, Any]]:
    """A row for each type, the costliest in CPU first."""
    types: dict[str, list[Run]] = {}
    for run in runs:
        types.setdefault(run.type, []).append(run)
    rows = [_row(name, some, price) for name, some in types.items()]
    return sorted(rows, key=lambda row: -float(row["cpu_s"]["sum"]))


def _row(name: str, runs: list[Run], price: Price) -> dict[str, Any]:
    return {
        "type": name,
        "runs": len(runs),
        "failed": sum(not run.done for run in runs),
        "cpu_s": spread([run.cpu_s for run in runs]),
        "peak_mib": spread([run.peak_kib / 1024 for run in runs]),
        "wall_s": spread([run.wall_s for run in runs]),
        "cost": used(runs, price),
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """The value that half, 95 % and all stay at or under, and the sum."""
    ordered = sorted(values)
    named = {word: ordered[-(-len(ordered) * part // 100) - 1] for word, part in (("p50", 50), ("p95", 95), ("max", 100))}
    return {word: round(value, 3) for word, value in (named | {"sum": sum(ordered)}).items()}


def used(runs: Iterable[Run], price: Price) -> float:
    """What was really used costs: CPU by the second, memory as if each attempt had held its peak all the time."""
    return sum(run.cpu_s * price.cpu + run.peak_kib / GIB_KIB * run.wall_s * price.gib for run in runs) / HOUR_S


def reserved(runs: Iterable[Run], price: Price, cpus: float, gib: float) -> float:
    """What the requests set aside while the attempts went on costs."""
    return sum(run.ended_ms - run.started_ms for run in runs) / 1000 * (cpus * price.cpu + gib * price.gib) / HOUR_S


def idle(part: Snapshot, runs: Iterable[Run]) -> dict[str, Any]:
    """Of a queue's pods that ended and are still there: how many, their seconds, and those in which no attempt went on."""
    busy: dict[str, float] = {}
    for run in runs:
        busy[run.pod_uid] = busy.get(run.pod_uid, 0.0) + (run.ended_ms - run.started_ms) / 1000
    spans = {uid: pod.ran_to_s - pod.ran_from_s for uid, pod in part.pods.items() if pod.ran_to_s and pod.ran_from_s}
    unused = sum(max(0.0, span - busy.get(uid, 0.0)) for uid, span in spans.items())
    return {"pods": len(spans), "pod_s": round(sum(spans.values()), 3), "idle_s": round(unused, 3)}


def tight(types: Iterable[Mapping[str, Any]], limit_mib: float) -> list[str]:
    """Types whose peak, with what the worker itself takes, came within a tenth of the memory limit."""
    return [str(row["type"]) for row in types if row["peak_mib"]["max"] + WORKER_MIB >= 0.9 * limit_mib]
