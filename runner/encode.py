"""Plain values to JSON bytes, and the place of the one that cannot be written. Called by wire, on the way of every submit.

What JSON knows is written, tuples as arrays, a UUID as its text, an Enum as its value. Everything else is refused where it is
submitted, so that it does not fail, or come out as something else, in a pod an hour later.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from enum import Enum
from typing import Any
from uuid import UUID

import orjson

from runner.envelope import shown
from runner.errors import UnencodableError

OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
MAX_DEPTH = 254
"""Levels of nesting, where orjson stops too; a value that holds itself has no end."""

Step = tuple[Any, Any, int] | None
"""How a value was reached: the step before, the key or index (None for an Enum's value), and the depth."""


def dumps(value: Any) -> bytes:
    """Compact JSON; UnencodableError for a value that has none."""
    try:
        body = orjson.dumps(value, option=OPTIONS)
    except TypeError:  # a value that has no encoding, or one that only the standard library writes
        return _by_stdlib(value)
    if b"null" in body:
        _refuse_non_finite(value)
    return body


def _by_stdlib(value: Any) -> bytes:
    """For integers beyond 64 bits and lone surrogates, which orjson refuses; backslashreplace spells the latter as JSON does."""
    if fault := _fault(value):
        raise UnencodableError(fault)
    return _ENCODER.encode(value).encode(errors="backslashreplace")


def _refuse_non_finite(value: Any) -> None:
    """orjson writes NaN as null, which is another value; only a body with a null in it can hide one."""
    try:
        _ENCODER.encode(value)
    except ValueError as error:
        raise UnencodableError(_fault(value) or str(error)) from error


def _plain(value: Any) -> Any:
    """What the standard library does not know of the values that orjson, or `_fault`, let pass."""
    return value.value if isinstance(value, Enum) else str(value)


_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _fault(root: Any) -> str:
    """Where and why the first value that cannot be written is; empty if there is none. A stack, for the call stack is the caller's."""
    ahead: list[tuple[Any, Step]] = [(root, None)]
    while ahead:
        value, step = ahead.pop()
        if step and step[2] > MAX_DEPTH:
            return f"{_path(step)[:60]}... is nested deeper than {MAX_DEPTH} levels, or holds itself"
        if said := _own_fault(value):
            return f"{_path(step)} {said}"
        ahead += reversed([(inner, (step, key, step[2] + 1 if step else 1)) for key, inner in _parts(value)])
    return ""


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    return [(None, value.value)] if isinstance(value, Enum) else ()


def _own_fault(value: Any) -> str:
    """What is wrong with this value, apart from what it holds."""
    if isinstance(value, dict):
        odd = next((key for key in value if not isinstance(key, str)), "")
        return "" if odd == "" else f"has the key {shown(odd)}: JSON has only strings as keys"
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {value}, which JSON cannot hold: send null or a string"
    if isinstance(value, int) and not _printable(value):
        return "is an integer with more digits than Python prints: send it as a string in hex"
    if value is None or isinstance(value, (str, int, float, list, tuple, UUID, Enum)):
        return ""
    return f"is of type {type(value).__name__}, which JSON cannot hold: convert it, for instance to a string"


def _printable(value: int) -> bool:
    try:
        return bool(str(value))
    except ValueError:
        return False


def _path(step: Step) -> str:
    """`payload.items[3]`, from the innermost step outwards."""
    names: list[str] = []
    while step:
        step, key, _ = step
        if key is not None:
            names.append(f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]")
    return "".join(reversed(names)).removeprefix(".") or "the value"
