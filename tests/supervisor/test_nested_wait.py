"""A handler, or a program that a worker runs, does not wait for another task by accident: its pod would be held meanwhile."""

from __future__ import annotations

import sys

import pytest

from runner.outcome import Kind
from tests.supervisor.children import run

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
NESTED = "tests.supervisor.handlers_nested"


def test_a_wait_in_a_handler_is_refused_with_the_reason() -> None:
    ending = run("wait", {}, module=NESTED)

    assert ending.kind is Kind.ERROR
    assert ending.detail.startswith("NestedWaitError: this is the handler of task '206', whose pod would be held")
    assert "maxReplicas" in ending.detail and "allow_nested=True" in ending.detail


def test_a_handler_that_means_it_may_wait() -> None:
    ending = run("wait", {"allow_nested": True}, module=NESTED)

    assert ending.detail.startswith("WaitTimeoutError: task 'other' did not end within 0 s: it could not be seen: Redis at /nowhere.sock")


def test_a_program_that_a_worker_runs_is_refused_too() -> None:
    waiting = "import runner; runner.Producer('unix:///nowhere.sock').wait('other', 0)"

    ending = run("any", exec_command=f'{sys.executable} -c "{waiting}"')

    assert ending.kind is Kind.ERROR
    assert "NestedWaitError: this is the handler of task '206'" in ending.detail
