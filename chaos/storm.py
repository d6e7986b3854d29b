"""One mode's run: scales workers as KEDA would, keeps two controllers, kills by the plan, until all has drained. Called by __main__."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from chaos import plan
from chaos.ledger import Ledger
from chaos.pool import Pool
from chaos.strikes import FrailServer, Strikes
from chaos.submitter import Submitter
from runner.broker import Broker, Measures, Queue
from runner.connect import FAILURES, connect, unretried
from runner.keda import STRATEGY_OF_MODE, jobs_to_start, metric_of
from runner.queue import Declaration

REPLAYED = ("timeout",)
MAX_WORKERS = 4
MEASURE_EVERY_S = 0.1
SAY_EVERY_S = 5.0
STUCK_S = 90.0
PROGRAM = {"RUNNER_EXEC": f"{sys.executable} -m chaos.program", "RUNNER_HANDLERS": ""}
CONTROL = {"RUNNER_CONTROL_FOR_S": "3600", "RUNNER_CONTROL_EVERY_S": "0.3"}


class Stuck(Exception):
    """Nothing moved for STUCK_S."""


def declaration(mode: str) -> Declaration:
    """Small lease and pauses, and caps that kills cannot reach, so that only poison dies."""
    return Declaration(
        "chaos",
        mode=mode,
        lease_s=plan.LEASE_S,
        timeout_s=30,
        max_timeout_s=60,
        max_crashes=30,
        max_releases=30,
        max_timeouts=2,
        backoff_s=0.1,
        max_backoff_s=0.5,
        replay=REPLAYED,
        replay_after_s=2,
    )


@dataclass
class Storm:
    """One run and its counts."""

    mode: str
    count: int
    seed: int
    folder: Path
    server: FrailServer
    started: int = 0
    controllers: int = 0
    wall_s: float = 0.0
    stuck: str = ""

    def __post_init__(self) -> None:
        for name in ("ledger", "logs", "ready"):
            (self.folder / name).mkdir(parents=True)
        self.ledger = Ledger(self.folder / "ledger")
        self.plan = plan.tasks(self.count, self.seed, self.mode)
        self.measures: Measures | None = None
        self.slots = ["", ""]
        self.slot_at = [0.0, 0.0]

    def run(self) -> Storm:
        """Until all tasks are settled and nobody runs; the server is up then."""
        self.began_s = self.moved_s = self.said_s = self.measured_s = time.monotonic()
        broker = Broker(connect(self.server.url))
        queue = broker.declare(declaration(self.mode))
        self.quick = Queue(unretried(self.server.url), "", queue.declaration)
        keys = [queue.keys.watched(priority) for priority in plan.PRIORITIES]
        events = plan.events(self.count, self.seed, self.mode)
        self.strikes = Strikes(events, self.server, self.quick.client, keys, lambda index: self.pool.kill(self.slots[index]))
        self.submitter = Submitter(self.server.url, queue, self.plan, self.ledger)
        env = {"RUNNER_REDIS_URL": self.server.url, "RUNNER_QUEUE": "chaos", "RUNNER_HANDLERS": "chaos.handlers", "RUNNER_GRACE_S": "1"}
        self.pool = Pool(env | {"CHAOS_LEDGER": str(self.ledger.folder), "TMPDIR": str(self.folder / "ready")}, self.folder)
        thread = self.submitter.start()
        try:
            while self._step():
                time.sleep(0.005)
        finally:
            self.submitter.stopping = True
            thread.join(5)
            self.pool.close()
            self.strikes.recover()
        self.wall_s = time.monotonic() - self.began_s
        return self

    @property
    def did(self) -> Counter[str]:
        """All that befell anybody."""
        return self.strikes.did + self.pool.did - Counter({"continue": self.pool.did["continue"]})

    def _step(self) -> bool:
        """One turn; False when all is done, or stuck."""
        now_s = time.monotonic()
        self.pool.poll()
        if self.submitter.failed:
            raise self.submitter.failed
        self.strikes.step(now_s)
        self._keep_controllers(now_s)
        if now_s - self.measured_s >= MEASURE_EVERY_S:
            self.measured_s = now_s
            self._measure(now_s)
            self._scale()
        if now_s - self.said_s >= SAY_EVERY_S:
            self.said_s = now_s
            self._say(now_s)
        if now_s - self.moved_s > STUCK_S:
            self.stuck = f"nothing moved for {STUCK_S:g} s: {self.measures}"
        return not self.stuck and not self._drained()

    def _drained(self) -> bool:
        m = self.measures
        workers = any(name.startswith("worker") for name in self.pool.alive)
        if m is None or self.strikes.pending or workers or self.submitter.sent < self.count:
            return False
        settled = m.waiting + m.claimed + m.delayed == 0 and self.backlog_s < time.monotonic() - 2 * MEASURE_EVERY_S
        return settled and not any(letter.reason in REPLAYED and not letter.counters.replays for letter in self.quick.dead_letters())

    def _measure(self, now_s: float) -> None:
        """While Redis is away the last lengths count, as long as the workers that they start are fewer than MAX_WORKERS."""
        if self.strikes.back_s is not None:
            return
        try:
            found = self.quick.measure()
        except FAILURES:
            return
        if self.measures is None or found.counts != self.measures.counts:
            self.moved_s = now_s
        self.measures = found
        self.submitter.backlog = found.waiting + found.claimed + found.delayed
        if self.submitter.backlog or self.submitter.sent < self.count:
            self.backlog_s = now_s

    def _scale(self) -> None:
        if self.measures is None:
            return
        metric = metric_of(self.measures.watched.values(), MAX_WORKERS)
        for _ in range(jobs_to_start(STRATEGY_OF_MODE[self.mode], metric, self.pool.running, 0, MAX_WORKERS)):
            self._start_worker()

    def _start_worker(self) -> None:
        number, self.started = self.started, self.started + 1
        self.strikes.before(number)
        ready = str(self.folder / "ready" / str(number))
        fate = plan.fate(self.seed, self.mode, number)
        env = {"RUNNER_READY_FILE": ready, "RUNNER_POD": f"worker-{number}"} | (PROGRAM if fate.program else {})
        self.pool.start(f"worker {number}", "runner.worker", fate, **env)

    def _keep_controllers(self, now_s: float) -> None:
        for index, name in enumerate(self.slots):
            if name in self.pool.alive or now_s < self.slot_at[index] + 0.5:
                continue
            number, self.controllers = self.controllers, self.controllers + 1
            self.slots[index], self.slot_at[index] = f"controller {number}", now_s
            self.pool.start(self.slots[index], "runner.controller", plan.controller_fate(self.seed, self.mode, number), **CONTROL)

    def _say(self, now_s: float) -> None:
        counts = self.measures.counts if self.measures else {}
        settled = sum(counts.get(word, 0) for word in ("done", "cancelled", "buried"))
        print(
            f"  {self.mode:6} {now_s - self.began_s:4.0f} s: {self.submitter.sent} of {self.count} submitted, {settled} settled,"
            f" {self.started} workers started, {self.did.total()} strikes, {self.did['kill redis']} of them kills of Redis",
            flush=True,
        )
