"""`python -m chaos`: "never lost, never settled twice" under kills, as a table and a verdict; exit code 1 if anything broke.

Workers, controllers and Redis are real processes and get real signals; the seed repeats tasks, fates and events. Called by make chaos.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

from chaos.referee import Fault, Referee
from chaos.storm import Storm
from chaos.strikes import FrailServer
from runner.embedded import DURABLE

MODES = ("stream", "list")
SHOWN = 8
STRIKES = ("kill both", "kill parent", "kill child", "term", "term, kill", "stop parent", "stop both")


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description="Tasks run while everything is killed; a ledger judges.")
    parser.add_argument("--tasks", type=int, default=4000, help="in all modes together (default 4000)")
    parser.add_argument("--seed", type=int, default=7, help="repeats the tasks, the workers' fates and the events (default 7)")
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both")
    parser.add_argument("--within", type=float, default=0, metavar="S", help="fail if it takes longer")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where ledger and logs go (kept on failure)")
    parser.add_argument("--keep", action="store_true", help="keep ledger and logs on success as well")
    parser.add_argument("--server", default="", help="the server's program, such as redis-server (default: the embedded one)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    asked = options(arguments)
    modes = MODES if asked.mode == "both" else (asked.mode,)
    began_s, broken = time.monotonic(), 0
    print(f"chaos: {asked.tasks} tasks, seed {asked.seed}, {' and '.join(modes)}", flush=True)
    for mode in modes:
        broken += judged(mode, asked.tasks // len(modes), asked)
    took_s = time.monotonic() - began_s
    late = 0 < asked.within < took_s
    verdict = "BROKEN" if broken else f"TOO SLOW (over {asked.within:g} s)" if late else "held: nothing lost, nothing settled twice"
    print(f"\nverdict, seed {asked.seed}, {took_s:.0f} s: {verdict}")
    return 1 if broken or late else 0


def judged(mode: str, count: int, asked: argparse.Namespace) -> int:
    """Run one mode, print its table; how many faults were found. What it left on disk stays if there are any."""
    folder = asked.out / f"{mode}-{asked.seed}-{time.strftime('%H%M%S')}"
    server = FrailServer(shutil.which(asked.server) or asked.server, DURABLE).start()
    try:
        referee = Referee(Storm(mode, count, asked.seed, folder, server).run())
        faults = referee.faults()
        report(referee, faults)
        if found := sum(map(len, faults.values())):
            shutil.copytree(server.folder, folder / "redis", ignore=shutil.ignore_patterns("*.sock"))
            print(f"  kept: {folder} (ledger, logs, redis)")
            print(f"  again with: python -m chaos --seed {asked.seed} --tasks {count} --mode {mode}")
        elif not asked.keep:
            shutil.rmtree(folder)
        return found
    finally:
        server.close()


def report(referee: Referee, faults: dict[str, list[Fault]]) -> None:
    """The table of one mode, and the history of every task that broke a rule."""
    storm, ends = referee.storm, referee.ends
    dead = {end.removeprefix("dead:"): n for end, n in sorted(ends.items()) if end.startswith("dead")}
    struck = {how: n for how, n in storm.did.items() if how in STRIKES}
    events = {what: n for what, n in storm.did.items() if what not in STRIKES}
    rows: list[tuple[str, object]] = [
        ("submitted", len(referee.acked)),
        ("done", ends["done"]),
        ("dead", f"{sum(dead.values())} ({_listed(dead)})"),
        ("cancelled", ends["cancelled"]),
        ("lost", len(faults["lost"])),
        ("settled twice", len(faults["settled twice"])),
        ("runs per task", _listed(dict(sorted(referee.runs.items())))),
        ("workers", f"{storm.started}, exit codes {_listed(dict(sorted(storm.pool.codes.items())))}"),
        ("lost alive", f"{referee.robbed} claims of workers whom nothing befell"),
        ("controllers", storm.controllers),
        ("to processes", _listed(struck)),
        ("to the rest", f"{_listed(events)}; not reached: {len(storm.strikes.events)}"),
        ("wall", f"{storm.wall_s:.0f} s"),
    ]
    print(f"\n  {storm.mode} mode\n" + "\n".join(f"    {name:16} {value}" for name, value in rows))
    for rule, found in faults.items():
        print(f"    {rule:32} {f'BROKEN {len(found)} times' if found else 'held'}")
        for n, said in found[:SHOWN]:
            print(f"      {referee.plan[n].id if n >= 0 else ''} {said}")
            history(referee, n)


def history(referee: Referee, n: int) -> None:
    """All that the ledger and Redis know of one task."""
    if n < 0:
        return
    print(f"        {referee.plan[n]}")
    for line in referee.lines[n]:
        print(f"        {line.at_ns / 1e9:.3f} {line.word} attempt {line.attempt} pid {line.pid} id {line.id}")
    for name, event in referee.logged:
        if {event.get("task_id"), event.get("id"), *event.get("task_ids", ())} & set(referee.ids(referee.plan[n])):
            print(f"        {name} {json.dumps(event)}")
    print(f"        redis: {referee.facts.get(n)}")


def _listed(counts: dict[str, int] | dict[int, int]) -> str:
    return ", ".join(f"{name}: {n}" for name, n in counts.items()) or "none"


if __name__ == "__main__":
    sys.exit(main())
