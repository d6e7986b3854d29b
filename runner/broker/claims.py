"""What a holder does: claim, adopt, extend, settle, and what a reaper does. Called by worker, heartbeat and controller."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.broker.base import Base, counters, raw, text
from runner.errors import ClaimLostError
from runner.scripts import Argument
from runner.tasks import Claim

COUNTERS = {"": 0, "errors": 1, "timeouts": 2, "crashes": 3, "ooms": 4, "releases": 5, "unknown_ms": 7}
CHUNK = 200
REAPER_MS = 15_000
"""A reaper settles within this or its claims expire again; longer than any pass over one chunk."""


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing was waiting. Of others' claims the first ends at `expiry_ms` and may be reaped at `earliest_ms` (Redis's clock; -1: none).

    They differ when the silence rule spares claims: only a heartbeat moves `expiry_ms`, so it tells that a holder lives.
    """

    now_ms: int
    earliest_ms: int
    expiry_ms: int


@dataclass(frozen=True, slots=True)
class Reaped:
    """What one look for expired claims took over, at `now_ms` by Redis's clock."""

    claims: tuple[Claim, ...]
    now_ms: int


@dataclass(frozen=True, slots=True)
class Settled:
    """One settle: the arguments of a retry (`delay_ms`) or bury (`reason`, `detail`). `attempt` is its JSON line."""

    id: str
    token: str
    counter: str = ""
    attempt: bytes = b""
    delay_ms: int = 0
    reason: str = ""
    detail: str = ""


def new_token() -> str:
    """A token nobody can guess or repeat."""
    return secrets.token_hex(12)


class Claims(Base):
    """Transitions of a claimed task."""

    def claim(self, token: str, holder: str) -> Claim | Empty:
        """Take one waiting task; asking again with the same token answers the same."""
        reply = self.run("claim", *self._claim_args(token, holder))
        while not reply[0] and reply[3]:
            reply = self.run("claim", *self._claim_args(token, holder))
        return _claimed(reply, token)

    def begin(self, token: str, holder: str, reap_limit: int) -> tuple[int, Reaped, Claim | Empty]:
        """Promote what is due, reap what has expired and claim, in one round trip."""
        stem = new_token()
        calls: list[tuple[str, Sequence[Argument]]] = [("promote", (CHUNK,)), ("reap", (stem, reap_limit, REAPER_MS))]
        promoted, reaped, claimed = self.run_all([*calls, ("claim", self._claim_args(token, holder))])
        more = not claimed[0] and claimed[3]
        return int(promoted[0]), taken_over(reaped), self.claim(token, holder) if more else _claimed(claimed, token)

    def _claim_args(self, token: str, holder: str) -> tuple[Argument, ...]:
        return (token, _one_word(holder), f"bare-{secrets.token_hex(10)}")

    def adopt(self, claim: Claim, task_id: str, key: str) -> bool:
        """Give a bare push its own id and key; False when it is a duplicate, settled unrun.

        Raises ClaimLostError.
        """
        word = text(self.run("adopt", raw(claim.id), claim.token, raw(task_id), raw(key)))
        return _kept(word, claim.id) == "ok"

    def extend(self, task_id: str, token: str, progress: str = "-") -> str:
        """A heartbeat: `ok`, `cancel` when somebody wants the task cancelled, or `lost`."""
        return text(self.run("extend", raw(task_id), token, _one_word(progress)))

    def complete(self, task_id: str, token: str, result: bytes, attempt: bytes) -> str:
        """Record a task as done: `ok`, or `again` for a repeated call.

        Raises ClaimLostError.
        """
        own = (raw(task_id), token, result, attempt)
        return _kept(text(self.run_fresh("complete", lambda: (*own, self.declaration.history_bytes))), task_id)

    def release(self, task_id: str, token: str, attempt: bytes) -> str:
        """Hand a task back with no attempt burnt: `ok`, `again` or `cancelled`.

        Raises ClaimLostError.
        """
        return _kept(text(self.run("release", raw(task_id), token, attempt)), task_id)

    def retry(self, settled: Sequence[Settled]) -> list[str]:
        """Let tasks run again after `delay_ms`: a word each, `ok`, `again`, `cancelled` or `lost`."""
        return self._settle("retry", settled)

    def bury(self, settled: Sequence[Settled]) -> list[str]:
        """Put tasks among the dead letters: a word each, `ok`, `again`, `cancelled` or `lost`."""
        return self._settle("bury", settled)

    def _settle(self, name: str, settled: Sequence[Settled]) -> list[str]:
        words: list[str] = []
        while len(words) < len(settled):
            chunk = settled[len(words) : len(words) + CHUNK]
            words += [text(word) for word in self.run(name, *_ARGUMENTS[name](chunk))]
        return words

    def settle_and_reap(self, retried: Sequence[Settled], buried: Sequence[Settled]) -> tuple[list[str], list[str], Reaped]:
        """Settle one reaped chunk and take over the next, in one round trip: the words of `retry` and `bury`, and what was taken."""
        chunks = [(name, _ARGUMENTS[name](settled)) for name, settled in (("retry", retried), ("bury", buried)) if settled]
        *replies, reaped = self.run_all([*chunks, ("reap", (new_token(), CHUNK, REAPER_MS))])
        words = {name: [text(word) for word in reply] for (name, _), reply in zip(chunks, replies, strict=True)}
        done = words.get("bury", [])
        return words.get("retry", []), done + self.bury(buried[len(done) :]), taken_over(reaped)

    def cancel(self, task_id: str, token: str = "", attempt: bytes = b"") -> str:
        """Cancel: `cancelled`, `cancelling` (its holder will), or the state that cannot be: `done`, `dead`, `unknown`.

        With a token it is the holder's own settle, and ClaimLostError is raised when it holds no more.
        """
        word = text(self.run("cancel", raw(task_id), token, attempt))
        return _kept(word, task_id) if token else word

    def reap(self, limit: int = CHUNK) -> Reaped:
        """Take over claims that expired, to settle them through the one retry policy."""
        return taken_over(self.run("reap", new_token(), limit, REAPER_MS))


def _retry_arguments(settled: Sequence[Settled]) -> list[Argument]:
    """ARGV 7.. of lua/retry.lua."""
    args: list[Argument] = []
    for s in settled:
        args += (raw(s.id), s.token, s.delay_ms, COUNTERS[s.counter], s.attempt)
    return args


def _bury_arguments(settled: Sequence[Settled]) -> list[Argument]:
    """ARGV 7.. of lua/bury.lua."""
    args: list[Argument] = []
    for s in settled:
        args += (raw(s.id), s.token, s.reason, raw(s.detail), COUNTERS[s.counter], s.attempt)
    return args


_ARGUMENTS = {"retry": _retry_arguments, "bury": _bury_arguments}


def _one_word(said: str) -> str:
    """Text as a word of a record: a host name or note with a space in it must not shift the words behind it."""
    return "_".join(said.split()) or "-"


def _claimed(reply: Any, token: str) -> Claim | Empty:
    if not reply[0]:
        return Empty(now_ms=int(reply[1]), earliest_ms=int(reply[2]), expiry_ms=int(reply[4]))
    _, now_ms, task_id, priority, first_ms, counts, wish, body = reply
    return Claim(
        id=text(task_id),
        token=token,
        body=body,
        priority=text(priority),
        first_ms=int(first_ms),
        counters=counters(counts),
        fresh=wish == b"adopt",
        cancelled=wish == b"cancel",
        started_ms=int(now_ms),
    )


def _kept(word: str, task_id: str) -> str:
    if word == "lost":
        raise ClaimLostError(task_id)
    return word


def taken_over(reply: Any) -> Reaped:
    """What `reap` or `seize` took over."""
    now_ms, *rows = reply
    return Reaped(tuple(_row(row) for row in rows), int(now_ms))


def _row(row: bytes) -> Claim:
    size, lines = row.split(b" ", 1)
    started_ms, holder, _, task_id = text(lines[: int(size)]).split(" ", 3)
    state, priority, _, first_ms, counts, _, wish, token, _ = text(lines[int(size) :]).split(" ", 8)
    return Claim(
        id=task_id,
        token=token,
        body=b"",
        priority=priority,
        first_ms=int(first_ms),
        counters=counters(counts),
        fresh=wish == "adopt",
        cancelled=wish == "cancel",
        holder=holder,
        started_ms=int(started_ms),
        moving_to=wish[3:] if state == "moving" else "",
    )
