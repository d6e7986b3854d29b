"""The pure decisions of a pass, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from runner.broker import Heading
from runner.controller.decide import Fate, choose, fate
from runner.queue import Declaration
from runner.tasks import Counters

NOW_MS = 10_000_000
OLD_MS = NOW_MS - 900_000
EMAILS = Declaration("emails")


def letter(number: int = 1, buried_ms: int = OLD_MS, **more: Any) -> Heading:
    return Heading(f"{buried_ms}-{number}", **{"whole": True, "id": f"t{number}", "reason": "crash", "first_ms": OLD_MS} | more)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, Fate.REPLAY),
        ({"reason": "timeout"}, Fate.REPLAY),
        ({"reason": "lost"}, Fate.REPLAY),
        ({"reason": "error"}, Fate.NEVER),
        ({"reason": "fatal"}, Fate.NEVER),
        ({"reason": "unreadable"}, Fate.NEVER),
        ({"reason": "expired"}, Fate.NEVER),
        ({"reason": "cancelled"}, Fate.NEVER),
        ({"first_ms": OLD_MS + 1}, Fate.LATER),
        ({"first_ms": OLD_MS + 1, "reason": "fatal"}, Fate.NEVER),
        ({"counters": Counters(replays=1)}, Fate.NEVER),
        ({"whole": False}, Fate.NEVER),
    ],
)
def test_reason_age_and_earlier_replays_decide_the_fate_of_a_letter(more: dict[str, Any], expected: Fate) -> None:
    assert fate(letter(**more), EMAILS, NOW_MS) is expected


def test_the_age_counts_from_the_first_submit_not_from_the_burial() -> None:
    assert fate(letter(buried_ms=NOW_MS), EMAILS, NOW_MS) is Fate.REPLAY


def test_a_queue_that_replays_nothing_chooses_nothing() -> None:
    choice = choose([letter()], Declaration("emails", replay=()), now_ms=NOW_MS, room=100)

    assert choice.replay == ()


def test_no_more_than_there_is_room_for_and_the_rest_is_looked_at_again() -> None:
    page = [letter(n) for n in range(1, 5)]

    choice = choose(page, EMAILS, now_ms=NOW_MS, room=2)

    assert choice.replay == (page[0].entry, page[1].entry)
    assert choice.looked_to == choice.mark == page[1].entry


def test_the_mark_stops_at_the_first_letter_whose_time_comes_but_the_look_goes_on() -> None:
    page = [letter(1, reason="fatal"), letter(2, first_ms=NOW_MS), letter(3), letter(4, reason="fatal")]

    choice = choose(page, EMAILS, now_ms=NOW_MS, room=100)

    assert (choice.replay, choice.mark, choice.looked_to, choice.open) == ((page[2].entry,), page[0].entry, page[3].entry, True)


def test_a_mark_that_stopped_on_an_earlier_page_does_not_move_on_this_one() -> None:
    assert choose([letter()], EMAILS, now_ms=NOW_MS, room=100, open_=True).mark is None


def test_the_mark_stays_behind_letters_buried_a_moment_ago() -> None:
    assert choose([letter(buried_ms=NOW_MS - 59_000, reason="fatal")], EMAILS, now_ms=NOW_MS, room=100).mark is None


def test_an_entry_that_is_no_letter_is_named_once_and_passed() -> None:
    page = [letter(1, whole=False), letter(2)]

    choice = choose(page, EMAILS, now_ms=NOW_MS, room=100)

    assert (choice.strange, choice.replay, choice.mark) == ((page[0].entry,), (page[1].entry,), page[1].entry)
