"""A namespace of a real cluster, named by KUBECONFIG_UNDER_TEST; without it all tests of this folder are skipped. Called by pytest."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from tests.cluster.kubectl import Namespace

WHY = "needs a cluster: KUBECONFIG_UNDER_TEST=file, kubectl on PATH, and the Kubernetes client"


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        if "tests/cluster/" in str(item.path):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def kubeconfig() -> str:
    """The file of the cluster under test."""
    path = os.environ.get("KUBECONFIG_UNDER_TEST", "")
    if not path:
        pytest.skip(WHY)
    pytest.importorskip("kubernetes", reason=WHY)
    return path


@pytest.fixture(scope="session")
def space(kubeconfig: str) -> Iterator[Namespace]:
    """A namespace of this run's own."""
    made = Namespace(kubeconfig, f"runner-test-{secrets.token_hex(3)}")
    made.kubectl("create", "namespace", made.name, namespaced=False)
    yield made
    made.kubectl("delete", "namespace", made.name, "--wait=false", namespaced=False)
