"""A node that fell silent, whose tasks a worker took over: its Jobs make room all the same. Called by pytest."""

from __future__ import annotations

import time
from typing import Any

import pytest

from runner.config import ControllerSettings
from runner.controller import Controller
from runner.controller.passes import Stop
from runner.controller.silence import FRESH_S, Silence, deserted
from runner.reaper import reap_all
from tests.controller.bulk import declared, expire_claims, submit
from tests.controller.town import NOW_S, UIDS, Town, job, pending, pod, seen, word

KNOWN = Silence({UIDS[0], UIDS[1]}, {"node-1": NOW_S})


@pytest.mark.parametrize(
    ("one", "holders", "ends"),
    [
        pytest.param(pod(), (), True, id="it held a claim and holds none"),
        pytest.param(pod(), {UIDS[0]}, False, id="its claim beats"),
        pytest.param(pod(2), (), False, id="it never held one"),
        pytest.param(pod(node="node-2"), (), False, id="its node answers"),
        pytest.param(pod(ended=True), (), False, id="it ended"),
    ],
)
def test_a_job_is_deserted_when_others_took_the_tasks_of_its_silent_node(one: Any, holders: Any, ends: bool) -> None:
    its = job(2 if one.uid == UIDS[2] else 0)

    assert deserted(seen(its, one), holders, KNOWN) == ([its] if ends else [])


@pytest.mark.parametrize(
    ("heard_s", "queue", "ends"),
    [(NOW_S - 6, "emails", True), (NOW_S - 4, "emails", False), (NOW_S + 1, "emails", False), (NOW_S + 1, "images", False)],
)
def test_a_node_that_writes_of_any_pod_is_only_busy(heard_s: float, queue: str, ends: bool) -> None:
    """Seen: with 80 pods at once a claim may expire, and pods that are done may look alive for most of a minute."""
    part = seen(job(), pod(), pod(3, heard_s=heard_s, queue=queue)).of("emails")

    assert bool(deserted(part, (), KNOWN)) is ends


def test_a_controller_that_has_just_started_knows_a_lost_node_by_pods_that_do_not_end(url: str, mode: str) -> None:
    """Seen: the CronJob's next pod remembers nothing, and waited for a minute."""
    broker, _ = declared(url, mode)
    now_s = time.time()
    sent = pending(0, node="node-1", created_s=now_s - 16, scheduled_s=now_s - 16)
    town = Town(job(0, created_s=now_s - 16), sent, pod(1, queue="images", deleted_s=now_s - 16))

    Controller(broker, ControllerSettings(), Stop(), town).one_pass()

    assert town.deleted == ["job-00000"]


def test_what_is_gone_or_long_ago_is_forgotten() -> None:
    known = Silence({UIDS[0], UIDS[1]}, {"node-1": NOW_S - FRESH_S, "node-2": NOW_S - 1})

    known.forget(seen(pod(1)))

    assert known == Silence({UIDS[1]}, {"node-2": NOW_S - 1})


def test_the_job_of_a_frozen_pod_is_ended_also_where_a_worker_took_its_task_over(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    town = Town(pod(0), pod(1), job(0), job(1))
    controller = Controller(broker, ControllerSettings(), Stop(), town)
    submit(queue, 2)
    queue.claim("token-0", word(pod(0)))
    expire_claims(queue)
    queue.claim("token-1", word(pod(1)))
    controller.one_pass()
    assert town.deleted == ["job-00000"], "its claim expired under the controller's eyes"

    expire_claims(queue)
    list(reap_all(queue))
    controller.one_pass()

    assert town.deleted == ["job-00000", "job-00001"]
    assert queue.measure().waiting == 2
