"""The command that shows how things are: status. Called by cli."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from runner.cli.common import AnyQueue, Json, Namespace, Release, age, chosen, examples, opened_broker
from runner.cli.output import harmless, say_json, say_table

if TYPE_CHECKING:
    from runner.broker import Measures
    from runner.cluster import Snapshot
    from runner.queue import Declaration

STATUS = ("queue", "mode", "waiting", "delayed", "claimed", "expired", "dead", "oldest wait", "dead by reason")
KEDA = ("queue", "ScaledJob", "ready", "active", "running", "pending", "stuck", "suspended", "last event")
Measured = list[tuple["Declaration", "Measures"]]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=examples("runner status", "runner status --queue emails --json", "runner status --namespace shop"))(status)


def status(queue: AnyQueue = "", namespace: Namespace = "", release: Release = "", as_json: Json = False) -> None:
    """Show what waits, runs and is dead in each queue, what KEDA thinks of it, and whether the controller runs."""
    from runner.cli import view

    with opened_broker() as broker:
        measured = [(one.declaration, one.measure()) for one in chosen(broker, queue)]
        last, strays = broker.last_pass(), [] if queue else broker.undeclared()
        findings = {name: found for name, found in broker.findings(broker.now_ms()).items() if queue in ("", name)}
    seen, why = view.looked(namespace, release)
    if as_json:
        return say_json(_json(measured, seen) | {"last_pass": last, "undeclared": strays, "findings": findings, "not_asked": why})
    _tell_lengths(measured)
    _tell_pods([declared.name for declared, _ in measured], seen, why, findings)
    print(f"\nController: last pass {age(int(last['at_ms']))} ago" if last else "\nController: no pass was ever recorded")
    for key in strays:
        print(f"Key {key!r} holds entries but is no declared queue: `runner queue declare` it, or delete it")
    return None


def _json(measured: Measured, seen: Snapshot | None) -> dict[str, Any]:
    from runner.cli import view

    lengths = [{"queue": d.name, "mode": d.mode, **asdict(m), "oldest_wait_s": m.oldest_wait_s} for d, m in measured]
    views = {d.name: asdict(view.view_of(seen.of(d.name))) for d, _ in measured} if seen else None
    return {"queues": lengths, "kubernetes": views}


def _tell_lengths(measured: Measured) -> None:
    rows = [
        [
            d.name,
            d.mode,
            m.waiting,
            m.delayed,
            m.claimed,
            m.expired_claims,
            m.dead,
            age(m.oldest_waiting_ms, m.now_ms),
            _reasons(m.dead_by_reason),
        ]
        for d, m in measured
    ]
    say_table(STATUS, rows)


def _tell_pods(names: list[str], seen: Snapshot | None, why: str, findings: dict[str, list[dict[str, Any]]]) -> None:
    """From the cluster where it can be asked, else as the controller last found it."""
    from runner.cli import view

    said = [view.told(name, one) for name in names for one in findings.get(name, [])]
    if seen is not None:
        parts = [(name, seen.of(name)) for name in names]
        print()
        say_table(KEDA, [view.row(name, view.view_of(part)) for name, part in parts])
        said = [one for name, part in parts for one in view.troubles(name, part, findings.get(name, []))]
    elif why:
        said.append(f"Kubernetes was not asked: {why}")
    if said:
        print()
    for one in said:
        print(harmless(one).replace("\n", " "))


def _reasons(dead: dict[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in sorted(dead.items()) if n) or "-"
