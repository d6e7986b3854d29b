"""The demo's end as a person reads it: a row per task, out of what Redis keeps of it. Called by __main__ and verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from demo.pictures import printable
from demo.story import Told
from runner.attempt import read_attempts

COLOURS = {"done": "green", "dead": "red"}
WIDE = 120
"""Columns from which on the table has room for the reasons."""


@dataclass(frozen=True, slots=True)
class Row:
    """One task. `workers` ran it, in this order; the figures are of all its attempts, the memory of the largest."""

    told: Told
    state: str
    kinds: tuple[str, ...]
    workers: tuple[str, ...]
    why: str
    wall_s: float
    cpu_s: float
    peak_mb: float


def row(told: Told) -> Row:
    """Read one task's record, marker or dead letter."""
    lines: list[dict[str, Any]] = read_attempts(told.facts.attempts) if told.facts else []
    starts = [line for line in lines if "attempt" in line]
    state = told.facts.state if told.facts else "unknown"
    return Row(
        told=told,
        state=state,
        kinds=tuple(str(line["kind"]) for line in starts),
        workers=tuple(str(line["holder"]) for line in starts),
        why=_why(told, state, lines),
        wall_s=sum(line.get("wall_s", 0) for line in starts),
        cpu_s=sum(line.get("cpu_s", 0) for line in starts),
        peak_mb=max((line.get("peak_kib", 0) for line in starts), default=0) / 1024,
    )


def _why(told: Told, state: str, lines: list[dict[str, Any]]) -> str:
    """How each attempt ended, and the last word of one that failed; for a task that just went well, the picture's size."""
    failed = [line for line in lines if line["kind"] != "done" and line.get("detail") and "attempt" in line]
    if not failed:
        return _size(told)
    history = " → ".join(_times(kind, len(list(same))) for kind, same in groupby(str(line["kind"]) for line in lines))
    still = "" if state in ("done", "dead") else f" → {state}"
    return printable(f"{history}{still}: {failed[-1]['detail']}")


def _times(kind: str, count: int) -> str:
    return kind if count == 1 else f"{kind} ×{count}"


def _size(told: Told) -> str:
    if not told.facts or not told.facts.result:
        return ""
    made = json.loads(told.facts.result)
    return f"{made['width_px']}×{made['height_px']}" if made else ""


def table(rows: Sequence[Row], width: int) -> Table:
    """All tasks; where there is no room for a column `why`, `whys` has it."""
    right = 1 if width >= WIDE else 0
    shown = Table(title="What became of each task", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, right, 0, 0))
    for name in ("task", "type", "id", "state"):
        shown.add_column(name, no_wrap=name != "task")
    shown.add_column("attempts", justify="right")
    shown.add_column("by worker")
    for name in ("s", "CPU s", "MB"):
        shown.add_column(name, justify="right")
    if width >= WIDE:
        shown.add_column("why", ratio=1)
    for one in rows:
        shown.add_row(*_cells(one)[: len(shown.columns)])
    return shown


def whys(rows: Sequence[Row], width: int) -> list[str]:
    """A line for each task that had trouble, for a terminal that is too narrow for the column."""
    return [f"{one.told.planned.label}: {one.why}" for one in rows if one.kinds != ("done",)] if width < WIDE else []


def _cells(one: Row) -> list[str]:
    colour, told = COLOURS.get(one.state, "yellow"), one.told
    workers = ", ".join(worker.removeprefix("worker-") for worker in one.workers)
    facts = [escape(told.planned.label), told.planned.type, f"…{told.task_id[-6:]}", f"[{colour}]{one.state}[/]", str(len(one.kinds))]
    return [*facts, workers, f"{one.wall_s:.2f}", f"{one.cpu_s:.2f}", f"{one.peak_mb:.0f}", escape(one.why)]


def unreadable(rows: Sequence[Row]) -> list[str]:
    """The names of the photos that turned out to be no pictures."""
    fatal = [one.told for one in rows if one.told.facts and one.state == "dead" and one.told.facts.reason == "fatal"]
    return list(dict.fromkeys(printable(Path(told.planned.payload["photo"]).name) for told in fatal))
