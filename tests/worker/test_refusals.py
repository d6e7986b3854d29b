"""A Redis that refuses: for a while, which is waited for, or because the queue is gone, which is told. Called by pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.waiting import until
from tests.worker.pods import Cluster

Made = Callable[..., Cluster]


@contextmanager
def without_replicas(q: Cluster) -> Iterator[None]:
    """While this is open, Redis refuses all writes with NOREPLICAS."""
    q.client.config_resetstat()
    q.client.config_set("min-replicas-to-write", 1)
    try:
        yield
    finally:
        q.client.config_set("min-replicas-to-write", 0)


def refused(q: Cluster) -> int:
    """How often it did."""
    return int(q.client.info("errorstats").get("errorstat_NOREPLICAS", {}).get("count", 0))


def test_a_claim_that_redis_refuses_for_a_while_is_made_as_soon_as_it_can_be(made: Made) -> None:
    q = made()
    q.queue.begin("t0", "pod", 1)  # the server knows the scripts, so that it is within a pipeline that it refuses
    q.submit("note")

    with without_replicas(q):
        pod = q.pod(RUNNER_CONNECT_S="20")
        until(lambda: refused(q) > 4, 15)

    assert pod.ended() == 0 and q.state() == "done"


@pytest.mark.parametrize("mode", ["stream"])
def test_a_claim_that_redis_goes_on_refusing_is_given_up_in_time(made: Made) -> None:
    q = made()
    q.submit("note")

    with without_replicas(q):
        pod = q.pod(RUNNER_CONNECT_S="0.3")

        assert pod.ended() == 1 and "NOREPLICAS" in pod.last()["error"] and refused(q) > 2
    assert q.state() == "waiting" and "Traceback" not in pod.log_path.read_text()


@pytest.mark.parametrize("mode", ["stream"])
def test_a_queue_that_is_gone_when_its_task_ends_is_told_as_that(made: Made) -> None:
    q = made(lease_s=5.0)
    q.submit("hold")
    pod = q.pod()
    until(lambda: q.notes("began"), 15)

    q.client.flushall()
    (q.folder / "go").touch()

    assert pod.ended() == 1
    assert (pod.last()["event"], pod.last()["kind"]) == ("failed", "UnrecordedError")
    assert "the outcome of task 't1' is not recorded" in pod.last()["error"] and "emptied" in pod.last()["error"]
    assert q.notes("ran") == ["t1 1"]
