"""Reading without changing: one id, one queue's lengths. Called by producer (wait), controller and cli."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runner.broker.base import Base, counters, raw, text
from runner.tasks import Counters

NUMBERS = ("first_ms", "due_ms", "expires_ms", "lease_until_ms", "started_ms", "ended_ms", "life")


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known of one id. Times in ms since the epoch by Redis's clock; None where it does not apply."""

    state: str
    counters: Counters = field(default_factory=Counters)
    life: int = 1
    priority: str | None = None
    key: str | None = None
    wish: str | None = None
    entry: str | None = None
    first_ms: int | None = None
    due_ms: int | None = None
    expires_ms: int | None = None
    lease_until_ms: int | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    holder: str | None = None
    progress: str | None = None
    reason: str | None = None
    detail: str | None = None
    result: bytes = b""
    body: bytes | None = field(default=None, repr=False)
    attempts: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Measures:
    """A queue's lengths and ages at `now_ms`; `counts` holds totals since it was declared, `dead_by_reason` what lies there now."""

    now_ms: int
    waiting: int
    delayed: int
    claimed: int
    expired_claims: int
    dead: int
    mislaid: int
    """Waiting tasks whose entry another program removed, at least so many; `recover` sees to them."""
    oldest_waiting_ms: int
    """When the longest waiting task was submitted; -1 for none."""
    next_due_ms: int
    watched: dict[str, int]
    """Length of each priority's key, as KEDA sees it."""
    counts: dict[str, int]
    dead_by_reason: dict[str, int]

    @property
    def oldest_wait_s(self) -> float:
        """For how long the longest waiting task has waited."""
        return max(0, self.now_ms - self.oldest_waiting_ms) / 1000 if self.oldest_waiting_ms >= 0 else 0.0


def pairs(reply: Any) -> dict[str, Any]:
    """A script's flat field, value, ... as a dict."""
    return {text(reply[i]): reply[i + 1] for i in range(0, len(reply), 2)}


def facts_of(reply: Any) -> Facts:
    """What `look` answered for a known id."""
    values: dict[str, Any] = {}
    for name, value in pairs(reply).items():
        if name in ("result", "body", "attempts"):
            values[name] = value
        elif name == "counters":
            values[name] = counters(value)
        else:
            values[name] = int(float(value)) if name in NUMBERS else text(value)
    return Facts(**values)


class Reads(Base):
    """Reads of one queue."""

    def look(self, task_id: str) -> Facts | None:
        """All that is known of an id; None if nothing is."""
        reply = self.run("look", raw(task_id))
        return facts_of(reply) if reply else None

    def measure(self) -> Measures:
        """Lengths, ages and totals, in one round trip."""
        found = {name: int(value) for name, value in pairs(self.run("measure")).items()}
        return Measures(
            **{name: found.pop(name) for name in Measures.__dataclass_fields__ if name in found},
            watched={name.split(":", 1)[1]: found.pop(name) for name in list(found) if name.startswith("watched:")},
            dead_by_reason={name.split(":", 1)[1]: n for name in list(found) if name.startswith("dead:") and (n := found.pop(name))},
            counts={name: n for name, n in found.items() if ":" not in name},
        )
