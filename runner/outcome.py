"""How an attempt ended and what is to be done about it, as data. Called by supervisor, retry, worker and controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The ways an attempt can end; each is recorded under this name."""

    DONE = "done"
    ERROR = "error"
    """The handler raised or its program exited with an unlisted code."""
    RETRY = "retry"
    """The handler asked for another run (`Retry`, exit code 75); counted as an error."""
    FATAL = "fatal"
    """The handler said no further run can help (`Fatal`, exit code 65)."""
    TIMEOUT = "timeout"
    CRASH = "crash"
    """The child was killed or broke; its supervisor saw it."""
    OOM = "oom"
    LOST = "lost"
    """The claim expired: pod, node or Redis went away with nobody to tell; counted as a crash."""
    RELEASED = "released"
    """Handed back on SIGTERM; burns no attempt."""
    CANCELLED = "cancelled"
    UNREADABLE = "unreadable"
    UNKNOWN_TYPE = "unknown_type"
    EXPIRED = "expired"


class Action(StrEnum):
    """The settling arrows of the state diagram."""

    COMPLETE = "complete"
    RETRY = "retry"
    BURY = "bury"
    RELEASE = "release"
    MOVE = "move"
    """Into the queue with bigger pods."""
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Ending:
    """One attempt's end as its supervisor saw it. `tail` is the last 16 KiB of what the child printed."""

    kind: Kind
    detail: str = ""
    result: bytes = b""
    after_s: float | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_kib: int = 0
    exit_code: int | None = None
    tail: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `retry.decide` wants done. `counter` is the counter to raise, empty for none; `delay_ms` 0 is at once."""

    action: Action
    reason: Kind
    detail: str = ""
    counter: str = ""
    delay_ms: int = 0
