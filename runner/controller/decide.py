"""What a pass decides, from snapshots alone. Pure; called by the controller's other modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from runner.broker import Heading
from runner.queue import Declaration

MARK_BEHIND_MS = 60_000
"""How far the mark stays behind the newest letters: a server that takes over with a slower clock names its entries lower."""


class Fate(Enum):
    """What becomes of a dead letter."""

    REPLAY = auto()
    LATER = auto()
    """To be replayed once it is old enough."""
    NEVER = auto()
    """By a person only."""


def fate(letter: Heading, declaration: Declaration, now_ms: int) -> Fate:
    """Whether a dead letter runs again by itself. Its age counts from the first submit, so that no replay makes it young."""
    if not letter.whole or letter.reason not in declaration.replay or letter.counters.replays >= declaration.replay_max:
        return Fate.NEVER
    return Fate.REPLAY if now_ms - letter.first_ms >= declaration.replay_after_s * 1000 else Fate.LATER


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do about one page of dead letters.

    `looked_to` is the last letter that was looked at; `mark` the last up to which nothing has to be looked at again, None when no
    letter of this page moved it. `open` tells that the mark has stopped: letters behind it have to be looked at in the next pass too.
    """

    replay: tuple[str, ...]
    strange: tuple[str, ...]
    looked_to: str
    mark: str | None
    open: bool


def choose(page: Sequence[Heading], declaration: Declaration, *, now_ms: int, room: int, open_: bool = False) -> Choice:
    """Choose from a page, oldest first, at most `room` letters to replay."""
    replay: list[str] = []
    strange: list[str] = []
    mark, looked_to = None, ""
    for letter in page:
        its = fate(letter, declaration, now_ms)
        if its is Fate.REPLAY and len(replay) == room:
            break
        looked_to = letter.entry
        replay += [letter.entry] if its is Fate.REPLAY else []
        open_ = open_ or its is Fate.LATER or now_ms - letter.buried_ms < MARK_BEHIND_MS
        if not open_:
            mark = letter.entry
            strange += [] if letter.whole else [letter.entry]
    return Choice(tuple(replay), tuple(strange), looked_to, mark, open_)
