"""What happens in the demo, in order: submit, kill a worker, follow the thumbnails, then the sheet, then the poison. Called by __main__."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from demo.plan import Planned, contact_sheet
from demo.stage import Stage
from runner.broker import Facts
from runner.errors import TaskDeadError, WaitTimeoutError

LOOK_S = 0.1
PASSES_AFTER = 2
"""How many passes of the controller a replayed and buried task has to sit out before it counts as left alone."""


class LateError(Exception):
    """Something did not happen in the demo's time; the report shows what did."""


@dataclass
class Told:
    """A planned task and what became of it."""

    planned: Planned
    task_id: str
    facts: Facts | None = None


@dataclass
class Story:
    """One run. `say` is told what happens, `progress` how far it is."""

    stage: Stage
    out: Path
    within_s: float
    say: Callable[[str], None]
    progress: Callable[[str], None]
    told: list[Told] = field(default_factory=list)
    killed: str = ""
    passes_sat_out: int = 0
    _began_s: float = field(default_factory=time.monotonic)

    def run(self, plan: list[Planned]) -> None:
        """All of it. LateError in the end of the time."""
        try:
            # What has trouble to go through comes first, and is not kept waiting by three hundred photos.
            for one in sorted(plan, key=lambda one: one.priority):
                self._submit(one)
            self.told.sort(key=lambda told: plan.index(told.planned))
            self.say(f"{len(plan)} tasks submitted, at most {self.stage.scaler.max_replicas} workers at a time")
            self._kill_one()
            self._follow_thumbnails()
            self._make_sheet()
            self._follow_poison()
            self._until(lambda: not self.stage.scaler.running(), "the last worker to exit")
        finally:
            self._look_at_all()

    def _submit(self, one: Planned) -> Told:
        receipt = self.stage.producer.submit(one.type, one.payload, queue=self.stage.queue.name, priority=one.priority)
        told = Told(one, receipt.id)
        self.told.append(told)
        return told

    def _kill_one(self) -> None:
        """SIGKILL for the worker whose heartbeat says that it is in the middle of its task."""
        one = next(told for told in self.told if told.planned.role == "killed")
        self._until(lambda: self._half_done(one.task_id), f"a worker to be in the middle of {one.planned.label}")
        facts = self.stage.queue.look(one.task_id)
        holder = facts.holder if facts and facts.holder else ""
        if self.stage.scaler.kill(holder):
            self.killed = holder
            self.say(f"{holder} was half done with {one.planned.label!r}: killed with its child (SIGKILL)")

    def _half_done(self, task_id: str) -> bool:
        facts = self.stage.queue.look(task_id)
        return facts is not None and facts.state == "claimed" and facts.progress not in (None, "-")

    def _follow_thumbnails(self) -> None:
        pictures = [told for told in self.told if told.planned.type == "image.thumbnail"]
        for number, told in enumerate(pictures, 1):
            self.progress(f"{told.planned.label} ({number} of {len(pictures)} thumbnails), {self._workers()}")
            self._ended(told)

    def _make_sheet(self) -> None:
        """Submitted when the thumbnails are there, so that no worker sits and waits for others."""
        medium = [told for told in self.told if told.planned.label.endswith(", medium") and self._ended(told)]
        tiles = [(told.planned.payload["target"], told.planned.label.removesuffix(", medium")) for told in medium]
        if tiles:
            self.progress("contact sheet")
            self._ended(self._submit(contact_sheet(tiles, self.out)))

    def _ended(self, told: Told) -> bool:
        """Wait for a task's end; whether it is done."""
        try:
            self.stage.producer.wait(told.task_id, self._left_s(), queue=self.stage.queue.name)
        except TaskDeadError:
            return False
        except WaitTimeoutError as error:
            raise self._late(f"{told.planned.label}: {error}") from error
        return True

    def _follow_poison(self) -> None:
        """Until it is dead, replayed, dead again, and left so by further passes of the controller."""
        one = next(told for told in self.told if told.planned.role == "poison")
        replays_max = self.stage.queue.declaration.replay_max
        self._until(lambda: self._dead_after(one.task_id, 0), "the poison task to be dead")
        self._until(lambda: self._dead_after(one.task_id, replays_max), "the poison task to be replayed and dead again")
        last = self.stage.broker.last_pass()
        while self.passes_sat_out < PASSES_AFTER:
            self._until(lambda last=last: self.stage.broker.last_pass() != last, "a pass of the controller")  # type: ignore[misc]
            last = self.stage.broker.last_pass()
            self.passes_sat_out += 1

    def _dead_after(self, task_id: str, replays: int) -> bool:
        facts = self.stage.queue.look(task_id)
        return facts is not None and facts.state == "dead" and facts.counters.replays >= replays

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        pause = threading.Event()
        while not condition():
            self.progress(f"waiting for {what}, {self._workers()}")
            if self._left_s() <= 0:
                raise self._late(f"waited in vain for {what}")
            pause.wait(LOOK_S)

    def _workers(self) -> str:
        return f"{len(self.stage.scaler.running())} workers running, {self.stage.scaler.started} started"

    def _left_s(self) -> float:
        return max(0.0, self._began_s + self.within_s - time.monotonic())

    def _late(self, what: str) -> LateError:
        code, failure = self.stage.controller.poll(), self.stage.scaler.failure
        ended = f"; the controller ended with exit code {code}, see controller.log" if code is not None else ""
        return LateError(f"after {self.within_s:g} s: {what}{ended}{f'; the scaler ended: {failure}' if failure else ''}")

    def _look_at_all(self) -> None:
        for told in self.told:
            told.facts = self.stage.queue.look(told.task_id)
