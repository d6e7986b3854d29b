"""What really happened, kept outside Redis: one file per task, a line per event. Called by handlers, submitter and referee.

A line is `word attempt pid monotonic_ns id`, written by one call on a file opened for append, so that processes never mix theirs,
and on disk before its writer goes on.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """One event of one task: `sent`, `acked`, `cancel` (with its answer), `start`, `fail`, `finish`."""

    word: str
    attempt: int
    pid: int
    at_ns: int
    id: str


class Ledger:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, number: int, word: str, task_id: str, attempt: int = 0) -> None:
        """Append one line; it is on disk when this returns. Times compare between processes of one machine."""
        line = f"{word} {attempt} {os.getpid()} {time.monotonic_ns()} {task_id}\n"
        fd = os.open(self.folder / str(number), os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        try:
            os.write(fd, line.encode())
            os.fsync(fd)
        finally:
            os.close(fd)

    def read(self, number: int) -> list[Line]:
        """The lines of one task, in the order they were written."""
        path = self.folder / str(number)
        return [_line(text) for text in path.read_text().splitlines()] if path.exists() else []


def _line(text: str) -> Line:
    word, attempt, pid, at_ns, task_id = text.split(" ", 4)
    return Line(word, int(attempt), int(pid), int(at_ns), task_id)
