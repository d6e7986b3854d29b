"""Stands where the chart's controller stands on a machine without Kubernetes: a process that makes passes. Called by demo and dev."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

CONTROLLER = (sys.executable, "-m", "runner.controller")
LONGEST_S = 86_400.0
"""What RUNNER_CONTROL_FOR_S may be; should the process that started it be killed, it ends by itself."""
GRACE_S = 5.0


class LocalController:
    """One controller process, started anew by `tend` when it ended; `log` takes what it writes."""

    def __init__(self, environ: Mapping[str, str], log: Path, *, for_s: float = LONGEST_S, every_s: float = 0.5) -> None:
        own = {"RUNNER_CONTROL_FOR_S": f"{min(for_s, LONGEST_S):.3f}", "RUNNER_CONTROL_EVERY_S": f"{every_s:g}"}
        self._environ, self._log = {**environ, **own}, log
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> int | None:
        """The exit code of the one that ended; None while it runs."""
        return self._process.poll()

    def tend(self) -> int | None:
        """Start it again where it ended, with the exit code that it ended with; None while it runs."""
        code = self.poll()
        if code is not None:
            self._process = self._start()
        return code

    def close(self) -> None:
        """Ask it to end, and kill it when it does not."""
        self._process.terminate()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C in a terminal goes to all of a session, and the order in which things end is the starter's.
        with self._log.open("ab") as log:
            return subprocess.Popen(
                CONTROLLER, env=self._environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
