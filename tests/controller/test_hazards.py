"""The controller says at its start when its Redis can lose tasks. C38."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import redis

from runner.broker.hazards import hazards
from tests.servers import Server


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as made:
        yield made
        made.config_set("maxmemory-policy", "noeviction")


def test_a_server_that_keeps_everything_has_no_hazard(client: redis.Redis) -> None:
    assert hazards(client) == []


def test_an_evicting_server_is_told_with_what_to_do(client: redis.Redis, server: Server) -> None:
    client.config_set("maxmemory-policy", "allkeys-lru")

    environ = os.environ | {"RUNNER_REDIS_URL": server.url}
    ended = subprocess.run([sys.executable, "-m", "runner.controller"], env=environ, capture_output=True, text=True, check=True)

    (event,) = [json.loads(line) for line in ended.stderr.splitlines()]
    assert event["level"] == "warning" and "allkeys-lru" in event["why"] and "noeviction" in event["why"]


def test_a_server_without_append_only_file_is_told(url: str) -> None:
    with redis.Redis.from_url(url) as volatile:
        assert ["appendonly" in said for said in hazards(volatile)] == [True]


def test_every_node_of_a_cluster_is_asked(cluster_url: str) -> None:
    from runner.connect import connect

    with connect(cluster_url) as nodes:
        assert ["appendonly" in said for said in hazards(nodes)] == [True]
