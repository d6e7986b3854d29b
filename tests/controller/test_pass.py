"""One pass over real queues: what each step does, what stops nothing, what is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from runner.broker import Broker, Queue, Settled
from runner.config import ControllerSettings
from runner.connect import connect
from runner.controller import Controller
from runner.controller.passes import Stop
from runner.outcome import Kind
from runner.queue import Declaration
from runner.tasks import Submission
from tests.controller.bulk import bury, claim, declared, expire_claims, submit, waiting_ids
from tests.waiting import until


def one_pass(broker: Broker, cluster: Any = None) -> bool:
    return Controller(broker, ControllerSettings(), Stop(), cluster).one_pass()


def task(name: str, priority: str = "normal", **more: Any) -> Submission:
    return Submission(id=name, body=b"{}", priority=priority, **more)


def told(capfd: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    return [line for line in lines if line["event"] == event]


def test_a_pass_does_all_that_only_time_does(url: str, mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    broker, queue = declared(url, mode, replay_after_s=0, dead_max=1)
    bury(queue, 1)
    queue.submit([task("due", delay_ms=1), task("late", expires_ms=1), task("held", priority="high"), task("later", delay_ms=60_000)])
    claim(queue, 1)
    expire_claims(queue)
    until(lambda: queue.measure().next_due_ms < queue.measure().now_ms)

    assert one_pass(broker)

    line = told(capfd, "pass")[0]
    assert {name: line[name] for name in ("promoted", "reaped_retried", "expired", "replayed", "trimmed") if name in line} == {
        "promoted": 1,
        "reaped_retried": 1,
        "expired": 1,
        "replayed": 1,
    }
    assert (line["queue"], line["delayed"], line["claimed"], line["dead_by_reason"], line["failed"]) == ("emails", 1, 0, {"expired": 1}, [])
    assert line["waiting"] == 3
    assert line["took_ms"] >= 0
    assert line["oldest_wait_s"] >= 0


def test_a_lost_claim_is_run_again_and_at_its_cap_ends_among_the_dead(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, max_crashes=2, replay=())
    submit(queue, 3)

    for _ in range(2):
        claim(queue, 3)
        expire_claims(queue)
        one_pass(broker)

    assert queue.measure().dead_by_reason == {"lost": 3}


def test_the_record_of_the_last_pass_tells_when_no_controller_runs(url: str, mode: str) -> None:
    """Case C72."""
    broker, _ = declared(url, mode)
    before = broker.last_pass()

    one_pass(broker)

    after = broker.last_pass()
    assert before == {}
    assert {"at_ms", "took_ms", "host", "queues", "failed", "version"} == set(after)
    assert abs(broker.now_ms() - int(after["at_ms"])) < 5000


def test_a_bad_queue_stops_no_other(url: str, mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    broker, good = declared(url, mode, "zebras")
    for name in ("ants", "bears", "cats"):
        declared(url, mode, name)
    submit(good, 1, delay_ms=1)
    client = redis.Redis.from_url(url)
    client.delete("ants")
    client.set("ants", "no stream and no list")
    client.delete("{bears}:queue")
    client.hset("{cats}:queue", "layout", 99)
    until(lambda: good.measure().next_due_ms < good.measure().now_ms)

    assert not one_pass(broker)

    assert waiting_ids(good) == ["t0"]
    assert broker.last_pass()["failed"] == "ants,bears,cats"
    errors = [json.loads(line) for line in capfd.readouterr().err.splitlines() if '"error"' in line]
    assert {line["queue"]: line["event"] for line in errors} == {"ants": "step failed", "bears": "queue left out", "cats": "queue left out"}
    assert any("WRONGTYPE" in line["error"] for line in errors)


def test_an_entry_of_another_program_among_the_dead_stops_no_other_and_is_told_once(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0)
    dead = queue.keys.part("dead")
    queue.client.xadd(dead, {"hello": "world"}, id="1-1")
    queue.client.xadd(dead, {"id": "x", "reason": "crash", "counters": "many", "first_ms": "1"}, id="1-2")
    bury(queue, 2)

    first, second = one_pass(broker), one_pass(broker)

    assert (first, second) == (False, True)
    assert sorted(waiting_ids(queue)) == ["t0", "t1"]


def test_entries_of_another_program_are_trimmed_like_letters(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, dead_max=1, replay=())
    queue.client.xadd(queue.keys.part("dead"), {"hello": "world"})
    bury(queue, 1)

    assert one_pass(broker)

    assert [one.id for one in queue.dead_letters()] == ["t0"]


@pytest.mark.parametrize("reason", [Kind.FATAL, Kind.UNREADABLE, Kind.EXPIRED, Kind.ERROR])
def test_what_another_run_cannot_help_is_left_among_the_dead(url: str, mode: str, reason: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0)
    bury(queue, 2, reason)

    one_pass(broker)

    assert queue.measure().dead == 2


def test_a_task_that_still_fails_goes_round_once(url: str, mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Case C48."""
    broker, queue = declared(url, mode, replay_after_s=0)
    bury(queue, 100)

    rounds = [_round(broker, queue) for _ in range(3)]

    assert rounds == [100, 0, 0]
    assert [line["replayed"] for line in told(capfd, "pass")] == [100, 0, 0]
    assert queue.measure().dead == 100


def _round(broker: Broker, queue: Queue) -> int:
    one_pass(broker)
    again = claim(queue, len(waiting_ids(queue)), f"round-{queue.measure().counts.get('replayed', 0)}")
    queue.bury([Settled(name, token, "crashes", reason="crash", detail="still") for name, token in again])
    return len(again)


def test_a_pass_replays_no_more_than_its_share(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0, replay_per_pass=30)
    bury(queue, 70)

    seen = [one_pass(broker) and len(waiting_ids(queue)) for _ in range(3)]

    assert seen == [30, 60, 70]


def test_a_replayed_task_keeps_its_body_its_first_submit_and_its_attempts(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0)
    body = b'{"type":"x","payload":[130775545883395173,"\xff"]}'
    bury(queue, 1, body=body)
    before = queue.look("t0")

    one_pass(broker)

    after = queue.look("t0")
    assert before is not None
    assert after is not None
    assert (after.state, after.body, after.first_ms) == ("waiting", body, before.first_ms)
    assert (after.counters.replays, after.counters.crashes) == (1, 0)
    assert [json.loads(line).get("kind") for line in after.attempts.splitlines()] == [None, "replay"]


def test_letters_that_stay_are_not_looked_at_in_every_pass(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0)
    _stay(queue, 500)
    one_pass(broker)

    assert queue.measure().dead == 500
    assert queue.headings(broker.mark(queue)) == []
    bury(queue, 1)
    one_pass(broker)
    assert waiting_ids(queue) == ["t0"]


def test_a_new_declaration_looks_at_all_letters_again(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0, replay=("crash",))
    _stay(queue, 5, "timeout")
    one_pass(broker)

    declared(url, mode, replay_after_s=0, replay=("timeout",))
    one_pass(broker)

    assert len(waiting_ids(queue)) == 5


def test_a_row_of_letters_that_stay_hides_none_behind_it(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, replay_after_s=0)
    _stay(queue, 11_000)
    bury(queue, 1)

    one_pass(broker)
    first = waiting_ids(queue)
    one_pass(broker)

    assert (first, waiting_ids(queue)) == ([], ["t0"])


def _stay(queue: Queue, number: int, reason: str = "fatal") -> None:
    """Letters of ten minutes ago, written as `to_dead` in lua/prelude.lua writes them."""
    pipeline, buried_ms = queue.client.pipeline(transaction=False), queue.measure().now_ms - 600_000
    plain = {"body": "{}", "reason": reason, "detail": "", "counters": "0,0,0,0,0,0,0", "first_ms": 1, "priority": "normal"}
    for n in range(number):
        fields = plain | {"id": f"s{n}", "life": 1, "key": "", "attempts": ""}
        pipeline.xadd(queue.keys.part("dead"), fields, id=f"{buried_ms}-{n + 1}")
    pipeline.hincrby(queue.keys.part("counts"), f"dead:{reason}", number)
    pipeline.execute()


def test_the_dead_are_kept_by_count_and_age_the_oldest_dropped_and_counted(url: str, mode: str, full: bool) -> None:
    """Case C47."""
    failures = 10_000 if full else 1_500
    broker, queue = declared(url, mode, dead_max=1_000, dead_max_age_s=60, replay=())
    bury(queue, failures)

    one_pass(broker)

    found = queue.measure()
    left = [one.id for one in queue.dead_letters()]
    assert left == [f"t{n}" for n in range(failures - 1_000, failures)]
    assert (found.dead, found.counts["trimmed"], found.dead_by_reason) == (1_000, failures - 1_000, {"crash": 1_000})
    assert queue.client.hlen(queue.keys.part("buried")) == 1_000


def test_letters_past_their_age_are_dropped_though_there_is_room(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, dead_max_age_s=60, replay=())
    _stay(queue, 450)
    assert queue.measure().dead == 450
    bury(queue, 3)

    one_pass(broker)

    assert [one.id for one in queue.dead_letters()] == ["t0", "t1", "t2"]
    assert queue.measure().counts["trimmed"] == 450


def test_tasks_whose_key_somebody_deleted_are_told_and_do_not_wait_for_ever(url: str, mode: str) -> None:
    broker, queue = declared(url, mode)
    submit(queue, 3)
    queue.client.delete(queue.keys.main)
    told = queue.measure().mislaid

    one_pass(broker)

    found = queue.measure()
    assert (told, found.mislaid) == (3, 0)
    assert (found.waiting, found.dead_by_reason) == ((3, {}) if mode == "list" else (0, {"unreadable": 3}))


def test_caps_of_0_keep_every_dead_letter(url: str, mode: str) -> None:
    broker, queue = declared(url, mode, dead_max=0, dead_max_age_s=0, replay=())
    bury(queue, 3)

    one_pass(broker)

    assert queue.measure().dead == 3


def test_pods_leave_no_consumers_and_foreign_ones_go_with_what_they_read_put_back(url: str) -> None:
    """Case C9."""
    broker, queue = declared(url, "stream", lease_s=0.2)
    submit(queue, 300)
    for name, token in claim(queue, 300):
        queue.complete(name, token, b"", b"")
    queue.submit([task("stray")])
    queue.client.xreadgroup("runner", "somebody", {"emails": ">"})

    until(lambda: one_pass(broker) and len(queue.client.xinfo_consumers("emails", "runner")) == 1)

    assert [name for name, _ in claim(queue, 1, "next")] == ["stray"]


def test_done_tasks_leave_nothing_once_their_time_is_over(url: str, mode: str, full: bool) -> None:
    """Case C46."""
    broker, queue = declared(url, mode, keep_done_s=1, history_bytes=10_000)
    client = redis.Redis.from_url(url)
    before = set(client.keys())
    tasks = 20_000 if full else 500
    submit(queue, tasks)
    for name, token in claim(queue, tasks):
        queue.complete(name, token, b"42", b"{}")

    bodies = queue.keys.part("history")
    assert client.xlen(bodies) > 0

    def forgotten() -> bool:
        return one_pass(broker) and not client.keys("*done*") and not client.xlen(bodies)

    until(forgotten, within_s=10)

    kept = {queue.keys.part(word).encode() for word in ("turn", "pulse", "counts", "history")} | {b"runner/passes", b"runner/ended"}
    assert set(client.keys()) - before <= kept


def test_a_pass_on_a_cluster(cluster_url: str, mode: str) -> None:
    broker = Broker(connect(cluster_url))
    queue = broker.declare(Declaration("emails", mode=mode, replay_after_s=0))
    bury(queue, 2)
    queue.submit([task("due", delay_ms=1), task("held", priority="high")])
    claim(queue, 1)
    expire_claims(queue)

    until(lambda: one_pass(broker) and queue.measure().waiting == 4)

    assert queue.measure().counts["replayed"] == 2
    assert broker.last_pass()["queues"] == "1"
