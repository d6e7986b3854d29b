"""Commands about dead letters: ls, replay, purge. Called by cli."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import AnyQueue, Json, age, chosen, examples, opened_broker
from runner.cli.output import say_json, say_table
from runner.errors import ConfigError, TaskUnknownError
from runner.outcome import Kind

if TYPE_CHECKING:
    from runner.broker import Broker, Queue
    from runner.broker.dead import DeadLetter

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of dead tasks.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters that the other options leave.")]
Reason = Annotated[str, typer.Option(help="Only those buried for this reason, such as crash or timeout.")]
Max = Annotated[int, typer.Option("--max", min=1, help="At most so many.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell how many.")]
REASONS = tuple(kind for kind in Kind if kind not in (Kind.DONE, Kind.CANCELLED))
COLUMNS = ("id", "queue", "reason", "runs", "buried", "detail")


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    group = typer.Typer(help="Read the dead letters, run them again, drop them.", rich_markup_mode=None)
    group.command("ls", epilog=examples("runner dead ls", "runner dead ls --queue emails --reason timeout --json"))(ls)
    group.command(epilog=examples("runner dead replay 206 207", "runner dead replay --all --queue emails --reason crash --max 100"))(replay)
    group.command(epilog=examples("runner dead purge 206", "runner dead purge --all --queue emails --reason unreadable --dry-run"))(purge)
    app.add_typer(group, name="dead")


def ls(queue: AnyQueue = "", reason: Reason = "", most: Max = 50, as_json: Json = False) -> None:
    """List dead letters, newest first."""
    _check(reason)
    with opened_broker() as broker:
        letters = [(q.name, one) for q in chosen(broker, queue) for one in islice(_letters(q, reason), most)]
    letters = sorted(letters, key=lambda pair: pair[1].buried_ms, reverse=True)[:most]
    if as_json:
        return say_json([{"queue": name, **asdict(one), "attempts": _attempts(one.attempts)} for name, one in letters])
    return say_table(
        COLUMNS,
        [[one.id, name, one.reason, _runs(one), f"{age(one.buried_ms)} ago", one.detail[:80]] for name, one in letters],
    )


def replay(
    ids: Ids = None,
    every: All = False,
    queue: AnyQueue = "",
    reason: Reason = "",
    most: Max = 1000,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Run dead tasks again, under their ids and with fresh counters."""
    line = json.dumps({"kind": "replay", "by": "runner dead replay"}).encode()
    return _each("replayed", lambda q, entries: q.replay(entries, line), ids, every, queue, reason, most, dry_run, as_json)


def purge(
    ids: Ids = None,
    every: All = False,
    queue: AnyQueue = "",
    reason: Reason = "",
    most: Max = 1000,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Drop dead letters for good."""
    return _each("purged", lambda q, entries: q.purge(entries), ids, every, queue, reason, most, dry_run, as_json)


def _each(
    word: str,
    act: Callable[[Queue, list[str]], int],
    ids: list[str] | None,
    every: bool,
    queue: str,
    reason: str,
    most: int,
    dry_run: bool,
    as_json: bool,
) -> int:
    if bool(ids) == every:
        raise ConfigError("name the ids of dead tasks, or --all")
    _check(reason)
    with opened_broker() as broker:
        entries = _named(broker, ids, queue) if ids else _matching(broker, queue, reason, most)
        found = sum(len(some) for _, some in entries)
        done = 0 if dry_run else sum(act(q, some) for q, some in entries if some)
    say_json({"found": found, word: done, "dry_run": dry_run}) if as_json else print(f"{found} found, {done} {word}")
    return 0 if dry_run or done == found else 1


def _check(reason: str) -> None:
    if reason and reason not in REASONS:
        raise ConfigError(f"{reason!r} is no reason for a dead letter: use one of {', '.join(REASONS)}")


def _named(broker: Broker, ids: list[str], queue: str) -> list[tuple[Queue, list[str]]]:
    entries = []
    for task_id in ids:
        found = broker.find(task_id, chosen(broker, queue))
        if not found or found[1].state != "dead" or not found[1].entry:
            raise TaskUnknownError(f"no dead letter of task {task_id!r}: {'it is ' + found[1].state if found else 'no queue knows it'}")
        entries.append((found[0], [found[1].entry]))
    return entries


def _matching(broker: Broker, queue: str, reason: str, most: int) -> list[tuple[Queue, list[str]]]:
    """Oldest first, from one queue after the other."""
    entries: list[tuple[Queue, list[str]]] = []
    for one in chosen(broker, queue):
        left = most - sum(len(some) for _, some in entries)
        entries.append((one, list(islice(_entries(one, reason), left))))
    return entries


def _entries(queue: Queue, reason: str) -> Iterator[str]:
    after = ""
    while page := queue.headings(after):
        yield from (one.entry for one in page if one.whole and reason in ("", one.reason))
        after = page[-1].entry


def _letters(queue: Queue, reason: str) -> Iterator[Any]:
    return (one for one in queue.dead_letters(newest_first=True) if reason in ("", one.reason))


def _runs(letter: DeadLetter) -> int:
    """How often its handler was started since its last replay."""
    return letter.counters.attempt - (letter.reason != Kind.FATAL)


def _attempts(lines: bytes) -> list[dict[str, object]]:
    from runner.attempt import read_attempts

    return read_attempts(lines)
