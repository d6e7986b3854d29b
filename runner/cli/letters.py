"""Which dead letters a command is about, found a page at a time however many there are. Called by dead, history and bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING

from runner.cli.moments import moment_ms
from runner.errors import ConfigError, UnreadableError
from runner.outcome import Kind

if TYPE_CHECKING:
    from runner.broker import Kept, Queue
    from runner.broker.dead import DeadLetter, Heading

REASONS = tuple(kind for kind in Kind if kind not in (Kind.DONE, Kind.CANCELLED))
PAGE = 200
LAST = 2**64 - 1
"""The greatest number that an entry of one millisecond can have."""
Found = tuple["Queue", "DeadLetter"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a letter must be: buried from `since_ms` to before `until_ms`, of a task first submitted from `newer_ms` on."""

    until_ms: int
    type: str = ""
    reason: str = ""
    since_ms: int = 0
    newer_ms: int = 0

    @property
    def narrow(self) -> bool:
        """Whether anything but time to come is left out."""
        return bool(self.type or self.reason or self.since_ms or self.newer_ms)

    def entries(self, queue: Queue) -> Iterator[str]:
        """The entries that match, oldest first; bodies are read only where types matter."""
        behind = f"{self.since_ms - 1}-{LAST}" if self.since_ms else ""
        for one in queue.dead_letters(behind=behind) if self.type else _headings(queue, behind):
            if one.buried_ms >= self.until_ms:
                return
            if one.whole and self._fits(queue, one):
                yield one.entry

    def letters(self, queue: Queue) -> Iterator[Found]:
        """The letters that match, newest first; what another program put there is among them while nothing narrows the choice."""
        for one in queue.dead_letters(newest_first=True, behind=f"{self.until_ms}-0"):
            if one.buried_ms < self.since_ms:
                return
            if self._fits(queue, one) if one.whole else not self.narrow:
                yield queue, one

    def _fits(self, queue: Queue, one: DeadLetter | Heading) -> bool:
        if self.reason not in ("", one.reason) or one.first_ms < self.newer_ms:
            return False
        return not self.type or type_of(queue, one) == self.type


def chosen_letters(now_ms: int, *, type: str = "", reason: str = "", since: str = "", until: str = "", newer_than: str = "") -> Choice:
    """The choice that the options name. What is buried after now is never in it: a replayed task may die at once, again and again."""
    if reason and reason not in REASONS:
        raise ConfigError(f"{reason!r} is no reason for a dead letter: use one of {', '.join(REASONS)}")
    moments = {"since": since, "until": until, "newer-than": newer_than}
    at = {name: moment_ms(said, now_ms, f"--{name}") for name, said in moments.items() if said}
    return Choice(at.get("until", now_ms + 1), type, reason, at.get("since", 0), at.get("newer-than", 0))


def newest_of(queues: Sequence[Queue], choice: Choice) -> Iterator[Found]:
    """The letters of several queues, the newest of all first."""
    return merge(*map(choice.letters, queues), key=lambda found: found[1].buried_ms, reverse=True)


def type_of(queue: Queue, letter: DeadLetter | Heading | Kept) -> str:
    """The type that its body says; empty for a body that cannot be read."""
    from runner import wire

    try:
        return wire.read(getattr(letter, "body", b""), queue.declaration.default_type, letter.id).type
    except UnreadableError:
        return ""


def _headings(queue: Queue, behind: str) -> Iterator[Heading]:
    while page := queue.headings(behind, PAGE):
        yield from page
        behind = page[-1].entry
