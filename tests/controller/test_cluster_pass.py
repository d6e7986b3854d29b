"""Whole passes beside a cluster, over real queues: what pods tell comes true in Redis and in the cluster. Called by pytest."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from runner.broker import Broker, Queue
from runner.cluster import Event, Snapshot
from runner.config import ControllerSettings
from runner.controller import Controller
from runner.controller.notices import NUDGE, PAUSED, WHY
from runner.controller.passes import Stop
from tests.controller.bulk import claim, declared, expire_claims, submit
from tests.controller.town import Town, job, pending, pod, scaled, stopped, word
from tests.keyspace import Keyspace


def one_pass(broker: Broker, town: Town) -> bool:
    return Controller(broker, ControllerSettings(), Stop(), town).one_pass()


def hold(queue: Queue, *pods: Any) -> None:
    """A claim by each of these pods, on t0, t1, ..."""
    submit(queue, len(pods))
    for at, one in enumerate(pods):
        queue.claim(f"token-{at}", word(one))


def attempt(queue: Queue, name: str = "t0") -> dict[str, Any]:
    facts = queue.look(name)
    assert facts is not None
    return dict(json.loads(facts.attempts.splitlines()[-1])) | {"state": facts.state, "counters": facts.counters}


def found(broker: Broker) -> list[tuple[str, str, str]]:
    return [(one["kind"], one["name"], one["reason"]) for one in broker.findings(broker.now_ms()).get("emails", [])]


def test_a_claim_whose_pod_is_gone_runs_again_long_before_its_lease_ends(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, lease_s=3600)
    over, alive = stopped(0), pod(1)
    hold(queue, over, alive)

    assert one_pass(broker, Town(over, alive, job(0), job(1)))

    assert (attempt(queue)["state"], attempt(queue)["kind"], attempt(queue)["exit_code"]) == ("waiting", "lost", 1)
    assert attempt(queue)["holder"] == word(over)
    assert queue.extend("t1", "token-1") == "ok"
    assert queue.extend("t0", "token-0") == "lost"
    Keyspace(queue).check()


@pytest.mark.parametrize(
    ("why", "kind", "counter"),
    [
        ({"reason": "OOMKilled"}, "oom", "ooms"),
        ({"reason": "Evicted", "message": "The node was low on resource: memory."}, "released", "releases"),
        ({"reason": "Evicted", "message": "Usage of EmptyDir volume exceeds the limit"}, "crash", "crashes"),
        ({"reason": "Preempted"}, "released", "releases"),
        ({}, "lost", "crashes"),
    ],
)
def test_the_reason_goes_into_the_attempt_and_decides_what_it_costs(
    url: str, mode: str, why: dict[str, str], kind: str, counter: str
) -> None:
    broker, queue = declared(url, mode, lease_s=3600)
    over = stopped(**why)
    hold(queue, over)

    one_pass(broker, Town(over, job()))

    counters = attempt(queue)["counters"]
    assert attempt(queue)["kind"] == kind
    assert getattr(counters, counter) == 1
    assert sum((counters.errors, counters.timeouts, counters.crashes, counters.ooms, counters.releases)) == 1


def test_five_evictions_burn_no_attempt(url: str, mode: str) -> None:
    """Case C73."""
    broker, queue = declared(url, mode, lease_s=3600)
    submit(queue, 1)
    for at in range(5):
        over = stopped(at, reason="Evicted", message="The node was low on resource: memory.")
        queue.claim(f"token-{at}", word(over))
        one_pass(broker, Town(over, job(at)))

    assert (attempt(queue)["counters"].attempt, attempt(queue)["counters"].releases, attempt(queue)["state"]) == (1, 5, "waiting")


def test_a_deadline_that_took_the_pod_away_hands_its_task_back(url: str, mode: str) -> None:
    """Case C66."""
    broker, queue = declared(url, mode, lease_s=3600)
    hold(queue, pod())

    one_pass(broker, Town(job(ended="Failed", reason="DeadlineExceeded")))

    assert (attempt(queue)["kind"], attempt(queue)["counters"].attempt) == ("released", 1)
    assert "DeadlineExceeded" in attempt(queue)["detail"]


def test_holders_that_cannot_be_shown_to_be_gone_are_left_to_their_leases(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, lease_s=3600)
    submit(queue, 3)
    for at, holder in enumerate(["old-worker/node-1", word(pod(5)), "-"]):
        queue.claim(f"token-{at}", holder)

    assert one_pass(broker, Town(job(0)))

    assert [queue.extend(f"t{at}", f"token-{at}") for at in range(3)] == ["ok", "ok", "ok"]


def test_a_pod_seen_in_an_earlier_pass_is_known_to_have_been_here(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, lease_s=3600)
    hold(queue, pod())
    town = Town(pod())
    controller = Controller(broker, ControllerSettings(), Stop(), town)
    controller.one_pass()
    town.things.clear()

    controller.one_pass()

    assert attempt(queue)["state"] == "waiting"


def test_a_holder_that_lives_though_the_snapshot_is_late_keeps_its_claim(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, lease_s=3600)
    hold(queue, pod())

    one_pass(broker, Town(pod(), job(), past=(stopped(),)))

    assert queue.extend("t0", "token-0") == "ok"


def test_a_task_killed_for_memory_moves_where_that_is_declared(url: str, mode: str) -> None:
    broker, big = declared(url, mode, "big", max_ooms=3)
    _, queue = declared(url, mode, lease_s=3600, oom_to="big")
    over = stopped(reason="OOMKilled")
    hold(queue, over)

    one_pass(broker, Town(over, job()))

    assert attempt(big)["state"] == "waiting"
    assert getattr(queue.look("t0"), "state", "") == "moved"


def test_the_jobs_of_silent_holders_are_ended_and_those_of_gone_ones_left(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    frozen, gone = pod(0), pod(1)
    hold(queue, frozen, gone)
    expire_claims(queue)
    town = Town(frozen, job(0), job(1))

    one_pass(broker, town)

    assert town.deleted == ["job-00000"]
    assert queue.measure().waiting == 2


def test_a_silent_holders_job_stays_while_its_pod_holds_another_claim(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    hold(queue, pod())
    expire_claims(queue)
    submit(queue, 2)
    queue.claim("token-9", word(pod()))
    town = Town(pod(), job())

    one_pass(broker, town)

    assert town.deleted == []


def test_stuck_jobs_are_named_and_deleted_after_their_grace(url: str, mode: str) -> None:
    """Case C65."""
    broker, queue = declared(url, mode)
    now_s = time.time()
    fresh, old = job(0, created_s=now_s), job(1, created_s=now_s - 400)
    submit(queue, 2)
    town = Town(fresh, old, pending(0, waiting="ErrImagePull"), pending(1, waiting="ImagePullBackOff"), scaled())

    one_pass(broker, town)

    assert found(broker) == [("stuck", "job-00000", "ErrImagePull"), ("stuck", "job-00001", "ImagePullBackOff")]
    assert town.deleted == ["job-00001"]
    assert queue.measure().waiting == 2
    town.things.clear()
    one_pass(broker, town)
    assert found(broker) == []


def test_a_stuck_job_whose_pod_started_meanwhile_is_left(url: str, mode: str) -> None:
    broker, _ = declared(url, mode)
    old = job(created_s=time.time() - 400)
    town = Town(old, pod())
    town.snapshot = lambda: Town(old, pending(waiting="ErrImagePull")).snapshot()  # type: ignore[method-assign]

    one_pass(broker, town)

    assert town.deleted == []


def test_a_pod_on_a_node_that_does_not_take_it_up_makes_room_for_another_at_once(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    submit(queue, 1)
    town = Town(job(created_s=time.time()), pending(node="node-1", created_s=time.time(), scheduled_s=time.time() - 61))

    one_pass(broker, town)

    assert town.deleted == ["job-00000"]
    assert found(broker) == [("stuck", "job-00000", "NodeSilent")]
    assert queue.measure().waiting == 1


def test_a_pod_that_its_node_took_up_since_the_snapshot_is_left(url: str, mode: str) -> None:
    broker, _ = declared(url, mode)
    sent = pending(node="node-1", created_s=time.time(), scheduled_s=time.time() - 61)
    town = Town(job(created_s=time.time()), replace(sent, heard_s=time.time()), past=(sent,))

    one_pass(broker, town)

    assert town.deleted == []


def test_suspended_jobs_are_shown(url: str, mode: str) -> None:
    """Case C69."""
    broker, _ = declared(url, mode)

    one_pass(broker, Town(job(suspended=True)))

    assert found(broker) == [("suspended", "job-00000", "Suspended")]


def test_keda_is_nudged_once_and_the_nudge_is_taken_away(url: str, mode: str) -> None:
    broker, _ = declared(url, mode)
    town = Town(scaled(ready="False", ready_reason="ScaledJobCheckFailed"))

    one_pass(broker, town)
    first = dict(town.things[0].annotations)
    one_pass(broker, town)
    second = dict(town.things[0].annotations)
    town.things[0] = scaled(ready="True", annotations=second, version="9")
    told = found(broker)
    one_pass(broker, town)

    assert set(first) == {NUDGE, PAUSED}
    assert second == first
    assert told == [("keda", "emails", "ScaledJobCheckFailed")]
    assert town.things[0].annotations == {}


def test_what_keda_cannot_use_is_named_with_the_cause_that_its_last_event_tells(url: str, mode: str) -> None:
    """Seen: a Secret of envFrom that nobody made keeps KEDA from making Jobs, and its condition only says that a check failed."""
    broker, _ = declared(url, mode)
    events = [Event("ScaledJob", "emails", "", "KEDAScalerFailed", f'Secret "{name}" not found', at) for at, name in enumerate("ab")]

    one_pass(broker, Town(scaled(ready="False", ready_reason="ScaledJobCheckFailed"), *events))

    ((_, finding),) = [(name, one) for name, all_of_it in broker.findings(broker.now_ms()).items() for one in all_of_it]
    assert (finding["reason"], finding["message"]) == ("KEDAScalerFailed", 'Secret "b" not found')


def test_pods_that_end_without_a_claim_pause_the_queue_with_the_reason(url: str, mode: str) -> None:
    """Case C68."""
    broker, queue = declared(url, mode)
    submit(queue, 5)
    town = Town(scaled())
    one_pass(broker, town)
    for at in range(6):
        now_s = time.time()
        failed = job(at, created_s=now_s, ended="Failed", reason="BackoffLimitExceeded", ended_s=now_s)
        town.things = [town.things[0], failed]
        one_pass(broker, town)

    notes = dict(town.things[0].annotations)
    assert notes[PAUSED] == "true"
    assert "without claiming" in notes[WHY]
    assert found(broker) == [("paused", "emails", "paused by the controller")]
    town.things = [scaled(generation=2, annotations=notes, version="9")]
    one_pass(broker, town)
    assert town.things[0].annotations == {}


def test_pods_that_claim_and_fail_pause_nothing(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    submit(queue, 10)
    town = Town(scaled())
    for at in range(8):
        claim(queue, 1, f"pod{at}")
        now_s = time.time()
        town.things = [town.things[0], job(at, created_s=now_s, ended="Failed", ended_s=now_s)]
        one_pass(broker, town)

    assert town.things[0].annotations == {}


def test_without_rights_leases_do_and_that_is_told_once(url: str, mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    broker, queue = declared(url, mode)
    hold(queue, stopped())
    expire_claims(queue)
    town = Town(stopped(), job())
    town.refuses = True

    assert all([one_pass(broker, town), one_pass(broker, town)])

    assert attempt(queue)["kind"] == "lost"
    assert "expired" in attempt(queue)["detail"]
    assert capfd.readouterr().err.count("without Kubernetes") <= 1


@pytest.mark.parametrize(("ready", "passes"), [("True", 1), ("False", 4)])
def test_a_single_pass_that_nudged_looks_a_few_times_more(url: str, mode: str, ready: str, passes: int) -> None:
    broker, queue = declared(url, mode)
    town = Town(scaled(ready=ready))
    settings = ControllerSettings(every_s=0.1)
    looks: list[float] = []
    snapshot = town.snapshot

    def counted() -> Snapshot:
        looks.append(time.monotonic())
        town.things = [replace(one, annotations={}) for one in town.things]
        return snapshot()

    town.snapshot = counted  # type: ignore[method-assign]

    assert Controller(broker, settings, Stop(), town).run()
    assert len(looks) == passes
    assert queue.measure().waiting == 0
