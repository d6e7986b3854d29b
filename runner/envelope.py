"""The fields of an envelope, whatever bytes they came in, checked and made a Task. Called by wire; knows no bytes on the wire.

A field that decides what runs, or under which limits, must be right: a wrong one makes the whole body unreadable. A field that
is only recorded never costs a task: a wrong one counts as not sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runner.tasks import Task

TYPE_NAMES = ("type", "task_type")
PAYLOAD_NAMES = ("payload", "data")
OTHER_NAMES = ("task_id", "id", "version", "created_at", "retry_count", "max_retries", "timeout_ms", "timeout_s", "priority", "key")
KNOWN = frozenset((*TYPE_NAMES, *PAYLOAD_NAMES, *OTHER_NAMES))

MAX_TEXT = 4096
"""Characters of a type, id or key: they become environment variables, which have a limit of their own, and Redis hash fields."""
MAX_WHOLE = 2**53 - 1
"""Lua and JavaScript count exactly up to here."""
MAX_PRIORITY = 10
SECONDS_BELOW = 10**11
"""As seconds the year 5138, as ms 1973. A language that prints 1764500000.0 without its `.0` must not land in January 1970."""
END_OF_TIME_MS = 253_402_300_800_000

NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")
SURROGATE = re.compile("[\ud800-\udfff]")


class Fault(ValueError):
    """Why something is no envelope, in one sentence; `wire.read` adds the raw bytes."""


def to_task(fields: Mapping[str, Any], default_type: str, default_id: str | None) -> Task:
    """The Task these fields describe; Fault where they describe none."""
    return Task(
        type=_type(fields, default_type),
        payload=_payload(fields),
        task_id=_id(fields) or default_id,
        version=_limit(fields, "version"),
        created_ms=_created_ms(fields.get("created_at")),
        retry_count=whole(fields.get("retry_count")) or 0,
        max_retries=_limit(fields, "max_retries"),
        timeout_ms=_timeout_ms(fields),
        priority=whole(fields.get("priority"), MAX_PRIORITY),
        key=_key(fields),
    )


def text_fault(text: str) -> str:
    """Why this text can be no type, id or key; empty if it can."""
    if not text:
        return "is empty"
    if len(text) > MAX_TEXT:
        return f"has {len(text)} characters, the limit is {MAX_TEXT}"
    if "\0" in text:
        return "holds a NUL character"
    if not text.isascii() and SURROGATE.search(text):
        return "holds half a surrogate pair, which UTF-8 cannot say"
    return ""


def whole(value: object, most: int = MAX_WHOLE) -> int | None:
    """A whole number from 0 to `most`, also as 3.0 or "3"; None for anything else."""
    number = _number(value)
    if number is None or not 0 <= number <= most or number != int(number):
        return None
    return int(number)


def shown(value: object) -> str:
    """A value as a message names it: short, and never deep enough to fail."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list) else f"a {type(value).__name__}"


def _type(fields: Mapping[str, Any], default_type: str) -> str:
    first, second = (fields.get(name) for name in TYPE_NAMES)
    if first is not None and second is not None and _name_of(first) != _name_of(second):
        raise Fault(f"`type` is {shown(first)} and `task_type` is {shown(second)}: send one of them")
    value = first if first is not None else second
    if value is not None:
        return _name_of(value)
    if not default_type:
        raise Fault("there is no `type`, and the queue declares no default_type")
    return default_type


def _name_of(value: object) -> str:
    if not isinstance(value, (str, bytes)):
        raise Fault(f"`type` is {shown(value)}, not a string")
    return _text("type", value)


def _payload(fields: Mapping[str, Any]) -> Any:
    first, second = (fields.get(name) for name in PAYLOAD_NAMES)
    if first is not None and second is not None:
        raise Fault("there is a `payload` and a `data`, which are two names of one thing: send one of them")
    return first if first is not None else second


def _id(fields: Mapping[str, Any]) -> str | None:
    """`task_id` goes first: many services have an `id` of the message besides."""
    for name in ("task_id", "id"):
        if fields.get(name) is not None:
            return _text(name, fields[name])
    return None


def _key(fields: Mapping[str, Any]) -> str | None:
    value = fields.get("key")
    return None if _silent(value) else _text("key", value)


def _text(name: str, value: object) -> str:
    text = _spelled(value)
    if text is None:
        raise Fault(f"`{name}` is {shown(value)}, not a string or a number")
    if fault := text_fault(text):
        raise Fault(f"`{name}` {fault}")
    return text


def _spelled(value: object) -> str | None:
    """A scalar as text: numbers and booleans as JSON spells them, binary that is no UTF-8 (a raw UUID) in hex."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return json.dumps(value) if isinstance(value, (bool, int, float)) else None


def _silent(value: object) -> bool:
    """Nothing was said. An empty string is what a struct without a value, or a shell variable that is not set, sends."""
    return value is None or (isinstance(value, (str, bytes)) and not value)


def _number(value: object) -> int | float | None:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        found = NUMBER.fullmatch(value)
        return None if not found else float(value) if found[1] else int(value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _limit(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if _silent(value):
        return None
    number = whole(value)
    if number is None:
        raise Fault(f"`{name}` is {shown(value)}, not a whole number from 0 to {MAX_WHOLE}")
    return number


def _timeout_ms(fields: Mapping[str, Any]) -> int | None:
    in_ms, in_s = _duration_ms(fields, "timeout_ms", 1), _duration_ms(fields, "timeout_s", 1000)
    if in_ms and in_s:
        raise Fault("there is a `timeout_ms` and a `timeout_s`: send one of them")
    return in_ms or in_s or None


def _duration_ms(fields: Mapping[str, Any], name: str, unit_ms: int) -> int:
    """0 is silence here too: it is what a struct without a value sends, and no task runs without a limit."""
    value = fields.get(name)
    if _silent(value):
        return 0
    number = _number(value)
    if number is None or not 0 <= number <= MAX_WHOLE:
        raise Fault(f"`{name}` is {shown(value)}, not a number from 0 up")
    return max(1, round(number * unit_ms)) if number else 0


def _created_ms(value: object) -> int | None:
    number = _number(value)
    if number is not None:
        return _in_time(number * 1000 if number < SECONDS_BELOW else number)
    if isinstance(value, (str, bytes)):
        value = _moment(value if isinstance(value, str) else value.decode(errors="replace"))
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _in_time(value.timestamp() * 1000)
    return None


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _in_time(ms: float) -> int | None:
    return round(ms) if 0 < ms < END_OF_TIME_MS else None
