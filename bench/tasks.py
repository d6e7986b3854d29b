"""What rq's worker runs: a task that does nothing, and one that weighs its processes. Imports nothing that the worker would pay for."""

from __future__ import annotations

import os


def nothing(payload: object = None) -> None:
    """The no-op task."""


def weighed(payload: object = None) -> int:
    """KiB of memory that this process and its parent have between them: Pss, which counts a shared page in shares."""
    return sum(_pss_kib(pid) for pid in (os.getpid(), os.getppid()))


def _pss_kib(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as rollup:  # noqa: PTH123  (pathlib would be an import that the rival pays for)
        return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
