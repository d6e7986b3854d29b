"""Handlers that tell when and where they ran, and that go wrong in every way. Imported by the workers of tests/kind in the cluster."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import runner

VERSION = os.environ["HANDLERS_VERSION"]
CHUNK = 1024 * 1024


@runner.task("kind.work")
def work(payload: dict[str, Any]) -> dict[str, Any]:
    """Sleep `s` seconds; who did it, by which version, and when its first line ran."""
    began_ms = time.time_ns() // 1_000_000
    threading.Event().wait(payload.get("s", 0))
    return {"pod": os.environ["RUNNER_POD"], "version": VERSION, "began_ms": began_ms}


@runner.task("kind.effect")
def effect(payload: dict[str, Any]) -> dict[str, Any]:
    """Count the start and the end of this task in a hash named `in`, with `s` seconds between them."""
    import redis

    client = redis.Redis.from_url(
        os.environ["RUNNER_REDIS_URL"],
        username=os.environ["RUNNER_REDIS_USERNAME"],
        password=os.environ["RUNNER_REDIS_PASSWORD"],
    )
    client.hincrby(payload["in"], f"{payload['name']} began", 1)
    answer = work(payload)
    client.hincrby(payload["in"], f"{payload['name']} ended", 1)
    return answer


@runner.task("kind.hog")
def hog(payload: dict[str, Any]) -> int:
    """Hold `mb` MB; with `whole`, have the kernel take PID 1 first, and the container with it."""
    if payload.get("whole"):
        Path("/proc/1/oom_score_adj").write_text("1000")
        Path("/proc/self/oom_score_adj").write_text("0")
    held = [b"x" * CHUNK for _ in range(payload["mb"])]
    return len(held)


if VERSION != "1":

    @runner.task("kind.new")
    def new(payload: dict[str, Any]) -> dict[str, Any]:
        """A type that the first version does not know."""
        return work(payload)
