"""A task that ran out of memory goes on in the queue with bigger pods, once, whatever is killed between two steps. Called by pytest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis

from runner import Producer
from runner.broker import Broker, Queue
from runner.broker.moving import Leaving
from runner.connect import connect
from runner.errors import TaskUnknownError
from runner.outcome import Ending, Kind
from runner.queue import Declaration
from runner.reaper import reap_all, settle_reaped
from runner.settle import Settler
from runner.tasks import Claim
from tests.keyspace import Keyspace
from tests.making import claim, end_lease, held, submit

KILLED = Ending(Kind.OOM, "killed by the kernel for want of memory")
BODY = b'{"id":130775545883395173,"a":[],"f":1.0}'


class Kill(Exception):
    """The mover's process ends here."""


class Killed:
    """A client that lets so many scripts through and then ends the process; a reply of the last one is lost if `after` is set."""

    def __init__(self, client: Any, scripts: int, after: bool) -> None:
        self._client, self._left, self._after = client, scripts, after

    def evalsha(self, *args: Any) -> Any:
        return self._let_through(self._client.evalsha, *args)

    def eval(self, *args: Any) -> Any:
        return self._let_through(self._client.eval, *args)

    def _let_through(self, run: Callable[..., Any], *args: Any) -> Any:
        if self._left <= 0 and not self._after:
            raise Kill
        reply = run(*args)
        if self._left <= 0:
            raise Kill
        self._left -= 1
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def queues(client: Any, mode: str, other_mode: str = "", **more: Any) -> tuple[Queue, Queue]:
    broker = Broker(client)
    big = broker.declare(Declaration("big", mode=other_mode or mode, max_ooms=3))
    return broker.declare(Declaration("small", mode=mode, oom_to="big", **more)), big


def settle(queue: Queue, found: Claim, ending: Ending = KILLED) -> None:
    Settler(queue, found, "pod-1", 0).settle(ending, None)


@pytest.fixture
def client(url: str) -> Any:
    return redis.Redis.from_url(url)


@pytest.mark.parametrize("other", ["stream", "list"])
def test_a_holder_moves_a_task_that_was_killed_for_memory(client: Any, mode: str, other: str) -> None:
    small, big = queues(client, mode, other)
    found = held(small, "a", body=BODY, key="order 7")

    settle(small, found)

    there = claim(big, "t2")
    facts = big.look("a")
    assert facts is not None
    assert (there.id, there.body, there.counters.ooms, there.first_ms) == ("a", BODY, 1, found.first_ms)
    assert [line.split(b'"kind":')[1].split(b",")[0] for line in facts.attempts.splitlines()] == [b'"oom"', b'"moved"']
    assert facts.key == "order 7"
    assert getattr(small.look("a"), "state", "") == "moved"
    Keyspace(small).check()
    Keyspace(big).check()


@pytest.mark.parametrize("after", [False, True], ids=["before", "reply lost"])
@pytest.mark.parametrize("scripts", [0, 1, 2])
def test_a_mover_killed_at_any_step_loses_and_doubles_nothing(client: Any, mode: str, scripts: int, after: bool) -> None:
    small, big = queues(client, mode)
    found = held(small, "a", body=BODY)
    _killed_at(small, scripts, after, lambda: settle(small, found))

    end_lease(small, "a")
    list(reap_all(small))

    begun = scripts > 0 or after
    assert _live(small, big) == (["big"] if begun else ["small"])
    there = claim(big if begun else small, "t2")
    assert (there.id, there.body, there.counters.ooms, there.counters.crashes) == ("a", BODY, int(begun), int(not begun))
    Keyspace(small).check()
    Keyspace(big).check()


def test_a_task_that_was_done_over_there_before_the_move_ended_is_not_run_again(client: Any, mode: str) -> None:
    small, big = queues(client, mode)
    found = held(small, "a")
    _killed_at(small, 2, False, lambda: settle(small, found))
    there = claim(big, "t2")
    big.complete(there.id, "t2", b"42", b"")

    end_lease(small, "a")
    list(reap_all(small))

    assert _live(small, big) == []
    assert getattr(big.look("a"), "state", "") == "done"
    assert getattr(small.look("a"), "state", "") == "moved"


def test_a_stale_mover_forgets_nothing_that_another_took_over(client: Any, mode: str) -> None:
    small, _ = queues(client, mode)
    held(small, "a")
    leaving = small.move_out("a", "t1", "big")
    end_lease(small, "a")
    small.reap()

    assert isinstance(leaving, Leaving)
    assert small.move_done("a", "t1", "big") == "lost"
    assert small.move_back("a", "t1") == "lost"


def test_two_movers_of_one_move_make_one_task(client: Any, mode: str) -> None:
    small, big = queues(client, mode)
    held(small, "a")
    first = small.move_out("a", "t1", "big")
    second = small.move_out("a", _taken_over(small).token, "big")
    assert isinstance(first, Leaving)
    assert isinstance(second, Leaving)

    assert first.move == second.move
    assert [big.move_in(one, one.move.encode()) for one in (first, second)] == ["made", "exists"]


def _taken_over(queue: Queue) -> Claim:
    end_lease(queue, "a")
    return queue.reap().claims[0]


@pytest.mark.parametrize("trouble", ["undeclared", "id taken", "key taken"])
def test_where_it_cannot_go_it_runs_again_here_with_the_kill_counted_once(client: Any, mode: str, trouble: str) -> None:
    small, big = queues(client, mode)
    found = held(small, "a", body=BODY, key="k")
    if trouble == "undeclared":
        client.delete(big.keys.part("queue"))
    else:
        submit(big, "a" if trouble == "id taken" else "b", key="k" if trouble == "key taken" else "")

    settle(small, found)

    facts = small.look("a")
    assert facts is not None
    assert (facts.state, facts.body, facts.counters.ooms, facts.counters.errors) == ("delayed", BODY, 1, 0)
    assert facts.attempts.count(b'"kind":"oom"') == 1
    Keyspace(small).check()


def test_the_cap_is_that_of_the_queue_it_is_in(client: Any, mode: str) -> None:
    small, big = queues(client, mode)
    settle(small, held(small, "a"))

    settle(big, claim(big, "t2"))
    big.client.zadd(big.keys.part("delayed"), {"a": 1}, xx=True)
    big.promote()
    settle(big, claim(big, "t3"))

    assert (getattr(big.look("a"), "state", ""), getattr(big.look("a"), "reason", "")) == ("dead", "oom")


def test_a_reaper_that_knows_of_the_kill_moves_too_and_hands_back_what_was_evicted(client: Any, mode: str) -> None:
    small, big = queues(client, mode)
    for name in ("a", "b", "c"):
        held(small, name, f"t-{name}")
    taken = small.seize(small.holdings())

    done = settle_reaped(small, taken.claims, taken.now_ms, {"a": KILLED, "b": Ending(Kind.RELEASED, "evicted from node-1")})

    states = {name: getattr(small.look(name), "state", "") for name in "abc"}
    assert (done.moved, done.released, done.retried) == (1, 1, 1)
    assert states == {"a": "moved", "b": "waiting", "c": "waiting"}
    assert getattr(small.look("b"), "counters", None) == replace(taken.claims[0].counters, releases=1)
    assert claim(big, "t2").id == "a"


def test_hand_backs_of_evicted_pods_end_at_their_cap(client: Any, mode: str) -> None:
    small, _ = queues(client, mode, max_releases=1)
    held(small, "a")
    for token in ("t2", "t3"):
        taken = small.seize(small.holdings())
        settle_reaped(small, taken.claims, taken.now_ms, {"a": Ending(Kind.RELEASED, "evicted from node-1")})
        small.claim(token, "pod-1")

    assert (getattr(small.look("a"), "state", ""), getattr(small.look("a"), "reason", "")) == ("dead", "released")


def test_a_bare_push_whose_id_nobody_asked_for_yet_runs_again_here(client: Any, mode: str) -> None:
    small, _ = queues(client, mode)
    small.client.xadd("small", {"body": b"{}"}) if mode == "stream" else small.client.lpush("small", b"{}")
    found = claim(small)
    taken = small.seize(small.holdings())

    done = settle_reaped(small, taken.claims, taken.now_ms, {found.id: KILLED})

    assert (done.retried, done.moved) == (1, 0)


def test_wait_find_and_cancel_follow_the_id_though_the_first_queue_is_named(url: str, client: Any, mode: str) -> None:
    small, big = queues(client, mode)
    for name in ("a", "b"):
        settle(small, held(small, name, f"t-{name}"))

    with Producer(url) as producer:
        assert producer.cancel("b", queue="small") == "cancelled"
        assert getattr(producer.find("a", queue="small"), "__getitem__", lambda _: "")(0) == "big"
        big.complete(claim(big, "t2").id, "t2", b"42", b"")
        assert producer.wait("a", 5, queue="small") == 42
        assert producer.wait("a", 5) == 42
        big.client.delete(*(big.keys.part(f"done:{n}") for n in range(4)))
        with pytest.raises(TaskUnknownError):
            producer.wait("a", 5, queue="small")


def test_a_move_on_a_cluster(cluster_url: str, mode: str) -> None:
    with connect(cluster_url) as client:
        small, big = queues(client, mode)

        settle(small, held(small, "a", body=BODY))

        assert claim(big, "t2").body == BODY


def _killed_at(queue: Queue, scripts: int, after: bool, work: Callable[[], object]) -> None:
    whole = queue.client
    queue.client = Killed(whole, scripts, after)
    with pytest.raises(Kill):
        work()
    queue.client = whole


def _live(*queues: Queue) -> list[str]:
    """The queues that have the task waiting, running or on its way."""
    return [one.name for one in queues if getattr(one.look("a"), "state", "") in ("waiting", "delayed", "claimed", "moving")]
