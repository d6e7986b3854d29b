"""Wait by condition with a deadline, instead of sleeping. Called by every test that has to wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(condition: Callable[[], Found], within_s: float = 5, every_s: float = 0.01) -> Found:
    """The first true answer of `condition`; AssertionError with its last answer when the deadline passes."""
    deadline = time.monotonic() + within_s
    pause = threading.Event()
    while not (answer := condition()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within_s} s: {getattr(condition, '__qualname__', condition)} last answered {answer!r}")
        pause.wait(every_s)
    return answer
