"""Redis's pod is killed under running tasks, and everybody keeps to their rights. Part of `make kind-test`."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
import redis

from runner.errors import RunnerError
from tests.kind.release import Shop
from tests.kind.test_2_deaths import effects
from tests.waiting import until


def submitted(shop: Shop, queue: str) -> list[str]:
    """One task, once Redis answers through the node port again."""
    try:
        return shop.submit(queue)
    except (redis.RedisError, RunnerError):
        return []


@pytest.mark.parametrize("how", [("--force", "--grace-period=0"), ()], ids=["killed", "stopped"])
def test_running_tasks_outlive_redis_and_are_done_once(shop: Shop, how: tuple[str, ...]) -> None:
    place = f"away-{uuid4().hex}"
    ids = [shop.submit("away", type="kind.effect", s=12, name=n, **{"in": f"effects:{place}"})[0] for n in "abc"]
    pods = [shop.holder("away", one) for one in ids]
    until(lambda: len(effects(shop, place)) == 3, 60, every_s=0.1)

    shop.release.kubectl("delete", "pod", "runner-redis-0", "--wait=false", *how)
    shop.release.kubectl("rollout", "status", "statefulset/runner-redis", "--timeout=180s")
    more = until(lambda: submitted(shop, "away"), 60, every_s=0.5)
    found = shop.done("away", [*ids, *more], within_s=240)

    assert [json.loads(one.result)["pod"] for one in found[:3]] == pods, "a task was run by a second pod"
    assert effects(shop, place) == {f"{n} {what}": 1 for n in "abc" for what in ("began", "ended")}


@pytest.mark.parametrize(
    ("user", "command"),
    [
        ("producer", ("XREADGROUP", "GROUP", "runner", "me", "STREAMS", "stream", ">")),
        ("worker", ("SMEMBERS", "anything")),
        ("controller", ("CONFIG", "GET", "maxmemory")),
        ("keda", ("XRANGE", "stream", "-", "+")),
        ("default", ("PING",)),
    ],
)
def test_each_user_is_refused_what_another_may(shop: Shop, user: str, command: tuple[str, ...]) -> None:
    login = ["--user", user, "--pass", shop.release.password("producer" if user == "default" else user)]

    said = shop.release.kubectl("exec", "runner-redis-0", "-c", "redis", "--", "redis-cli", "--no-auth-warning", *login, *command)

    assert "NOPERM" in said or "WRONGPASS" in said or "NOAUTH" in said
