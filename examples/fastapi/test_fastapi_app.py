"""The application by FastAPI's own test client, and its tasks by `run_next`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from fastapi_app import app

from runner.broker import Broker
from runner.connect import connect
from runner.testing import RunNext


@pytest.fixture
def client(runner_queue: Callable[..., str]) -> Iterator[TestClient]:
    runner_queue("mail", max_length=300)
    with TestClient(app) as client:
        yield client


def test_a_request_submits_and_another_reads_the_result(client: TestClient, run_next: RunNext) -> None:
    answer = client.post("/mails", params={"to": "a@example.com"})
    assert answer.status_code == 202

    run_next("mail")

    assert client.get(f"/mails/{answer.json()['id']}").json() == {"done": True, "result": "sent to a@example.com"}


def test_an_unknown_id_is_not_found(client: TestClient) -> None:
    assert client.get("/mails/nobody").status_code == 404


def test_many_requests_at_once_are_each_one_task_and_a_full_queue_says_so(client: TestClient, runner_url: str) -> None:
    async def crowd() -> list[int]:
        import httpx2

        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as many:
            answers = await asyncio.gather(*[many.post("/mails", params={"to": f"{n}@example.com"}) for n in range(301)])
        return [answer.status_code for answer in answers]

    codes = asyncio.run(crowd())

    assert (codes.count(202), codes.count(503)) == (300, 1)
    with connect(runner_url) as redis:
        assert Broker(redis).open("mail").measure().waiting == 300
