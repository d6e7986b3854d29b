"""Starts workers and controllers, does to each what its fate says, reports their ends. A process of its own; called by pool.

It has imported all that a worker imports, and forks: a process made like this is a worker as the kernel sees it (own pid, own
signals, own child), without the 0.3 s of CPU that an interpreter and its imports cost. Its fork runs what `python -m runner.worker`
runs. Every 25th worker is a plain `python -m runner.worker`, so that what only a fresh interpreter shows is seen too.

Lines of JSON in: {"start": name, "module": .., "env": {..}, "log": path, "fate": {..}}, {"kill": name}.
Lines of JSON out: {"did": how, "name": ..}, {"ended": name, "code": ..}. The end of its input ends all of its processes.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK_S = 0.004
PRELOADED = ("runner.worker", "runner.errand", "runner.child", "runner.invoke", "runner.controller", "chaos.handlers", "redis")


class Kid:
    """One process of ours; signalled through descriptors, so that a number used again can never be hit."""

    def __init__(self, name: str, pid: int, order: dict[str, Any]) -> None:
        self.name, self.pid, self.fd = name, pid, os.pidfd_open(pid)
        self.fate, self.ready_file = order.get("fate") or {}, Path(order["env"].get("RUNNER_READY_FILE", "/nowhere"))
        self.due_s = time.monotonic() + self.fate["after_s"] if self.fate and not self.fate["from_claim"] else None
        self.wakes_s: float | None = None
        self.struck = not self.fate.get("how")

    def send(self, number: int) -> None:
        """Signal the process itself."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.fd, number)

    def send_child(self, number: int) -> None:
        """Signal the one child that it supervises, if there is one."""
        for pid in self._children():
            with suppress(ProcessLookupError):
                fd = os.pidfd_open(pid)
                if pid in self._children():
                    signal.pidfd_send_signal(fd, number)
                os.close(fd)

    def _children(self) -> list[int]:
        with suppress(FileNotFoundError, ProcessLookupError):
            return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        return []

    def step(self, now_s: float) -> str:
        """Do what is due; the name of what was done."""
        if self.wakes_s and now_s >= self.wakes_s:
            self.wakes_s = None
            self.send_child(signal.SIGCONT)
            self.send(signal.SIGCONT)
            return "continue"
        if self.struck:
            return ""
        if self.due_s is None and self.ready_file.exists():
            self.due_s = now_s + self.fate["after_s"]
        if self.due_s is None or now_s < self.due_s:
            return ""
        self.struck, how = True, str(self.fate["how"])
        self.strike(how, now_s)
        return how

    def strike(self, how: str, now_s: float) -> None:
        """Do it now."""
        if how.startswith("stop"):
            self.send(signal.SIGSTOP)
            if how == "stop both":
                self.send_child(signal.SIGSTOP)
            self.wakes_s = now_s + self.fate["hold_s"]
            return
        if how.startswith("term"):
            self.send(signal.SIGTERM)
        if how in ("kill both", "kill child"):
            self.send_child(signal.SIGKILL)
        if how in ("kill both", "kill parent"):
            self.send(signal.SIGKILL)
        if how == "term, kill":
            self.fate, self.struck, self.due_s = {"how": "kill both"}, False, now_s + 0.02

    def end(self) -> None:
        """Kill it and its child, stopped or not."""
        self.send_child(signal.SIGKILL)
        self.send(signal.SIGKILL)


class Nursery:
    """The loop."""

    def __init__(self) -> None:
        self.kids: dict[str, Kid] = {}
        self.buffer = b""
        self.open = True

    def run(self) -> None:
        """Until the input ends."""
        while self.open:
            self._wait()
            self._reap()
            now_s = time.monotonic()
            for kid in self.kids.values():
                if did := kid.step(now_s):
                    say(did=did, name=kid.name)
        for kid in self.kids.values():
            kid.end()

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(0, select.POLLIN)
        for kid in self.kids.values():
            poll.register(kid.fd, select.POLLIN)
        busy = any(not kid.struck or kid.wakes_s for kid in self.kids.values())
        if 0 in dict(poll.poll(LOOK_S * 1000 if busy else 1000)):
            self._listen()

    def _listen(self) -> None:
        data = os.read(0, 65536)
        self.open = bool(data)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _obey(self, order: dict[str, Any]) -> None:
        if "kill" in order:
            if kid := self.kids.get(order["kill"]):
                kid.end()
            return
        pid = os.fork()
        if pid == 0:
            become(order)
        self.kids[order["start"]] = Kid(order["start"], pid, order)

    def _reap(self) -> None:
        for kid in list(self.kids.values()):
            pid, status = os.waitpid(kid.pid, os.WNOHANG)
            if pid:
                os.close(kid.fd)
                del self.kids[kid.name]
                say(ended=kid.name, code=os.waitstatus_to_exitcode(status))


def say(**facts: Any) -> None:
    """One line to the pool."""
    os.write(1, json.dumps(facts).encode() + b"\n")


def become(order: dict[str, Any]) -> None:
    """Be the process that was asked for; never returns."""
    code = 70
    try:
        os.environ.update(order["env"])
        fd = os.open(order["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.closerange(3, 256)
        if (order.get("fate") or {}).get("plain"):
            os.execv(sys.executable, [sys.executable, "-m", order["module"]])
        random.seed()
        code = importlib.import_module(order["module"]).main()
    except BaseException:  # noqa: BLE001 - as the interpreter does at its end; the nursery's code is below on this stack
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for module in PRELOADED:
        importlib.import_module(module)
    say(ended="", code=0)
    Nursery().run()
