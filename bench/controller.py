"""The controller's steps at three sizes: items a second, whether that stays with size, the longest call. Called by __main__."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import states
from bench.figures import Figure, Section
from bench.rounds import Effort, in_turns, seconds_of
from bench.server import Stand
from runner.broker import Queue
from runner.controller.queue_pass import QueuePass
from runner.errors import RunnerError

SIZES = (1000, 10_000, 100_000)
JUDGED = 10_000
LONGEST, SERVER, OWN = "ms longest call", "us CPU an item, server", "us CPU an item, controller"
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
    section.notes.append(
        "CPU tells what limits: on an idle machine the time of an item is that of server and controller, where they do not overlap"
    )
    section.notes.append("longest call: the longest that Redis spent in one script, in each round; the target is judged by the worst round")
    section.notes.append("a step's time holds everything that the controller does for it: decisions, packing, reading, round trips")
    return section


@dataclass(slots=True)
class _Bench:
    """One step at one size, and what its rounds found beside their speed."""

    stand: Stand
    step: Step
    kept: states.Kept
    number: int
    longest_ms: list[float] = field(default_factory=list)
    server_us: list[float] = field(default_factory=list)
    own_us: list[float] = field(default_factory=list)

    def once(self) -> float:
        """One round: items a second."""
        self.kept.restore()
        work = QueuePass(self.kept.broker, self.kept.queue, self.kept.broker.now_ms(), lambda: False)
        self.stand.client.slowlog_reset()
        server_s, own_s = self.stand.cpu_s(), time.process_time()
        took_s = seconds_of(lambda: self.step.does(work))
        own_s, server_s = time.process_time() - own_s, self.stand.cpu_s() - server_s
        self.own_us.append(own_s / self.number * 1e6)
        self.server_us.append(server_s / self.number * 1e6)
        self.longest_ms.append(_longest_ms(self.stand))
        if work.did.get(self.step.counts) != self.number:
            raise RunnerError(f"{self.step.counts} was to be {self.number}, but the pass did {work.did}")
        return self.number / took_s


def _measure(stand: Stand, effort: Effort, section: Section, mode: str, of: tuple[str, Step]) -> None:
    name, step = of
    numbers = {size: effort.scaled(size) for size in step.sizes}
    benches = {size: _Bench(stand, step, states.kept(stand, mode, n, step.build(n)), n) for size, n in numbers.items()}
    rates = in_turns(effort, {str(size): one.once for size, one in benches.items()}, lambda: None)
    title = f"{name}, {mode}"
    section.figures += [Figure(f"{title}, {size:,}", "items/s", rates[str(size)]) for size in benches]
    for size, one in benches.items():
        found = ((LONGEST, one.longest_ms), (SERVER, one.server_us), (OWN, one.own_us))
        if size >= JUDGED:
            section.figures += [Figure(f"{title}, {size:,}", unit, tuple(values[1:])) for unit, values in found]  # the first warmed up
    _judge(section, title, step)


def _judge(section: Section, title: str, step: Step) -> None:
    rates = {size: section.figure(f"{title}, {size:,}", "items/s") for size in step.sizes}
    if step.fast:
        for size in (JUDGED, max(SIZES)):
            section.wants(f"{title}, {size:,} items, items/s", rates[size].median, at_least=50_000)
        section.wants(f"{title}, linear: items/s at 100,000 over 10,000", rates[max(SIZES)].over(rates[JUDGED]), at_least=0.8)
    calls = section.figure(f"{title}, {JUDGED:,}", LONGEST).values
    section.wants(f"{title}, {JUDGED:,} items, longest call of all rounds, ms", max(calls), at_most=20)


def _longest_ms(stand: Stand) -> float:
    """The longest noted call; where none is, all were shorter than what is noted."""
    noted = [int(call["duration"]) for call in stand.client.slowlog_get(100_000) if call["command"].startswith(b"EVAL")]
    return max([*noted, SLOW_US]) / 1000
