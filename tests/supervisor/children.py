"""Real children with real pipes, and what they printed. Called by the tests of this directory."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.outcome import Ending
from runner.supervisor import Supervisor
from tests.waiting import until

ORDINARY = "tests.supervisor.handlers_ordinary"
STUBBORN = "tests.supervisor.handlers_stubborn"


def envelope(type: str, payload: Any = None) -> bytes:
    return json.dumps({"type": type, "payload": payload}).encode()


def facts(type: str, **more: Any) -> dict[str, Any]:
    return {"id": "206", "type": type, "version": None, "queue": "emails", "attempt": 1, **more}


class Watched:
    """A supervisor whose child's output is at hand."""

    def __init__(self, *modules: str, **options: Any) -> None:
        self.printed = bytearray()
        self.supervisor = Supervisor(modules or (ORDINARY,), output=self.printed.extend, **options)
        self.helpers: list[threading.Thread] = []

    def run(self, type: str, payload: Any = None, timeout_s: float = 30, body: bytes | None = None, **more: Any) -> Ending:
        self.supervisor.start()
        self.supervisor.await_ready()
        return self.supervisor.run(facts(type, **more), envelope(type, payload) if body is None else body, timeout_s)

    def once_printed(self, mark: bytes, action: Callable[[], object]) -> None:
        """Do this from another thread as soon as the child has printed the mark."""

        def wait() -> None:
            until(lambda: mark in self.printed)
            action()

        self.helpers.append(threading.Thread(target=wait))
        self.helpers[-1].start()

    def pid_printed(self) -> int:
        return int(self.printed.split(b"pid=")[1].split()[0])


@contextmanager
def watched(*modules: str, **options: Any) -> Iterator[Watched]:
    one = Watched(*modules, **options)
    try:
        yield one
    finally:
        for helper in one.helpers:
            helper.join()
        one.supervisor.close()


def run(type: str, payload: Any = None, *, module: str = ORDINARY, timeout_s: float = 30, **options: Any) -> Ending:
    with watched(module, **options) as one:
        return one.run(type, payload, timeout_s)


def gone(pid: int) -> bool:
    """Whether no process of this number runs; one that only waits to be collected does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
