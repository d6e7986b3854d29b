"""The fixture of the worker's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.worker.pods import Cluster, cluster


@pytest.fixture
def made(tmp_path: Path, url: str, mode: str) -> Iterator[Callable[..., Cluster]]:
    """Makes a queue in the test's mode, with the declaration's fields that the test names."""
    with ExitStack() as stack:

        def make(**declared: Any) -> Cluster:
            return stack.enter_context(cluster(tmp_path, url, mode=mode, **declared))

        yield make
