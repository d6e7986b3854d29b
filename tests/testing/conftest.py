"""The fixtures under test, on the server that all tests share. Called by tests/testing."""

from __future__ import annotations

import pytest

from runner.testing import _stage, run_all, run_next, runner_producer, runner_queue, runner_url
from tests.servers import Server

__all__ = ["_stage", "run_all", "run_next", "runner_producer", "runner_queue", "runner_url"]


@pytest.fixture(scope="session")
def runner_server(_volatile: Server) -> Server:
    """In place of one more."""
    return _volatile.fresh()
