"""The release that all tests of this folder use, and what keeps them out of `make test`. Called by pytest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.kind.cluster import run
from tests.kind.release import Release, Shop

HERE = os.path.dirname(__file__)  # noqa: PTH120 - pytest hooks compare text
collect_ignore_glob = {"1": ["more/*"], "more": []}.get(os.environ.get("RUNNER_KIND", ""), ["test_*.py", "more/*"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.kind)


@pytest.fixture(autouse=True)
def _said_how_long(request: pytest.FixtureRequest) -> Iterator[None]:
    began_s = time.monotonic()
    yield
    print(f"\n    {request.node.name}: {time.monotonic() - began_s:.1f} s")


@pytest.fixture(scope="session")
def release() -> Iterator[Release]:
    """The release in namespace `shop`; the one that is there already, if the cluster was kept."""
    found = Release("shop", 31379)
    there = run("helm", "status", "runner", "--namespace", "shop", check=False).returncode == 0
    began_s = time.monotonic()
    found.install("--create-namespace", verb="upgrade" if there else "install")
    print(f"\n    helm {'upgrade' if there else 'install'}: {time.monotonic() - began_s:.1f} s")
    found.open_door()
    return found


@pytest.fixture(scope="session")
def shop(release: Release) -> Iterator[Shop]:
    """The release, with clients to its Redis."""
    opened = Shop(release)
    yield opened
    opened.close()
