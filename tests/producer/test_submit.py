"""Submitting one task: what is written, what is answered, what is refused (C12, C25, C26, C27, C32, C33, C49)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from ulid import ULID

from runner import wire
from runner.broker import Queue
from runner.errors import (
    BodyTooLargeError,
    QueueFullError,
    RefusedError,
    UndeclaredQueueError,
    UnknownPriorityError,
)
from runner.producer import NewTask, Producer
from runner.producer.prepare import new_id
from tests.making import bury, claim, retry
from tests.producer.conftest import body_of
from tests.waiting import until


def test_a_submitted_task_is_claimed_with_its_envelope(queue: Queue, producer: Producer) -> None:
    receipt = producer.submit("image.resize", {"n": 1}, queue="emails", timeout_s=2.5, max_retries=7, version=3)

    assert receipt == (type(receipt))(receipt.id, "waiting", True)
    claimed = claim(queue)
    task = wire.read(claimed.body)
    assert claimed.id == receipt.id == task.task_id
    assert (task.type, task.payload, task.timeout_ms, task.max_retries, task.version) == ("image.resize", {"n": 1}, 2500, 7, 3)


def test_new_ids_are_ulids_of_this_moment_and_all_different() -> None:
    ids = [new_id(at_ms) for at_ms in (1_764_500_000_000, 1_764_500_000_001) for _ in range(3000)]

    assert len(set(ids)) == 6000
    assert {ULID.from_str(one).milliseconds for one in ids} == {1_764_500_000_000, 1_764_500_000_001}


def test_a_forked_process_makes_other_ids_on_a_connection_of_its_own(queue: Queue, url: str) -> None:
    forking = """if True:
        import os
        from runner.producer import Producer
        producer = Producer()
        made = [producer.submit("a", queue="emails").id]
        child = os.fork()
        made += [producer.submit("a", queue="emails").id for _ in range(100)]
        print("".join(f"{one}\\n" for one in made), end="", flush=True)
        if child:
            os.waitpid(child, 0)
        else:
            os._exit(0)
    """
    env = {**os.environ, "RUNNER_REDIS_URL": url}
    done = subprocess.run([sys.executable, "-c", forking], env=env, capture_output=True, text=True, check=True, timeout=60)

    assert len(set(done.stdout.split())) == queue.measure().waiting == 201


def test_a_closed_producer_opens_again(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails")
    producer.close()

    assert producer.submit("a", queue="emails").created
    assert queue.measure().waiting == 2


def test_priority_delay_and_expiry_are_kept(queue: Queue, producer: Producer) -> None:
    high = producer.submit("a", queue="emails", priority="high")
    later = producer.submit("a", queue="emails", delay_s=60, expires_s=90)

    assert claim(queue).id == high.id
    assert later.state == "delayed"
    facts = queue.look(later.id)
    assert facts is not None
    assert facts.due_ms is not None
    assert facts.expires_ms is not None
    assert facts.expires_ms - facts.due_ms == 30_000


def test_the_second_submit_of_an_id_answers_with_the_first_and_changes_nothing(queue: Queue, producer: Producer) -> None:
    """C25."""
    producer.submit("a", "first", queue="emails", task_id=206, priority="high")
    before = body_of(queue, 206)

    again = producer.submit("a", "second", queue="emails", task_id="206", priority="low")

    assert (again.id, again.state, again.created) == ("206", "waiting", False)
    assert body_of(queue, 206) == before
    assert queue.measure().waiting == 1


def test_a_business_key_answers_with_its_living_task(queue: Queue, producer: Producer) -> None:
    first = producer.submit("a", queue="emails", key="report 11")

    again = producer.submit("a", queue="emails", key="report 11")

    assert (again.id, again.created) == (first.id, False)


def test_an_id_that_died_may_run_again_and_is_linked(queue: Queue, producer: Producer) -> None:
    """C26."""
    producer.submit("a", queue="emails", task_id="x")
    claim(queue)
    bury(queue, "x", "t1", reason="error")

    again = producer.submit("a", queue="emails", task_id="x")

    assert (again.created, again.after) == (True, "dead x")
    assert queue.measure().dead == 0


def test_an_id_that_is_done_answers_done(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id="x")
    claim(queue)
    queue.complete("x", "t1", b"1", b"")

    again = producer.submit("a", queue="emails", task_id="x")

    assert (again.state, again.created) == ("done", False)


def test_cancelling_an_unknown_id_leaves_no_trace(queue: Queue, producer: Producer) -> None:
    """C27."""
    assert producer.cancel("x") == "unknown"

    producer.submit("a", queue="emails", task_id="x")

    assert claim(queue).id == "x"


def test_a_cancelled_delayed_task_never_starts(queue: Queue, producer: Producer) -> None:
    """C63: no pod is alive when it is cancelled."""
    soon = producer.submit("a", queue="emails", delay_s=0.05)

    assert producer.cancel(soon.id) == "cancelled"

    kept = producer.submit("a", queue="emails", delay_s=0.05)
    until(lambda: queue.promote()[0] == 1)
    assert claim(queue).id == kept.id
    assert queue.measure().waiting == 0


def test_a_bound_refuses_and_loses_nothing(declared: Callable[..., Queue], producer: Producer) -> None:
    """C12."""
    queue = declared(max_length=2)
    accepted = [producer.submit("a", n, queue="emails") for n in range(2)]

    for _ in range(3):
        with pytest.raises(QueueFullError, match="is full"):
            producer.submit("a", queue="emails")

    assert {claim(queue, "t1").id, claim(queue, "t2").id} == {one.id for one in accepted}


def test_an_id_that_is_there_answers_in_a_full_queue_too(declared: Callable[..., Queue], producer: Producer) -> None:
    declared(max_length=1)
    producer.submit("a", queue="emails", task_id="x")

    assert producer.submit("a", queue="emails", task_id="x").created is False


def test_random_bytes_of_a_megabyte_come_back_exactly(declared: Callable[..., Queue], producer: Producer) -> None:
    """C32: as base64, which is 4/3 of it."""
    import base64

    queue, data = declared(max_body_bytes=2 * 1024 * 1024), os.urandom(1024 * 1024)

    producer.submit("a", data, queue="emails")

    body = claim(queue).body
    assert base64.b64decode(wire.read(body).payload) == data
    assert len(body) <= len(data) * 4 / 3 + 200


def test_a_body_over_the_limit_is_refused_with_its_size(declared: Callable[..., Queue], producer: Producer) -> None:
    """C33."""
    queue = declared(max_body_bytes=5000)
    producer.submit("a", "", queue="emails", task_id="x")
    room = 5000 - len(claim(queue).body)

    with pytest.raises(BodyTooLargeError, match=r"5001 bytes, the limit is 5000"):
        producer.submit("a", "y" * (room + 1), queue="emails", task_id="y")

    assert queue.look("y") is None
    assert producer.submit("a", "y" * room, queue="emails", task_id="y").created


def test_an_undeclared_queue_is_refused_with_advice(producer: Producer) -> None:
    """C49."""
    with pytest.raises(UndeclaredQueueError, match="runner queue declare orders"):
        producer.submit("a", queue="orders")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"type": ""}, "`type` is empty"),
    ({"type": 7}, "`type` is 7, not a string"),
    ({"payload": 1j}, "payload is of type complex"),
    ({"payload": {"x": float("nan")}}, r"payload\.x is nan"),
    ({"delay_s": -1}, "`delay_s` is -1, not a number of seconds"),
    ({"delay_s": "5"}, "`delay_s` is '5', not a number"),
    ({"delay_s": float("inf")}, "`delay_s` is inf"),
    ({"expires_s": 0}, "`expires_s` is 0"),
    ({"delay_s": 10, "expires_s": 5}, "would expire after 5 s, before its delay of 10 s"),
    ({"timeout_s": 0}, "`timeout_s` is 0"),
    ({"timeout_s": 3601}, "the longest that queue 'emails' allows is 3600"),
    ({"max_retries": -1}, "`max_retries` is -1"),
    ({"max_retries": True}, "`max_retries` is True"),
    ({"task_id": ""}, "`task_id` is empty"),
    ({"task_id": True}, "`task_id` is True, not a string"),
    ({"key": "a\0b"}, "`key` holds a NUL"),
    ({"version": "x"}, "`version` is 'x'"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_wrong_is_refused_at_the_call_and_nothing_is_written(
    queue: Queue, producer: Producer, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(RefusedError, match=said):
        producer.submit(**{"type": "a", "queue": "emails", **wrong})

    assert queue.measure().waiting == queue.measure().delayed == 0


def test_an_unknown_priority_is_refused(queue: Queue, producer: Producer) -> None:
    with pytest.raises(UnknownPriorityError, match="high, normal, low"):
        producer.submit("a", queue="emails", priority="urgent")


def test_a_queue_declared_again_is_noticed(declared: Callable[..., Queue], producer: Producer) -> None:
    declared()
    producer.submit("a", queue="emails")
    declared(max_length=1)

    with pytest.raises(QueueFullError):
        producer.submit("a", queue="emails")


def test_prefixes_do_not_see_each_other(queue: Queue, url: str) -> None:
    with Producer(url, prefix="staging") as staging, pytest.raises(UndeclaredQueueError):
        staging.submit("a", queue="emails")


def test_submit_takes_what_a_new_task_has(queue: Queue, producer: Producer) -> None:
    from inspect import signature

    names = [name for name in signature(producer.submit).parameters if name != "queue"]

    assert sorted(names) == sorted(field.name for field in fields(NewTask))


def test_a_rerun_has_the_same_bytes_and_a_new_id(queue: Queue, producer: Producer) -> None:
    producer.submit("a", {"n": 130775545883395173}, queue="emails", task_id="x", priority="high")
    body = claim(queue).body
    bury(queue, "x", "t1", reason="fatal")

    receipt = producer.rerun("x")

    assert receipt.after == "dead x"
    facts = queue.look(receipt.id)
    assert facts is not None
    assert (facts.body, facts.priority) == (body, "high")
    assert json.loads(facts.attempts) == {"kind": "rerun", "of": "x"}
    assert queue.measure().dead == 1
    assert claim(queue, "t2").id == receipt.id


def test_only_a_dead_task_can_be_rerun(queue: Queue, producer: Producer) -> None:
    producer.submit("a", queue="emails", task_id="x")

    with pytest.raises(RefusedError, match="is waiting and will run anyway"):
        producer.rerun("x")
    claim(queue)
    retry(queue, "x", "t1")
    with pytest.raises(RefusedError, match="is delayed"):
        producer.rerun("x")
    producer.cancel("x")
    with pytest.raises(RefusedError, match="its body is not kept"):
        producer.rerun("x")
