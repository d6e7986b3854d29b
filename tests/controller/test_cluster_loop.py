"""A queue whose pods only fail is paused though KEDA writes its ScaledJob between the snapshot and the pause. Called by pytest."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runner.broker import Broker
from runner.cluster import Snapshot
from runner.config import ControllerSettings
from runner.controller import Controller
from runner.controller.notices import PAUSED, WHY
from runner.controller.passes import Stop
from runner.controller.starts import MOST
from tests.controller.bulk import declared, submit
from tests.controller.town import Town, job, scaled


def late(town: Town) -> Callable[[], Snapshot]:
    """A snapshot after which KEDA writes the status once more."""
    now = town.snapshot

    def snapshot() -> Snapshot:
        seen = now()
        town.things = [replace(one, version=f"{int(one.version) + 1}") if one in seen.scaled_jobs else one for one in town.things]
        return seen

    return snapshot


def failing(broker: Broker, town: Town) -> None:
    """So many passes that each see one more Job that failed, that the last one is to pause the queue."""
    # The count begins with the first one that is seen.
    for at in range(MOST + 1):
        now_s = time.time()
        town.things = [town.things[0], job(at, created_s=now_s, ended="Failed", reason="BackoffLimitExceeded", ended_s=now_s)]
        one_pass(broker, town)


def one_pass(broker: Broker, town: Town) -> None:
    Controller(broker, ControllerSettings(), Stop(), town).one_pass()


def test_a_pause_is_written_though_keda_wrote_since_the_snapshot(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    submit(queue, 1)
    town = Town(scaled())
    town.snapshot = late(town)  # type: ignore[method-assign]

    failing(broker, town)

    assert town.things[0].annotations[PAUSED] == "true"
    assert "without claiming" in town.things[0].annotations[WHY]


def test_a_pause_that_could_not_be_written_is_written_by_the_next_pass(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    submit(queue, 1)
    town = Town(scaled())
    writes: Any = town.annotate
    town.annotate = lambda *_: False  # type: ignore[method-assign]
    failing(broker, town)
    assert PAUSED not in town.things[0].annotations

    town.annotate = writes  # type: ignore[method-assign]
    one_pass(broker, town)

    assert town.things[0].annotations[PAUSED] == "true"
