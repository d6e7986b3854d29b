"""A worker process for one no-op task, from its start to its end, beside rq's burst worker and the floor. Called by __main__."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rq import Queue as RqQueue
from rq.job import Job

from bench.figures import Figure, Section
from bench.rounds import Effort, in_turns
from bench.server import Stand
from runner.broker import Broker
from runner.errors import RunnerError
from runner.producer import Producer
from runner.queue import Declaration

ROOT = Path(__file__).parents[1]
CPU, FLOOR, RQ = "ms CPU", "floor", "rq worker --burst"
OURS = {"stream": "runner.worker, stream", "list": "runner.worker, list"}


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process and its children took."""

    cpu_ms: float
    wall_ms: float


@dataclass(frozen=True, slots=True)
class Contender:
    """A worker program: how a task gets there, how the program is started, whether the task is done."""

    command: tuple[str, ...]
    environ: Mapping[str, str]
    submit: Callable[[str], str]
    """Given the kind of task, `nothing` or `weighed`: its id."""
    result: Callable[[str], object]
    """The task's result; an error if it is not done."""

    def run(self) -> Spent:
        """One task, one process."""
        task_id = self.submit("nothing")
        spent = process(self.command, self.environ)
        self.result(task_id)
        return spent

    def weigh_mib(self) -> float:
        """Memory of the process that watches and the one that runs the task, while it runs."""
        task_id = self.submit("weighed")
        process(self.command, self.environ)
        return float(str(self.result(task_id))) / 1024


def process(command: tuple[str, ...], environ: Mapping[str, str]) -> Spent:
    """Run a program to its end; what it printed is told if it fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "RQ_", "PYTHON"))}
    began_s = time.perf_counter()
    with subprocess.Popen(command, env={**clean, **environ}, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as started:
        printed = started.stdout.read() if started.stdout else b""
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - began_s
    if started.returncode:
        raise RunnerError(f"{' '.join(command)} ended with {started.returncode}: {printed.decode(errors='replace')[-1000:]}")
    return Spent((usage.ru_utime + usage.ru_stime) * 1000, wall_s * 1000)


def ours(stand: Stand, producer: Producer, mode: str) -> Contender:
    """Our worker on a queue of this mode."""
    environ = {"RUNNER_REDIS_URL": stand.url, "RUNNER_QUEUE": mode, "RUNNER_HANDLERS": "bench.handlers"}
    return Contender(
        (sys.executable, "-m", "runner.worker"),
        environ,
        lambda kind: producer.submit(f"bench.{kind}", {"n": 1}, queue=mode).id,
        lambda task_id: producer.wait(task_id, 5, queue=mode),
    )


def rqs(stand: Stand) -> Contender:
    """rq's own worker: it forks a child for the task, as ours does."""
    queue = RqQueue("rq", connection=stand.client)
    program = str(Path(sysconfig.get_path("scripts")) / "rq")

    def result(task_id: str) -> object:
        job = Job.fetch(task_id, stand.client)
        if not job.is_finished:
            raise RunnerError(f"rq left its job {job.get_status()}")
        return job.return_value()

    command = (program, "worker", "--burst", "--max-jobs", "1", "--url", stand.url, "--path", str(ROOT), "rq")
    return Contender(command, {}, lambda kind: queue.enqueue(f"bench.tasks.{kind}", {"n": 1}).id, result)


def worker(stand: Stand, effort: Effort) -> Section:
    """CPU, wall time and memory."""
    section = Section("worker", "A worker for one no-op task", beside=(RQ, FLOOR))
    stand.empty()
    for mode in OURS:
        Broker(stand.client).declare(Declaration(mode, mode=mode))
    with Producer(stand.url) as producer:
        contenders = {name: ours(stand, producer, mode) for mode, name in OURS.items()} | {RQ: rqs(stand)}
        section.figures = _measured(stand, effort, contenders)
    for name in OURS.values():
        section.wants(f"{name}, CPU over rq's", section.ratio_of(name, RQ, CPU), at_most=1.15)
    section.notes.append("CPU: user and system, of the process and its child. Memory: Pss of both while the task runs")
    section.notes.append(
        f"{FLOOR}: interpreter, redis-py, a fork, three round trips. The bytecode of all was compiled by the round that warms up"
    )
    return section


def _measured(stand: Stand, effort: Effort, contenders: Mapping[str, Contender]) -> list[Figure]:
    runs: dict[str, Callable[[], Spent]] = {name: one.run for name, one in contenders.items()}
    runs[FLOOR] = lambda: process((sys.executable, "-m", "bench.floor", stand.url), {})
    walls: dict[str, list[float]] = {name: [] for name in runs}

    def cpu_of(name: str) -> Callable[[], float]:
        def once() -> float:
            spent = runs[name]()
            walls[name].append(spent.wall_ms)
            return spent.cpu_ms

        return once

    cpu = in_turns(effort, {name: cpu_of(name) for name in runs}, lambda: None)
    weights = {name: tuple(one.weigh_mib() for _ in range(effort.least)) for name, one in contenders.items()}
    figures = [Figure(name, CPU, values) for name, values in cpu.items()]
    figures += [Figure(name, "ms wall", tuple(values[1:])) for name, values in walls.items()]  # the first warmed up
    return figures + [Figure(name, "MiB", values) for name, values in weights.items()]
