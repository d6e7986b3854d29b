"""How often the kernel killed for want of memory in this container. Called by the supervisor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def oom_kills(root: str = "/") -> int:
    """The counter `oom_kill` of this process's own control group, 0 where there is none. `root` holds proc and sys."""
    for file in _counters(Path(root)):
        if file.is_file():
            return _read(file)
    return 0


def _counters(root: Path) -> Iterator[Path]:
    """Where the counter may be, the most likely first.

    A container with a control group of its own but no namespace for it reads a path of the node's, which is not mounted
    inside it; its own group is then the top of the mount.
    """
    own = root / "proc/self/cgroup"
    mount = root / "sys/fs/cgroup"
    lines = own.read_text().splitlines() if own.is_file() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield mount / path.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield mount / "memory" / path.lstrip("/") / "memory.oom_control"
    yield mount / "memory.events"
    yield mount / "memory/memory.oom_control"


def _read(file: Path) -> int:
    pairs = (line.split() for line in file.read_text().splitlines())
    return next((int(pair[1]) for pair in pairs if pair[:1] == ["oom_kill"]), 0)
