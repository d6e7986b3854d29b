"""A queue that is declared again keeps what is not given; what changed is told."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runner.broker import Broker, Queue
from runner.queue import Declaration

Say = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.parametrize("mode", ["list"])


def declared(queue: Queue) -> Declaration:
    return Broker(queue.client).open("emails").declaration


def test_an_option_that_is_not_given_stays_as_it_is(queue: Queue, said: Say) -> None:
    said("queue", "declare", "emails", "--max-retries", "7", "--priorities", "urgent,bulk")

    code, out, _ = said("queue", "declare", "emails", "--timeout-s", "12")

    now = declared(queue)
    assert (now.mode, now.max_retries, now.priorities, now.timeout_s) == ("list", 7, ("urgent", "bulk"), 12)
    assert (code, out.splitlines()[1:]) == (0, ["  timeout_s: 600.0 -> 12.0"])


def test_reset_gives_every_other_option_its_default(queue: Queue, said: Say) -> None:
    said("queue", "declare", "emails", "--max-retries", "7")

    out = json.loads(said("queue", "declare", "emails", "--mode", "list", "--lease-s", "9", "--reset", "--json")[1])

    assert (declared(queue).max_retries, out["max_retries"]) == (3, 3)
    assert {one["option"] for one in out["changed"]} == {"max_retries", "lease_s"}


def test_to_say_the_same_again_writes_nothing(queue: Queue, said: Say) -> None:
    before = declared(queue).rev

    out = said("queue", "declare", "emails")[1]

    assert declared(queue).rev == before
    assert "nothing changed" in out


def test_a_default_priority_that_is_gone_is_chosen_anew(queue: Queue, said: Say) -> None:
    assert said("queue", "declare", "emails", "--priorities", "a,b,c")[0] == 0

    assert declared(queue).default_priority == "b"
