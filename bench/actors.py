"""The no-op task as a dramatiq actor. Called by submit and memory."""

from __future__ import annotations

from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.tasks import nothing


def actor(url: str) -> Any:
    """An actor whose `send` goes to this Redis, with the middleware that dramatiq has unless it is told otherwise."""
    broker: Any = RedisBroker(url=url)  # type: ignore[no-untyped-call]
    dramatiq.set_broker(broker)
    return dramatiq.actor(broker=broker, actor_name="nothing")(nothing)
