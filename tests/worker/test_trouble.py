"""Pods killed, frozen, asked to end; Redis away. Nothing is lost and nothing is settled twice. Both modes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import Server, binary_of, free_port
from tests.waiting import until
from tests.worker.pods import Cluster, Pod, cluster
from tests.worker.silent_wire import SilentWire

Made = Callable[..., Cluster]


def began(q: Cluster, times: int = 1) -> None:
    until(lambda: len(q.notes("began")) >= times, 15)


def test_a_killed_pods_task_is_done_by_the_next(made: Made) -> None:
    """C4, C19: recovery follows the lease, not the timeout."""
    q = made(lease_s=1.0, timeout_s=3600.0)
    q.submit("hold")
    q.pod()
    began(q)

    q.pods[0].signal(signal.SIGKILL)
    killed_s = time.monotonic()
    q.pod()
    began(q, 2)
    took_s = time.monotonic() - killed_s
    (q.folder / "go").touch()

    assert q.pods[1].ended() == 0 and q.state() == "done" and took_s < 5
    assert [a["kind"] for a in q.attempts()] == ["lost", "done"] and q.notes("ran") == ["t1 2"]


def test_the_child_dies_with_its_killed_parent(made: Made) -> None:
    q = made()
    q.submit("hold")
    pod = q.pod()
    began(q)
    child = pod.child

    pod.signal(signal.SIGKILL)

    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])
    assert q.notes("ran") == []


def test_a_pod_asked_to_end_hands_back_with_no_attempt_burnt(made: Made) -> None:
    q = made()
    q.submit("hold")
    pod = q.pod()
    began(q)

    pod.signal(signal.SIGTERM)

    assert pod.ended(within_s=3) == 0
    facts = q.queue.look("t1")
    assert facts and facts.state == "waiting" and facts.counters.releases == 1 and facts.counters.attempt == 1
    (q.folder / "go").touch()
    assert q.pod().ended() == 0 and q.notes("ran") == ["t1 1"]


def test_hand_back_is_written_only_when_the_handler_is_gone(made: Made) -> None:
    """C21, C22: a handler that ignores SIGTERM is killed after the grace, and only then may another run it."""
    q = made(lease_s=5.0)
    q.submit("stubborn")
    pod = q.pod(RUNNER_GRACE_S="0.5")
    began(q)
    child = pod.child

    pod.signal(signal.SIGTERM)
    pod.event("asked to end")
    states = set()
    while Path(f"/proc/{child}").exists():
        states.add(q.state())

    assert pod.ended() == 0 and "waiting" not in states - {q.state()} and q.state() == "waiting"


def test_hand_backs_are_capped(made: Made) -> None:
    q = made(max_releases=1)
    q.submit("hold")
    for n in (1, 2):
        q.pod()
        began(q, n)
        q.pods[-1].signal(signal.SIGTERM)
        q.pods[-1].ended()

    (letter,) = q.queue.dead_letters()
    assert letter.reason == "released" and "handed back 2 times" in letter.detail


def test_a_pod_frozen_past_its_claim_writes_nothing_and_exits_non_zero(made: Made) -> None:
    """C7."""
    q = made(lease_s=0.6)
    q.submit("hold")
    frozen = q.pod()
    began(q)

    frozen.signal(signal.SIGSTOP)
    q.pod()
    began(q, 2)
    frozen.signal(signal.SIGCONT)

    assert frozen.ended() == 1 and frozen.last()["kind"] == "ClaimLostError"
    (q.folder / "go").touch()
    assert q.pods[1].ended() == 0 and q.notes("ran") == ["t1 2"] and q.queue.measure().counts["done"] == 1


def test_a_cancel_reaches_a_running_child_within_a_heartbeat(made: Made) -> None:
    q = made(lease_s=1.5)
    q.submit("hold")
    pod = q.pod()
    began(q)

    assert q.queue.cancel("t1") == "cancelling"

    assert pod.ended(within_s=3) == 0 and q.state() == "cancelled" and q.notes("ran") == []


def test_handlers_that_cannot_be_imported_cost_no_task(made: Made) -> None:
    """C64."""
    q = made()
    for n in range(5):
        q.submit("note", task_id=f"t{n}")

    pod = q.pod(RUNNER_HANDLERS="tests.worker.no_such_module")

    assert pod.ended() == 1 and "no_such_module" in pod.last()["error"] and len(pod.events()) == 1
    measures = q.queue.measure()
    assert (measures.waiting, measures.claimed, measures.dead) == (5, 0, 0)


def test_a_pod_asked_to_end_before_it_claimed_takes_nothing(made: Made) -> None:
    q = made()
    q.submit("note")
    (q.folder / "slow").touch()

    pod = q.pod(RUNNER_HANDLERS="tests.worker.handlers_slow")
    until(lambda: (q.folder / "importing").exists(), 10)
    pod.signal(signal.SIGTERM)

    assert pod.ended() == 0 and q.state() == "waiting" and q.queue.measure().counts.get("released") is None


@pytest.mark.parametrize("place", ["refused", "name", "password"])
def test_redis_that_cannot_be_asked_is_never_empty(tmp_path: Path, url: str, place: str) -> None:
    """C84."""
    port = free_port()
    urls = {"refused": f"redis://127.0.0.1:{port}/0", "name": "redis://no-such-host.invalid:6379/0"}
    wrong = urls.get(place) or url.replace("unix://", "unix://somebody:secret@")

    pod = Pod(tmp_path, "pod", wrong, RUNNER_HANDLERS="", RUNNER_CONNECT_S="0.3")

    assert pod.ended() == 1
    assert len([e for e in pod.events() if e["level"] == "error"]) == 1 and "secret" not in pod.log_path.read_text()


def test_an_undeclared_queue_is_refused_with_advice(tmp_path: Path, url: str) -> None:
    pod = Pod(tmp_path, "pod", url, RUNNER_HANDLERS="", RUNNER_QUEUE="nowhere")

    assert pod.ended() == 2 and "runner queue declare nowhere" in pod.last()["error"]


def test_a_newer_layout_is_refused(made: Made) -> None:
    q = made()
    q.client.hset("{emails}:queue", "layout", 2)

    pod = q.pod()

    assert pod.ended() == 2 and "layout 2" in pod.last()["error"]


def test_too_short_an_idle_time_is_refused(made: Made) -> None:
    pod = made(lease_s=30.0).pod(RUNNER_IDLE_S="10")

    assert pod.ended() == 2 and "RUNNER_IDLE_S" in pod.last()["error"]


def test_a_running_task_outlives_a_redis_that_was_away_longer_than_its_lease(tmp_path: Path, server: Server, mode: str) -> None:
    """The silence rule, C34: the holder settles, and the pod that looks meanwhile takes nothing over."""
    with cluster(tmp_path, server.url, mode=mode, lease_s=0.9) as q:
        q.submit("hold")
        holder = q.pod()
        began(q)

        server.kill()
        away_s = time.monotonic()
        until(lambda: time.monotonic() - away_s > 1.2)
        server.start()
        other = q.pod()
        (q.folder / "go").touch()

        assert holder.ended(20) == 0 and other.ended(20) == 0
        assert q.notes("ran") == ["t1 1"] and q.state() == "done" and [a["kind"] for a in q.attempts()] == ["done"]


def test_a_redis_that_restarts_while_a_task_ends_still_learns_its_outcome(tmp_path: Path, server: Server, mode: str) -> None:
    with cluster(tmp_path, server.url, mode=mode, lease_s=2.0) as q:
        q.submit("hold")
        pod = q.pod(RUNNER_CONNECT_S="0.2")
        began(q)

        server.kill()
        (q.folder / "go").touch()
        pod.event("settle failed, will be repeated")
        server.start()

        assert pod.ended(20) == 0 and q.state() == "done" and q.notes("ran") == ["t1 1"]


@pytest.mark.slow
def test_a_connection_that_falls_silent_costs_no_claim(tmp_path: Path, backend: str, mode: str) -> None:
    """A Redis pod that is gone does not refuse, it never answers; the next beat on a new connection must come within the lease."""
    server = Server(binary_of(backend), port=free_port())
    server.start()
    wire = SilentWire(server.port)
    try:
        with cluster(tmp_path, server.url, mode=mode, lease_s=3.0) as q:
            q.submit("hold")
            pod = q.pod(RUNNER_REDIS_URL=wire.url)
            began(q)
            first = q.queue.look("t1")
            until(lambda: q.queue.look("t1").lease_until_ms > first.lease_until_ms)  # type: ignore[union-attr]

            wire.fall_silent()
            silent_ms = q.queue.measure().now_ms
            until(lambda: q.queue.reap().claims or q.queue.look("t1").lease_until_ms > silent_ms + 5000, 12)  # type: ignore[union-attr]
            (q.folder / "go").touch()

            assert pod.ended(30) == 0 and q.notes("ran") == ["t1 1"] and [a["kind"] for a in q.attempts()] == ["done"]
    finally:
        wire.close()
        server.close()


def test_no_pod_that_dies_at_a_random_moment_loses_a_task(made: Made) -> None:
    """C17: SIGTERM and SIGKILL from the first import to the last write."""
    q = made(lease_s=0.5, max_crashes=1000, max_releases=1000)
    for n in range(12):
        q.submit("note", task_id=f"t{n}")
        pod = q.pod()
        moment_s = time.monotonic() + 0.04 * n
        until(lambda moment_s=moment_s: time.monotonic() > moment_s)  # type: ignore[misc]
        pod.signal(signal.SIGTERM if n % 2 else signal.SIGKILL)
        assert pod.ended() in (0, 1, -signal.SIGTERM, -signal.SIGKILL)

    until(lambda: q.pod().ended() == 0 and q.queue.measure().counts.get("done") == 12, 60)
    assert {q.state(f"t{n}") for n in range(12)} == {"done"}
    assert {line.split()[0] for line in q.notes("ran")} == {f"t{n}" for n in range(12)}


def test_a_redis_that_refuses_writes_for_a_while_costs_neither_claim_nor_outcome(made: Made) -> None:
    """NOREPLICAS, as MISCONF of a full disk and BUSY of somebody's script: an answer, and none that lasts."""
    q = made(lease_s=0.9)
    q.submit("hold")
    pod = q.pod(RUNNER_CONNECT_S="0.2")
    began(q)

    q.client.config_set("min-replicas-to-write", 1)
    try:
        pod.event("heartbeat failed")
        (q.folder / "go").touch()
        pod.event("settle failed, will be repeated")
    finally:
        q.client.config_set("min-replicas-to-write", 0)

    assert pod.ended(20) == 0 and q.state() == "done" and q.notes("ran") == ["t1 1"]
    assert "Traceback" not in pod.log_path.read_text()


def test_heartbeats_go_on_after_one_was_refused(made: Made) -> None:
    q = made(lease_s=0.9)
    q.submit("hold")
    pod = q.pod(RUNNER_CONNECT_S="0.2")
    began(q)

    q.client.config_set("min-replicas-to-write", 1)
    try:
        pod.event("heartbeat failed")
    finally:
        q.client.config_set("min-replicas-to-write", 0)
    expiry_ms = q.client.zscore("{emails}:claims", "t1")
    until(lambda: q.client.zscore("{emails}:claims", "t1") != expiry_ms)
    (q.folder / "go").touch()

    assert pod.ended() == 0 and q.state() == "done"


@pytest.mark.parametrize("key", ["{emails}:queue", "{emails}:claims", "emails"])
def test_a_key_of_another_type_is_one_line_and_no_empty_queue(made: Made, key: str) -> None:
    q = made()
    q.client.delete(key)
    q.client.set(key, "somebody else's")

    pod = q.pod()

    assert pod.ended() == 1 and "WRONGTYPE" in pod.last()["error"] and "Traceback" not in pod.log_path.read_text()


def test_a_declaration_that_lost_its_fields_is_one_line(made: Made) -> None:
    q = made()
    q.client.hdel("{emails}:queue", "layout")

    pod = q.pod()

    assert pod.ended() == 1 and "{emails}:queue" in pod.last()["error"] and "Traceback" not in pod.log_path.read_text()
