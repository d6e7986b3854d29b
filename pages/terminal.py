"""A command in a terminal of its own, as a person would see it. Called by pages.pictures."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Self

ROWS = 50
PATIENCE_S = 60.0


class Terminal:
    """One process on a pseudo-terminal of so many columns; `printed` is all that it wrote, colours included."""

    def __init__(self, command: list[str], folder: Path, columns: int) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "KUBE"))}
        environ = {**plain, "TERM": "xterm-256color", "HOME": str(folder)}  # no kubeconfig of whoever runs it
        self._process = subprocess.Popen(command, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.printed = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def until(self, wanted: str) -> re.Match[str]:
        """Read until this pattern is there, without colours."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not (found := re.search(wanted, re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", self.printed))):
            if time.monotonic() > deadline_s or not self._read():
                raise TimeoutError(f"{wanted!r} did not come: {self.printed}")
        return found

    def rest(self) -> str:
        """Read until it ends; all that it printed."""
        while self._read():
            pass
        return self.printed

    def signal(self, number: int) -> None:
        """As Ctrl-C would."""
        self._process.send_signal(number)

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], PATIENCE_S)[0]:
            return False
        try:
            some = os.read(self._ours, 65_536)
        except OSError:  # its end is closed
            return False
        self.printed += some.decode(errors="replace")
        return bool(some)
