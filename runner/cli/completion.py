"""What the shell offers for a queue or a type, asked of Redis. Called by typer while somebody presses Tab.

Silent when Redis does not answer within half a second: an error in the middle of a line that is being typed helps nobody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING

import typer

from runner.errors import RunnerError

if TYPE_CHECKING:
    from runner.broker import Broker

WITHIN_S = 0.5
TASKS_LOOKED_AT = 200
QUEUES_LOOKED_AT = 10


def queue_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The declared queues."""
    return _offered(ctx, incomplete, lambda broker: broker.names())


def task_types(ctx: typer.Context, incomplete: str) -> list[str]:
    """The types that ran lately, in the queue that was named before, else in any."""
    named = ctx.params.get("queue")

    def ask(broker: Broker) -> Iterable[str]:
        queues = [broker.open(named)] if named else broker.queues()[:QUEUES_LOOKED_AT]
        kept = (lines for queue in queues for lines in islice(queue.attempts_kept(TASKS_LOOKED_AT), TASKS_LOOKED_AT))
        return {one["type"] for lines in kept for line in lines.split(b"\n") if line and "type" in (one := json.loads(line))}

    return _offered(ctx, incomplete, ask)


def _offered(ctx: typer.Context, incomplete: str, ask: Callable[[Broker], Iterable[str]]) -> list[str]:
    from runner.broker import Broker
    from runner.connect import TOLD, connect
    from runner.url import from_environment

    silent: tuple[type[Exception], ...] = (RunnerError, *TOLD)
    given = ctx.find_root().params
    prefix = given.get("prefix") or os.environ.get("RUNNER_PREFIX", "")
    try:
        url = given.get("redis_url") or from_environment(os.environ)
        with connect(url, retry_s=0, client_name="runner-completion", timeout_s=WITHIN_S) as client:
            return sorted(name for name in ask(Broker(client, prefix)) if name.startswith(incomplete))
    except silent:
        return []
