"""Memory of Redis for each waiting task, beside rq, dramatiq and bare entries. Called by __main__."""

from __future__ import annotations

from collections.abc import Callable

from bench import submit
from bench.figures import Figure, Section
from bench.rounds import Effort, in_turns
from bench.server import Stand
from runner.broker import Broker
from runner.producer import Producer
from runner.queue import Declaration

TASKS = 10_000
ENTRY, ITEM, RQ = "bare stream entry", "bare list item", "rq"


def memory(stand: Stand, effort: Effort) -> Section:
    """used_memory with so many tasks waiting, less what it was without them."""
    section = Section("memory", "Memory of Redis for each waiting task", beside=(ENTRY, RQ))
    tasks = effort.scaled(TASKS)

    def prepared() -> None:
        stand.empty()
        for mode in submit.OURS:
            Broker(stand.client).declare(Declaration(mode, mode=mode))

    with Producer(stand.url) as producer:
        fillers = {name: submit.ours_bulk(producer, mode) for mode, name in submit.OURS.items()}
        fillers |= {ENTRY: submit.raw_one_by_one(stand), ITEM: _raw_list(stand)}
        fillers |= {RQ: submit.rq_bulk(stand), "dramatiq": submit.dramatiq_one_by_one(stand)}
        prepared()
        found = in_turns(
            Effort(min(effort.seconds, 1), effort.size, effort.least),
            {name: _bytes_for_each(stand, fill, tasks) for name, fill in fillers.items()},
            prepared,
        )
    section.figures = [Figure(name, "bytes", values) for name, values in found.items()]
    own = len(submit.BODY)
    names = (*submit.OURS.values(), ENTRY, ITEM)
    section.figures += [Figure(name, "bytes without body", tuple(value - own for value in found[name])) for name in names]
    section.notes.append(f"{tasks:,} tasks; the body has {own} bytes. rq and dramatiq write the same payload in formats of their own")
    return section


def _bytes_for_each(stand: Stand, fill: submit.Step, tasks: int) -> Callable[[], float]:
    def once() -> float:
        before = stand.client.info("memory")["used_memory"]
        fill(tasks)
        return float(stand.client.info("memory")["used_memory"] - before) / tasks

    return once


def _raw_list(stand: Stand) -> submit.Step:
    def run(tasks: int) -> None:
        for _ in range(tasks):
            stand.client.lpush("raw", submit.BODY)

    return run
