"""Real controller processes: exit codes, signals, two at once, one killed in the middle, one that hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from runner.broker import Queue
from tests.controller.bulk import Process, bury, claim, declared, expire_claims, look, submit, waiting_ids
from tests.servers import Server
from tests.waiting import until

MANY = 2_000
BODY = b'{"type":"x","payload":"' + b"." * 8000 + b'"}'
"""So large that a chunk is not 200 but about 130, and the middle lasts longer."""


@contextmanager
def running(folder: Path, name: str, url: str, **settings: str) -> Iterator[Process]:
    process = Process(folder, name, url, **settings)
    try:
        yield process
    finally:
        process.kill()


def test_one_pass_ends_with_0_and_a_line_per_queue(url: str, mode: str, tmp_path: Path) -> None:
    for name in ("ants", "bears"):
        declared(url, mode, name, prefix="staging")

    process = Process(tmp_path, "controller", url, RUNNER_PREFIX="staging")

    assert process.ended() == 0
    assert [line["queue"] for line in process.events("pass")] == ["ants", "bears"]


def test_something_that_could_not_be_done_ends_with_1(url: str, mode: str, tmp_path: Path) -> None:
    _, queue = declared(url, mode)
    queue.client.delete("emails")
    queue.client.set("emails", "x")

    process = Process(tmp_path, "controller", url)

    assert process.ended() == 1
    assert process.events("step failed")


def test_a_wrong_setting_ends_with_2_and_one_line(url: str, tmp_path: Path) -> None:
    process = Process(tmp_path, "controller", url, RUNNER_CONTROL_EVERY_S="soon")

    assert process.ended() == 2
    assert len(process.log_path.read_text().splitlines()) == 1


def test_no_redis_ends_with_3_and_one_line_after_the_time_it_may_fail(tmp_path: Path) -> None:
    process = Process(tmp_path, "controller", f"unix://{tmp_path}/none.sock", RUNNER_CONNECT_S="0.2")

    assert process.ended() == 3
    lines = process.log_path.read_text().splitlines()
    assert len(lines) == 1
    assert "none.sock" in lines[0]


def test_passes_go_on_for_the_given_time(url: str, mode: str, tmp_path: Path) -> None:
    declared(url, mode)

    process = Process(tmp_path, "controller", url, RUNNER_CONTROL_FOR_S="1", RUNNER_CONTROL_EVERY_S="0.1")

    assert process.ended() == 0
    assert 3 <= len(process.events("pass")) <= 11


def test_sigterm_between_two_passes_ends_at_once_with_0(url: str, mode: str, tmp_path: Path) -> None:
    declared(url, mode)
    with running(tmp_path, "controller", url, RUNNER_CONTROL_FOR_S="600", RUNNER_CONTROL_EVERY_S="300") as process:
        until(lambda: process.events("pass"), within_s=15)

        process.signal(signal.SIGTERM)

        assert process.ended(within_s=5) == 0


def test_sigterm_in_the_middle_leaves_no_claim_taken_over_and_unsettled(url: str, mode: str, tmp_path: Path) -> None:
    broker, queue = declared(url, mode)
    submit(queue, MANY)
    claim(queue, MANY)
    expire_claims(queue)
    with running(tmp_path, "controller", url) as process:
        until(lambda: queue.measure().counts.get("retried"), within_s=15, every_s=0.001)

        process.signal(signal.SIGTERM)

        assert process.ended() == 0
    found = queue.measure()
    assert found.expired_claims == found.claimed
    assert found.counts["retried"] + found.claimed == MANY
    assert broker.last_pass()


def test_tasks_are_promoted_once_though_controllers_are_killed_in_the_middle(url: str, mode: str, tmp_path: Path) -> None:
    """Cases C3 and C57."""
    _, queue = declared(url, mode)
    ids = submit(queue, MANY, BODY, delay_ms=1)

    _killed_on_the_way(url, tmp_path, lambda: len(waiting_ids(queue)))

    assert sorted(waiting_ids(queue)) == sorted(ids)
    assert queue.measure().delayed == 0


def test_letters_are_replayed_once_though_controllers_are_killed_in_the_middle(url: str, mode: str, tmp_path: Path) -> None:
    """Cases C48 and C57."""
    _, queue = declared(url, mode, replay_after_s=0, replay_per_pass=MANY)
    ids = bury(queue, MANY, body=BODY)

    _killed_on_the_way(url, tmp_path, lambda: queue.measure().counts.get("replayed", 0))

    assert sorted(waiting_ids(queue)) == sorted(ids)
    assert (queue.measure().dead, queue.measure().counts["replayed"]) == (0, MANY)
    assert {facts.counters.replays for facts in look(queue, ids)} == {1}


def test_lost_claims_are_settled_once_though_controllers_are_killed_in_the_middle(url: str, mode: str, tmp_path: Path) -> None:
    """Cases C3 and C57: what a killed reaper had taken over expires again, and is settled by the next."""
    _, queue = declared(url, mode)
    ids = submit(queue, MANY)
    claim(queue, MANY)
    expire_claims(queue)

    _killed_on_the_way(url, tmp_path, lambda: retried(queue), between=lambda: expire_claims(queue))

    assert (retried(queue), queue.measure().claimed) == (MANY, 0)
    assert {facts.counters.crashes for facts in look(queue, ids)} == {1}


def retried(queue: Queue) -> int:
    return queue.measure().counts.get("retried", 0)


def _killed_on_the_way(url: str, folder: Path, done: Callable[[], int], between: Callable[[], None] = lambda: None) -> None:
    """Kill one as soon as it has begun, another at work beside it, until all is done."""
    with running(folder, "first", url) as first, running(folder, "second", url) as second:
        until(done, within_s=20, every_s=0.0005)
        first.kill()
        until(lambda: second.process.poll() is not None or done() > MANY // 2, within_s=20, every_s=0.0005)
        second.kill()
    between()
    with running(folder, "third", url, RUNNER_CONTROL_FOR_S="60", RUNNER_CONTROL_EVERY_S="0.1"):
        until(lambda: done() == MANY, within_s=30)


def test_a_controller_that_hung_for_longer_than_its_claims_changes_nothing_more(url: str, mode: str, tmp_path: Path) -> None:
    """Cases C3 and C57: frozen while it holds claims it took over; another settles them meanwhile."""
    _, queue = declared(url, mode)
    ids = submit(queue, MANY)
    claim(queue, MANY)
    expire_claims(queue)
    with running(tmp_path, "hung", url) as hung:
        until(lambda: retried(queue), within_s=15, every_s=0.0005)
        hung.signal(signal.SIGSTOP)
        expire_claims(queue)
        with running(tmp_path, "other", url, RUNNER_CONTROL_FOR_S="60", RUNNER_CONTROL_EVERY_S="0.1"):
            until(lambda: retried(queue) == MANY, within_s=30)

        hung.signal(signal.SIGCONT)

        assert hung.ended() == 0
    assert (retried(queue), queue.measure().claimed) == (MANY, 0)
    assert {facts.counters.crashes for facts in look(queue, ids)} == {1}


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_delayed_tasks_run_on_time_after_redis_and_controller_were_restarted(server: Server, mode: str, tmp_path: Path, how: str) -> None:
    """Case C44."""
    _, queue = declared(server.url, mode)
    ids = submit(queue, 10, delay_ms=500)

    getattr(server, how)()
    server.start()
    with running(tmp_path, "controller", server.url, RUNNER_CONTROL_FOR_S="60", RUNNER_CONTROL_EVERY_S="0.1"):
        queue.client = redis.Redis.from_url(server.url)
        until(lambda: len(waiting_ids(queue)) == 10, within_s=15)

    now_ms = queue.measure().now_ms
    assert max(facts.first_ms or 0 for facts in look(queue, ids)) + 500 <= now_ms


def test_redis_restarted_under_a_controller_ends_no_pass(server: Server, mode: str, tmp_path: Path) -> None:
    _, queue = declared(server.url, mode)
    with running(tmp_path, "controller", server.url, RUNNER_CONTROL_FOR_S="60", RUNNER_CONTROL_EVERY_S="0.1") as process:
        until(lambda: process.events("pass"), within_s=15)
        server.kill()
        server.start()
        submit(queue, 3, delay_ms=1)

        until(lambda: len(waiting_ids(queue)) == 3, within_s=15)

        process.signal(signal.SIGTERM)
        assert process.ended() == 0


def test_options_are_refused_and_no_pass_is_made(url: str) -> None:
    ended = subprocess.run([sys.executable, "-m", "runner.controller", "--help"], capture_output=True, text=True, check=False)

    assert ended.returncode == 2 and "settings are environment variables" in ended.stderr and '"pass"' not in ended.stderr
