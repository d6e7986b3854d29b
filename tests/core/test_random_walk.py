"""One random walk per mode over all transitions: each id is in exactly one state, and nothing is lost. Called by pytest."""

from __future__ import annotations

import redis

from runner.broker import Broker
from runner.queue import Declaration
from tests.core.walk import walked
from tests.keyspace import Keyspace


def test_on_a_random_walk_no_task_is_lost_and_none_is_in_two_states(client: redis.Redis, mode: str, full: bool) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode, lease_s=0.2, max_crashes=5, history_bytes=600))

    # Bytes for a few bodies: most that are done push an older one out, one in twelve is too large to be kept at all.
    walk = walked(queue, 206 if full else 7, 5000 if full else 1500)

    assert set(Keyspace(queue).states().values()) <= {"done", "dead", "cancelled", "moved"}
    assert walk.pushed == set()
    assert Keyspace(queue).history
