"""declare: a queue's mode and priorities change only while no task could get out of reach. Called by pytest."""

from __future__ import annotations

import threading

import pytest
import redis

from runner.broker import Broker
from runner.errors import ConfigError, NewerLayoutError
from runner.queue import Declaration
from tests.keyspace import dump
from tests.making import claim, dead, push, submit
from tests.waiting import until

FEWER = ("high", "normal")


def declared(client: redis.Redis, mode: str, **more: object) -> None:
    Broker(client).declare(Declaration("emails", mode=mode, **more))  # type: ignore[arg-type]


def other(mode: str) -> str:
    return "list" if mode == "stream" else "stream"


def test_a_queue_is_declared_with_all_its_fields_and_its_groups(client: redis.Redis, mode: str) -> None:
    declaration = Declaration("emails", mode=mode, priorities=("a", "b"), lease_s=1.5, replay=(), max_length=7, default_type="t")

    queue = Broker(client).declare(declaration)

    assert Broker(client).open("emails").declaration == queue.declaration
    assert queue.declaration.rev > 1 and Broker(client).names() == ["emails"]
    assert client.exists("emails") == (mode == "stream")
    assert dump(queue) == {}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"history_bytes": 1e8}, "history_bytes is 100000000.0, not a whole number"),
        ({"max_retries": True}, "max_retries is True, not a whole number"),
        ({"max_length": "5"}, "max_length is '5', not a whole number"),
        ({"priorities": ["high", "low"]}, "priorities is ..high., .low.., not a tuple of strings"),
        ({"lease_s": 1e17}, "lease_s is 1e.17, not seconds from 0 to 1000000000"),
        ({"keep_done_s": 1e308}, "keep_done_s is 1e.308, not seconds"),
        ({"history_bytes": -1}, "history_bytes is -1, not a number from 0 up"),
    ],
)
def test_what_could_not_be_read_again_is_not_stored(client: redis.Redis, mode: str, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        declared(client, mode, **wrong)

    assert client.keys() == []


@pytest.mark.parametrize("name", [None, 5, b"emails", "a b"])
def test_a_name_that_is_none_is_told_as_such(client: redis.Redis, mode: str, name: str) -> None:
    with pytest.raises(ConfigError, match=r"queue .*: a name has letters"):
        Broker(client).open(name)


def test_saying_the_same_again_changes_only_the_revision(client: redis.Redis, mode: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode))
    submit(queue, "a")
    before, rev = dump(queue), queue.declaration.rev

    again = Broker(client).declare(Declaration("emails", mode=mode, max_retries=9))

    assert dump(queue) == before
    assert (again.declaration.rev, again.declaration.max_retries) == (rev + 1, 9)


def test_a_queue_declared_anew_after_a_flush_is_not_taken_for_the_old_one(client: redis.Redis, mode: str) -> None:
    old = Broker(client).declare(Declaration("emails", mode=mode))
    client.flushall()
    until(lambda: Broker(client).now_ms() > old.declaration.rev)

    new = Broker(client).declare(Declaration("emails", mode=other(mode)))
    submit(old, "a")

    assert new.measure().waiting == 1 and client.type("emails") == other(mode).encode()


def test_an_open_queue_goes_on_with_the_new_declaration(client: redis.Redis, mode: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode))
    declared(client, mode, lease_s=99)

    submit(queue, "a")
    claim(queue)

    assert queue.declaration.lease_s == 99
    assert client.zscore(queue.keys.part("claims"), "a") > queue.measure().now_ms + 90_000  # type: ignore[operator]


@pytest.mark.parametrize("change", ["mode", "priorities", "default_priority"])
@pytest.mark.parametrize("holds", ["waiting", "delayed", "claimed", "bare"])
def test_no_change_puts_a_task_out_of_reach(client: redis.Redis, mode: str, change: str, holds: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode))
    if holds == "bare":
        push(queue, b"bare", "low")
    else:
        submit(queue, "a", priority="low", delay_ms=60_000 if holds == "delayed" else 0)
    if holds == "claimed":
        claim(queue)
    before = dump(queue)
    changed = {"mode": {}, "priorities": {"priorities": FEWER}, "default_priority": {"default_priority": "low"}}[change]

    with pytest.raises(ConfigError, match="cannot change while it holds"):
        declared(client, other(mode) if change == "mode" else mode, **changed)

    assert dump(queue) == before


def test_an_empty_queue_with_dead_letters_changes_mode_and_replays(client: redis.Redis, mode: str) -> None:
    queue = Broker(client).declare(Declaration("emails", mode=mode))
    entry = dead(queue, priority="low")

    declared(client, other(mode), priorities=("only",))

    assert queue.replay([entry], b"") == 1
    assert (queue.declaration.mode, claim(queue, "t2").priority) == (other(mode), "only")
    dump(queue)


def test_a_newer_layout_is_left_alone(client: redis.Redis, mode: str) -> None:
    declared(client, mode)
    client.hset("{emails}:queue", "layout", 99)

    with pytest.raises(NewerLayoutError, match="upgrade this process"):
        declared(client, mode)


def test_declaring_at_the_same_moment_ends_with_one_whole_declaration(url: str, client: redis.Redis, mode: str) -> None:
    def declare(cap: int) -> None:
        with redis.Redis.from_url(url) as mine:
            for _ in range(10):
                declared(mine, mode, max_retries=cap, max_releases=cap)

    first = Broker(client).declare(Declaration("emails", mode=mode)).declaration.rev
    threads = [threading.Thread(target=declare, args=(cap,)) for cap in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    found = Broker(client).open("emails").declaration
    assert found.rev == first + 20
    assert found.max_retries == found.max_releases


def test_an_id_is_found_although_its_queue_was_declared_again_meanwhile(client: redis.Redis, mode: str) -> None:
    broker = Broker(client)
    queues = [broker.declare(Declaration(name, mode=mode)) for name in ("emails", "images")]
    submit(queues[1], "a")
    declared(client, mode, max_retries=9)

    found = broker.find("a", queues)

    assert found is not None
    assert (found[0].name, found[1].state) == ("images", "waiting")
