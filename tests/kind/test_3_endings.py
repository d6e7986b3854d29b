"""Memory, time, bytes and types that go wrong in a real container. Part of `make kind-test`."""

from __future__ import annotations

from runner.attempt import read_attempts
from tests.kind.release import Shop
from tests.kind.test_2_deaths import kinds
from tests.waiting import until


def test_a_child_or_a_container_killed_for_memory_is_capped_and_dead_with_the_reason(shop: Shop) -> None:
    child = shop.submit("oom", type="kind.hog", mb=400)
    whole = shop.submit("oom", type="kind.hog", mb=400, whole=True)

    for facts in shop.ended("oom", child + whole, within_s=240):
        print(f"\n    {facts.reason}: {[one['detail'] for one in read_attempts(facts.attempts)]}")
        assert facts.state == "dead" and facts.reason == "oom"
        assert set(kinds(facts)) == {"oom"} and facts.counters.ooms == 2


def test_a_task_killed_for_memory_goes_on_in_the_queue_with_bigger_pods(shop: Shop) -> None:
    (task_id,) = shop.submit("oom-small", type="kind.hog", mb=300)

    (facts,) = shop.done("oom-big", [task_id], within_s=180)

    assert facts.result == b"300"
    assert kinds(facts) == ["oom", "moved", "done"]


def test_a_timeout_is_capped_apart(shop: Shop) -> None:
    (task_id,) = shop.submit("limits", s=60)

    (facts,) = shop.ended("limits", [task_id], within_s=120)

    assert facts.state == "dead" and facts.reason == "timeout" and kinds(facts) == ["timeout", "timeout"]


def test_bytes_that_nobody_can_read_are_buried_and_hold_up_nothing(shop: Shop) -> None:
    before = shop.measure("limits").dead_by_reason.get("unreadable", 0)
    shop.release.redis_cli("XADD", "limits", "*", "id", "broken-1", "payload", "{not json")

    (good,) = shop.submit("limits", s=0)
    shop.done("limits", [good])
    until(lambda: shop.measure("limits").dead_by_reason.get("unreadable", 0) == before + 1, 90, every_s=0.5)

    assert shop.measure("limits").waiting == 0


def test_the_controller_replays_dead_letters_under_its_caps(shop: Shop) -> None:
    (task_id,) = shop.submit("replayed", type="kind.hog", mb="many")

    def dead_again() -> bool:
        facts = shop.facts("replayed", task_id)
        return facts.state == "dead" and facts.reason == "error" and facts.counters.replays == 2

    until(dead_again, 240, every_s=0.5)
    passed = shop.broker.last_pass()
    until(lambda: shop.broker.last_pass() != passed, 120, every_s=0.5)
    assert dead_again(), "its third life was one too many"
