"""A value that JSON does not know made one that it does. Called by encode, and by invoke for results.

That is one step: its parts may need one of their own. Each way of writing has its way of reading in `scalars` and `convert`, so that a
handler that declares the type gets the same value back. What would come back as something else is refused.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any
from uuid import UUID

from runner import models

UTF8_BYTES = "its bytes as UTF-8 text, while tasks carry base64"


class Unplain(TypeError):
    """No plain value stands for this one; the text goes on after its path: `payload.when is ...`."""


def plain(value: Any) -> Any:
    """What JSON holds in place of this value; Unplain for one that it cannot."""
    for kind, spell in SPELLINGS:
        if isinstance(value, kind):
            return spell(value)
    if models.is_model(type(value)) or callable(getattr(type(value), "model_dump", None)):
        return _model(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    raise Unplain(f"is of type {type(value).__name__}, which no task can hold: convert it, for instance to a string")


def duration(value: timedelta) -> str:
    """ISO 8601 in days and seconds, `-P1DT2.5S`: the units of every other part differ from reader to reader."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    text = f"{sign}P{value.days}D" if value.days else f"{sign}P"
    parts = f"{value.seconds}.{value.microseconds:06}".rstrip("0").rstrip(".") if value.microseconds else str(value.seconds)
    return f"{text}T{parts}S" if parts != "0" or not value.days else text


def _moment(value: datetime) -> str:
    if value.utcoffset() is None:
        raise Unplain("is a time without a zone, which every machine reads as its own: use datetime.now(UTC), or .replace(tzinfo=...)")
    if _odd(value):  # few can read them
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            raise Unplain("is too near the end of time for its zone: give it in UTC") from None
    return value.isoformat()


def _odd(value: datetime) -> bool:
    """Whether its zone has seconds, as zones before 1900 do; ISO 8601 has none there."""
    return bool((value.utcoffset() or timedelta(0)) % timedelta(minutes=1))


def _number(value: Decimal) -> str:
    if not value.is_finite():
        raise Unplain(f"is the Decimal {value}, which is no number: send null or a string")
    return str(value)


def _fields(value: Any) -> dict[str, Any]:
    try:
        return {field.name: getattr(value, field.name) for field in fields(value)}
    except AttributeError as error:
        raise Unplain(f"is a {type(value).__name__} with a field that was never set: {error}") from None


def _model(value: Any) -> Any:
    kind: Any = type(value)
    name = kind.__name__
    if models.is_model(kind) and (field := models.text_bytes(kind, "serialization")):
        raise Unplain(f"is a {name}, whose field {field!r} writes {UTF8_BYTES}: {models.BASE64}")
    try:
        own, written = models.dumped(value, "python"), models.dumped(value, "json")
    except Exception as error:  # noqa: BLE001 - serializers of the user's raise anything; pydantic's are no class of their own
        raise Unplain(f"is a {name} that does not serialize: {type(error).__name__}: {error}") from None
    _check(own, f"is a {name} that holds")
    return written


def _check(root: Any, where: str) -> None:
    """Refuse what pydantic would write as something else, or what no dict beside the model could hold."""
    ahead = [("", root)]
    while ahead:
        name, value = ahead.pop()
        if isinstance(value, dict):
            ahead += [(f" in {key!r}", inner) for key, inner in value.items()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            ahead += [(name, inner) for inner in value]
        elif isinstance(value, datetime) and (value.utcoffset() is None or _odd(value)):
            fault = "seconds in its zone, which pydantic drops" if _odd(value) else "no zone"
            raise Unplain(f"{where} a time with {fault}{name}: make it one in UTC")
        elif hasattr(value, "get_secret_value"):
            raise Unplain(f"{where} a secret{name}, which is written as asterisks: a task is no place for it, send its name")
        elif not (value.is_finite() if isinstance(value, Decimal) else isfinite(value) if isinstance(value, float) else True):
            raise Unplain(f"{where} {value}{name}, which JSON cannot hold: send null or a string")


SPELLINGS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (datetime, _moment),
    (date, date.isoformat),
    (timedelta, duration),
    (UUID, str),
    (Decimal, _number),
    (bytes, lambda value: binascii.b2a_base64(value, newline=False).decode()),
    ((set, frozenset), list),
    (Enum, lambda value: value.value),
)
"""In this order: a datetime is a date."""
