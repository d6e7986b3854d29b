"""The command for cron, Nagios and CI: check. Called by cli.

Its exit code is Nagios': 0 all is well, 1 a warning, 2 critical, 3 unknown. So what ends every other command with 2, something given
that is wrong, ends this one with 3: an alarm must not come from a typing error. A Redis that does not answer is critical.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import Field, asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import AnyQueue, Json, age, examples, opened_broker
from runner.cli.limits import Level, Limits, level_of, limits_of
from runner.cli.output import say, say_json
from runner.errors import RunnerError, UnavailableError, UndeclaredQueueError

if TYPE_CHECKING:
    from runner.broker import Broker, Measures, Queue

UNKNOWN = int(Level.UNKNOWN)
PATIENCE_S = 5.0
"""How long Redis may fail: whoever waits for a check does not wait for long, Nagios 10 s."""
EMPTY_MS = 600_000
EXITS = (
    "Exit codes, as Nagios has them: 0 all is well; 1 a warning; 2 critical, also a Redis that does not answer; "
    "3 unknown, also where something given is wrong."
)
NEAR = 0.8
Words = Annotated[list[str] | None, typer.Argument(metavar="[QUEUE.LIMIT=NUMBER]...", help="Another limit for one queue.")]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not well. `about` is a queue, or what is wrong for all."""

    level: Level
    about: str
    said: str


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    shown = examples("runner check", "runner check emails.max_wait_s=900 --max-dead-percent 5", "runner check --queue emails --json")
    app.command(epilog=f"{EXITS}\n\n{shown}")(check)


def check(words: Words = None, queue: AnyQueue = "", as_json: bool = False, **given: float | None) -> int:
    """Check all queues: a line for each finding, the worst first. Over a limit is a warning, over twice of it critical; 0 is no limit."""
    try:
        with opened_broker(PATIENCE_S) as broker:
            found = list(_looked(broker, queue, given, words or []))
    except UnavailableError as error:
        found = [Finding(Level.CRITICAL, "Redis", str(error))]
    except RunnerError as error:
        found = [Finding(Level.UNKNOWN, "runner check", str(error))]
    return _say(sorted(found, key=lambda one: -one.level.weight), as_json)


def _looked(broker: Broker, queue: str, given: dict[str, float | None], words: list[str]) -> Iterator[Finding]:
    """What is wrong, and a finding of level OK for what is not."""
    opened = broker.each()
    if queue and queue not in opened:
        raise UndeclaredQueueError(queue)
    names = [queue] if queue else list(opened)
    limits = limits_of(given, words, names)
    if not names:
        yield Finding(Level.UNKNOWN, "Redis", "no queue is declared here: is it the right one, with its data?")
    yield from _controller(broker, limits_of(given, [], [""])[""].max_silence_s)
    for name in names:
        one = opened[name]
        yield from _queue(broker, one, limits[name]) if not isinstance(one, RunnerError) else [Finding(Level.CRITICAL, name, str(one))]


def _controller(broker: Broker, limit_s: float) -> Iterator[Finding]:
    last, now_ms = broker.last_pass(), broker.now_ms()
    silent_s = (now_ms - int(last["at_ms"])) / 1000 if last else float("inf")
    if level := level_of(silent_s, limit_s):
        said = f"its last pass was {age(int(last['at_ms']), now_ms)} ago" if last else "it never made a pass"
        yield Finding(level, "controller", f"{said}, the limit is {limit_s:g} s")


def _queue(broker: Broker, queue: Queue, limits: Limits) -> Iterator[Finding]:
    try:
        found = queue.measure()
        wrong = [*_waits(found, limits), *_length(queue, found, limits), *_dead(broker, queue, found, limits)]
        wrong += _pods(broker, queue, limits)
    except UnavailableError:
        raise
    except RunnerError as error:
        wrong = [(Level.CRITICAL, str(error))]
    yield from (Finding(level, queue.name, said) for level, said in wrong if level)
    if not any(level for level, _ in wrong):
        yield Finding(Level.OK, queue.name, f"{found.waiting} waiting, {found.claimed} claimed, {found.delayed} delayed, {found.dead} dead")


Looks = Iterator[tuple[Level, str]]


def _waits(found: Measures, limits: Limits) -> Looks:
    wait_s = found.oldest_wait_s
    yield level_of(wait_s, limits.max_wait_s), f"the oldest task waits for {wait_s:.0f} s, the limit is {limits.max_wait_s:g} s"


def _length(queue: Queue, found: Measures, limits: Limits) -> Looks:
    length, full = found.waiting + found.claimed + found.delayed, queue.declaration.max_length
    if limits.max_length:
        yield level_of(length, limits.max_length), f"it holds {length} tasks, the limit is {limits.max_length:g}"
    if full and length >= full:
        yield Level.CRITICAL, f"it holds {length} tasks, its max_length is {full}: submits are refused"
    elif full and not limits.max_length and length > NEAR * full:
        yield Level.WARNING, f"it holds {length} tasks of the {full} of its max_length, then submits are refused"


def _dead(broker: Broker, queue: Queue, found: Measures, limits: Limits) -> Looks:
    ended = broker.ended_lately(queue.name, found.counts, found.now_ms)
    if ended.buried > limits.max_dead:
        since = f"within {age(ended.since_ms, found.now_ms)}" if ended.since_ms else "since it was declared"
        percent, limit = ended.dead_percent, limits.max_dead_percent
        said = f"{ended.buried} of {ended.done + ended.buried} tasks that ended {since} are dead, {percent:.0f} %, the limit is {limit:g} %"
        yield level_of(percent, limit), said


def _pods(broker: Broker, queue: Queue, limits: Limits) -> Looks:
    now_ms = broker.now_ms()
    failed = broker.starts(queue.name).get("failed", {})
    empty = sum(now_ms - at_s * 1000 < EMPTY_MS for at_s in failed.values())
    said = f"{empty} pods ended without claiming, the limit is {limits.max_empty_pods:g}: see their logs"
    yield level_of(empty, limits.max_empty_pods), said
    for one in broker.findings(now_ms).get(queue.name, []):
        level = Level.CRITICAL if one["kind"] == "paused" and one["message"] else Level.WARNING
        yield level, f"{one['name']}: {one['kind']}: {one['reason']} {one['message']}"


def _say(found: list[Finding], as_json: bool) -> int:
    worst = max((one.level for one in found), key=lambda level: level.weight, default=Level.OK)
    if as_json:
        say_json({"level": worst.name, "findings": [asdict(one) | {"level": one.level.name} for one in found if one.level]})
        return int(worst)
    for one in found if worst is Level.OK else [one for one in found if one.level]:
        say(f"{one.level.name} {one.about}: {one.said}")
    return int(worst)


def _sign(command: Any) -> None:
    """An option for each limit."""
    hints: dict[str, Any] = {"words": Words, "queue": AnyQueue, "as_json": Json} | {one.name: _option(one) for one in fields(Limits)}
    defaults = {"queue": "", "as_json": False}
    kind = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(
        [inspect.Parameter(name, kind, annotation=hint, default=defaults.get(name)) for name, hint in hints.items()]
    )
    command.__annotations__ = hints


def _option(one: Field[Any]) -> Any:
    return Annotated[float | None, typer.Option(min=0, help=f"{one.metadata['meaning']} [{one.default:g}]")]


_sign(check)
