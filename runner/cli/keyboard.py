"""Single keys from a terminal. Called by the live screen."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from typing import Any, Self


class Keyboard:
    """The terminal of stdin, without echo and without waiting for Enter, until it is left; Ctrl-C stays Ctrl-C."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._as_it_was: list[Any] = termios.tcgetattr(self._fd)

    def __enter__(self) -> Self:
        tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        # DRAIN, not FLUSH: what was typed ahead belongs to the shell.
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._as_it_was)

    def pressed(self, within_s: float) -> str:
        """The key that was pressed within the time, or nothing; a terminal that is gone says q."""
        ready, _, _ = select.select([self._fd], [], [], within_s)
        return (os.read(self._fd, 1).decode("latin-1") or "q") if ready else ""
