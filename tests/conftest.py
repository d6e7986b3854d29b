"""The fixtures of all tests: real servers, one set per session (per xdist worker), emptied before each test. Called by pytest."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.servers import DURABLE, ClusterServers, SentinelServers, Server, binary_of

# A busy machine is no bug of the code under test, and each run must find the same.
settings.register_profile("runner", deadline=None)
settings.load_profile("runner")

COSTLY = {"cluster_url", "sentinel_url", "sentinel"}
"""Fixtures that only the full run starts."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="embedded and redis-server, Cluster and Sentinel, full counts")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--full") and os.environ.get("CI") and not binary_of("redis-server"):
        raise pytest.UsageError("--full needs a redis-server on PATH in CI: apt-get install redis-server")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        there = [] if binary_of("redis-server") else [pytest.mark.skip(reason="no redis-server on PATH")]
        more = [pytest.param("redis-server", marks=there)] if metafunc.config.getoption("--full") else []
        metafunc.parametrize("backend", ["embedded", *more], scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    if config.getoption("--full"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes long: make test-slow, make test-all"))
        if COSTLY & set(getattr(item, "fixturenames", ())) and not item.get_closest_marker("cheap"):
            item.add_marker(pytest.mark.skip(reason="needs Cluster or Sentinel: make test-all"))


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether this is the full run (make test-all)."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(params=["stream", "list"])
def mode(request: pytest.FixtureRequest) -> str:
    """Both modes of a queue."""
    return str(request.param)


@pytest.fixture(scope="session")
def _volatile(backend: str) -> Iterator[Server]:
    server = Server(binary_of(backend))
    yield server.start()
    server.close()


@pytest.fixture(scope="session")
def _durable(backend: str) -> Iterator[Server]:
    server = Server(binary_of(backend), DURABLE)
    yield server.start()
    server.close()


@pytest.fixture(scope="session")
def _cluster(backend: str) -> Iterator[ClusterServers]:
    servers = ClusterServers(binary_of(backend))
    yield servers.start()
    servers.close()


@pytest.fixture(scope="session")
def _watched(backend: str) -> Iterator[SentinelServers]:
    servers = SentinelServers(binary_of(backend))
    yield servers.start()
    servers.close()


@pytest.fixture
def url(_volatile: Server) -> str:
    """The URL of an empty server."""
    return _volatile.fresh().url


@pytest.fixture
def server(_durable: Server) -> Server:
    """An empty server that a test may kill, stop, pause and start again; every write is on disk before its answer."""
    return _durable.fresh()


@pytest.fixture
def cluster_url(_cluster: ClusterServers) -> str:
    """The URL of an empty cluster of three masters."""
    return _cluster.fresh().url


@pytest.fixture
def sentinel_url(_watched: SentinelServers) -> str:
    """The URL of an empty master behind a sentinel; it must stay alive, see `sentinel`."""
    return _watched.fresh().url


@pytest.fixture
def sentinel(backend: str) -> Iterator[SentinelServers]:
    """A master, replica and sentinel of this test's own, to be killed and failed over."""
    servers = SentinelServers(binary_of(backend))
    yield servers.start()
    servers.close()
