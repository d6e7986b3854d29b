"""What the live screen shows of two looks: lengths, rates, pods, what is wrong. Pure; called by watch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from runner.cli import view
from runner.cli.common import age
from runner.cli.doctor import SILENT_MS
from runner.cli.lengths import NO_QUEUE, Lengths, arrived, oldest
from runner.cli.output import harmless, table

if TYPE_CHECKING:
    from rich.console import ConsoleDimensions

    from runner.broker import Measures
    from runner.cluster import Snapshot

COLUMNS = ("queue", "waiting", "delayed", "claimed", "dead", "oldest", "in/s", "done/s", "dead/s")
POD_COLUMNS = ("running", "pending")
WIDE = 100
"""From so many columns on there is room for the pods beside all else."""
FRAME = 5
"""Lines of the screen that are no queues: head, columns' names, the controller, and empty ones."""


@dataclass(frozen=True, slots=True)
class Look:
    """All that was seen at `now_ms` by Redis's clock; `failed` says why it is older than it should be."""

    now_ms: int
    lengths: Lengths
    last_pass: Mapping[str, str]
    findings: Mapping[str, list[dict[str, Any]]]
    pods: Snapshot | None = None
    not_asked: str = ""
    failed: str = ""


def screen(before: Look, now: Look, every_s: float, size: ConsoleDimensions) -> Group:
    """The whole screen, no more lines than it has."""
    news = (_news(now) or [NO_QUEUE] * (not now.lengths.measured))[: max(1, size.height // 3)]
    room = max(2, size.height - FRAME - len(news) - 2 * bool(now.failed))
    shown = rows(before, now)
    columns = COLUMNS + (POD_COLUMNS if now.pods else ())
    if now.pods and size.width < WIDE:
        columns = tuple(name for name in columns if name not in ("delayed", "dead/s"))
    kept = _fitting(shown, room)
    hidden = [f"... and {len(shown) - len(kept)} more queues, less busy"] if len(kept) < len(shown) else []
    head = Text(f"runner status   {time.strftime('%H:%M:%S')}   every {every_s:g} s   q ends it", style="bold", no_wrap=True)
    body = table(columns, [[row[name] for name in columns] for row in kept])
    return Group(head, "", body, *(Text(line, style="dim", no_wrap=True) for line in hidden), "", *_told(news, now, size))


def rows(before: Look, now: Look) -> list[dict[str, Any]]:
    """A line for each queue, by the columns' names."""
    past = {declared.name: measures for declared, measures in before.lengths.measured}
    seconds = (now.now_ms - before.now_ms) / 1000
    return [_row(d.name, m, past.get(d.name), seconds) | _pods(d.name, now) for d, m in now.lengths.measured]


def _row(name: str, m: Measures, past: Measures | None, seconds: float) -> dict[str, Any]:
    told = {"queue": name, "waiting": m.waiting, "delayed": m.delayed, "claimed": m.claimed, "dead": m.dead, "oldest": oldest(m)}
    if past is None or seconds <= 0:
        return told | {"in/s": "-", "done/s": "-", "dead/s": "-"}
    gone = {"in/s": arrived(m) - arrived(past)}
    gone |= {f"{word}/s": m.counts.get(key, 0) - past.counts.get(key, 0) for word, key in (("done", "done"), ("dead", "buried"))}
    return told | {column: _rate(more / seconds) for column, more in gone.items()}


def _rate(per_s: float) -> str:
    """Whole numbers where they are large; a declaration anew begins to count anew, which is no negative rate."""
    return f"{max(0.0, per_s):.0f}" if per_s >= 100 else f"{max(0.0, per_s):.1f}"


def _pods(queue: str, now: Look) -> dict[str, Any]:
    if now.pods is None:
        return {}
    seen = view.view_of(now.pods.of(queue))
    return {"running": seen.running, "pending": seen.pending}


def _fitting(shown: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """All in the order of their names, or the busiest of them in that order: lines that change places cannot be read."""
    if len(shown) <= room:
        return shown
    busy = sorted(shown, key=lambda row: -(row["claimed"] * 1000 + row["waiting"] + row["dead"]))[: room - 1]
    return [row for row in shown if row in busy]


def _news(now: Look) -> list[str]:
    names = [declared.name for declared, _ in now.lengths.measured]
    said = list(now.lengths.broken.values())
    if now.pods is not None:
        return said + view.all_troubles(names, now.pods, now.findings)
    said += [view.told(name, one) for name in names for one in now.findings.get(name, [])]
    return said + ([f"Kubernetes was not asked: {now.not_asked}"] if now.not_asked else [])


def _controller(now: Look) -> Text:
    if not now.last_pass:
        return Text("Controller: no pass was ever recorded", style="red")
    at_ms = int(now.last_pass["at_ms"])
    return Text(f"Controller: last pass {age(at_ms, now.now_ms)} ago", style="red" if now.now_ms - at_ms > SILENT_MS else "")


def _told(news: list[str], now: Look, size: ConsoleDimensions) -> list[Any]:
    lines = [_controller(now)]
    if now.failed:
        lines[:0] = [Text(f"The numbers are {age(now.now_ms)} old:", style="red"), Text(now.failed, style="red")]
    lines += [Text(harmless(one).replace("\n", " "), style="yellow") for one in news]
    for line in lines:
        line.truncate(size.width, overflow="ellipsis")
    return lines
