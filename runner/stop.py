"""Hears that this process is asked to end: a flag for the work, and a wait that ends at once. Called by controller and dev."""

from __future__ import annotations

import os
import select
import signal


class Stop:
    """Whether this process was asked to end. Its handler takes no lock, so a signal at any moment is heard."""

    def __init__(self) -> None:
        self.asked = False
        self._hears, self._tells = os.pipe()
        os.set_blocking(self._tells, False)

    def listen(self) -> None:
        """Hear the signals from now on."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: self.ask())

    def ask(self) -> None:
        """Ask for the end; may be called from a signal handler."""
        if not self.asked:
            self.asked = True
            os.write(self._tells, b"x")

    def wait(self, pause_s: float) -> None:
        """Wait, but no longer than until the end is asked for."""
        select.select([self._hears], [], [], max(0.0, pause_s))
