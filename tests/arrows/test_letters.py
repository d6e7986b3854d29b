"""Read dead letters whole, from both ends: what is answered, and that nothing changes. Called by pytest."""

from __future__ import annotations

import pytest

from runner.broker import Queue
from tests.keyspace import dump
from tests.making import dead


def test_letters_come_from_either_end_behind_an_entry(queue: Queue) -> None:
    entries = [dead(queue, name, name) for name in "abcd"]
    before = dump(queue)

    assert [one.id for one in queue.dead_letters()] == ["a", "b", "c", "d"]
    assert [one.id for one in queue.dead_letters(newest_first=True, page=1)] == ["d", "c", "b", "a"]
    assert [one.id for one in queue.dead_letters(behind=entries[1])] == ["c", "d"]
    assert [one.id for one in queue.dead_letters(newest_first=True, behind=entries[2])] == ["b", "a"]
    assert list(queue.dead_letters(behind=entries[3])) == []
    assert dump(queue) == before


BROKEN = {"id": "x", "body": "", "reason": "", "detail": "", "counters": "no", "priority": "high"}


@pytest.mark.parametrize("fields", [{"what": "ever"}, BROKEN])
def test_an_entry_of_another_program_is_known_by_its_entry_alone(queue: Queue, fields: dict[str, str]) -> None:
    dead(queue)
    entry = queue.client.xadd(queue.keys.part("dead"), fields).decode()

    strange, letter = queue.dead_letters(newest_first=True)

    assert (strange.entry, strange.whole, strange.id) == (entry, False, "")
    assert (letter.id, letter.whole) == ("a", True)


def test_one_call_stops_at_about_a_mebibyte(queue: Queue) -> None:
    for name in "abcd":
        dead(queue, name, name, body=b"x" * 600_000)

    assert len(queue.run("letters", "newest", "", 200)) == 2
    assert [len(one.body) for one in queue.dead_letters()] == [600_000] * 4
