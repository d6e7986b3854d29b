"""Submit one by one and in bulk, beside raw redis-py with the same bytes, rq and dramatiq. Called by __main__."""

from __future__ import annotations

from collections.abc import Callable

from rq import Queue as RqQueue

from bench.actors import actor
from bench.figures import Figure, Section
from bench.rounds import Effort, in_turns, seconds_of
from bench.server import Stand
from runner import wire
from runner.broker import Broker
from runner.producer import Producer
from runner.queue import Declaration

TYPE = "image.resize"
PAYLOAD = {"path": "/data/in/photo-0001.jpg", "size": [640, 480], "quality": 85, "tags": ["a", "b"]}
ID = "01JDXJ8M2Q4N6P8R0S2T4V6X8Z"
BODY = wire.write(TYPE, PAYLOAD, task_id=ID, created_ms=1_764_500_000_000)
CHUNK = 200
BARE = "for i = 1, #ARGV, 2 do redis.call('XADD', KEYS[1], '*', 'id', ARGV[i], 'body', ARGV[i + 1]) end"
NOTHING = "bench.tasks.nothing"
OURS = {"stream": "runner, stream", "list": "runner, list"}

Step = Callable[[int], object]
"""Does a number of tasks."""


def raw_one_by_one(stand: Stand) -> Step:
    """XADD, a call each, of the id and the bytes that `submit` sends."""

    def run(tasks: int) -> None:
        for _ in range(tasks):
            stand.client.xadd("raw", {"id": ID, "body": BODY})

    return run


def ours_one_by_one(producer: Producer, queue: str) -> Step:
    """`submit`, from the payload to the receipt."""

    def run(tasks: int) -> None:
        for _ in range(tasks):
            producer.submit(TYPE, PAYLOAD, queue=queue)

    return run


def rq_one_by_one(stand: Stand) -> Step:
    """rq's `enqueue`."""
    queue = RqQueue("rq", connection=stand.client)

    def run(tasks: int) -> None:
        for _ in range(tasks):
            queue.enqueue(NOTHING, PAYLOAD)

    return run


def dramatiq_one_by_one(stand: Stand) -> Step:
    """dramatiq's `send`."""
    nothing = actor(stand.url)

    def run(tasks: int) -> None:
        for _ in range(tasks):
            nothing.send(PAYLOAD)

    return run


def raw_bulk(stand: Stand) -> Step:
    """One script that only loops XADD, 200 a call, with the bytes ready."""
    script = stand.client.register_script(BARE)

    def run(tasks: int) -> None:
        for at in range(0, tasks, CHUNK):
            script(keys=["raw"], args=[ID, BODY] * min(CHUNK, tasks - at))

    return run


def ours_bulk(producer: Producer, queue: str) -> Step:
    """`submit_many`, from the payloads."""
    return lambda tasks: producer.submit_many(((TYPE, PAYLOAD) for _ in range(tasks)), queue=queue)


def rq_bulk(stand: Stand) -> Step:
    """rq's `enqueue_many`."""
    queue = RqQueue("rq", connection=stand.client)

    def run(tasks: int) -> None:
        queue.enqueue_many([RqQueue.prepare_data(NOTHING, (PAYLOAD,)) for _ in range(tasks)])

    return run


def _rates(stand: Stand, effort: Effort, steps: dict[str, tuple[Step, int]]) -> list[Figure]:
    def timed(step: Step, tasks: int) -> Callable[[], float]:
        return lambda: tasks / seconds_of(lambda: step(tasks))

    def emptied() -> None:
        stand.empty()
        _declare(stand)

    emptied()
    found = in_turns(effort, {name: timed(step, effort.scaled(tasks)) for name, (step, tasks) in steps.items()}, emptied)
    return [Figure(name, "tasks/s", values) for name, values in found.items()]


def _declare(stand: Stand) -> None:
    for mode in OURS:
        Broker(stand.client).declare(Declaration(mode, mode=mode))


def one(stand: Stand, effort: Effort) -> Section:
    """A call for each task."""
    section = Section("one", "Submit one by one", beside=("raw XADD", "rq"))
    with Producer(stand.url) as producer:
        steps = {name: (ours_one_by_one(producer, mode), 1000) for mode, name in OURS.items()}
        steps |= {"raw XADD": (raw_one_by_one(stand), 1000)}
        steps |= {"rq": (rq_one_by_one(stand), 300), "dramatiq": (dramatiq_one_by_one(stand), 500)}
        section.figures = _rates(stand, effort, steps)
    for name in OURS.values():
        section.wants(f"{name}, over raw XADD", section.ratio_of(name, "raw XADD"), at_least=0.8)
    section.notes.append(f"raw XADD: redis-py, the same id and {len(BODY)} bytes ready; the others begin with the payload as a dict")
    return section


def bulk(stand: Stand, effort: Effort) -> Section:
    """As many as there are in one call."""
    section = Section("bulk", "Submit in bulk", beside=("bare script", "rq"))
    with Producer(stand.url) as producer:
        steps = {name: (ours_bulk(producer, mode), 20_000) for mode, name in OURS.items()}
        steps |= {"bare script": (raw_bulk(stand), 20_000), "rq": (rq_bulk(stand), 2000)}
        section.figures = _rates(stand, effort, steps)
    for name in OURS.values():
        section.wants(f"{name}, over the bare script", section.ratio_of(name, "bare script"), at_least=0.5)
        section.wants(f"{name}, over rq", section.ratio_of(name, "rq"), at_least=5)
    section.notes.append(f"bare script: XADD in a loop, {CHUNK} a call, the same {len(BODY)} bytes ready. dramatiq has no bulk submit")
    return section
