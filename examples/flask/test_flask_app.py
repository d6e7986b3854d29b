"""The application by Flask's own test client, and its tasks by `run_next`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask.testing import FlaskClient
from flask_app import create_app

from runner.testing import RunNext


@pytest.fixture
def client(runner_queue: Callable[..., str]) -> Iterator[FlaskClient]:
    runner_queue("reports")
    app = create_app()
    yield app.test_client()
    app.extensions["runner"].close()


def test_a_report_that_is_asked_for_twice_is_made_once(client: FlaskClient, run_next: RunNext) -> None:
    assert client.post("/reports/7").json == {"id": "report-7", "new": True}
    assert client.post("/reports/7").json == {"id": "report-7", "new": False}
    assert client.get("/reports/7").json == {"done": False}

    run_next("reports")

    assert run_next("reports") is None
    assert client.get("/reports/7").json == {"done": True, "result": "report 7: all is well"}


def test_a_report_that_nobody_asked_for_is_not_found(client: FlaskClient) -> None:
    assert client.get("/reports/8").status_code == 404
