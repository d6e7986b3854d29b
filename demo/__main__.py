"""`python -m demo`: reads the options, runs the story, prints the table; exit code 1 when a promise was broken. Run by `make demo`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

from demo import pictures, report, verdict
from demo.plan import Planned, planned
from demo.stage import stage
from demo.story import LateError, Story
from runner.broker import Measures
from runner.errors import ConfigError, RunnerError

ENDED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FRESH_S, PER_TASK_S = 60.0, 3.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code."""
    options = _options(arguments)
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = max(console.width, report.WIDE)
    for number in ENDED_BY:
        signal.signal(number, _interrupted)
    try:
        return _run(options, console)
    except (pictures.NoPhotosError, RunnerError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1 if isinstance(error, RunnerError) and not isinstance(error, ConfigError) else 2
    except KeyboardInterrupt:
        print("demo: stopped; server, controller and workers have ended", file=sys.stderr)
        return 130


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    """One is enough: the way out ends all processes, and a second Ctrl-C must not leave some behind."""
    for number in ENDED_BY:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--images", type=Path, default=pictures.SHIPPED, metavar="DIR", help="work on every image of this folder")
    parser.add_argument("--out", type=Path, default=Path("demo-out"), metavar="DIR", help="where pictures and logs go (%(default)s)")
    parser.add_argument("--mode", choices=("stream", "list"), default="stream", help="the queue's mode (%(default)s)")
    parser.add_argument("--workers", type=int, default=3, metavar="N", help="how many run at a time (%(default)s)")
    parser.add_argument("--within", type=float, default=0.0, metavar="S", help="give up after so many seconds (60 and 3 for each task)")
    options = parser.parse_args(arguments)
    if options.workers < 1:
        parser.error("--workers is at least 1")
    return options


def _run(options: argparse.Namespace, console: Console) -> int:
    out = options.out.resolve()
    if out == options.images.resolve():
        raise pictures.NoPhotosError(f"{out} holds the images: name another folder for the thumbnails with --out")
    plan = planned(pictures.found(options.images), out)
    out.mkdir(parents=True, exist_ok=True)
    within_s, began_s = options.within or FRESH_S + PER_TASK_S * len(plan), time.monotonic()
    with console.status("starting the server") as status, stage(options.mode, options.workers, within_s, out / "logs") as staged:
        console.print(f"an embedded {staged.server}, one controller, a queue in {options.mode} mode; Ctrl-C ends all of it")

        def say(said: str) -> None:
            console.print(f"{time.monotonic() - began_s:5.1f} s  {escape(said)}")

        story = Story(staged, out, within_s, say, lambda said: status.update(escape(said)))
        late = _told(story, plan)
        measures = staged.queue.measure()
    rows = [report.row(told) for told in story.told]
    rows.sort(key=lambda one: one.told.planned.role == "poison")
    console.print(report.table(rows, console.width))
    for why in report.whys(rows, console.width):
        console.print(escape(why), end="\n\n")
    _print_facts(story, measures, rows, time.monotonic() - began_s, console)
    broken = [*late, *_broken(story, rows)]
    for promise in broken:
        console.print(f"[bold red]broken:[/] {escape(promise)}")
    return 1 if broken else 0


def _told(story: Story, plan: list[Planned]) -> list[str]:
    """Run it; what came too late."""
    try:
        story.run(plan)
    except LateError as error:
        return [str(error)]
    return []


def _broken(story: Story, rows: Sequence[report.Row]) -> list[str]:
    staged = story.stage
    return verdict.broken_promises(
        rows,
        killed=story.killed,
        replay_max=staged.queue.declaration.replay_max,
        passes_sat_out=story.passes_sat_out,
        started=staged.scaler.started,
    )


def _print_facts(story: Story, measures: Measures, rows: Sequence[report.Row], took_s: float, console: Console) -> None:
    scaler, counts = story.stage.scaler, measures.counts
    ends = ", ".join(f"{count} × {'SIGKILL' if code == -9 else code}" for code, count in sorted(scaler.exit_codes.items(), reverse=True))
    dead = ", ".join(f"{count} {reason}" for reason, count in measures.dead_by_reason.items()) or "none"
    facts = {
        "jobs started": f"{scaler.started}, one worker process each; exit codes: {ends}",
        "dead letters": f"{measures.dead} ({dead}), buried {counts.get('buried', 0)}, replayed {counts.get('replayed', 0)}",
        "no pictures": ", ".join(report.unreadable(rows)),
        "pictures": str(story.out),
        "logs": str(story.out / "logs"),
        "took": f"{took_s:.0f} s for {len(rows)} tasks",
    }
    for name, said in facts.items():
        if said:
            console.print(f"{name:<14}{escape(pictures.printable(said))}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
