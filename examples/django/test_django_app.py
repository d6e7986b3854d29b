"""The application by Django's own test client, and its tasks by `run_next`.

Django's TestCase wraps each test in a transaction that is never committed: there, `captureOnCommitCallbacks(execute=True)` submits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment, teardown_test_environment
from django_app import Order, make_tables, tasks

from runner.testing import RunNext


@pytest.fixture(scope="module")
def _database() -> Iterator[None]:
    setup_test_environment()
    before = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0)
    make_tables()
    yield
    connection.creation.destroy_test_db(before, verbosity=0)
    teardown_test_environment()


@pytest.fixture
def client(_database: None, runner_queue: Callable[..., str]) -> Iterator[Client]:
    runner_queue("orders")
    tasks.cache_clear()
    yield Client()
    tasks().close()


def test_an_order_that_was_stored_is_confirmed(client: Client, run_next: RunNext) -> None:
    answer = client.post("/orders", {"mail": "a@example.com"})
    assert answer.status_code == 202

    ran = run_next()

    assert ran is not None
    assert (ran.type, ran.result) == ("order.confirm", "mail to a@example.com")
    assert Order.objects.get(pk=answer.json()["order"]).confirmed


def test_an_order_that_was_rolled_back_submits_nothing(client: Client, run_next: RunNext) -> None:
    assert client.post("/orders", {"mail": "nobody"}).status_code == 400

    assert run_next() is None
    assert not Order.objects.filter(mail="nobody").exists()
