"""Submit beside raw redis-py and rq, one by one and in bulk, the same bytes, in turns. Called by `python -m bench.submit`."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import redis
from rq import Queue as RqQueue

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

Step = Callable[[int], object]
"""Does a number of tasks."""


def raw_one_by_one(client: redis.Redis) -> Step:
    """XADD, a call each, of the id and the bytes that `submit` sends."""

    def run(tasks: int) -> None:
        for _ in range(tasks):
            client.xadd("raw", {"id": ID, "body": BODY})

    return run


def ours_one_by_one(producer: Producer, queue: str) -> Step:
    """`submit`, from the payload to the receipt."""

    def run(tasks: int) -> None:
        for _ in range(tasks):
            producer.submit(TYPE, PAYLOAD, queue=queue)

    return run


def raw_bulk(client: redis.Redis) -> Step:
    """One script that only loops XADD, 200 a call, with the bytes ready."""
    script = client.register_script(BARE)

    def run(tasks: int) -> None:
        for at in range(0, tasks, CHUNK):
            script(keys=["raw"], args=[ID, BODY] * min(CHUNK, tasks - at))

    return run


def ours_bulk(producer: Producer, queue: str) -> Step:
    """`submit_many`, from the payloads."""
    return lambda tasks: producer.submit_many(((TYPE, PAYLOAD) for _ in range(tasks)), queue=queue)


def rq_one_by_one(client: redis.Redis) -> Step:
    """rq's `enqueue`."""
    queue = RqQueue("rq", connection=client)

    def run(tasks: int) -> None:
        for _ in range(tasks):
            queue.enqueue("bench.tasks.nothing", PAYLOAD)

    return run


def rq_bulk(client: redis.Redis) -> Step:
    """rq's `enqueue_many`."""
    queue = RqQueue("rq", connection=client)

    def run(tasks: int) -> None:
        queue.enqueue_many([RqQueue.prepare_data("bench.tasks.nothing", (PAYLOAD,)) for _ in range(tasks)])

    return run


@contextmanager
def _quiet() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def rates(client: redis.Redis, steps: dict[str, tuple[Step, int]], rounds: int) -> dict[str, list[float]]:
    """Tasks a second of each step in each round; the steps take turns, so that a slow moment of the machine meets all."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, (step, tasks) in steps.items():
            with _quiet():
                started = time.perf_counter()
                step(tasks)
                took_s = time.perf_counter() - started
            if number:  # the first round warms up
                found[name].append(tasks / took_s)
        for key in client.scan_iter(count=1000):
            if not key.endswith(b":queue"):
                client.unlink(key)
    return found


def ratio(found: dict[str, list[float]], of: str, to: str) -> float:
    """The median over the rounds of one rate divided by another of the same round."""
    return statistics.median(a / b for a, b in zip(found[of], found[to], strict=True))


def measure(url: str, rounds: int = 9, size: int = 1) -> dict[str, dict[str, list[float]]]:
    """All rates: `one` and `bulk`, each by step. `size` multiplies the tasks of a round."""
    client = redis.Redis.from_url(url)
    for mode in ("stream", "list"):
        Broker(client).declare(Declaration(mode, mode=mode))
    with Producer(url) as producer:
        one = {"raw": (raw_one_by_one(client), 1000 * size), "rq": (rq_one_by_one(client), 200 * size)}
        one |= {mode: (ours_one_by_one(producer, mode), 1000 * size) for mode in ("stream", "list")}
        bulk = {"raw": (raw_bulk(client), 20_000 * size), "rq": (rq_bulk(client), 2000 * size)}
        bulk |= {mode: (ours_bulk(producer, mode), 20_000 * size) for mode in ("stream", "list")}
        return {"one": rates(client, one, rounds), "bulk": rates(client, bulk, rounds)}


def main() -> None:
    """Print rates and ratios. The argument is a Redis that may be emptied."""
    for kind, found in measure(sys.argv[1]).items():
        for name, values in found.items():
            beside = ", ".join(f"{ratio(found, name, other):.2f} of {other}" for other in ("raw", "rq"))
            print(f"{kind:5} {name:7} {statistics.median(values):10,.0f} /s   {beside}")


if __name__ == "__main__":
    main()
