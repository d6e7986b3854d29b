"""Commands about dead letters: ls, stats, replay, purge. Called by cli."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import AnyQueue, Json, age, chosen, each_asked, examples, opened_broker
from runner.cli.completion import task_types
from runner.cli.letters import Choice, Found, chosen_letters, newest_of
from runner.cli.output import say_json
from runner.cli.pages import batched, say_rows, say_values
from runner.cli.progress import advancing
from runner.errors import ConfigError, TaskUnknownError
from runner.outcome import Kind

if TYPE_CHECKING:
    from runner.broker import Broker, Queue
    from runner.broker.dead import DeadLetter

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of dead tasks.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters, where no other option chooses some.")]
Type = Annotated[str, typer.Option(help="Only tasks of this type.", autocompletion=task_types)]
Reason = Annotated[str, typer.Option(help="Only those buried for this reason, such as crash or timeout.")]
Since = Annotated[str, typer.Option(metavar="WHEN", help="Buried since then: 2h (ago), 3d, or a time such as 2026-11-30T14:00 (UTC).")]
Until = Annotated[str, typer.Option(metavar="WHEN", help="Buried before then.")]
Newer = Annotated[str, typer.Option("--newer-than", metavar="WHEN", help="Only tasks first submitted since then: older ones may be moot.")]
Max = Annotated[int, typer.Option("--max", min=1, help="At most so many.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell how many.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where nobody can answer.")]
COLUMNS = ("id", "queue", "reason", "runs", "buried", "detail")
STRANGE = "an entry of another program; it goes with: redis-cli XDEL"
Act = Callable[["Queue", list[str]], int]
Work = tuple["Queue", Callable[[], Iterator[str]]]
"""A queue and what lists the entries that are meant, from the first one at each call."""


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    group = typer.Typer(help="Read the dead letters, run them again, drop them.", rich_markup_mode=None)
    group.command(epilog=examples("runner dead ls", "runner dead ls --queue emails --reason timeout --since 2h --json"))(ls)
    group.command(epilog=examples("runner dead stats", "runner dead stats --queue emails --since 7d --json | jq .by_reason"))(stats)
    group.command(
        epilog=examples(
            "runner dead replay 206 207",
            "runner dead replay --queue emails --reason crash --since 2026-11-30T14:00 --max 100 --dry-run",
            "runner dead replay --type image.resize --newer-than 3d",
        )
    )(replay)
    group.command(
        epilog=examples("runner dead purge 206", "runner dead purge --queue emails --reason unreadable --until 7d --max 100000 --yes")
    )(purge)
    app.add_typer(group, name="dead")


def ls(
    queue: AnyQueue = "",
    type: Type = "",
    reason: Reason = "",
    since: Since = "",
    until: Until = "",
    newer_than: Newer = "",
    most: Max = 50,
    as_json: Json = False,
) -> int:
    """List dead letters, newest first."""
    with opened_broker() as broker:
        now_ms = broker.now_ms()
        choice = chosen_letters(now_ms, type=type, reason=reason, since=since, until=until, newer_than=newer_than)
        queues, broken = _readable(broker, queue)
        found = islice(newest_of(queues, choice), most)
        say_values(map(_plain, found)) if as_json else say_rows(COLUMNS, (_row(q, one, now_ms) for q, one in found))
    return broken


def stats(queue: AnyQueue = "", since: Since = "", until: Until = "", as_json: Json = False) -> int:
    """Count dead letters by type, reason and day."""
    from runner.cli.deadstats import Stats

    with opened_broker() as broker:
        now_ms, (queues, broken) = broker.now_ms(), _readable(broker, queue)
        found = newest_of(queues, chosen_letters(now_ms, since=since, until=until))
        with advancing("counting", _number(queues) if not since and not until else None) as more:
            counted = Stats().add(_told(found, more))
    say_json(counted.plain()) if as_json else counted.tell(now_ms)
    return broken


def replay(
    ids: Ids = None,
    every: All = False,
    queue: AnyQueue = "",
    type: Type = "",
    reason: Reason = "",
    since: Since = "",
    until: Until = "",
    newer_than: Newer = "",
    most: Max = 1000,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Run dead tasks again, under their ids and with fresh counters; the oldest first."""
    options = {"type": type, "reason": reason, "since": since, "until": until, "newer_than": newer_than}
    line = json.dumps({"kind": "replay", "by": "runner dead replay"}).encode()
    asked = Asked("replayed", lambda q, entries: q.replay(entries, line), queue, most, dry_run, as_json)
    return asked.do(ids, every, options)


def purge(
    ids: Ids = None,
    every: All = False,
    queue: AnyQueue = "",
    type: Type = "",
    reason: Reason = "",
    since: Since = "",
    until: Until = "",
    newer_than: Newer = "",
    most: Max = 1000,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> int:
    """Drop dead letters for good, the oldest first; asks before, and without a terminal wants --yes."""
    options = {"type": type, "reason": reason, "since": since, "until": until, "newer_than": newer_than}
    asked = Asked("purged", lambda q, entries: q.purge(entries), queue, most, dry_run, as_json, ask=not (yes or dry_run))
    return asked.do(ids, every, options)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to do to dead letters, to how many at most, and how to tell it."""

    word: str
    act: Act
    queue: str
    most: int
    dry_run: bool
    as_json: bool
    ask: bool = False

    def do(self, ids: list[str] | None, every: bool, options: dict[str, str]) -> int:
        """Find the letters and do it; the exit code."""
        given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
        if ids and (every or given):
            raise ConfigError(f"ids name dead tasks already, {', '.join(given) or '--all'} does not go with them")
        if not (ids or every or given):
            raise ConfigError("name the ids of dead tasks, options that choose some, or --all")
        if self.ask and not sys.stdin.isatty():
            raise ConfigError("nobody can be asked whether to drop dead letters for good: add --yes, or --dry-run to see how many")
        with opened_broker() as broker:
            choice = chosen_letters(broker.now_ms(), **options)
            work, broken = (_named(broker, ids, self.queue), 0) if ids else _matching(broker, self.queue, choice)
            if self.ask and not self._confirmed(work):
                return 1
            most = None if choice.narrow or ids else min(self.most, _number([q for q, _ in work]))
            found, done = self._through(work, self.act, most)
        return self._tell(found, done) or broken

    def _confirmed(self, work: list[Work]) -> bool:
        found, _ = self._through(work, lambda q, entries: 0, None)
        return found == 0 or typer.confirm(f"Drop {found} dead letters for good?", err=True)

    def _through(self, work: list[Work], act: Act, total: int | None) -> tuple[int, int]:
        """A chunk at a time, from one queue after the other."""
        found = done = 0
        with advancing(self.word, total) as more:
            for queue, entries in work:
                for chunk in batched(islice(entries(), self.most - found)):
                    found, done = found + len(chunk), done + (0 if self.dry_run else act(queue, chunk))
                    more(len(chunk))
        return found, done

    def _tell(self, found: int, done: int) -> int:
        if self.as_json:
            say_json({"found": found, self.word: done, "dry_run": self.dry_run})
        else:
            print(f"{found} found, {done} {self.word}{', and --max is reached: there may be more' if found == self.most else ''}")
        return 0 if self.dry_run or done == found else 1


def _named(broker: Broker, ids: list[str], queue: str) -> list[Work]:
    return [_work_of(broker, task_id, queue) for task_id in ids]


def _work_of(broker: Broker, task_id: str, queue: str) -> Work:
    found = broker.find(task_id, chosen(broker, queue) if queue else None)
    if not found or found[1].state != "dead" or not found[1].entry:
        raise TaskUnknownError(f"no dead letter of task {task_id!r}: {'it is ' + found[1].state if found else 'no queue knows it'}")
    return found[0], partial(iter, [found[1].entry])


def _matching(broker: Broker, queue: str, choice: Choice) -> tuple[list[Work], int]:
    queues, broken = _readable(broker, queue)
    return [(one, partial(choice.entries, one)) for one in queues], broken


def _readable(broker: Broker, queue: str) -> tuple[list[Queue], int]:
    """One queue, or all that can be read; the others are told, and are the exit code."""
    asked, broken = each_asked(broker, queue, lambda one: (one, one.measure()))  # where its keys are of another type, only that tells
    for said in broken.values():
        print("runner:", said, file=sys.stderr)
    return [one for one, _ in asked], int(bool(broken))


def _number(queues: list[Queue]) -> int:
    return sum(one.measure().dead for one in queues)


def _told(found: Iterator[Found], more: Callable[[int], None]) -> Iterator[Found]:
    for one in found:
        more(1)
        yield one


def _row(queue: Queue, one: DeadLetter, now_ms: int) -> list[object]:
    detail = one.detail[:80] if one.whole else f"{STRANGE} '{queue.keys.part('dead')}' {one.entry}"
    return [one.id or "-", queue.name, one.reason or "-", _runs(one), f"{age(one.buried_ms, now_ms)} ago", detail]


def _plain(found: Found) -> dict[str, Any]:
    from runner.attempt import read_attempts

    queue, one = found
    return {"queue": queue.name, **asdict(one), "attempts": read_attempts(one.attempts)}


def _runs(letter: DeadLetter) -> int:
    """How often its handler was started since its last replay."""
    return letter.counters.attempt - (letter.reason != Kind.FATAL)
