"""What happens to tasks whose holder is gone: each runs again or is buried, once, whoever reaps. Called by pytest."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import redis

from runner.broker import Broker, Empty, Queue, Settled
from runner.errors import ClaimLostError, QueueFullError
from runner.queue import Declaration
from runner.reaper import reap_all, settle_reaped
from runner.tasks import Submission
from tests.keyspace import Keyspace, dump, pending
from tests.making import LINE, bury, claim, dead, due, end_lease, foreign, held, push, retry, submit
from tests.waiting import until

PRECISE = b'{"id":130775545883395173,"a":[],"f":1.0,"s":"\\ud800"}'


def reap(queue: Queue) -> int:
    """Reap and settle everything; how many were retried or buried."""
    return sum(one.retried + one.buried for _, one in reap_all(queue))


def at_once(n: int, url: str, mode: str, call: Callable[[Queue], object]) -> list[object]:
    """The same call from several threads with connections of their own."""
    answers: list[object] = []
    start = threading.Barrier(n)

    def work() -> None:
        with redis.Redis.from_url(url) as client:
            queue = Broker(client).open("emails")
            start.wait(10)
            answers.append(call(queue))

    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == n
    return answers


def many(queue: Queue, n: int, **more: object) -> list[str]:
    names = [f"task-{at}" for at in range(n)]
    for at in range(0, n, 200):
        queue.submit([Submission(name, b"{}", "normal", checked=False, **more) for name in names[at : at + 200]])  # type: ignore[arg-type]
    return names


def test_four_reapers_at_once_take_each_expired_claim_once(queue: Queue, url: str, mode: str) -> None:
    """Case C2."""
    names = many(queue, 100)
    for name in names:
        claim(queue, f"token of {name}".replace(" ", "-"))
    end_lease(queue, *names)

    counts = at_once(4, url, mode, reap)

    assert sum(int(str(n)) for n in counts) == 100
    states = Keyspace(queue).check()
    assert {(record.state, record.counters) for record in states.tasks.values()} == {("waiting", "0,0,1,0,0,0,0")}


def test_claims_under_way_are_never_taken_for_lost(queue: Queue, url: str, mode: str) -> None:
    """Case C6, with a reaper that never pauses."""
    names = many(queue, 400)

    def work(mine: Queue) -> str:
        if threading.current_thread().name.endswith("0"):
            return f"reaped {sum(len(mine.reap().claims) for _ in range(400))}"
        while not isinstance(found := mine.claim(f"{threading.get_ident()}-{len(done)}", "pod"), Empty):
            mine.complete(found.id, found.token, b"", b"")
            done.append(found.id)
        return "empty"

    done: list[str] = []
    at_once(3, url, mode, work)

    assert sorted(done) == sorted(names)
    assert queue.measure().counts["done"] == 400


def test_what_a_foreign_consumer_took_is_restored_and_the_consumer_dropped(client: redis.Redis, mode: str) -> None:
    """Case C8."""
    queue = Broker(client).declare(Declaration("emails", mode=mode, lease_s=0.2))
    many(queue, 3)
    foreign(queue)

    restored = queue.restore()
    if mode == "stream":
        until(lambda: queue.drop_consumers() == 1)

    assert restored == (3 if mode == "stream" else 0)
    assert len({claim(queue, f"t{n}").id for n in range(3)}) == 3
    assert queue.drop_consumers() == 0


def test_what_a_deleted_consumer_had_is_restored(queue: Queue, client: redis.Redis, mode: str) -> None:
    """Case C8."""
    many(queue, 3)
    foreign(queue)
    if mode == "stream":
        assert client.xgroup_delconsumer("emails", "runner", "foreign") == 3

    assert queue.restore() == (3 if mode == "stream" else 0)
    assert len({claim(queue, f"t{n}").id for n in range(3)}) == 3


def test_three_hundred_pods_leave_no_consumer_and_no_entry_behind(queue: Queue, client: redis.Redis, mode: str) -> None:
    """Cases C9, C10 and C11."""
    many(queue, 300)

    for n in range(300):
        found = claim(queue, f"t{n}", f"pod-{n}")
        queue.complete(found.id, found.token, b"", b"")

    assert client.exists("emails") == 0 or client.xlen("emails") == 0
    assert pending(client, "emails") == set()
    if mode == "stream":
        assert [consumer["name"] for consumer in client.xinfo_consumers("emails", "runner")] == [b"runner"]
    assert set(dump(queue)) == {"done", "counts"}


def test_a_full_queue_refuses_what_is_over_its_bound_and_loses_nothing(client: redis.Redis, mode: str) -> None:
    """Case C12."""
    queue = Broker(client).declare(Declaration("emails", mode=mode, max_length=2))

    with pytest.raises(QueueFullError, match="full") as refused:
        queue.submit([Submission(name, b"{}", "normal") for name in "abcde"])

    assert len(refused.value.accepted) == 2
    assert set(Keyspace(queue).check().states()) == {"a", "b"}
    for again in (submit(queue, "a"), submit(queue, "b")):
        assert not again.created
    held_one = claim(queue)
    with pytest.raises(QueueFullError):
        submit(queue, "c")
    queue.complete(held_one.id, "t1", b"", b"")
    assert submit(queue, "c", delay_ms=60_000).created


def test_the_watched_length_counts_what_must_have_a_pod(queue: Queue, client: redis.Redis, mode: str) -> None:
    """Case C13: two in flight, the later one finishes first, three wait; the stream's length has the one in flight, the list's has not."""
    many(queue, 5)
    claim(queue, "t1")
    later = claim(queue, "t2")

    queue.complete(later.id, "t2", b"", b"")

    assert queue.measure().watched["normal"] == (4 if mode == "stream" else 3)
    assert queue.measure().waiting == 3


def test_a_task_whose_pod_was_killed_runs_again_and_in_the_end_is_dead(client: redis.Redis, mode: str) -> None:
    """Cases C14, C15 and C19: three starts, whatever way it was lost, then a dead letter that says so."""
    queue = Broker(client).declare(Declaration("emails", mode=mode, max_crashes=3))
    submit(queue, "a", b"body")

    for start in range(3):
        assert claim(queue, f"t{start}", f"pod-{start}").counters.attempt == start + 1
        end_lease(queue, "a")
        assert reap(queue) == 1

    (letter,) = queue.dead_letters()
    assert (letter.reason, letter.body, letter.counters.crashes) == ("lost", b"body", 3)
    assert "pod-2" in letter.detail
    assert letter.attempts.count(b'"kind":"lost"') == 3
    assert isinstance(queue.claim("t9", "pod"), Empty)


def test_two_who_promote_at_once_make_each_due_task_wait_once(queue: Queue, url: str, mode: str, client: redis.Redis) -> None:
    """Case C23."""
    names = many(queue, 1000, delay_ms=60_000)
    due(queue, *names)

    def promote(mine: Queue) -> int:
        return sum(iter(lambda: mine.promote()[0], 0))

    counts = at_once(2, url, mode, promote)

    assert sum(int(str(n)) for n in counts) == 1000
    assert queue.measure().watched["normal"] == 1000
    Keyspace(queue).check()


def test_one_task_goes_to_one_of_ten_pods(queue: Queue, url: str, mode: str) -> None:
    """Case C24."""
    submit(queue, "a")

    found = at_once(10, url, mode, lambda mine: mine.claim(f"t{threading.get_ident()}", "pod"))

    assert sum(not isinstance(one, Empty) for one in found) == 1


def test_the_first_body_of_an_id_stays(queue: Queue) -> None:
    """Case C25."""
    submit(queue, "206", b"a")

    receipt = submit(queue, "206", b"b", priority="high")

    assert (receipt.created, receipt.state) == (False, "waiting")
    assert claim(queue).body == b"a"
    assert isinstance(queue.claim("t2", "pod"), Empty)


@pytest.mark.parametrize("end", ["dead", "cancelled", "expired"])
def test_an_id_that_ended_without_success_may_be_submitted_again(queue: Queue, end: str) -> None:
    """Case C26."""
    if end == "dead":
        dead(queue, "206")
    elif end == "cancelled":
        submit(queue, "206")
        queue.cancel("206")
    else:
        submit(queue, "206", delay_ms=60_000, expires_ms=1)
        until(queue.expire)

    receipt = submit(queue, "206", b"again")

    assert (receipt.created, receipt.after) == (True, f"{'cancelled' if end == 'cancelled' else 'dead'} 206")
    assert claim(queue, "t2").body == b"again"
    assert list(queue.dead_letters()) == []


def test_cancelling_an_unknown_id_does_nothing_to_the_next_task_of_that_id(queue: Queue) -> None:
    """Case C27."""
    assert queue.cancel("206") == "unknown"

    submit(queue, "206")

    assert (claim(queue).id, queue.extend("206", "t1")) == ("206", "ok")


def test_the_bodys_bytes_come_through_delay_retry_dead_letter_and_replay(queue: Queue) -> None:
    """Case C28."""
    submit(queue, "206", PRECISE, delay_ms=60_000)
    due(queue, "206")
    queue.promote()
    assert claim(queue, "t1").body == PRECISE
    retry(queue, "206", "t1")
    due(queue, "206")
    queue.promote()
    assert claim(queue, "t2").body == PRECISE
    bury(queue, "206", "t2", "crash")
    (letter,) = queue.dead_letters()

    queue.replay([letter.entry], LINE)

    assert (letter.body, claim(queue, "t3").body) == (PRECISE, PRECISE)


@pytest.mark.parametrize("away", ["stream", "group"])
def test_a_destroyed_group_or_key_is_made_again_and_running_tasks_settle(queue: Queue, client: redis.Redis, mode: str, away: str) -> None:
    """Case C39."""
    held(queue, "a")
    submit(queue, "b")
    if mode == "stream" and away == "group":
        client.xgroup_destroy("emails", "runner")
    else:
        client.delete("emails")
        submit(queue, "c")

    found = claim(queue, "t2")

    assert found.id == ("b" if mode == "stream" and away == "group" else "c")
    assert isinstance(queue.claim("t3", "pod"), Empty)
    assert queue.complete("a", "t1", b"", b"") == "ok"


def test_tasks_that_came_before_any_worker_all_run(client: redis.Redis, mode: str) -> None:
    """Case C40, with bare pushes before the queue was declared, too."""
    for n in range(3):
        client.xadd("emails", {"body": b"%d" % n}) if mode == "stream" else client.lpush("emails", b"%d" % n)

    queue = Broker(client).declare(Declaration("emails", mode=mode))

    assert [claim(queue, f"t{n}").body for n in range(3)] == [b"0", b"1", b"2"]


def test_done_markers_leave_by_themselves(client: redis.Redis, mode: str) -> None:
    """Case C46."""
    queue = Broker(client).declare(Declaration("emails", mode=mode, keep_done_s=1))
    keys = set(client.scan_iter())
    for n in range(100):
        found = held(queue, f"task-{n}", f"t{n}")
        queue.complete(found.id, found.token, b"1", LINE)

    markers = [queue.keys.part(f"done:{n}") for n in range(4)]
    assert client.exists(*markers) >= 1
    until(lambda: client.exists(*markers) == 0, within_s=5)

    assert set(client.scan_iter()) - keys <= {queue.keys.part(word).encode() for word in ("counts", "turn", "pulse")}
    assert submit(queue, "task-0").created


def test_a_done_id_answers_for_as_long_as_it_is_kept(client: redis.Redis, mode: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode, keep_done_s=1))
    held(queue)
    queue.complete("a", "t1", b"", b"")
    done_ms = queue.measure().now_ms

    gone_ms = until(lambda: queue.look("a") is None and queue.measure().now_ms, within_s=5)

    assert gone_ms >= done_ms + 900


def test_dead_letters_are_capped_and_what_is_dropped_is_counted(client: redis.Redis, mode: str) -> None:
    """Case C47."""
    queue = Broker(client).declare(Declaration("emails", mode=mode, dead_max=10))
    names = many(queue, 300)
    for name in names:
        claim(queue, name)
    queue.bury([Settled(name, name, reason="fatal") for name in names])

    now_ms = queue.measure().now_ms
    dropped = sum(iter(lambda: queue.trim_dead(now_ms), 0))

    assert dropped == queue.measure().counts["trimmed"] == 290
    assert [letter.id for letter in queue.dead_letters()] == names[-10:]
    Keyspace(queue).check()


def test_the_lowest_priority_runs_within_the_stated_bound(queue: Queue) -> None:
    """Case C62: the head of any level waits at most 8 claims for each level above it that may go first."""
    submit(queue, "low", priority="low")
    for n in range(40):
        submit(queue, f"high-{n}", priority="high")

    order = [claim(queue, f"t{n}").id for n in range(16)]

    assert "low" in order


def test_a_reapers_death_between_reap_and_settle_loses_nothing(queue: Queue) -> None:
    held(queue, "a")
    end_lease(queue, "a")
    first = queue.reap()
    end_lease(queue, "a")

    second = queue.reap()

    assert settle_reaped(queue, first.claims, first.now_ms).lost == 1
    assert settle_reaped(queue, second.claims, second.now_ms).retried == 1
    assert second.claims[0].holder == "pod-1"
    assert claim(queue, "t2").counters.crashes == 1


def test_a_holder_whose_claim_was_reaped_can_change_nothing(queue: Queue) -> None:
    """Case C7."""
    held(queue, "a")
    end_lease(queue, "a")
    assert reap(queue) == 1
    before = dump(queue)

    for settle in (
        lambda: queue.complete("a", "t1", b"", b""),
        lambda: queue.release("a", "t1", b""),
        lambda: queue.cancel("a", "t1"),
    ):
        with pytest.raises(ClaimLostError):
            settle()
    assert [bury(queue, "a", "t1"), retry(queue, "a", "t1"), queue.extend("a", "t1")] == ["lost"] * 3

    assert dump(queue) == before


def test_a_cancelled_task_whose_holder_died_ends_cancelled(queue: Queue) -> None:
    held(queue, "a")
    queue.cancel("a")
    end_lease(queue, "a")

    assert [one.cancelled for _, one in reap_all(queue)] == [1]
    assert Keyspace(queue).check().states() == {"a": "cancelled"}


def test_a_failure_of_a_known_type_lets_the_grace_for_an_unknown_one_begin_anew(queue: Queue) -> None:
    held(queue, "a")
    retry(queue, "a", "t1", 0, "unknown_ms")
    claim(queue, "t2")
    retry(queue, "a", "t2", 0, "errors")

    assert claim(queue, "t3").counters.unknown_ms == 0


def test_many_large_bodies_are_buried_in_calls_of_about_a_mebibyte(client: redis.Redis, mode: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode))
    for n in range(8):
        held(queue, f"task-{n}", f"t{n}", body=b"x" * 700_000)
    client.config_resetstat()

    words = queue.bury([Settled(f"task-{n}", f"t{n}", reason="fatal") for n in range(8)])

    assert words == ["ok"] * 8
    assert client.info("commandstats")["cmdstat_evalsha"]["calls"] >= 4
    push(queue, b"{}")
    Keyspace(queue).check()


def test_a_dead_letter_that_an_operator_trimmed_away_leaves_nothing_that_contradicts_the_next_life(
    queue: Queue, client: redis.Redis
) -> None:
    dead(queue, "a")
    client.xtrim(queue.keys.part("dead"), maxlen=0)

    assert submit(queue, "a").created
    claim(queue, "t2")

    assert Keyspace(queue).buried == {}
    assert queue.complete("a", "t2", b"", b"") == "ok"
    assert queue.cancel("a") == "done"
