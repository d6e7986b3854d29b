"""`python -m bench`: reads the options, runs the sections on one private server, prints tables, writes JSON. Run by `make bench`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from bench import machine, report
from bench.controller import controller
from bench.figures import Section
from bench.memory import memory
from bench.rounds import LEAST_ROUNDS, Effort
from bench.server import Stand, stand, started
from bench.submit import bulk, one
from bench.trips import trips
from bench.worker import worker
from runner.errors import RunnerError

SECTIONS: dict[str, Callable[[Stand, Effort], Section]] = {
    "one": one,
    "bulk": bulk,
    "worker": worker,
    "trips": trips,
    "controller": controller,
    "memory": memory,
}
WIDE = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks. The exit code is 0 also where a target is missed: that is a finding."""
    options = _options(arguments)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a run in the background is started with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    try:
        _run(options, console)
    except (RunnerError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: stopped; the server has ended", file=sys.stderr)
        return 130
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ", ".join(SECTIONS)
    parser.add_argument("--only", action="append", choices=list(SECTIONS), metavar="NAME", help=f"one of {names}; may be repeated")
    parser.add_argument("--seconds", type=float, default=40.0, metavar="S", help="how long the rounds of a section go on (%(default)g)")
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, metavar="N", help="rounds made at least (%(default)s)")
    parser.add_argument("--size", type=float, default=1.0, metavar="F", help="a factor on all numbers of tasks (%(default)g)")
    parser.add_argument("--json", type=Path, default=Path("bench/out/bench.json"), metavar="FILE", help="(%(default)s)")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or not 0 < options.size <= 10 or options.seconds < 0:
        parser.error("--rounds is at least 1, --size more than 0 and at most 10, --seconds not negative")
    return options


def _run(options: argparse.Namespace, console: Console) -> None:
    effort = Effort(options.seconds, options.size, options.rounds)
    with started() as server:
        on = stand(server)
        facts = machine.facts() | {"server": on.says, "size": options.size}
        for name, said in facts.items():
            console.print(f"{name:<12}{said}", soft_wrap=True, markup=False)
        console.print()
        sections = []
        for name in options.only or SECTIONS:
            sections.append(SECTIONS[name](on, effort))
            report.show(sections[-1], console)
    facts["load after"] = machine.load()
    console.print(f"load average at the end: {facts['load after']}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"facts": facts, "sections": [one.as_json() for one in sections]}, indent=1) + "\n")
    console.print(f"all values: {options.json}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    sys.exit(main())
