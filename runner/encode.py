"""Values to the bytes of a body, and the place of the one that cannot be written. Called by wire, on the way of every submit.

What JSON knows is written, tuples as arrays, and what `plain` can put in its words. Everything else is refused where it is submitted,
so that it does not fail, or come out as something else, in a pod an hour later.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from runner.envelope import SURROGATE, shown
from runner.errors import UnencodableError
from runner.plain import Unplain, plain

OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
MAX_DEPTH = 254
"""Levels of nesting, where orjson stops too; a value that holds itself has no end."""
NATIVE = (dict, list, tuple, str, int, float, bytes, type(None))
FROM, BELOW = -(2**63), 2**64
"""The integers that MessagePack has."""

Step = tuple[Any, Any, int] | None
"""How a value was reached: the step before, the key or index (None for what stands for a value), and the depth."""


def dumps(value: Any) -> bytes:
    """Compact JSON; UnencodableError for a value that has none."""
    try:
        body = orjson.dumps(value, plain, OPTIONS)
    except TypeError:  # a value that has no encoding, or one that only the standard library writes
        return _by_stdlib(value)
    if b"null" in body:
        _refuse_non_finite(value)
    return body


def packed(value: Any) -> bytes:
    """MessagePack: the values that JSON would have, bytes as they are; UnencodableError for what either cannot hold."""
    import msgpack

    if fault := _fault(value, _parts_packed):
        raise UnencodableError(fault)
    body: bytes = msgpack.packb(value, default=_packable)
    return body


def _packable(value: Any) -> Any:
    """As many steps as it takes: msgpack asks once, where orjson and json ask again."""
    while not isinstance(value, NATIVE):
        value = plain(value)
    return value


def _by_stdlib(value: Any) -> bytes:
    """For integers beyond 64 bits and lone surrogates, which orjson refuses; backslashreplace spells the latter as JSON does."""
    if fault := _fault(value, _parts):
        raise UnencodableError(fault)
    return _ENCODER.encode(value).encode(errors="backslashreplace")


def _refuse_non_finite(value: Any) -> None:
    """orjson writes NaN as null, which is another value; only a body with a null in it can hide one."""
    try:
        _ENCODER.encode(value)
    except ValueError as error:
        raise UnencodableError(_fault(value, _parts) or str(error)) from error


_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=plain)


def _fault(root: Any, parts: Callable[[Any], Iterable[tuple[Any, Any]]]) -> str:
    """Where and why the first value that cannot be written is; empty if there is none. A stack, for the call stack is the caller's."""
    ahead: list[tuple[Any, Step]] = [(root, None)]
    while ahead:
        value, step = ahead.pop()
        if step and step[2] > MAX_DEPTH:
            return f"{_path(step)[:60]}... is nested deeper than {MAX_DEPTH} levels, or holds itself"
        try:
            ahead += reversed([(inner, (step, key, step[2] + 1 if step else 1)) for key, inner in parts(value)])
        except Unplain as fault:
            return f"{_path(step)} {fault}"
    return ""


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a value holds; Unplain says what is wrong with it apart from that."""
    if isinstance(value, dict):
        odd = next((key for key in value if not isinstance(key, str)), "")
        if odd != "":
            raise Unplain(f"has the key {shown(odd)}: JSON has only strings as keys")
        return value.items()
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise Unplain(f"is {value}, which JSON cannot hold: send null or a string")
    if isinstance(value, int) and not _printable(value):
        raise Unplain("is an integer with more digits than Python prints: send it as a string in hex")
    return () if value is None or isinstance(value, (str, int, float)) else [(None, plain(value))]


def _parts_packed(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, int) and not FROM <= value < BELOW:
        raise Unplain("is an integer beyond 64 bits, which MessagePack does not have: send it as a string")
    texts = [value] if isinstance(value, str) else value if isinstance(value, dict) else ()
    if any(isinstance(text, str) and not text.isascii() and SURROGATE.search(text) for text in texts):
        raise Unplain("holds half a surrogate pair, which MessagePack cannot say")
    return () if isinstance(value, bytes) else _parts(value)


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
