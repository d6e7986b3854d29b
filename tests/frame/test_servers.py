"""The servers that the tests stand on do what their names say."""

from __future__ import annotations

import redis

from tests.servers import Server
from tests.waiting import until


def test_the_shared_server_is_empty(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


def test_the_shared_server_is_empty_again(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        assert client.dbsize() == 0


def test_a_killed_server_comes_back_with_every_answered_write(server: Server) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.set("kept", "yes")

        server.kill()
        server.start()

        assert client.get("kept") == b"yes"


def test_a_paused_server_answers_after_it_was_resumed(server: Server) -> None:
    server.pause()

    server.resume()

    with redis.Redis.from_url(server.url) as client:
        assert client.ping()


def test_a_cluster_holds_all_slots(cluster_url: str) -> None:
    host, port = cluster_url.rpartition("/")[2].split(",")[0].split(":")

    with redis.RedisCluster(host=host, port=int(port)) as cluster:
        cluster.set("emails", "1")
        assert cluster.get("emails") == b"1"


def test_a_sentinel_names_the_master(sentinel_url: str) -> None:
    address = sentinel_url.removeprefix("redis+sentinel://").split("/")[0].split(":")

    found = redis.Sentinel([(address[0], int(address[1]))]).discover_master("main")

    assert found[0] == "127.0.0.1"


def test_waiting_ends_with_the_first_true_answer() -> None:
    answers = iter([0, 0, 7])

    assert until(lambda: next(answers)) == 7
