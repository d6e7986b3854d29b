"""The benchmark of one's own Redis: what it measures, and that nothing of it stays, however it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from runner.broker import Queue
from tests.waiting import until

Say = Callable[..., tuple[int, str, str]]


def keys(queue: Queue) -> set[bytes]:
    return {key for key in queue.client.scan_iter() if b"bench" in key}


def test_every_step_is_measured_and_the_queue_removed(queue: Queue, said: Say, mode: str) -> None:
    code, out, _ = said("bench", "--tasks", "30", "--mode", mode, "--json")

    measured = {one["what"]: one for one in json.loads(out)["measured"]}
    assert code == 0
    assert list(measured) == ["a bare PING", "submit one by one", "submit in bulk", "claim", "settle", "claim to settled"]
    assert all(one["tasks"] == 30 and one["per_s"] > 0 for one in measured.values())
    assert 0 < measured["settle"]["p50_ms"] <= measured["settle"]["p99_ms"] <= measured["settle"]["max_ms"]
    assert keys(queue) == set()


@pytest.mark.parametrize("mode", ["stream"])
def test_a_queue_that_exists_is_left_alone(queue: Queue, said: Say) -> None:
    queue.client.xadd("pushed", {"type": "a"})

    for name in ("emails", "pushed"):
        code, out, err = said("bench", "--tasks", "5", "--queue", name)
        assert (code, out) == (2, "") and f"queue '{name}' exists" in err
    assert queue.client.exists("{emails}:queue", "pushed") == 2


@pytest.mark.parametrize("mode", ["stream"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_stays_when_it_is_ended_halfway(queue: Queue, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "runner.cli", "bench", "--tasks", "100000", "--queue", "bench-x"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: queue.client.xlen("bench-x") > 10, 20)

    assert queue.client.smembers("runner/queues") == {b"emails"}, "no controller meets it"
    process.send_signal(number)
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out, err) == (130, b"", b"")
    assert keys(queue) == set()
