"""The processes of one `runner dev`: workers for each queue, a controller, imports of what was saved; and what they say. Called by develop.

One thread turns: it prints what the processes wrote and looks after them. Each queue's scaler has a thread of its own, as in the demo.
"""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rich.console import Console

from runner import logs
from runner.broker import Broker
from runner.connect import FAILURES, connect
from runner.dev.follow import Follow
from runner.dev.told import Told
from runner.dev.watch import Checked, Watch
from runner.errors import UndeclaredQueueError
from runner.local_controller import LocalController
from runner.queue import Declaration
from runner.scaler import Scaler

LOOK_S = 0.5
FIRST_QUEUE = "default"
HELD_S = 5.0
"""How long a queue whose worker could not work starts no other, unless a file is saved."""
CONTROLLED_S = 600.0
"""How long a controller makes passes before the next one is started; so long it outlives a `kill -9` of this process."""
MARGIN_S = 5.0
"""What a worker may take to record that it handed its task back, beyond the grace of its handler."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for. `url` empty is an embedded server; no `queues` are all that are declared, also those declared later."""

    handlers: tuple[str, ...] = ()
    exec: str = ""
    url: str = ""
    prefix: str = ""
    queues: tuple[str, ...] = ()
    mode: str = "stream"
    workers: int = 2
    port: int = 0
    grace_s: float = 5.0
    poll_s: float = 0.25


class Session:
    """Starts them when it is entered, and ends them in order when it is left; `url` is where Redis is by now."""

    def __init__(self, plan: Plan, url: str, console: Console) -> None:
        self._plan, self._url = plan, url
        self._told = Told(console, self._hold)
        self._kept = ExitStack()
        self._scalers: dict[str, Scaler] = {}
        self._follows: dict[str, Follow] = {}
        self._held_until_s: dict[str, float] = {}
        self._next_look_s = 0.0
        self._importable = not plan.handlers

    def __enter__(self) -> Self:
        with ExitStack() as kept:
            logs.hand_to(self._told.event)
            kept.callback(logs.hand_to, None)
            self._folder = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="runner-dev-")))
            self._broker = self._connected()
            kept.callback(self._broker.client.close)
            self._declare()
            self._controller = kept.enter_context(LocalController(self._environ(), self._folder / "controller.log", for_s=CONTROLLED_S))
            self._controllers = Follow(self._folder)
            self._watch = Watch(self._plan.handlers, self._environ()) if self._plan.handlers else None
            kept.callback(self._close)
            self._told.greeting(self._url, self._plan.queues or self._broker.names(), embedded=not self._plan.url)
            self._kept = kept.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def turn(self) -> None:
        """Print what was written since the last turn; every half second look after handlers, queues and controller."""
        self._print()
        if time.monotonic() < self._next_look_s:
            return
        self._next_look_s = time.monotonic() + LOOK_S
        found = self._watch.look() if self._watch else None
        if found:
            self._imported(found)
        with suppress(*FAILURES):  # the scalers tell of it, and it passes
            self._tend()
        code = self._controller.tend()
        if code:
            logs.event("controller ended", "warning", exit_code=code, so="another one was started")

    def _connected(self) -> Broker:
        return Broker(connect(self._url, client_name="runner-dev"), self._plan.prefix)

    def _environ(self) -> dict[str, str]:
        """The caller's, with what was asked for; the child of a worker must not hold back what its handler prints."""
        own = {"RUNNER_REDIS_URL": self._url, "RUNNER_PREFIX": self._plan.prefix, "RUNNER_GRACE_S": f"{self._plan.grace_s:g}"}
        own |= {"RUNNER_HANDLERS": ",".join(self._plan.handlers), "RUNNER_EXEC": self._plan.exec, "RUNNER_LOG_LEVEL": "info"}
        return {**os.environ, **own, "PYTHONUNBUFFERED": "1"}

    def _declare(self) -> None:
        """What is not there yet; a queue that is there stays as it is."""
        known = self._broker.names()
        for name in self._plan.queues or ([] if known else [FIRST_QUEUE]):
            if name not in known:
                self._broker.declare(Declaration(name, mode=self._plan.mode))

    def _hold(self, queue: str) -> None:
        """A worker could not work at all: the next one would not, either."""
        self._held_until_s[queue] = time.monotonic() + HELD_S
        if queue in self._scalers:
            self._scalers[queue].paused = True

    def _imported(self, found: Checked) -> None:
        self._importable = not found.error
        self._held_until_s.clear()
        self._told.imported(found.types, found.error, self._plan.queues or tuple(self._scalers))

    def _tend(self) -> None:
        """A scaler for each queue; none starts workers while their handlers cannot be imported."""
        self._declare()  # anew after a FLUSHALL, which is quickly typed on such a machine
        for name in self._plan.queues or self._broker.names():
            if name not in self._scalers:
                self._scale(name)
        for name, scaler in list(self._scalers.items()):
            scaler.paused = not self._importable or time.monotonic() < self._held_until_s.get(name, 0.0)
            if scaler.failure:  # it told why; a queue that is declared again gets another
                scaler.close()
                del self._scalers[name]

    def _scale(self, name: str) -> None:
        folder = self._folder / name
        with suppress(UndeclaredQueueError):
            queue = self._connected().open(name)
            scaler = Scaler(queue, self._environ(), folder, max_replicas=self._plan.workers, poll_s=self._plan.poll_s)
            scaler.paused = True
            self._scalers[name], self._follows[name] = scaler.__enter__(), Follow(folder)

    def _print(self) -> None:
        for _, line in self._controllers.lines(()):
            self._told.line("", "controller", line)
        for name, follow in self._follows.items():
            scaler = self._scalers.get(name)
            for process, line in follow.lines(scaler.running() if scaler else ()):
                self._told.line(name, process, line)

    def _close(self) -> None:
        """End the workers, whatever becomes of the words about it: their reader may be gone, as with `runner dev | head`."""
        try:
            if running := sum(len(scaler.running()) for scaler in self._scalers.values()):
                logs.event("ending", tasks=running, grace_s=self._plan.grace_s)
        finally:
            self._end_workers()
        self._print()

    def _end_workers(self) -> None:
        """All at once: each hands its task back, or finishes it within the grace."""
        if self._watch:
            self._watch.close()
        scalers = list(self._scalers.values())
        with ThreadPoolExecutor(max(1, len(scalers))) as closing:
            list(closing.map(lambda scaler: scaler.close(self._plan.grace_s + MARGIN_S), scalers))
        for scaler in scalers:
            scaler.queue.client.close()
