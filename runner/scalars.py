"""The single values of a payload as a handler declares them: text to a time, a UUID, a number, bytes. Called by convert.

Each reads what `plain` writes, and what a MessagePack body holds in its place; a few read what other producers are likely to send.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from runner.envelope import NUMBER
from runner.mismatch import Mismatch, a, form_of, wrong

Convert = Callable[[Any], Any]
Made = TypeVar("Made")

DURATION = re.compile(
    r"([+-]?)P(?=.)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d+))?S)?)?", re.ASCII
)
DAYS = (365, 30, 7, 1)
"""Of a year and a month what pydantic takes them for; it writes years itself."""


def exactly(form: str) -> Convert:
    """A value of this form of JSON, as it is."""

    def read(value: Any) -> Any:
        if form_of(value) != form or isinstance(value, (bytes, datetime)):
            raise _not(value, a(form))
        return value

    return read


def truth(value: Any) -> bool:
    """A boolean, also as its text: a task's flat fields have only texts."""
    found = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise _not(value, "a boolean")
    return found


def whole(value: Any) -> int:
    """An integer, also as 3.0, as some languages write every number, or as its text."""
    value = _spelled_out(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong("is a number with a fraction, not a whole one") if isinstance(value, float) else _not(value, "a whole number")
    return value


def real(value: Any) -> float:
    """A float, also as its text; an integer only where a float holds it exactly."""
    value = _spelled_out(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _not(value, "a number")
    if isinstance(value, int) and not (abs(value) < 2**1023 and int(float(value)) == value):
        raise wrong("is an integer that no float holds exactly")
    return float(value)


def octets(value: Any) -> bytes:
    """Bytes from base64, of either alphabet, padded or not."""
    if isinstance(value, bytes):
        return value
    text = _text(value, "base64").translate({ord("-"): "+", ord("_"): "/"})
    return _checked(lambda: binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True), "is a string, but not base64")


def moment(value: Any) -> datetime:
    """A time with a zone."""
    found = value if isinstance(value, datetime) else _parsed(datetime.fromisoformat, value, "a time in ISO 8601")
    if found.utcoffset() is None:
        raise wrong("is a time without a zone")
    return found


def day(value: Any) -> date:
    """A date."""
    return _parsed(date.fromisoformat, value, "a date in ISO 8601")


def span(value: Any) -> timedelta:
    """A duration; a number is seconds, as pydantic has it."""
    try:
        if form_of(value) == "number":
            return timedelta(seconds=value)
        if (found := DURATION.fullmatch(_text(value, "a duration in ISO 8601"))) is None:
            raise ValueError
        return _span(found)
    except (ValueError, OverflowError):
        raise wrong(f"is {a(form_of(value))}, but no duration in ISO 8601 such as PT90S") from None


def _span(found: re.Match[str]) -> timedelta:
    numbers = [int(part or 0) for part in found.groups()[1:8]]
    days = sum(number * size for number, size in zip(numbers[:4], DAYS, strict=True))
    hours, minutes, seconds = numbers[4:]
    micros = int((found[9] or "")[:6].ljust(6, "0"))
    sign = -1 if found[1] == "-" else 1
    return timedelta(days=sign * days, hours=sign * hours, minutes=sign * minutes, seconds=sign * seconds, microseconds=sign * micros)


def identity(value: Any) -> UUID:
    """A UUID, as text or as its 16 bytes."""
    if isinstance(value, bytes):
        return _checked(lambda: UUID(bytes=value), "is of bytes, but no UUID")
    return _parsed(UUID, value, "a UUID")


def decimal(value: Any) -> Decimal:
    """A Decimal from its text; a number counts as its shortest text, which is what its producer wrote."""
    text = repr(value) if form_of(value) == "number" else value
    found = _parsed(Decimal, text, "a decimal number")
    if not found.is_finite():
        raise wrong("is not a finite number")
    return found


def nothing(value: Any) -> None:
    """null."""
    if value is not None:
        raise _not(value, "null")


def _spelled_out(value: Any) -> Any:
    """The number that a text is; anything else as it is."""
    if isinstance(value, str) and (found := NUMBER.fullmatch(value)):
        return float(value) if found[1] else int(value)
    return value


def _not(value: Any, wanted: str) -> Mismatch:
    found = "bytes" if isinstance(value, bytes) else "a time" if isinstance(value, datetime) else a(form_of(value))
    return wrong(f"is {found}, not {wanted}")


def _text(value: Any, wanted: str) -> str:
    if not isinstance(value, str):
        raise _not(value, f"a string with {wanted}")
    return value


def _parsed(parse: Callable[[str], Made], value: Any, wanted: str) -> Made:
    text = _text(value, wanted)
    return _checked(lambda: parse(text), f"is a string, but not {wanted}")


def _checked(make: Callable[[], Made], said: str) -> Made:
    try:
        return make()
    except (ValueError, ArithmeticError):
        raise wrong(said) from None
