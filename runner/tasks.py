"""A task as data: what its envelope says and who holds it. Called by wire, broker and the roles; knows no infrastructure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Task:
    """What an envelope says. Times in ms since the epoch, durations in ms; None where the envelope is silent."""

    type: str
    payload: Any = None
    task_id: str | None = None
    version: int | None = None
    created_ms: int | None = None
    retry_count: int = 0
    max_retries: int | None = None
    timeout_ms: int | None = None
    priority: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """How often a task ended each way, counted apart because each has its own cap."""

    errors: int = 0
    timeouts: int = 0
    crashes: int = 0
    ooms: int = 0
    releases: int = 0
    replays: int = 0
    unknown_ms: int = 0
    """When a worker first met the task without knowing its type (ms since the epoch); 0 is never."""

    @property
    def attempt(self) -> int:
        """The number of the attempt that runs now, from 1; hand-backs burn none."""
        return 1 + self.errors + self.timeouts + self.crashes + self.ooms


@dataclass(frozen=True, slots=True)
class Claim:
    """Who holds a task now. `token` fences: a script settles only for the token in the task's record.

    `fresh` is True for a bare push that got its record at this claim: only its body tells its own id and key, and `adopt` settles that.
    `started_ms` is when it was claimed, by Redis's clock; `holder` and it tell of the former holder for a claim that was reaped.
    """

    id: str
    token: str
    body: bytes = field(repr=False)
    priority: str
    first_ms: int
    counters: Counters = Counters()
    fresh: bool = False
    cancelled: bool = False
    holder: str = ""
    started_ms: int = 0
    moving_to: str = ""
    """The queue that the task was on its way to when its mover went away; only in a claim that was reaped."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One claim as a look at the queue shows it: whose it is and by which token. Nothing is taken over by looking."""

    id: str
    token: str
    holder: str
    started_ms: int


class Submission(NamedTuple):
    """One task on its way in. `delay_ms` and `expires_ms` count from Redis's clock at the moment of submit; 0 is none.

    `checked` False is for an id made just now by its producer: nobody else can have submitted it.
    A tuple, because one is made for every task of a bulk submit, and a frozen dataclass takes three times as long.
    """

    id: str
    body: bytes
    priority: str
    delay_ms: int = 0
    expires_ms: int = 0
    key: str = ""
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `submit` answers: the id that counts, its state, and whether this call made it."""

    id: str
    state: str
    created: bool
    after: str | None = None
    """The id and state of the ended run that this one follows, as `dead 206`; None for a first run."""
