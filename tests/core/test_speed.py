"""No call of a script holds the server for long: CPU of the server per call, so that a busy machine changes nothing. Called by pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from runner.broker import Broker, Queue, Settled
from runner.queue import Declaration
from runner.reaper import reap_all
from runner.tasks import Submission
from tests.making import due, end_lease, foreign, overdue

LIMIT_MS = 20.0


class Meter:
    """CPU that the server used per script call."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.found: dict[str, float] = {}

    def cost(self, name: str, work: Callable[[], Any]) -> Any:
        cpu_s, calls = self._read()
        answer = work()
        after_s, after = self._read()
        self.found[name] = 1000 * (after_s - cpu_s) / max(1, after - calls)
        return answer

    def _read(self) -> tuple[float, int]:
        cpu, stats = self.client.info("cpu"), self.client.info("commandstats")
        return cpu["used_cpu_user"] + cpu["used_cpu_sys"], stats.get("cmdstat_evalsha", {"calls": 0})["calls"]


@pytest.fixture
def names(full: bool) -> list[str]:
    return [f"task-{n}" for n in range(10_000 if full else 2000)]


@pytest.fixture
def filled(client: redis.Redis, mode: str, names: list[str]) -> Queue:
    queue = Broker(client).declare(Declaration("emails", mode=mode, dead_max=1))
    for at in range(0, len(names), 200):
        queue.submit([Submission(name, b"x" * 200, "normal", checked=False) for name in names[at : at + 200]])
    return queue


def settled(queue: Queue, **more: Any) -> list[Settled]:
    """A settle for every task, by the token of whoever holds it now."""
    rows = queue.client.hgetall(queue.keys.part("tasks")).items()
    return [Settled(str(name, "utf-8"), str(line, "utf-8").split(" ")[7], "errors", b"{}", **more) for name, line in rows]


def claim_all(queue: Queue, names: list[str], life: str) -> None:
    for name in names:
        queue.claim(f"{life}{name}", "pod")


def test_no_script_call_takes_more_than_20_ms_of_the_server(filled: Queue, client: redis.Redis, names: list[str]) -> None:
    """At 10,000 tasks in the full run."""
    queue, meter = filled, Meter(client)
    meter.cost("cancel", lambda: [queue.cancel(names[0]), queue.cancel(names[-1])])
    meter.cost("claim", lambda: claim_all(queue, names[1:-1], "a"))
    client.set(queue.keys.part("pulse"), f"{queue.measure().now_ms - 31_000} 0 0")
    meter.cost("silence", lambda: queue.extend(names[1], f"a{names[1]}"))
    meter.cost("measure", queue.measure)
    end_lease(queue, *names)
    assert meter.cost("reap", lambda: sum(one.retried for _, one in reap_all(queue))) == len(names) - 2
    claim_all(queue, names[1:-1], "b")
    again = settled(queue, delay_ms=60_000)
    meter.cost("retry", lambda: queue.retry(again))
    due(queue, *names)
    assert meter.cost("promote", lambda: sum(iter(lambda: queue.promote()[0], 0))) == len(names) - 2
    foreign(queue)
    meter.cost("restore", lambda: queue.restore())
    claim_all(queue, names[1:-1], "c")
    dead = settled(queue, reason="fatal")
    meter.cost("bury", lambda: queue.bury(dead))
    entries = [letter.entry for letter in queue.dead_letters()]
    assert meter.cost("replay", lambda: queue.replay(entries, b"{}")) == len(names) - 2
    client.zadd(queue.keys.part("expiries"), dict.fromkeys(names[1:-1], 1))
    overdue(queue, *names)
    meter.cost("expire", lambda: sum(iter(queue.expire, 0)))
    meter.cost("purge", lambda: sum(iter(lambda: queue.trim_dead(0), 0)))

    print({name: f"{ms:.2f} ms" for name, ms in meter.found.items()})
    assert {name: ms for name, ms in meter.found.items() if ms > LIMIT_MS} == {}


def test_looking_for_strays_among_many_claims_reads_no_body(client: redis.Redis, names: list[str]) -> None:
    queue = Broker(client).declare(Declaration("emails"))
    for name in names[:300]:
        queue.submit([Submission(name, b"x" * 100_000, "normal", checked=False)])
    claim_all(queue, names[:300], "a")
    before = client.info("stats")["total_net_output_bytes"]

    assert queue.restore() == 0

    assert client.info("stats")["total_net_output_bytes"] - before < 300_000
