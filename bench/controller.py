"""The controller's steps at three sizes: items a second, whether that stays with size, the longest call. Called by __main__."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import states
from bench.figures import Figure, Section
from bench.rounds import Effort, in_turns, seconds_of
from bench.server import Stand
from runner.broker import Queue
from runner.controller.queue_pass import QueuePass
from runner.errors import RunnerError

SIZES = (1000, 10_000, 100_000)
JUDGED = 10_000
SLOW_US = 200
"""The server notes calls that take longer."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a pass: the state it works on, what it counts, and whether its speed is held to a target."""

    does: Callable[[QueuePass], None]
    counts: str
    build: Callable[[int], Callable[[Stand, Queue], None]]
    sizes: tuple[int, ...] = SIZES
    fast: bool = True


STEPS = {
    "promote": Step(QueuePass.promote, "promoted", states.delayed),
    "reap": Step(QueuePass.reap, "reaped_retried", states.lost),
    "replay": Step(QueuePass.replay, "replayed", states.dead),
    # Only for their longest call: a pass makes them too.
    "expire": Step(QueuePass.expire, "expired", states.expired, SIZES[:2], fast=False),
}


def controller(stand: Stand, effort: Effort) -> Section:
    """Each step as a pass makes it, in both modes."""
    section = Section("controller", "The controller's steps")
    stand.client.config_set("slowlog-log-slower-than", SLOW_US)
    stand.client.config_set("slowlog-max-len", 100_000)
    each = Effort(effort.seconds / 8, effort.size, effort.least)
    for mode in ("stream", "list"):
        for name, step in STEPS.items():
            stand.empty()
            _measure(stand, each, section, mode, (name, step))
    section.notes.append("longest call: the longest that Redis spent in one script, in each round; the target is judged by the worst round")
    section.notes.append("a step's time holds everything that the controller does for it: decisions, packing, reading, round trips")
    return section


def _measure(stand: Stand, effort: Effort, section: Section, mode: str, of: tuple[str, Step]) -> None:
    name, step = of
    sizes = {size: effort.scaled(size) for size in step.sizes}
    all_kept = {size: states.kept(stand, mode, number, step.build(number)) for size, number in sizes.items()}
    longest: dict[int, list[float]] = {size: [] for size in sizes}

    def rate_of(size: int) -> Callable[[], float]:
        def once() -> float:
            kept = all_kept[size]
            kept.restore()
            work = QueuePass(kept.broker, kept.queue, kept.broker.now_ms(), lambda: False)
            stand.client.slowlog_reset()
            took_s = seconds_of(lambda: step.does(work))
            longest[size].append(_longest_ms(stand))
            if work.did.get(step.counts) != sizes[size]:
                raise RunnerError(f"{name} of {sizes[size]} tasks in {mode} mode did {work.did}")
            return sizes[size] / took_s

        return once

    rates = in_turns(effort, {str(size): rate_of(size) for size in sizes}, lambda: None)
    title = f"{name}, {mode}"
    section.figures += [Figure(f"{title}, {size:,}", "items/s", rates[str(size)]) for size in sizes]
    section.figures += [Figure(f"{title}, {size:,}", "ms longest call", tuple(found[1:])) for size, found in longest.items()]
    _judge(section, title, step)


def _judge(section: Section, title: str, step: Step) -> None:
    rates = {size: section.figure(f"{title}, {size:,}", "items/s") for size in step.sizes}
    if step.fast:
        for size in (JUDGED, max(SIZES)):
            section.wants(f"{title}, {size:,} items, items/s", rates[size].median, at_least=50_000)
        section.wants(f"{title}, linear: items/s at 100,000 over 10,000", rates[max(SIZES)].over(rates[JUDGED]), at_least=0.8)
    calls = section.figure(f"{title}, {JUDGED:,}", "ms longest call").values
    section.wants(f"{title}, {JUDGED:,} items, longest call of all rounds, ms", max(calls), at_most=20)


def _longest_ms(stand: Stand) -> float:
    """The longest noted call; where none is, all were shorter than what is noted."""
    noted = [int(call["duration"]) for call in stand.client.slowlog_get(100_000) if call["command"].startswith(b"EVAL")]
    return max([*noted, SLOW_US]) / 1000
