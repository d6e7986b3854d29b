"""One exit code for cron, Nagios and CI: what is told at which level, and that a typing error is no alarm. Called by pytest."""

from __future__ import annotations

import json

import pytest

from runner.broker import Broker, Queue
from runner.cli.limits import Level, level_of
from runner.queue import Declaration
from tests.cli.conftest import Say
from tests.controller import bulk
from tests.making import submit

pytestmark = pytest.mark.parametrize("mode", ["stream"])


@pytest.fixture
def broker(queue: Queue) -> Broker:
    """A controller has just been there."""
    broker = Broker(queue.client)
    broker.note_pass({"at_ms": broker.now_ms()})
    return broker


def worst(said: Say, *args: str) -> tuple[int, str]:
    """Exit code and first line."""
    code, out, err = said("check", *args)
    assert err == ""
    return code, out.splitlines()[0]


def test_where_all_is_well_every_queue_has_a_line(broker: Broker, queue: Queue, said: Say) -> None:
    submit(queue, "a")

    assert worst(said) == (0, "OK emails: 1 waiting, 0 claimed, 0 delayed, 0 dead")
    assert json.loads(said("check", "--json")[1]) == {"level": "OK", "findings": []}


def test_an_old_task_is_told_by_the_limit_of_its_queue(broker: Broker, queue: Queue, said: Say) -> None:
    submit(queue, "a")

    code, line = worst(said, "--max-wait-s", "0.000001")
    assert code == 2 and line.startswith("CRITICAL emails: the oldest task waits for 0 s")
    assert worst(said, "--max-wait-s", "0.000001", "emails.max_wait_s=60")[0] == 0
    assert worst(said, "emails.max_wait_s=0.000001")[0] == 2
    assert worst(said, "--max-wait-s", "0")[0] == 0


def test_only_what_died_lately_counts(broker: Broker, queue: Queue, said: Say) -> None:
    bulk.bury(queue, 21)

    code, line = worst(said)
    assert (code, line) == (2, "CRITICAL emails: 21 of 21 tasks that ended since it was declared are dead, 100 %, the limit is 10 %")
    assert worst(said, "--max-dead", "21")[0] == 0 == worst(said, "--max-dead-percent", "0")[0]
    measured = queue.measure()
    broker.note_ended("emails", measured.counts, measured.now_ms - 1_800_000)
    assert worst(said)[0] == 0
    bulk.bury(queue, 21)
    assert "21 of 21 tasks that ended within 30 min" in worst(said)[1]


def test_a_full_queue_is_critical_and_a_nearly_full_one_a_warning(broker: Broker, said: Say) -> None:
    small = broker.declare(Declaration("small", max_length=10))
    bulk.submit(small, 9)

    assert worst(said) == (1, "WARNING small: it holds 9 tasks of the 10 of its max_length, then submits are refused")
    assert worst(said, "small.max_length=6")[0] == 1 and worst(said, "small.max_length=4")[0] == 2
    submit(small, "last")
    assert worst(said) == (2, "CRITICAL small: it holds 10 tasks, its max_length is 10: submits are refused")


def test_a_silent_controller_is_told(queue: Queue, said: Say) -> None:
    broker = Broker(queue.client)

    assert worst(said) == (2, "CRITICAL controller: it never made a pass, the limit is 180 s")
    assert worst(said, "--max-silence-s", "0")[0] == 0
    broker.note_pass({"at_ms": broker.now_ms() - 200_000})
    assert worst(said) == (1, "WARNING controller: its last pass was 3 min ago, the limit is 180 s")


def test_pods_that_end_without_claiming_are_told(broker: Broker, said: Say) -> None:
    now_s = broker.now_ms() / 1000
    for number, code in ((2, 0), (3, 1), (5, 2)):
        broker.note_starts("emails", {"failed": {str(n): now_s for n in range(number)} | {"old": now_s - 700}})
        assert worst(said)[0] == code
    broker.note_starts("emails", {})
    paused = {"kind": "paused", "name": "emails", "reason": "paused by the controller", "message": "5 pods ended\nwithout claiming"}
    broker.note_findings({"emails": [paused]}, broker.now_ms())
    assert worst(said) == (2, "CRITICAL emails: emails: paused: paused by the controller 5 pods ended without claiming")


def test_the_worst_comes_first_and_a_broken_queue_hides_no_other(broker: Broker, queue: Queue, said: Say) -> None:
    broker.declare(Declaration("broken"))
    broker.declare(Declaration("newer"))
    queue.client.delete("broken")
    queue.client.set("broken", "no stream")
    queue.client.hset("{newer}:queue", "layout", 99)
    small = broker.declare(Declaration("small", max_length=10))
    bulk.submit(small, 9)

    found = json.loads(said("check", "--json")[1])

    levels = [(one["level"], one["about"]) for one in found["findings"]]
    assert levels == [("CRITICAL", "broken"), ("CRITICAL", "newer"), ("WARNING", "small")]
    assert worst(said, "--queue", "small")[0] == 1


def test_a_redis_that_does_not_answer_is_critical(queue: Queue, said: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_CONNECT_S", "0")
    monkeypatch.setenv("RUNNER_REDIS_URL", "redis://127.0.0.1:1/0")

    code, line = worst(said)

    assert code == 2 and line.startswith("CRITICAL Redis: Redis at 127.0.0.1:1/0 refused the connection")


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("--queue", "nope"), "queue 'nope' is not declared"),
        (("nope.max_wait_s=1",), "queue 'nope' is not among those that are checked (emails)"),
        (("emails.max_weight=1",), "'emails.max_weight=1' is no limit of a queue"),
        (("emails.max_wait_s=soon",), "a limit is a number from 0 up"),
    ],
)
def test_what_is_wrong_is_unknown_and_no_alarm(broker: Broker, said: Say, args: tuple[str, ...], part: str) -> None:
    code, line = worst(said, *args)

    assert code == 3 and line.startswith("UNKNOWN runner check: ") and part in line


def test_a_wrong_option_is_unknown_too(broker: Broker, said: Say) -> None:
    code, out, err = said("check", "--max-wait-s", "soon")

    assert (code, out, err.count("\n")) == (3, "", 1)


def test_a_redis_without_any_queue_is_unknown(queue: Queue, said: Say) -> None:
    queue.client.flushall()

    assert worst(said, "--max-silence-s", "0") == (3, "UNKNOWN Redis: no queue is declared here: is it the right one, with its data?")


@pytest.mark.parametrize(
    ("value", "limit", "level"),
    [(10, 10, Level.OK), (11, 10, Level.WARNING), (20, 10, Level.WARNING), (21, 10, Level.CRITICAL), (9, 0, Level.OK)],
)
def test_over_a_limit_is_a_warning_and_over_twice_of_it_critical(mode: str, value: float, limit: float, level: Level) -> None:
    assert level_of(value, limit) is level
