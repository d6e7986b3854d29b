"""The command that measures one's own Redis, on a queue that is thrown away: bench. Called by cli.

One process and one connection, so it tells what a task costs on this network and server, not how much the server bears.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from runner.cli.common import Json, examples, opened_broker, opened_producer, sigterm_as_ctrl_c
from runner.cli.output import say_json, say_table
from runner.cli.progress import advancing
from runner.errors import BrokerError, ConfigError

if TYPE_CHECKING:
    from runner.broker import Broker, Queue
    from runner.producer import Producer
    from runner.queue import Declaration

COLUMNS = ("what", "tasks", "per s", "p50 ms", "p99 ms", "max ms")
PINGS = 500
HOLDER = "runner-bench"
ATTEMPT = b'{"attempt":1,"kind":"done"}'
AT_ONCE = 200
Tasks = Annotated[int, typer.Option(min=1, max=100_000, help="So many are submitted one by one and settled, and as many in bulk.")]
Bytes = Annotated[int, typer.Option(min=0, max=1_000_000, help="Size of each payload.")]
Mode = Annotated[str, typer.Option(help="stream or list.")]
Name = Annotated[str, typer.Option("--queue", "-q", help="Name of the queue that is made and removed; one that exists is refused.")]


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the result; a bulk submit has no times of single tasks."""

    what: str
    tasks: int
    per_s: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=examples("runner bench", "runner bench --tasks 10000 --payload-bytes 2000 --mode list --json"))(bench)


def bench(tasks: Tasks = 2000, payload_bytes: Bytes = 100, mode: Mode = "stream", queue: Name = "", as_json: Json = False) -> None:
    """Measure this Redis: submits, bulk submits, and the way from claim to settle, on a queue of its own that is removed at the end."""
    from runner.queue import Declaration

    name = queue or f"bench-{secrets.token_hex(4)}"
    declaration = Declaration(name, mode=mode)
    with sigterm_as_ctrl_c(), opened_broker() as broker:
        _check_free(broker, declaration)
        try:
            found = list(_all(broker, broker.declare(declaration, listed=False), tasks, {"pad": "x" * payload_bytes}))
        finally:
            _remove(declaration)
    if as_json:
        return say_json({"queue": name, "mode": mode, "payload_bytes": payload_bytes, "measured": [asdict(one) for one in found]})
    return say_table(COLUMNS, [[one.what, one.tasks, f"{one.per_s:.0f}", *map(_ms, (one.p50_ms, one.p99_ms, one.max_ms))] for one in found])


def _check_free(broker: Broker, declaration: Declaration) -> None:
    from runner.keys import Keys

    taken = [key for key in Keys(broker.prefix, declaration).all if broker.client.type(key) != b"none"]
    if taken or declaration.name in broker.names():
        raise ConfigError(f"queue {declaration.name!r} exists, and bench removes its queue at the end: give a name that is free, or none")


def _remove(declaration: Declaration) -> None:
    """On a connection of its own: Ctrl-C may have come in the middle of an answer."""
    from runner.broker import Queue

    with opened_broker() as broker:
        broker.drop(Queue(broker.client, broker.prefix, declaration))


def _all(broker: Broker, queue: Queue, tasks: int, payload: dict[str, str]) -> Iterator[Measured]:
    yield _measured("a bare PING", _timed("ping", min(tasks, PINGS), broker.client.ping))
    with opened_producer() as producer:
        producer.submit("bench", payload, queue=queue.name)  # opens the producer's connection
        one_by_one = _timed("submit one by one", tasks, lambda: producer.submit("bench", payload, queue=queue.name))
        yield _measured("submit one by one", one_by_one)
        yield _bulk(producer, queue.name, tasks, payload)
    yield from _settled(queue, tasks)


def _timed(doing: str, times: int, do: Callable[[], object]) -> list[float]:
    """How long each call took, in seconds."""
    took = []
    with advancing(doing, times) as more:
        for _ in range(times):
            began_s = time.perf_counter()
            do()
            took.append(time.perf_counter() - began_s)
            more(1)
    return took


def _measured(what: str, took: list[float]) -> Measured:
    ordered = sorted(took)
    p50, p99, most = (1000 * ordered[-(-len(ordered) * part // 100) - 1] for part in (50, 99, 100))
    return Measured(what, len(took), len(took) / sum(took), p50, p99, most)


def _bulk(producer: Producer, name: str, tasks: int, payload: dict[str, str]) -> Measured:
    from runner.producer import NewTask

    def items() -> Iterator[NewTask]:
        for number in range(tasks):
            if number % AT_ONCE == 0:  # one turn of the bar for each task would be measured, too
                more(min(AT_ONCE, tasks - number))
            yield NewTask("bench", payload)

    with advancing("submit in bulk", tasks) as more:
        began_s = time.perf_counter()
        producer.submit_many(items(), queue=name)
        return Measured("submit in bulk", tasks, tasks / (time.perf_counter() - began_s))


def _settled(queue: Queue, tasks: int) -> Iterator[Measured]:
    from runner.broker.claims import new_token
    from runner.tasks import Claim

    claims: list[float] = []

    def claim_and_settle() -> None:
        token, began_s = new_token(), time.perf_counter()
        found = queue.claim(token, HOLDER)
        claims.append(time.perf_counter() - began_s)
        if not isinstance(found, Claim):
            raise BrokerError(f"queue {queue.name!r} is empty before the end: another worker takes from it, so nothing can be measured")
        queue.complete(found.id, token, b"", ATTEMPT)

    both = _timed("claim and settle", tasks, claim_and_settle)
    yield _measured("claim", claims)
    yield _measured("settle", [whole - claim for whole, claim in zip(both, claims, strict=True)])
    yield _measured("claim to settled", both)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
