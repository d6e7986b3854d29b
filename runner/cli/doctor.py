"""The command that looks for what will go wrong: doctor. Called by cli."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from runner.cli.common import AnyQueue, Json, Namespace, Release, age, chosen, examples, opened_broker
from runner.cli.output import harmless, say_json
from runner.errors import ClusterError

if TYPE_CHECKING:
    from runner.broker import Broker
    from runner.cluster import Cluster
    from runner.queue import Declaration

SUPPORTED = {"Kubernetes": (1, 29), "KEDA": (2, 19)}
"""The oldest releases that the chart works with; the README has them (a test compares)."""
SILENT_MS = 180_000
"""A controller that made no pass for so long does not run: the CronJob's period is a minute."""
Fault = tuple[str, str]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=examples("runner doctor", "runner doctor --namespace shop --release shop --json"))(doctor)


def doctor(queue: AnyQueue = "", namespace: Namespace = "", release: Release = "", as_json: Json = False) -> int:
    """Look for what will go wrong: Redis's settings, the controller, each ScaledJob, the versions. Exit code 1 if anything was found."""
    from runner.cli import view

    with opened_broker() as broker:
        declared = [one.declaration for one in chosen(broker, queue)]
        found = [*_redis(broker), *_controller(broker), *_declared(broker, declared)]
        prefix = broker.prefix
    cluster, why = view.entered(namespace, release)
    looked = "" if cluster else why or "no cluster is named: neither in a pod nor by a kubeconfig"
    try:
        found += [*_versions(cluster.versions()), *_scaled(cluster, declared, prefix)] if cluster else []
    except ClusterError as error:
        looked = str(error)
    return _say(found, looked, as_json)


def _redis(broker: Broker) -> Iterator[Fault]:
    from runner.broker.hazards import hazards

    yield from (("Redis", one) for one in hazards(broker.client))


def _controller(broker: Broker) -> Iterator[Fault]:
    last, now_ms = broker.last_pass(), broker.now_ms()
    if not last:
        yield "controller", "it never made a pass: nothing is promoted, replayed or trimmed"
    elif now_ms - int(last["at_ms"]) > SILENT_MS:
        yield "controller", f"no pass for {age(int(last['at_ms']), now_ms)}: see its CronJob and its last pod's log"
    elif last.get("failed"):
        yield "controller", f"its last pass could not do all: {last['failed']}"


def _declared(broker: Broker, declared: Sequence[Declaration]) -> Iterator[Fault]:
    names = broker.names()
    for one in declared:
        if one.oom_to and one.oom_to not in names:
            yield f"queue {one.name}", f"oom_to names {one.oom_to}, which is not declared: what is killed for memory runs again here"


def _versions(found: dict[str, str]) -> Iterator[Fault]:
    for name, least in SUPPORTED.items():
        version = found.get(name, "")
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if numbers and numbers < least:
            yield name, f"it is {version}, the oldest that is supported is {least[0]}.{least[1]}"


def _scaled(cluster: Cluster, declared: Sequence[Declaration], prefix: str) -> Iterator[Fault]:
    from runner.cli import traps, view

    seen = cluster.snapshot()
    for one in declared:
        part = seen.of(one.name)
        if len(part.scaled_jobs) > 1:
            names = ", ".join(scaled.name for scaled in part.scaled_jobs)
            yield f"queue {one.name}", f"{names} watch it together: each task starts as many pods (name one with --release)"
        for scaled in part.scaled_jobs:
            yield from ((f"ScaledJob {scaled.name}", said) for said in traps.faults(scaled, one, prefix))
        yield from ((f"queue {one.name}", said) for said in view.troubles(one.name, part, ()))


def _say(found: list[Fault], looked: str, as_json: bool) -> int:
    if as_json:
        say_json({"faults": [{"about": about, "said": said} for about, said in found], "not_asked": looked})
        return 1 if found else 0
    for about, said in found:
        print(harmless(f"{about}: {said}").replace("\n", " "))
    if looked:
        print(f"Kubernetes was not asked: {looked}")
    if not found:
        print("nothing was found wrong")
    return 1 if found else 0
