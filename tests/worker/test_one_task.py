"""A pod takes one task, and what became of it is in Redis when it ends. Both modes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.waiting import until
from tests.worker.pods import Cluster

Made = Callable[..., Cluster]


def test_a_pod_takes_one_task_and_leaves_the_next(made: Made) -> None:
    q = made()
    q.submit("note", {"id": 130775545883395173, "a": []}, "t1")
    q.submit("note", None, "t2")

    assert q.pod().ended() == 0

    facts = q.queue.look("t1")
    assert facts and facts.state == "done" and facts.result == b'{"id":130775545883395173,"a":[]}'
    assert q.notes("ran") == ["t1 1"] and q.state("t2") == "waiting"


def test_every_attempt_keeps_what_it_used(made: Made) -> None:
    q = made()
    q.submit("note")

    q.pod(RUNNER_NODE="node-7").ended()

    (attempt,) = q.attempts()
    assert attempt["kind"] == "done" and attempt["holder"] == "pod-0/node-7"
    assert attempt["cpu_s"] > 0 and attempt["peak_kib"] > 1000 and attempt["ended_ms"] >= attempt["started_ms"]


def test_nothing_to_claim_ends_at_once(made: Made) -> None:
    pod = made().pod()

    assert pod.ended(within_s=5) == 0
    assert pod.last()["event"] == "nothing to claim"


def test_ten_pods_for_one_task_run_it_once_and_all_end_well(made: Made) -> None:
    """C24."""
    q = made()
    q.submit("note")

    pods = [q.pod() for _ in range(10)]

    assert [pod.ended(30) for pod in pods] == [0] * 10
    assert q.notes("ran") == ["t1 1"]


def test_a_pod_with_nothing_to_do_leaves_once_the_holder_is_known_to_live(made: Made) -> None:
    q = made(lease_s=3.0)
    q.submit("hold")
    holder = q.pod()
    until(lambda: q.notes("began"))

    other = q.pod()

    assert other.ended(within_s=6) == 0 and holder.process.poll() is None
    (q.folder / "go").touch()
    assert holder.ended() == 0 and q.notes("ran") == ["t1 1"]


def test_an_error_is_retried_and_its_output_kept(made: Made) -> None:
    q = made()
    q.submit("fail", 1)

    assert q.pod().ended() == 0
    assert q.state() == "delayed"
    until(lambda: q.queue.promote()[0])
    assert q.pod().ended() == 0

    first, second = q.attempts()
    assert first["kind"] == "error" and "ValueError" in first["detail"] and "about to fail" in first["tail"]
    assert second["kind"] == "done" and "tail" not in second and q.notes("ran") == ["1", "2"]


def test_an_error_over_the_cap_is_buried_with_its_reason(made: Made) -> None:
    q = made(max_retries=0)
    q.submit("fail", 9)

    assert q.pod().ended() == 0

    (letter,) = q.queue.dead_letters()
    assert (letter.id, letter.reason, letter.counters.errors) == ("t1", "error", 1) and "not good enough" in letter.detail


def test_a_task_may_bring_its_own_cap(made: Made) -> None:
    q = made(max_retries=5)
    q.submit("fail", 9, max_retries=0)

    q.pod().ended()

    assert q.state() == "dead"


def test_a_handler_names_its_own_pause(made: Made) -> None:
    q = made(backoff_s=300.0)
    q.submit("again", 0.2)

    q.pod().ended()
    until(lambda: q.queue.promote()[0])
    q.pod().ended()

    first, second = map(float, q.notes("ran"))
    assert second - first >= 0.2 and q.state() == "done"


REASONS = [("fatal", "fatal", "no such customer"), ("hungry", "oom", ""), ("dated", "unreadable", "`payload` is null, not a string with")]


@pytest.mark.parametrize(("task_type", "reason", "said"), REASONS)
def test_reasons_are_told_apart(made: Made, task_type: str, reason: str, said: str) -> None:
    q = made(max_ooms=1)
    q.submit(task_type)

    q.pod().ended()

    (letter,) = q.queue.dead_letters()
    assert letter.reason == reason and said in letter.detail


def test_a_poison_task_starts_as_often_as_its_cap_says(made: Made) -> None:
    """C16."""
    q = made(max_crashes=3)
    q.submit("die")

    while q.state() != "dead":
        assert q.pod().ended() == 0
        until(lambda: q.queue.promote()[0] or q.state() == "dead")

    (letter,) = q.queue.dead_letters()
    assert q.notes("ran") == ["1", "2", "3"]
    assert (letter.reason, letter.counters.crashes, letter.counters.errors) == ("crash", 3, 0)
    assert "last words" in q.attempts()[0]["tail"]


def test_a_timeout_is_enforced_whatever_the_child_does(made: Made) -> None:
    """C61."""
    q = made(max_timeouts=1)
    q.submit("stubborn", timeout_ms=300)

    assert q.pod(RUNNER_GRACE_S="0.3").ended() == 0

    (letter,) = q.queue.dead_letters()
    (attempt,) = q.attempts()
    assert letter.reason == "timeout" and 0.5 < attempt["wall_s"] < 3


def test_stragglers_cannot_keep_a_pod_alive(made: Made) -> None:
    q = made()
    q.submit("stragglers")

    assert q.pod().ended(within_s=10) == 0
    assert q.state() == "done"


def test_the_ready_file_is_there_from_the_claim_to_the_end(made: Made) -> None:
    q = made()
    q.submit("hold")
    ready = q.folder / "ready"

    pod = q.pod(RUNNER_READY_FILE=str(ready))
    until(lambda: q.notes("began"))
    was_there = ready.exists()
    (q.folder / "go").touch()
    pod.ended()

    assert was_there and not ready.exists()


def test_a_ready_file_that_cannot_be_made_is_refused_before_a_claim(made: Made) -> None:
    q = made()
    q.submit("hold")

    assert q.pod(RUNNER_READY_FILE=str(q.folder / "nowhere" / "ready")).ended() == 2
    assert q.state() == "waiting"


def test_any_program_can_be_the_handler(made: Made) -> None:
    q = made()
    q.submit("anything", {"n": 1})

    script = 'cat > "$NOTES/stdin"; echo "$RUNNER_TASK_ID $RUNNER_TASK_TYPE $RUNNER_TASK_ATTEMPT" > "$RUNNER_RESULT_FILE"'
    (q.folder / "handle.sh").write_text(script)
    assert q.pod(RUNNER_EXEC=f"sh {q.folder / 'handle.sh'}", RUNNER_HANDLERS="").ended() == 0

    facts = q.queue.look("t1")
    assert facts and facts.state == "done" and b"t1 anything 1" in facts.result
    assert '"payload":{"n":1}' in (q.folder / "stdin").read_text()


@pytest.mark.parametrize(("code", "state"), [(75, "delayed"), (65, "dead"), (1, "delayed")])
def test_a_program_says_by_its_exit_code_what_is_to_be_done(made: Made, code: int, state: str) -> None:
    q = made()
    q.submit("anything")

    q.pod(RUNNER_EXEC=f"sh -c 'exit {code}'", RUNNER_HANDLERS="").ended()

    assert q.state() == state


def test_heartbeats_keep_a_claim_for_many_leases(made: Made) -> None:
    """C1: one start only, although others look for expired claims all the while."""
    q = made(lease_s=0.6)
    q.submit("hold")
    pod = q.pod()
    until(lambda: q.notes("began"))
    first = q.queue.look("t1")

    until(lambda: q.queue.look("t1").lease_until_ms > first.lease_until_ms + 1800, within_s=10)  # type: ignore[union-attr]
    reaped = q.queue.reap()
    (q.folder / "go").touch()

    assert pod.ended() == 0 and not reaped.claims and q.notes("began") == ["t1 1"] and q.state() == "done"


def test_the_child_that_is_killed_for_good_is_a_crash_not_an_error(made: Made) -> None:
    q = made(max_crashes=1)
    q.submit("hold")
    pod = q.pod()
    until(lambda: q.notes("began"))

    os.kill(pod.child, signal.SIGSEGV)
    pod.ended()

    (letter,) = q.queue.dead_letters()
    assert letter.reason == "crash" and "SIGSEGV" in letter.detail
