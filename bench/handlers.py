"""The same two tasks as handlers of ours. Imported by the worker's child."""

from __future__ import annotations

import runner
from bench.tasks import nothing, weighed


@runner.task("bench.nothing")
def _nothing(payload: object) -> None:
    nothing(payload)


@runner.task("bench.weighed")
def _weighed(payload: object) -> int:
    return weighed(payload)
