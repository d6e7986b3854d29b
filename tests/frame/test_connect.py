"""From a URL to a client that answers, waits as long as it was told, and says in one line why not."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from runner.connect import FAILURES, connect, explain, unretried
from runner.errors import ConfigError, UnavailableError
from tests.servers import SentinelServers, Server, binary_of, free_port


def said_by(url: str, *command: Any) -> str:
    """What a person reads when a command fails."""
    with pytest.raises(FAILURES) as caught, contextlib.closing(unretried(url)) as client:
        client.execute_command(*(command or ("PING",)))
    error = explain(caught.value, url)
    assert isinstance(error, UnavailableError)
    assert "\n" not in str(error)
    assert "hush" not in str(error)
    return str(error)


@pytest.fixture
def port_url(backend: str) -> Iterator[str]:
    server = Server(binary_of(backend), port=free_port())
    yield server.start().url
    server.close()


@pytest.fixture
def guarded(port_url: str) -> str:
    """A server whose users are `me` (all commands) and `few` (GET alone), both with the password hush."""
    with contextlib.closing(unretried(port_url)) as admin:
        admin.execute_command("ACL", "SETUSER", "me", "on", ">hush", "~*", "+@all")
        admin.execute_command("ACL", "SETUSER", "few", "on", ">hush", "~*", "+get")
        admin.execute_command("ACL", "SETUSER", "default", "resetpass", ">other-hush")
    return port_url.removeprefix("redis://")


def test_replies_are_bytes(url: str) -> None:
    with contextlib.closing(connect(url, client_name="pod 1")) as client:
        client.set("emails", "é")

        assert client.get("emails") == "é".encode()
        assert client.client_getname() in (b"pod-1", "pod-1")


def test_a_call_waits_for_a_server_that_comes_back(server: Server) -> None:
    with contextlib.closing(connect(server.url, retry_s=10)) as client:
        client.set("emails", "1")
        server.kill()
        back = threading.Timer(0.3, server.start)
        back.start()

        found = client.get("emails")

        back.join()
        assert found == b"1"


@pytest.mark.parametrize("retry_s", [0.0, 0.6])
def test_a_call_gives_up_when_its_time_is_over(retry_s: float) -> None:
    client = connect(f"redis://127.0.0.1:{free_port()}", retry_s=retry_s)
    begun = time.monotonic()

    with pytest.raises(redis.ConnectionError):
        client.ping()

    assert retry_s <= time.monotonic() - begun <= retry_s + 0.5


def test_a_second_call_waits_anew() -> None:
    client = connect(f"redis://127.0.0.1:{free_port()}", retry_s=0.4)
    with pytest.raises(redis.ConnectionError):
        client.ping()
    begun = time.monotonic()

    with pytest.raises(redis.ConnectionError):
        client.ping()

    assert time.monotonic() - begun >= 0.4


def test_a_wrong_password_is_not_tried_again(guarded: str) -> None:
    client = connect(f"redis://me:wrong@{guarded}", retry_s=30)
    begun = time.monotonic()

    with pytest.raises(redis.AuthenticationError):
        client.ping()

    assert time.monotonic() - begun < 5


def test_a_refused_connection_is_explained() -> None:
    port = free_port()

    assert said_by(f"redis://me:hush@127.0.0.1:{port}/0") == f"Redis at 127.0.0.1:{port}/0 refused the connection: nothing listens there"


def test_an_unknown_host_is_explained() -> None:
    assert "nowhere.invalid:6379 cannot be found" in said_by("redis://nowhere.invalid:6379")


def test_a_missing_socket_is_explained() -> None:
    assert "/nowhere/redis.sock is not there" in said_by("unix:///nowhere/redis.sock")


def test_a_missing_password_is_explained(guarded: str) -> None:
    assert "wants a password, and the URL has none" in said_by(f"redis://{guarded}")


def test_a_wrong_password_is_explained(guarded: str) -> None:
    assert "refused the user or password" in said_by(f"redis://me:hush-not@{guarded}")


def test_a_missing_permission_is_explained(guarded: str) -> None:
    assert "does not permit this user" in said_by(f"redis://few:hush@{guarded}", "SET", "a", "b")


def test_a_replica_is_explained(port_url: str) -> None:
    with contextlib.closing(unretried(port_url)) as admin:
        admin.execute_command("REPLICAOF", "127.0.0.1", free_port())

    assert "is a read-only replica" in said_by(port_url, "SET", "a", "b")


def test_a_plain_port_asked_for_tls_is_explained(port_url: str) -> None:
    in_haste = "?socket_connect_timeout=0.3&socket_timeout=0.3"

    assert "is it a TLS port?" in said_by(port_url.replace("redis://", "rediss://") + in_haste)


def test_a_server_that_closes_at_once_is_explained() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            taken, _ = listener.accept()
            taken.recv(1)
            taken.close()

        threading.Thread(target=hang_up, daemon=True).start()

        assert "wants rediss://" in said_by(f"redis://127.0.0.1:{listener.getsockname()[1]}")


def test_a_server_of_another_protocol_is_explained() -> None:
    """It answers each greeting and hangs up: redis-py went from the greeting into a health check, into a connection, into a greeting."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken, _ = listener.accept()
                    with taken:
                        taken.recv(100)
                        taken.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=refuse, daemon=True).start()

        assert "does not speak Redis's protocol" in said_by(f"redis://127.0.0.1:{listener.getsockname()[1]}")


def test_a_server_that_is_no_cluster_is_explained(port_url: str) -> None:
    address = port_url.replace("redis://", "redis+cluster://").removesuffix("/0")

    with pytest.raises(FAILURES) as caught:
        connect(address, retry_s=30)

    assert "is no cluster: use redis://" in str(explain(caught.value, address))


@pytest.mark.parametrize(
    "url",
    [
        "http://host",
        "nowhere",
        "redis://host:port",
        "redis://host/zero",
        "redis://host/zero?socket_timeout=soon",
        "redis://host?no_such_option=1",
        "redis+sentinel://host:26379",
        "redis+sentinel://host:26379/main/x",
        "redis+cluster://host:6379/1",
        "redis+cluster://host:port",
    ],
)
def test_a_url_that_makes_no_sense_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="makes no sense"):
        connect(url)


def test_a_cluster_is_reached_by_any_of_its_nodes(cluster_url: str) -> None:
    dead_first = cluster_url.replace("://", f"://127.0.0.1:{free_port()},")

    with contextlib.closing(connect(dead_first)) as client:
        client.set("{emails}:high", "1")

        assert client.get("{emails}:high") == b"1"


def test_a_cluster_node_reached_as_a_single_server_is_explained(cluster_url: str) -> None:
    node = "redis://" + cluster_url.partition("://")[2].split(",")[0]

    assert any("is a node of a cluster" in said for said in (_tried(node, key) for key in ("a", "b", "c", "d")))


def _tried(url: str, key: str) -> str:
    with contextlib.closing(unretried(url)) as client:
        try:
            return str(client.get(key))
        except FAILURES as error:
            return str(explain(error, url))


def test_a_dead_cluster_is_waited_for_and_explained() -> None:
    url = f"redis+cluster://127.0.0.1:{free_port()}"
    begun = time.monotonic()

    with pytest.raises(FAILURES) as caught:
        connect(url, retry_s=0.5)

    assert time.monotonic() - begun >= 0.2
    assert "cluster" in str(explain(caught.value, url)) or "refused" in str(explain(caught.value, url))


def test_a_sentinel_leads_to_the_master(sentinel_url: str) -> None:
    with contextlib.closing(connect(sentinel_url)) as client:
        client.set("emails", "1")

        assert client.get("emails") == b"1"


def test_an_unknown_service_is_explained(sentinel_url: str) -> None:
    assert "no Sentinel there knows" in said_by(sentinel_url.replace("/main/", "/other/"))


def test_a_call_outlives_a_failover(sentinel: SentinelServers) -> None:
    with contextlib.closing(connect(sentinel.url, retry_s=40)) as client:
        client.set("emails", "1")
        client.execute_command("WAIT", 1, 2000)
        sentinel.master.kill()

        client.set("emails", "2")

        assert client.get("emails") == b"2"


def test_a_ring_of_causes_is_explained_too() -> None:
    first, second = redis.ConnectionError("first"), OSError("second")
    first.__cause__, second.__cause__ = second, first

    assert str(explain(first, "redis://h:1/0")) == "Redis at h:1/0 failed: first"
