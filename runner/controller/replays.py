"""Replays the dead letters that may run again, a bounded look per pass. Called by the pass of a queue.

Most dead letters are never replayed, stay for a month, and are the oldest: a pass that looked at all of them would take longer every
day. So a mark remembers up to where nothing can change any more: not younger letters (their time comes), and not under another
declaration (its rules may differ). The mark is only a hint: one that is lost costs another look, one that two controllers write is
right for both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from runner.broker import Broker, Queue
from runner.controller.decide import Choice, choose

PAGE = 200
MOST_PAGES = 50
"""Pages looked at in one pass beyond those that it replays; the next pass goes on at the mark."""


@dataclass(slots=True)
class Replays:
    """What one look did. `strange` names entries that are no letters, each told once."""

    replayed: int = 0
    strange: tuple[str, ...] = ()


def replay_due(queue: Queue, broker: Broker, now_ms: int, stopping: Callable[[], bool] = lambda: False) -> Replays:
    """Replay at most `replay_per_pass` letters of those that `decide.choose` names."""
    declaration, done = queue.declaration, Replays()
    if not declaration.replay:
        return done
    attempt = json.dumps({"kind": "replay", "by": "controller", "at_ms": now_ms}, separators=(",", ":")).encode()
    after, open_ = broker.mark(queue), False
    for _ in range(MOST_PAGES + declaration.replay_per_pass // PAGE):
        room = declaration.replay_per_pass - done.replayed
        page = queue.headings(after, PAGE) if room and not stopping() else []
        choice = choose(page, declaration, now_ms=now_ms, room=room, open_=open_)
        done.replayed += queue.replay(choice.replay, attempt)
        done.strange += choice.strange
        _keep_mark(broker, queue, choice)
        if not choice.looked_to:
            break
        after, open_ = choice.looked_to, choice.open
    return done


def _keep_mark(broker: Broker, queue: Queue, choice: Choice) -> None:
    # After the replay: a controller that dies between the two looks once more.
    if choice.mark:
        broker.keep_mark(queue, choice.mark)
