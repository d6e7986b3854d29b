"""A row of a table: every key before, one call, its answer, every key after. Called by the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from runner.broker import Queue
from runner.errors import ClaimLostError
from tests.keyspace import dump, plain

Keys = dict[str, Any]
UNCHANGED: Keys = {}
HELD: Keys = {
    "stream watched normal": ["a: {}"],
    "tasks": {"a": "claimed normal token=t1"},
    "claims": {"a": "held"},
    "held": {"t1": "pod-1 - a"},
    "counts": {"submitted": 1},
    "list bodies": {"a": "{}"},
}
"""What `held(queue)` of tests/making.py leaves."""


@dataclass(frozen=True)
class Row:
    """`before` and `after` name the keys that hold something; `stream X` and `list X` are X in that mode only.

    `when` is also told what `given` made (the last of it). `again` is the answer to the same call made once more, as after a lost reply;
    it changes no key. An answer that differs by mode is a dict of both.
    """

    name: str
    given: Callable[[Queue], object]
    when: Callable[[Queue, Any], object]
    says: object
    again: object
    before: Keys
    after: Keys

    def holds(self, queue: Queue) -> None:
        """Raise AssertionError where the script does something else."""
        mode = queue.declaration.mode
        made = self.given(queue)
        made = made[-1] if type(made) is tuple else made
        assert dump(queue) == in_mode(mode, self.before)

        assert answer(lambda: self.when(queue, made)) == by_mode(mode, self.says)
        after = in_mode(mode, self.before if self.after is UNCHANGED else self.after)
        assert dump(queue) == after

        assert answer(lambda: self.when(queue, made)) == by_mode(mode, self.again)
        assert dump(queue) == after


def answer(call: Callable[[], object]) -> object:
    """What a call answers, without what differs from run to run; a lost claim as a word."""
    try:
        return plain(call())
    except ClaimLostError:
        return "lost"


def by_mode(mode: str, says: object) -> object:
    """The answer in one mode."""
    return says[mode] if isinstance(says, dict) and set(says) == {"stream", "list"} else says


def in_mode(mode: str, keys: Keys) -> Keys:
    """The keys as they are in one mode."""
    other = "list " if mode == "stream" else "stream "
    return {name.removeprefix(f"{mode} "): value for name, value in keys.items() if not name.startswith(other)}


def rows(table: list[Row]) -> pytest.MarkDecorator:
    """A test for each row."""
    return pytest.mark.parametrize("row", table, ids=lambda row: row.name)
