"""Jobs that hold up the work, and pods that end without a claim, as tables. Called by pytest."""

from __future__ import annotations

from typing import Any

import pytest

from runner.cluster import Event
from runner.controller.jobs import SILENT, WAITS, abandoned, stands, stuck
from runner.controller.starts import MOST, Starts, noted
from tests.controller.town import NOW_S, job, pending, pod, scaled, seen

GRACE_S = 300.0


def warned(kind: str, uid: str, reason: str, last_s: float = NOW_S, message: str = "said") -> Event:
    return Event(kind, "x", uid, reason, message, last_s)


@pytest.mark.parametrize("reason", WAITS)
def test_a_job_whose_pod_cannot_start_is_named_at_once(reason: str) -> None:
    (found,) = stuck(seen(job(), pending(waiting=reason, waiting_message="why")), (), GRACE_S)

    assert (found.job, found.reason, found.message, found.over) == (job(), reason, "why", False)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((job(), pending(waiting="ContainerCreating")), [], id="it is on its way"),
        pytest.param((job(), pending()), [], id="no word yet"),
        pytest.param((job(),), [], id="no pod yet"),
        pytest.param((job(), pod(waiting="ImagePullBackOff")), [], id="it has started"),
        pytest.param((job(ended="Failed"), pending(waiting="ErrImagePull")), [], id="it has ended"),
        pytest.param((job(suspended=True), pending(waiting="ErrImagePull")), [], id="somebody suspended it"),
        pytest.param((job(), pending(waiting="ErrImagePull"), pod(uid="other")), [], id="another pod of the Job runs"),
        pytest.param((job(), warned("Job", job().uid, "FailedCreate")), ["FailedCreate"], id="a quota refuses its pods"),
        pytest.param((job(), warned("Job", "of another", "FailedCreate")), [], id="a quota refused another's pods"),
        pytest.param((job(), pod(), warned("Job", job().uid, "FailedCreate")), [], id="a quota refused, and then had room"),
        pytest.param((job(), pending(), warned("Pod", pending().uid, "FailedMount")), ["FailedMount"], id="a volume that cannot be had"),
        pytest.param((job(), pending(created_s=NOW_S), warned("Pod", pending().uid, "FailedMount")), [], id="a volume that is late"),
        pytest.param((job(), pending(), warned("Pod", pending().uid, "FailedScheduling")), [], id="other warnings"),
    ],
)
def test_what_is_stuck(things: tuple[Any, ...], expected: list[str]) -> None:
    assert [one.reason for one in stuck(seen(*things), (), GRACE_S)] == expected


def test_a_job_whose_pod_holds_a_claim_is_never_stuck() -> None:
    waits = pending(waiting="ErrImagePull")

    assert stuck(seen(job(), waits), {waits.uid}, GRACE_S) == []


@pytest.mark.parametrize(
    ("more", "generation", "over"),
    [
        ({"created_s": NOW_S - GRACE_S + 1}, 1, False),
        ({"created_s": NOW_S - GRACE_S - 1}, 1, True),
        ({"created_s": NOW_S}, 2, True),
        ({"created_s": NOW_S, "generation": 2}, 2, False),
        ({"created_s": NOW_S, "scaled_job": "another"}, 2, False),
    ],
)
def test_a_stuck_job_is_over_after_a_grace_or_when_the_specification_is_newer(more: dict[str, Any], generation: int, over: bool) -> None:
    (found,) = stuck(seen(job(**more), pending(waiting="ErrImagePull"), scaled(generation=generation)), (), GRACE_S)

    assert found.over is over


def sent(ago_s: float, number: int = 0, **more: Any) -> Any:
    """A pod that got its node so long ago."""
    return pending(number, **{"node": "node-1", "scheduled_s": NOW_S - ago_s, "created_s": NOW_S - ago_s} | more)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((sent(9),), [], id="the node has time"),
        pytest.param((sent(11),), [(SILENT, False)], id="it is named"),
        pytest.param((sent(16),), [(SILENT, True)], id="it is given up"),
        pytest.param((sent(59, node="starved"),), [(SILENT, False)], id="no claim expired there: it has time"),
        pytest.param((sent(61, node="starved"),), [(SILENT, True)], id="no claim expired there: it is given up"),
        pytest.param((sent(16, heard_s=NOW_S - 15),), [], id="the node took it up"),
        pytest.param((sent(16, node="", scheduled_s=0.0),), [], id="it has no node yet"),
        pytest.param((sent(16), sent(40, 1, heard_s=NOW_S - 20)), [(SILENT, True)], id="the node answered before, not since"),
        pytest.param((sent(16), sent(40, 1, heard_s=NOW_S - 3)), [], id="the node is only slow"),
        pytest.param((sent(30), sent(40, 1, heard_s=NOW_S - 12)), [(SILENT, False)], id="the node fell silent a moment ago"),
        pytest.param((sent(16), sent(40, 1, heard_s=NOW_S - 3, queue="images")), [], id="the node answers for another queue"),
        pytest.param((sent(16), sent(40, 1, heard_s=NOW_S - 3, node="node-2")), [(SILENT, True)], id="another node answers"),
        pytest.param((sent(16), pod(uid="other")), [], id="another pod of the Job runs"),
    ],
)
def test_a_job_whose_pod_no_node_takes_up_is_named_and_soon_over(things: tuple[Any, ...], expected: list[tuple[str, bool]]) -> None:
    found = stuck(seen(job(created_s=NOW_S - 40), *things).of("emails"), (), GRACE_S, {"node-1"})

    assert [(one.reason, one.over) for one in found] == expected


def test_a_job_whose_pod_a_node_took_up_at_the_last_moment_is_left() -> None:
    (one,) = stuck(seen(job(), sent(21)), (), GRACE_S)

    assert stands(one, [sent(21)], ())
    assert not stands(one, [sent(21, heard_s=NOW_S)], ())
    assert not stands(one, [sent(21)], {sent(21).uid})


@pytest.mark.parametrize(
    ("things", "gone"),
    [
        pytest.param((pod(deleted_s=NOW_S - 60),), True, id="it was to end a minute ago"),
        pytest.param((pod(deleted_s=NOW_S - 5),), False, id="its grace has just ended"),
        pytest.param((pod(deleted_s=NOW_S + 20),), False, id="it has time to end"),
        pytest.param((pod(),), False, id="nobody deletes it"),
        pytest.param((), False, id="no pod yet"),
        pytest.param((pod(deleted_s=NOW_S - 60), pod(uid="other")), False, id="another pod of the Job runs"),
        pytest.param((pod(deleted_s=NOW_S - 60, ended=True),), False, id="it ended"),
    ],
)
def test_a_job_on_a_lost_node_is_known_by_pods_that_do_not_end(things: tuple[Any, ...], gone: bool) -> None:
    assert abandoned(seen(job(), *things), ()) == ([job()] if gone else [])


def test_a_job_on_a_lost_node_is_left_while_its_pod_holds_a_claim() -> None:
    away = pod(deleted_s=NOW_S - 60)

    assert abandoned(seen(job(), away), {away.uid}) == []
    assert abandoned(seen(job(ended="Failed"), away), ()) == []


def failed(number: int, **more: Any) -> Any:
    return job(number, **{"ended": "Failed", "reason": "BackoffLimitExceeded", "created_s": NOW_S - 5, "ended_s": NOW_S - 1} | more)


START = Starts(7, NOW_S - 60)


def test_pods_that_end_without_a_claim_again_and_again_are_a_loop() -> None:
    few = noted(START, 7, [failed(n) for n in range(MOST - 1)], NOW_S)
    more = noted(few, 7, [failed(n) for n in range(2, MOST)], NOW_S)

    assert (few.looping, more.looping) == (False, True)


@pytest.mark.parametrize(
    "more",
    [
        {"reason": "DeadlineExceeded"},
        {"ended": "Complete"},
        {"ended": ""},
        {"ended_s": NOW_S - 700, "created_s": NOW_S - 50},
        {"created_s": NOW_S - 61},
    ],
)
def test_what_is_no_pod_that_ended_lately_by_itself_does_not_count(more: dict[str, Any]) -> None:
    assert noted(START, 7, [failed(n, **more) for n in range(MOST)], NOW_S).failed == {}


def test_a_claim_since_the_last_look_begins_the_count_anew() -> None:
    almost = noted(START, 7, [failed(n) for n in range(MOST - 1)], NOW_S)

    after = noted(almost, 8, [failed(n) for n in range(MOST)], NOW_S)

    assert after == Starts(8, NOW_S)


def test_failures_are_forgotten_with_time() -> None:
    almost = noted(START, 7, [failed(n) for n in range(MOST - 1)], NOW_S)

    assert noted(almost, 7, [], NOW_S + 601).failed == {}
