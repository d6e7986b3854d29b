"""status, logs, doctor and resume beside a real cluster. Called by pytest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from runner.broker import Broker, Queue
from runner.cli import run
from runner.cluster import enter
from runner.controller.notices import PAUSED, WHY, pause
from runner.queue import Declaration
from tests.cluster.kubectl import Namespace
from tests.making import claim, submit
from tests.waiting import until

SLOW_S = 90


@pytest.fixture
def queue(url: str, space: Namespace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    """A queue, and a person with a kubeconfig."""
    monkeypatch.setenv("RUNNER_REDIS_URL", url)
    monkeypatch.setenv("KUBECONFIG", space.kubeconfig)
    monkeypatch.setenv("RUNNER_NAMESPACE", space.name)
    with redis.Redis.from_url(url) as client:
        yield Broker(client).declare(Declaration("prints"))


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def say(*args: str) -> tuple[int, str]:
        code = run(list(args))
        return code, "".join(capsys.readouterr())

    return say


@pytest.fixture(scope="module")
def printing(space: Namespace) -> Iterator[Namespace]:
    """A Job and a ScaledJob of queue `prints`."""
    notes = json.dumps({"metadata": {"annotations": {"runner/queue": "prints"}}})
    space.scaled_job("redis.none:6379", "prints")
    space.kubectl("patch", "scaledjob", "prints", "--type=merge", "-p", notes)
    space.job("printer", "echo the last words; sleep 600", suspend=True)
    space.kubectl(
        "patch", "job", "printer", "--type=merge", "-p", json.dumps({"metadata": json.loads(notes)["metadata"], "spec": {"suspend": False}})
    )
    yield space
    space.kubectl("delete", "job/printer", "scaledjob/prints", "--wait=false")


def test_the_log_of_a_running_attempt_comes_from_its_pod(queue: Queue, said: Any, printing: Namespace) -> None:
    cluster = enter("shop", namespace=printing.name, kubeconfig=printing.kubeconfig)
    pods = until(lambda: [one for one in cluster.snapshot().pods.values() if one.name.startswith("printer-") and one.started], SLOW_S, 1)
    submit(queue, "206")
    claim(queue, "t1", f"{pods[0].name}/{pods[0].uid}/{pods[0].node}")

    assert until(lambda: (found := said("logs", "206"))[1] and found, SLOW_S, 1) == (0, "the last words\n")


def test_status_and_doctor_say_what_keda_says(queue: Queue, said: Any, printing: Namespace) -> None:
    until(lambda: json.loads(said("status", "--json")[1])["kubernetes"]["prints"]["ready"] == "False", SLOW_S, 1)
    until(lambda: json.loads(said("status", "--json")[1])["kubernetes"]["prints"]["running"] == 1, SLOW_S, 1)

    shown = said("status")[1]
    code, found = said("doctor")

    assert "KEDA cannot use queue prints, though Redis answers here: " in shown
    assert code == 1
    assert "ScaledJob prints: rollout.strategy is not gradual" in found
    assert "KEDA: it is" not in found


def test_resume_lifts_our_pause_and_no_persons(queue: Queue, said: Any, printing: Namespace) -> None:
    cluster = enter("shop", namespace=printing.name, kubeconfig=printing.kubeconfig)
    one = lambda: next(one for one in cluster.snapshot().scaled_jobs if one.name == "prints")  # noqa: E731
    until(lambda: (changes := pause(one(), "it fails")) and cluster.annotate("prints", one().version, changes), SLOW_S, 1)

    assert until(lambda: (found := said("queue", "resume", "prints"))[0] == 0 and found, SLOW_S, 1) == (0, "prints: resumed\n")
    assert not {PAUSED, WHY} & set(one().annotations)
    printing.kubectl("annotate", "scaledjob", "prints", f"{PAUSED}=true")
    assert said("queue", "resume", "prints")[0] == 1
    assert one().annotations[PAUSED] == "true"
