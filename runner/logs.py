"""One JSON line per event on stderr; readable lines where a person watches. Called by the roles and everything they log through."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from runner.masking import masked

__all__ = ["LEVELS", "event", "hand_to", "least", "masked", "stamp"]

LEVELS = ("debug", "info", "warning", "error")
Listener = Callable[[dict[str, Any]], None]
_state: dict[str, Any] = {"least": 1, "listener": None}


def least(level: str) -> None:
    """From now on write only events of this level and above."""
    _state["least"] = LEVELS.index(level)


def hand_to(listener: Listener | None) -> None:
    """From now on this process's events go to `listener` in place of stderr; `dev` words them as it does its workers'. None ends that."""
    _state["listener"] = listener


def event(name: str, /, level: str = "info", **fields: Any) -> None:
    """Write one event: `ts`, `level` and `event` first, then the fields as given. A field whose name ends in `url` loses its password."""
    if LEVELS.index(level) < _state["least"]:
        return
    shown = {key: _shown(key, value) for key, value in fields.items()}
    record = {"ts": stamp(), "level": level, "event": name} | shown
    if _state["listener"]:
        _state["listener"](record)
        return
    line = _readable(name, level, shown) if sys.stderr.isatty() else _json(record)
    # Nobody reads this any more: a closed pipe must not cost the task that runs.
    with suppress(OSError):
        _write(line + "\n")


def _write(line: str) -> None:
    try:
        place = sys.stderr.fileno()
    except (AttributeError, ValueError):  # no file behind it: replaced by a test or a shell
        sys.stderr.write(line)
        return
    # Past Python's buffer: a signal handler logs too, and a buffer that it interrupts refuses it (RuntimeError: reentrant call).
    rest = memoryview(line.encode(errors="backslashreplace"))
    while rest:
        rest = rest[os.write(place, rest) :]


def _shown(key: str, value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if isinstance(value, str):
        return masked(value) if key.endswith("url") else value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, default=_plain)


def _plain(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _readable(name: str, level: str, fields: dict[str, Any]) -> str:
    marked = "" if level == "info" else f" {level.upper()}"
    said = " ".join(f"{key}={value}" if isinstance(value, str) else f"{key}={_json_value(value)}" for key, value in fields.items())
    return f"{stamp()[11:23]}{marked} {name} {said}".rstrip()


def _json_value(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def stamp() -> str:
    """The time as events have it."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
