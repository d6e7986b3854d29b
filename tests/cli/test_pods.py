"""status, logs, doctor and resume where no cluster can be asked, and their words where one can. Called by pytest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from runner.attempt import attempt_line
from runner.broker import Broker, Queue
from runner.cli import run
from runner.cli.view import View, told, troubles, view_of
from runner.cluster import Event
from runner.outcome import Ending, Kind
from runner.queue import Declaration
from tests.controller.town import NOW_S, UIDS, job, pending, pod, scaled, seen
from tests.making import claim, held, retry, submit

HOLDER = f"pod-7/{UIDS[7]}/node-1"


@pytest.fixture
def queue(url: str, mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Queue]:
    """A declared queue, and a person who has no cluster."""
    monkeypatch.setenv("RUNNER_REDIS_URL", url)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    with redis.Redis.from_url(url) as client:
        yield Broker(client).declare(Declaration("emails", mode=mode))


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command: its exit code and its output."""

    def say(*args: str) -> tuple[int, str]:
        code = run(list(args))
        return code, "".join(capsys.readouterr())

    return say


def failed(queue: Queue, tail: bytes) -> None:
    held(queue, "206")
    line = attempt_line(Ending(Kind.ERROR, "no", tail=tail), number=1, holder=HOLDER, started_ms=1, ended_ms=2)
    retry(queue, "206", "t1", attempt=line)


def test_the_kept_tail_is_printed_when_the_pod_is_gone(queue: Queue, said: Any) -> None:
    """Case C71."""
    failed(queue, b"line 1\nTraceback: \x1b[31mred\n")

    assert said("logs", "206") == (0, "line 1\nTraceback: \\x1b[31mred\n")
    shown = json.loads(said("logs", "206", "--json")[1])
    assert (shown["source"], shown["pod"], shown["node"], shown["attempt"]) == ("kept", "pod-7", "node-1", 1)


def test_a_plain_answer_names_pod_and_node_when_nothing_was_kept(queue: Queue, said: Any) -> None:
    failed(queue, b"")

    code, out = said("logs", "206")

    assert code == 1
    assert "attempt 1 (error)" in out
    assert "pod pod-7 on node node-1" in out


def test_a_running_task_names_where_it_runs(queue: Queue, said: Any) -> None:
    submit(queue, "206")
    claim(queue, "t1", HOLDER)

    assert "attempt 1 (running)" in said("logs", "206")[1]
    assert "pod pod-7 on node node-1" in said("logs", "206")[1]


def test_a_task_that_never_ran_has_no_log(queue: Queue, said: Any) -> None:
    submit(queue, "206")

    assert said("logs", "206") == (1, "no attempt of task '206' has run yet\n")
    assert said("logs", "207") == (1, "runner: no queue knows task '207'\n")


def test_status_tells_what_the_controller_found(queue: Queue, said: Any) -> None:
    broker = Broker(queue.client)
    finding = {"kind": "stuck", "name": "job-1", "reason": "ErrImagePull", "message": "no such tag", "since_ms": 1}
    broker.note_findings({"emails": [finding], "images": []}, broker.now_ms())

    assert "job-1 of queue emails cannot start: ErrImagePull: no such tag" in said("status")[1]
    assert json.loads(said("status", "--json")[1])["findings"] == {"emails": [finding]}
    broker.note_findings({"emails": []}, broker.now_ms())
    assert "job-1" not in said("status")[1]


def test_findings_that_no_pass_renews_are_forgotten(queue: Queue) -> None:
    broker = Broker(queue.client)
    broker.note_findings({"emails": [{"kind": "keda"}]}, broker.now_ms() - 899_000)

    assert broker.findings(broker.now_ms()) != {}
    assert broker.findings(broker.now_ms() + 2_000) == {}
    assert 0 < int(queue.client.pttl("runner/findings")) <= 1_000


def test_doctor_tells_of_redis_and_the_controller_without_a_cluster(queue: Queue, said: Any) -> None:
    code, out = said("doctor")

    assert code == 1
    assert "Redis: appendonly is off" in out
    assert "controller: it never made a pass" in out
    assert "Kubernetes was not asked" in out


def test_doctor_tells_of_a_pass_long_ago_and_of_a_move_to_nowhere(queue: Queue, said: Any) -> None:
    """Case C72."""
    broker = Broker(queue.client)
    broker.note_pass({"at_ms": broker.now_ms() - 400_000, "failed": ""})
    broker.declare(Declaration("images", oom_to="none"))

    out = said("doctor")[1]

    assert "controller: no pass for 7 min" in out
    assert "queue images: oom_to names none" in out


def test_resume_needs_a_cluster(queue: Queue, said: Any) -> None:
    code, out = said("queue", "resume", "emails")

    assert code == 1
    assert "no cluster is named" in out


def test_a_view_counts_jobs_that_have_not_ended() -> None:
    things = [job(0), pod(0), job(1), pending(1), job(2), pending(2, waiting="ErrImagePull"), job(3, suspended=True)]
    things += [job(4, ended="Failed"), job(5), scaled(ready="False", active="True")]

    found = view_of(seen(*things, said_by_keda("KEDAJobsCreated", "Created 3 jobs")))

    assert found == View("emails", "False", "True", False, 1, 2, 1, 1, "KEDAJobsCreated: Created 3 jobs")


def said_by_keda(reason: str, message: str, last_s: float = NOW_S) -> Event:
    return Event("ScaledJob", "emails", "", reason, message, last_s)


def test_that_keda_cannot_reach_redis_is_told_though_it_says_ready() -> None:
    """Cases C56 and C77."""
    wrong = said_by_keda("KEDAScalerFailed", "WRONGPASS invalid username-password pair")

    (ready,) = troubles("emails", seen(scaled(), wrong), ())
    (unready,) = troubles("emails", seen(scaled(ready="False", ready_reason="ScaledJobCheckFailed", ready_message="Failed")), ())

    assert ready == "KEDA cannot use queue emails, though Redis answers here: WRONGPASS invalid username-password pair"
    assert unready.endswith("ScaledJobCheckFailed: Failed")
    assert troubles("emails", seen(scaled(), said_by_keda("KEDAScalerFailed", "long ago", NOW_S - 400)), ()) == []


def test_that_workers_do_not_get_to_a_claim_is_told_apart_from_that() -> None:
    finding = {"kind": "paused", "name": "emails", "reason": "paused by the controller", "message": "5 pods ended without claiming"}

    (one,) = troubles("emails", seen(scaled()), [finding])

    assert one == told("emails", finding)
    assert "5 pods ended without claiming" in one
    assert "runner queue resume emails" in one


def test_a_queue_without_a_scaled_job_is_told() -> None:
    assert "has no ScaledJob here" in troubles("emails", seen(), ())[0]
