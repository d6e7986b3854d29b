"""The release that all tests of this folder use, and what keeps them out of `make test`. Called by pytest."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import pytest

from tests.kind.cluster import Data, run, running
from tests.kind.release import Release, Shop
from tests.waiting import until

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


@pytest.fixture(scope="session")
def held(release: Release) -> Iterator[Data]:
    """A pod of the controller that can never go. Asked for by the first scenario, so that its ticks pass while the others run."""
    component = "app.kubernetes.io/component=controller"

    def ticks() -> list[Data]:
        pods = running(release.items("pods", component))
        return [one for one in pods if one["metadata"]["name"].startswith("runner-controller-")]

    pod = until(ticks, 120, every_s=1)[-1]
    name = pod["metadata"]["name"]
    release.kubectl("patch", "pod", name, "--type=json", "--patch", _finalizers("add", "/-", "runner.test/held"))
    yield pod
    release.kubectl("patch", "pod", name, "--type=json", "--patch", _finalizers("replace", "", []), check=False)


def _finalizers(op: str, path: str, value: object) -> str:
    return json.dumps([{"op": op, "path": f"/metadata/finalizers{path}", "value": value}])
