"""What a caller says of a task, checked and made a Submission; nothing is written here. Called by producer, on the way of every submit."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from runner import wire
from runner.envelope import shown
from runner.errors import ConfigError, RefusedError
from runner.queue import Declaration
from runner.tasks import Submission

LONGEST_S = 10 * 366 * 86_400
"""Longer delays and expiries are a unit gone wrong, such as ms given for seconds."""

LONGEST_WAIT_S = 4.0
"""For replicas: a connection that hears nothing for 5 s counts as broken (runner/connect.py)."""
MOST_REPLICAS = 2**31
"""More than any Redis has; WAIT refuses what has no 64 bits, when the task is in already."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(a + b for a in _ALPHABET for b in _ALPHABET)
_SHIFTS = tuple(range(120, 0, -10))
"""Of the letters but the last two."""


@dataclass(frozen=True, slots=True)
class NewTask:
    """One item of `submit_many`; a dict of these names does too. Durations count from the submit."""

    type: str
    payload: Any = None
    priority: str | None = None
    """None is the queue's default priority."""
    delay_s: float = 0
    expires_s: float | None = None
    """A task that was not started by then is buried as expired; None is never."""
    timeout_s: float | None = None
    max_retries: int | None = None
    task_id: str | int | None = None
    """None makes a new one, a ULID."""
    key: str | int | None = None
    """A business key: while its first task lives or counts as done, a second submit answers with that one."""
    version: int | None = None


_NAMES = tuple(f.name for f in fields(NewTask))


def now_ms() -> int:
    """This machine's clock; only `created_at` and new ids come from it."""
    return time.time_ns() // 1_000_000


class _Ids:
    """New ULIDs. Those of one millisecond count up from a random start in their last two letters, as the ULID specification has it.

    python-ulid's own take 4 us each, which counts at 100,000 tasks a second.
    """

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # two processes must not go on with one run

    def _forget(self) -> None:
        self._run: tuple[int, Iterator[str]] = (0, iter(()))

    def new(self, at_ms: int) -> str:
        began_ms, run = self._run
        found = next(run, None) if began_ms == at_ms else None
        return found or self._first(at_ms)

    def _first(self, at_ms: int) -> str:
        number = at_ms << 80 | int.from_bytes(os.urandom(10), "big")
        run = map("".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS]).__add__, _PAIRS)
        found = next(run)
        self._run = (at_ms, run)
        return found


new_id = _Ids().new
"""A new id, of this time in ms."""


def prepared(
    declared: Declaration,
    type: str,
    payload: Any = None,
    priority: str | None = None,
    delay_s: float = 0,
    expires_s: float | None = None,
    timeout_s: float | None = None,
    max_retries: int | None = None,
    task_id: str | int | None = None,
    key: str | int | None = None,
    version: int | None = None,
    encoding: str = "json",
) -> Submission:
    """The task as it goes to Redis; the parameters are NewTask's, and one of wire.ENCODINGS.

    Raises RefusedError, UnencodableError.
    """
    created_ms = now_ms()
    own_id = new_id(created_ms) if task_id is None else _text("task_id", task_id)
    own_key = None if key is None else _text("key", key)
    timeout_ms = None if timeout_s is None else _timeout_ms(declared, timeout_s)
    delay_ms = _ms("delay_s", delay_s, 0) if delay_s != 0 else 0
    expires_ms = 0 if expires_s is None else _expires_ms(expires_s, delay_ms)
    body = wire.write(
        type if isinstance(type, str) else _text("type", type),
        payload,
        task_id=own_id,
        created_ms=created_ms,
        version=version,
        timeout_ms=timeout_ms,
        max_retries=max_retries,
        key=own_key,
        encoding=encoding,
    )
    # A user's id or key may be there already; only an id made here cannot.
    checked = task_id is not None or key is not None
    return Submission(own_id, body, priority or declared.default_priority, delay_ms, expires_ms, own_key or "", checked)


def prepared_item(
    declared: Declaration, item: NewTask | Mapping[str, Any] | tuple[Any, ...], number: int, encoding: str = "json"
) -> Submission:
    """One item of a bulk submit: a NewTask, a dict of its fields, or a tuple (type, payload).

    Raises RefusedError, UnencodableError, each with the item's number in a note.
    """
    try:
        if isinstance(item, tuple) and len(item) == 2:
            return prepared(declared, item[0], item[1], encoding=encoding)
        if isinstance(item, NewTask):
            return prepared(declared, *[*[getattr(item, name) for name in _NAMES], encoding])
        if isinstance(item, Mapping):
            _check_names(item)
            return prepared(declared, **item, encoding=encoding)
        raise RefusedError(f"{shown(item)} is no task: give a NewTask, a dict with `type`, or a tuple (type, payload)")
    except RefusedError as error:
        error.add_note(f"This was item {number}, counted from 0; the items before it may be in.")
        raise


def check_wanted(replicas: int, within_s: float, retry_s: float) -> tuple[int, float, float]:
    """All as they are; ConfigError where they make no sense. A `retry_s` of nan was a call that never ended."""
    if not isinstance(replicas, int) or isinstance(replicas, bool) or not 0 <= replicas < MOST_REPLICAS:
        raise ConfigError(f"`wait_replicas` is {shown(replicas)}, not a number of replicas, 0 for none")
    if not 0.001 <= _real(within_s) <= LONGEST_WAIT_S:
        raise ConfigError(f"`wait_replicas_s` is {shown(within_s)}, not a number of seconds from 0.001 to {LONGEST_WAIT_S:g}")
    if not _real(retry_s) >= 0:
        raise ConfigError(f"`retry_s` is {shown(retry_s)}, not a number of seconds from 0 up")
    return replicas, within_s, retry_s


def check_encoding(encoding: str) -> str:
    """The same; ConfigError for one that no worker reads."""
    if encoding not in wire.ENCODINGS:
        raise ConfigError(f"`encoding` is {shown(encoding)}: use one of {', '.join(wire.ENCODINGS)}")
    return encoding


def _check_names(item: Mapping[str, Any]) -> None:
    unknown = [name for name in item if name not in _NAMES]
    if unknown:
        raise RefusedError(f"a task has no field {shown(unknown[0])}: use {', '.join(_NAMES)}")
    if "type" not in item:
        raise RefusedError("a task needs a `type`")


def _text(name: str, value: object) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and name != "type"):
        return str(value)
    raise RefusedError(f"`{name}` is {shown(value)}, not a string")


def _real(value: object) -> float:
    """The number, or nan, which is between no bounds."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _ms(name: str, value: object, least: float) -> int:
    number = _real(value)
    if not least <= number <= LONGEST_S:
        raise RefusedError(f"`{name}` is {shown(value)}, not a number of seconds from {least:g} to {LONGEST_S}")
    return math.ceil(number * 1000)


def _expires_ms(expires_s: float, delay_ms: int) -> int:
    expires_ms = _ms("expires_s", expires_s, 0.001)
    if expires_ms <= delay_ms:
        raise RefusedError(f"the task would expire after {expires_s} s, before its delay of {delay_ms / 1000:g} s is over")
    return expires_ms


def _timeout_ms(declared: Declaration, timeout_s: float) -> int:
    timeout_ms = _ms("timeout_s", timeout_s, 0.001)
    if timeout_ms > declared.max_timeout_s * 1000:
        said = f"`timeout_s` is {timeout_s}, the longest that queue {declared.name!r} allows is {declared.max_timeout_s:g}"
        raise RefusedError(f"{said}: ask for less, or declare the queue with a longer max_timeout_s")
    return timeout_ms
