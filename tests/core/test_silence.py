"""The silence rule: an outage takes no living holder's claim, and a dead holder's is not spared for ever. Called by pytest."""

from __future__ import annotations

import pytest
import redis

from runner.broker import Broker, Empty, Queue, Reaped
from runner.queue import Declaration
from tests.keyspace import Keyspace
from tests.making import claim, later, submit
from tests.servers import Server
from tests.waiting import until


@pytest.fixture
def brief(client: redis.Redis, mode: str) -> Queue:
    return Broker(client).declare(Declaration("emails", mode=mode, lease_s=0.4))


def taken(queue: Queue, n: int) -> list[str]:
    for at in range(n):
        submit(queue, f"task-{at}")
    return [claim(queue, f"t{at}").id for at in range(n)]


@pytest.mark.parametrize("how", ["pause", "restart"])
def test_an_outage_longer_than_the_lease_takes_no_living_holders_claim(server: Server, mode: str, how: str) -> None:
    with redis.Redis.from_url(server.url) as client:
        queue = Broker(client).declare(Declaration("emails", mode=mode, lease_s=1.0))
        held = taken(queue, 5)
        over_ms = queue.measure().now_ms + 1100
        if how == "pause":
            client.client_pause(1100)
        else:
            server.kill()
            server.start()
        later(queue, over_ms)

        reaped = queue.reap()
        words = [queue.extend(name, f"t{at}") for at, name in enumerate(held)]

    assert reaped.claims == ()
    assert words == ["ok"] * 5


def test_an_outage_shorter_than_the_lease_takes_no_living_holders_claim_either(brief: Queue) -> None:
    """The holder's next beat was due when Redis went away, so its claim ends before the outage has lasted a lease."""
    taken(brief, 2)
    began_ms = brief.measure().now_ms
    later(brief, began_ms + 125)
    assert brief.extend("task-1", "t1") == "ok"

    later(brief, began_ms + 450)
    reaped = brief.reap()

    assert reaped.claims == ()
    assert brief.extend("task-0", "t0") == "ok"


def test_after_an_outage_the_claims_of_the_dead_are_reaped_one_lease_later(brief: Queue) -> None:
    taken(brief, 2)
    later(brief, brief.measure().now_ms + 500)
    spared = brief.reap()

    def reaped_while_one_beats() -> Reaped | None:
        assert brief.extend("task-1", "t1") == "ok"
        found = brief.reap()
        return found if found.claims else None

    found = until(reaped_while_one_beats)

    assert spared.claims == ()
    assert [one.id for one in found.claims] == ["task-0"]
    assert found.now_ms >= spared.now_ms + 400


def test_a_queue_looked_at_less_often_than_a_lease_reaps_its_dead_all_the_same(brief: Queue) -> None:
    taken(brief, 1)

    later(brief, brief.measure().now_ms + 500)
    first = brief.reap()
    later(brief, first.now_ms + 500)
    second = brief.reap()

    assert (first.claims, [one.id for one in second.claims]) == ((), ["task-0"])


def test_what_is_spared_is_told_by_every_reader(queue: Queue, client: redis.Redis) -> None:
    taken(queue, 1)
    now_ms = queue.measure().now_ms
    client.set(queue.keys.part("pulse"), f"{now_ms - 31_000} 0 0")
    client.zadd(queue.keys.part("claims"), {"task-0": now_ms - 5000})

    empty = queue.claim("new", "pod")

    facts, measures = queue.look("task-0"), queue.measure()
    assert isinstance(empty, Empty)
    assert facts is not None
    assert empty.earliest_ms == facts.lease_until_ms == empty.now_ms + 30_000
    assert measures.expired_claims == 0
    Keyspace(queue).check()


def test_a_claim_is_reaped_a_lease_after_its_last_heartbeat_while_somebody_looks(brief: Queue) -> None:
    before_ms = brief.measure().now_ms
    taken(brief, 1)

    found = until(lambda: (reaped := brief.reap()).claims and reaped)

    assert found.now_ms >= before_ms + 400
