"""The command that shows how things are: status. Called by cli; its live screen and its account of what types use sit beside it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import AnyQueue, Json, Namespace, Release, age, examples, opened_broker
from runner.cli.lengths import COLUMNS, NARROW, NO_QUEUE, Lengths, measure, rows
from runner.cli.output import say, say_json, say_table, terminal_width

if TYPE_CHECKING:
    from runner.cluster import Snapshot

KEDA = ("queue", "ScaledJob", "ready", "active", "running", "pending", "stuck", "suspended", "last event")
WIDE = 120
"""Columns of a terminal from which on there is room for the last event; what is wrong is a sentence of its own anyway."""
EXAMPLES = (
    "runner status",
    "runner status --queue emails --json",
    "runner status --namespace shop",
    "runner status --watch --every 5",
    "runner status --usage --cpu-hour 0.04 --gib-hour 0.005",
)
NOTE = (
    "--usage reads the attempts of up to 10,000 tasks of each queue, those that ended last: CPU and peak memory of the handler's process, "
    "and how long it ran. Requests, limits and idle seconds need the cluster. Idle is what pods that ended, and are still there, spent "
    "without an attempt. The cost is that of what was used, and beside it of what the requests set aside meanwhile. "
    "Exit code 1 if a queue cannot be read."
)
Watch = Annotated[bool, typer.Option("--watch", "-w", help="A live screen with rates; q or Ctrl-C ends it.")]
Every = Annotated[float, typer.Option("--every", min=0.2, max=3600, help="Seconds from one look of --watch to the next.")]
Usage = Annotated[bool, typer.Option("--usage", help="What each type used of CPU, memory and time, beside requests and limits.")]
CpuHour = Annotated[float, typer.Option("--cpu-hour", min=0, help="With --usage: the price of a CPU for an hour.")]
GibHour = Annotated[float, typer.Option("--gib-hour", min=0, help="With --usage: the price of a GiB of memory for an hour.")]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=f"{NOTE}\n\n{examples(*EXAMPLES)}")(status)


def status(
    queue: AnyQueue = "",
    namespace: Namespace = "",
    release: Release = "",
    watch: Watch = False,
    every: Every = 2.0,
    usage: Usage = False,
    cpu_hour: CpuHour = 0.0,
    gib_hour: GibHour = 0.0,
    as_json: Json = False,
) -> int:
    """Show what waits, runs and is dead in each queue, what KEDA thinks of it, and whether the controller runs."""
    if watch and (usage or as_json):
        raise typer.BadParameter("--watch goes with neither --usage nor --json")
    if (cpu_hour or gib_hour) and not usage:
        raise typer.BadParameter("--cpu-hour and --gib-hour go with --usage")
    if usage:
        from runner.cli.usage import show

        return show(queue, namespace, release, (cpu_hour, gib_hour), as_json)
    if watch:
        from runner.cli.watch import show as live

        return live(queue, namespace, release, every)
    return _once(queue, namespace, release, as_json)


def _once(queue: str, namespace: str, release: str, as_json: bool) -> int:
    """Exit code 1 if a queue could not be read; the others are shown all the same."""
    from runner.cli import view

    with opened_broker() as broker:
        lengths = measure(broker, queue)
        last, strays = broker.last_pass(), [] if queue else broker.undeclared()
        findings = {name: found for name, found in broker.findings(broker.now_ms()).items() if queue in ("", name)}
    seen, why = view.looked(namespace, release)
    if as_json:
        more = {"last_pass": last, "undeclared": strays, "findings": findings, "not_asked": why, "broken": lengths.broken}
        say_json(_json(lengths, seen) | more)
        return 1 if lengths.broken else 0
    say_table(COLUMNS if terminal_width() >= WIDE else NARROW, rows(lengths.measured))
    for said in lengths.broken.values() if lengths.measured or lengths.broken else [NO_QUEUE]:
        say(said)
    _tell_pods([declared.name for declared, _ in lengths.measured], seen, why, findings)
    print(f"\nController: last pass {age(int(last['at_ms']))} ago" if last else "\nController: no pass was ever recorded")
    for key in strays:
        say(f"Key {key!r} holds entries but is no declared queue: `runner queue declare` it, or delete it")
    return 1 if lengths.broken else 0


def _json(lengths: Lengths, seen: Snapshot | None) -> dict[str, Any]:
    from runner.cli import view

    shown = [{"queue": d.name, "mode": d.mode, **asdict(m), "oldest_wait_s": m.oldest_wait_s} for d, m in lengths.measured]
    views = {d.name: asdict(view.view_of(seen.of(d.name))) for d, _ in lengths.measured} if seen else None
    return {"queues": shown, "kubernetes": views}


def _tell_pods(names: list[str], seen: Snapshot | None, why: str, findings: dict[str, list[dict[str, Any]]]) -> None:
    """From the cluster where it can be asked, else as the controller last found it."""
    from runner.cli import view

    said = [view.told(name, one) for name in names for one in findings.get(name, [])]
    if seen is not None:
        print()
        columns = KEDA if terminal_width() >= WIDE else KEDA[:-1]
        say_table(columns, [view.row(name, view.view_of(seen.of(name)))[: len(columns)] for name in names])
        said = view.all_troubles(names, seen, findings)
    elif why:
        said.append(f"Kubernetes was not asked: {why}")
    if said:
        print()
    for one in said:
        say(one)
