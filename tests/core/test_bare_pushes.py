"""Bare pushes by programs that know only a queue's key: none is lost, none is taken for another. Called by pytest."""

from __future__ import annotations

import pytest
import redis

from runner.broker import Broker, Empty, Queue
from runner.queue import Declaration
from tests.keyspace import Keyspace, dump
from tests.making import LINE, bury, claim, end_lease, push, retry, submit


@pytest.fixture
def streams(client: redis.Redis) -> Queue:
    return Broker(client).declare(Declaration("emails"))


def test_entries_of_two_priorities_with_the_same_entry_id_are_two_tasks(streams: Queue, client: redis.Redis) -> None:
    client.xadd(streams.keys.watched("high"), {"body": b"first"}, id="5-1")
    client.xadd(streams.keys.watched("low"), {"body": b"second"}, id="5-1")

    one, two = claim(streams, "t1"), claim(streams, "t2")
    streams.release(one.id, "t1", LINE)
    again = claim(streams, "t3")

    assert (one.body, two.body, again.body) == (b"first", b"second", b"first")
    assert (one.id, again.id) == ("5-1", "5-1")
    assert two.id != "5-1"
    Keyspace(streams).check()


def test_an_entry_whose_id_is_another_tasks_id_runs_beside_it(streams: Queue, client: redis.Redis) -> None:
    submit(streams, "5-1", b"by name", priority="low")
    client.xadd(streams.keys.watched("high"), {"body": b"by nobody"}, id="5-1")

    bodies = {claim(streams, f"t{n}").body for n in range(2)}

    assert bodies == {b"by name", b"by nobody"}
    Keyspace(streams).check()


@pytest.mark.parametrize("end", ["done", "dead"])
def test_an_entry_whose_id_is_an_ended_tasks_id_runs_beside_it(streams: Queue, client: redis.Redis, end: str) -> None:
    submit(streams, "5-1", b"by name", priority="low")
    claim(streams)
    assert (streams.complete("5-1", "t1", b"", b"") if end == "done" else bury(streams, "5-1", "t1")) == "ok"
    client.xadd(streams.keys.watched("high"), {"body": b"by nobody"}, id="5-1")

    found = claim(streams, "t2")

    assert (found.body, found.id == "5-1") == (b"by nobody", False)
    Keyspace(streams).check()


@pytest.mark.parametrize("released", [False, True])
def test_an_adopted_push_is_not_given_twice_when_the_group_was_destroyed(streams: Queue, client: redis.Redis, released: bool) -> None:
    push(streams, b'{"task_id":206}')
    found = claim(streams)
    streams.adopt(found, "206", "")
    if released:
        streams.release("206", "t1", LINE)
    client.xgroup_destroy("emails", "runner")

    claims = [streams.claim(f"again-{n}", "pod") for n in range(2)]

    assert [one.id for one in claims if not isinstance(one, Empty)] == (["206"] if released else [])
    Keyspace(streams).check()


def test_a_named_push_that_was_adopted_under_another_id_is_not_given_twice_either(streams: Queue, client: redis.Redis) -> None:
    client.xadd("emails", {"id": "outer", "body": b'{"task_id":"inner"}'})
    streams.adopt(claim(streams), "inner", "")
    client.xgroup_destroy("emails", "runner")

    assert isinstance(streams.claim("t2", "pod"), Empty)

    assert retry(streams, "inner", "t1", delay_ms=0) == "ok"
    assert claim(streams, "t3").body == b'{"task_id":"inner"}'


def test_attempts_made_before_the_adoption_move_with_the_task(queue: Queue) -> None:
    push(queue, b'{"task_id":206}')
    first = claim(queue)
    end_lease(queue, first.id)
    (reaped,) = queue.reap().claims
    retry(queue, first.id, reaped.token, delay_ms=0, counter="crashes", attempt=b'{"attempt":1}')

    second = claim(queue, "t2")
    queue.adopt(second, "206", "")

    assert second.counters.crashes == 1
    assert dump(queue)["lives"] == {"206": ['{"attempt":1}']}


def test_a_duplicate_answers_the_same_when_its_first_answer_was_lost(queue: Queue) -> None:
    submit(queue, "206")
    claim(queue)
    push(queue, b'{"task_id":206}')
    found = claim(queue, "t2")

    assert [queue.adopt(found, "206", "") for _ in range(2)] == [False, False]
    assert list(dump(queue)["tasks"]) == ["206"]


def test_more_duplicates_than_one_call_looks_at_do_not_hide_the_task_behind_them(queue: Queue, client: redis.Redis, mode: str) -> None:
    submit(queue, "206")
    claim(queue)
    queue.complete("206", "t1", b"", b"")
    for _ in range(250):
        client.xadd("emails", {"id": "206", "body": b"x"}) if mode == "stream" else client.lpush("emails", "ref:206")
    submit(queue, "207")

    assert claim(queue, "t2").id == "207"
    Keyspace(queue).check()


@pytest.mark.parametrize("body", [b"", b"\xff\xfe{", b"ref:", b"ref:nobody", b"x" * 1024 * 1024, b"a b\nc"])
def test_any_bytes_come_through_claim_retry_and_dead_letter_unchanged(queue: Queue, body: bytes) -> None:
    push(queue, body)

    found = claim(queue)
    retry(queue, found.id, "t1", delay_ms=0)
    again = claim(queue, "t2")
    bury(queue, again.id, "t2", "unreadable")

    assert (found.body, again.body) == (body, body)
    assert [letter.body for letter in queue.dead_letters()] == [body]
