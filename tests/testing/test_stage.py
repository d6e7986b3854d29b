"""runner.testing: what a pod would do, and what the test is told of it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import runner
from runner.broker import Broker
from runner.connect import connect
from runner.errors import ConfigError, HandlersError
from runner.testing import RunAll, RunNext

Declare = Callable[..., str]
SEEN: list[Any] = []


@runner.task("stage.note")
def note(payload: Any, context: runner.Context) -> Any:
    SEEN.append(payload)
    return {"payload": payload, "id": context.id, "told": os.environ["RUNNER_TASK_ID"]}


@runner.task("stage.again")
def again(payload: dict[str, Any], context: runner.Context) -> int:
    if context.attempt < payload["times"]:
        raise runner.Retry("not yet", after_s=payload.get("after_s"))
    return context.attempt


@runner.task("stage.chain")
def chain(left: int) -> None:
    with runner.Producer() as producer:
        if left:
            producer.submit("stage.chain", left - 1, queue="other")


@runner.task("stage.endless")
async def endless(_: None) -> None:
    async with runner.AsyncProducer() as producer:
        await producer.submit("stage.endless", queue="emails")


@runner.task("stage.wait")
def wait(_: None) -> Any:
    with runner.Producer() as producer:
        return producer.wait("other", 1)


@runner.task("stage.ctrl-c")
def press(_: None) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def submit(runner_queue: Declare, runner_producer: runner.Producer) -> Callable[..., str]:
    runner_queue("emails", max_retries=2)
    return lambda type, payload=None, **more: runner_producer.submit(type, payload, queue="emails", **more).id


def test_a_handler_runs_where_the_test_runs(submit: Callable[..., str], run_next: RunNext) -> None:
    SEEN.clear()
    task_id = submit("stage.note", [1])

    ran = run_next()

    assert ran is not None
    assert (ran.id, ran.type, ran.queue, ran.attempt, ran.kind, ran.state) == (task_id, "stage.note", "emails", 1, "done", "done")
    assert ran.result == {"payload": [1], "id": task_id, "told": task_id}
    assert SEEN == [[1]]
    assert "RUNNER_TASK_ID" not in os.environ
    assert run_next() is None


def test_a_task_is_followed_through_its_retries(submit: Callable[..., str], run_all: RunAll) -> None:
    submit("stage.again", {"times": 3, "after_s": 0.05})

    assert [(ran.attempt, ran.kind, ran.state, ran.error) for ran in run_all()] == [
        (1, "retry", "delayed", "not yet"),
        (2, "retry", "delayed", "not yet"),
        (3, "done", "done", ""),
    ]


def test_what_is_due_later_is_left_alone(submit: Callable[..., str], run_all: RunAll) -> None:
    submit("stage.note", delay_s=60)

    assert run_all() == []


def test_follow_ups_in_other_queues_run_too(submit: Callable[..., str], runner_queue: Declare, run_all: RunAll) -> None:
    runner_queue("other")
    submit("stage.chain", 2)

    assert [ran.queue for ran in run_all()] == ["emails", "other", "other"]


def test_handlers_that_submit_each_other_for_ever_are_found(submit: Callable[..., str], run_all: RunAll) -> None:
    submit("stage.endless")

    with pytest.raises(AssertionError, match=r"more than 3 runs, the last of type 'stage\.endless'"):
        run_all(at_most=3)


def test_what_cannot_run_is_told_as_a_pod_would_settle_it(submit: Callable[..., str], runner_url: str, run_all: RunAll) -> None:
    submit("stage.nobody knows it")
    with connect(runner_url) as client:
        client.xadd("emails", {"body": b"\xff"})

    strange, unreadable = run_all()

    assert (strange.kind, strange.state) == ("unknown_type", "delayed")
    assert "no handler for type 'stage.nobody knows it'" in strange.error
    assert (unreadable.type, unreadable.kind, unreadable.state) == (None, "unreadable", "dead")


def test_a_wait_in_a_handler_is_refused_as_in_a_pod(submit: Callable[..., str], run_next: RunNext) -> None:
    submit("stage.wait")

    ran = run_next()

    assert ran is not None
    assert ran.error.startswith("NestedWaitError")


def test_a_cancelled_task_does_not_run(submit: Callable[..., str], runner_producer: runner.Producer, run_next: RunNext) -> None:
    runner_producer.cancel(submit("stage.note"))

    assert run_next() is None


def test_a_test_that_declares_no_queue_is_told(run_next: RunNext) -> None:
    with pytest.raises(ConfigError, match="runner_queue"):
        run_next()


def test_ctrl_c_ends_the_test_run_and_is_no_error_of_the_handler(submit: Callable[..., str], run_all: RunAll) -> None:
    submit("stage.ctrl-c")

    with pytest.raises(KeyboardInterrupt):
        run_all()

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_pod_has_handlers_or_a_program(submit: Callable[..., str], run_next: RunNext) -> None:
    submit("stage.note")

    with pytest.raises(ConfigError, match="both given"):
        run_next(handlers="tests.testing.test_stage", exec_command="true")


def test_a_worker_process_runs_handlers_by_name_and_says_what_is_wrong_with_them(submit: Callable[..., str], run_next: RunNext) -> None:
    submit("stage.note", 7)

    with pytest.raises(HandlersError, match="no_such_module"):
        run_next(handlers="no_such_module")
    ran = run_next(handlers="tests.testing.test_stage")

    assert ran is not None
    assert ran.result["payload"] == 7


@pytest.mark.skipif(not shutil.which("node"), reason="no node on PATH")
def test_the_example_in_another_language_runs_in_a_worker_process(submit: Callable[..., str], run_next: RunNext) -> None:
    program = Path(__file__).parents[2] / "examples/node/words.js"
    submit("words.count", {"text": "a b A"})

    ran = run_next(exec_command=f"node {program}")

    assert ran is not None
    assert ran.result == {"a": 2, "b": 1}


def test_nothing_of_one_test_is_there_in_the_next(runner_url: str) -> None:
    with connect(runner_url) as client:
        assert Broker(client).names() == []
    assert [name for name in os.environ if name.startswith("RUNNER_")] == ["RUNNER_REDIS_URL"]
