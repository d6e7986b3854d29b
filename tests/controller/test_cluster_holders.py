"""Which holders are gone and how they ended, as tables. Called by pytest."""

from __future__ import annotations

from typing import Any

import pytest

from runner.cluster import Pod
from runner.controller.holders import Holder, ending, ending_of, holder_of, job_of, to_look_up, uids
from runner.outcome import Kind
from runner.tasks import Holding
from tests.controller.town import UIDS, job, pod, seen, stopped, word

HOLDER = Holder(pod().name, pod().uid, "node-1")


def holding(holder: str, token: str = "t1") -> Holding:
    return Holding("a", token, holder, 1)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (f"pod-1/{UIDS[1]}/node-1", Holder("pod-1", UIDS[1], "node-1")),
        (f"pod-1/{UIDS[1]}", Holder("pod-1", UIDS[1], "")),
        ("pod-1/node-1", None),
        ("pod-1", None),
        ("-", None),
        (f"/{UIDS[1]}/node-1", None),
        (UIDS[1], None),
    ],
)
def test_only_a_uid_tells_one_pod_from_another(said: str, expected: Holder | None) -> None:
    assert holder_of(said) == expected


def test_pods_that_the_snapshot_shows_alive_are_not_looked_up() -> None:
    alive, over, unseen = pod(0), stopped(1), pod(2)
    claims = [holding(word(one)) for one in (alive, over, unseen)] + [holding("pod-9/node-1"), holding(word(unseen), "stem:1")]

    assert [one.uid for _, one in to_look_up(claims, seen(alive, over))] == [over.uid, unseen.uid]
    assert uids(claims) == {alive.uid, over.uid, unseen.uid}


@pytest.mark.parametrize(
    ("now", "things", "ever", "expected"),
    [
        pytest.param(pod(), (), (), None, id="it lives, though the snapshot has not seen it yet"),
        pytest.param(pod(), (stopped(),), (), None, id="what it is now counts, not what it was"),
        pytest.param(None, (), (), None, id="never seen here: it may run in another cluster"),
        pytest.param(None, (job(3),), (), None, id="the Job of another pod proves nothing"),
        pytest.param(None, (job(),), (), Kind.LOST, id="its Job is here, and it is not"),
        pytest.param(None, (pod(),), (), Kind.LOST, id="it was here a moment ago"),
        pytest.param(None, (), (pod().uid,), Kind.LOST, id="it was here in an earlier pass"),
        pytest.param(pod(uid=UIDS[9]), (job(),), (), Kind.LOST, id="another pod has its name"),
        pytest.param(pod(uid=UIDS[9]), (), (), None, id="another pod has its name, and it was never seen here"),
        pytest.param(None, (job(ended="Failed", reason="DeadlineExceeded"),), (), Kind.RELEASED, id="the Job's deadline"),
        pytest.param(None, (pod(reason="Preempted"),), (), Kind.RELEASED, id="the last that was seen of it was why"),
        pytest.param(stopped(reason="OOMKilled"), (), (), Kind.OOM, id="killed for memory"),
    ],
)
def test_a_pod_is_gone_when_it_is_shown_to_be(
    now: Pod | None, things: tuple[Any, ...], ever: tuple[str, ...], expected: Kind | None
) -> None:
    found = ending(HOLDER, now, seen(*things), ever)

    assert (found.kind if found else None) == expected


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        ("OOMKilled", "", Kind.OOM),
        ("Evicted", "The node was low on resource: memory.", Kind.RELEASED),
        ("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 100Mi.", Kind.CRASH),
        ("Evicted", 'Usage of EmptyDir volume "tmp" exceeds the limit "16Mi".', Kind.CRASH),
        ("Preempted", "", Kind.RELEASED),
        ("DeadlineExceeded", "", Kind.RELEASED),
        ("DeletionByTaintManager", "", Kind.RELEASED),
        ("DeletionByPodGC", "", Kind.LOST),
        ("Error", "", Kind.LOST),
        ("", "", Kind.LOST),
    ],
)
def test_the_reason_decides_what_the_end_costs_and_is_kept(reason: str, message: str, kind: Kind) -> None:
    found = ending_of(stopped(reason=reason, message=message))

    assert (found.kind, found.exit_code) == (kind, 1)
    assert all(part in found.detail for part in (reason or "ended", message, "pod job-00000-abcde on node node-1", "exit code 1"))


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, Kind.OOM),
        ({"deleted_s": 1.0}, Kind.LOST),
        ({"reason": "ContainerStatusUnknown"}, Kind.LOST),
        ({"exit_code": 143}, Kind.LOST),
    ],
)
def test_a_container_killed_by_nobody_was_killed_for_memory(more: dict[str, Any], kind: Kind) -> None:
    assert ending_of(stopped(**{"reason": "Error", "exit_code": 137} | more)).kind is kind


@pytest.mark.parametrize("name", ["emails-x2b4z", "e" * 52 + "-x2b4z", "e" * 57 + "-x2b4z"])
def test_a_jobs_pod_is_known_by_its_name_however_long(name: str) -> None:
    made = f"{name}-"[:58] + "abcde"

    assert job_of(Holder(made, UIDS[0], ""), seen(job(1), job(name=name))) == job(name=name)
