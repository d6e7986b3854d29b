"""What befalls Redis and the controllers: kills, freezes, and an operator's clumsy commands, each when the plan says. Called by storm."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from redis.exceptions import ResponseError

from chaos.plan import Event
from runner.connect import FAILURES
from runner.embedded import EmbeddedServer


class FrailServer(EmbeddedServer):
    """A server that can also hang."""

    def freeze(self) -> None:
        """Let it answer nothing, with its connections open."""
        if self._process:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._process:
            self._process.send_signal(signal.SIGCONT)


class Strikes:
    """Events of the plan, on their way and done. `client` raises at the first failure; `keys` are watched, `kill` is for a controller."""

    def __init__(self, events: list[Event], server: FrailServer, client: Any, keys: list[str], kill: Callable[[int], None]) -> None:
        self.events, self.server, self.client, self.keys, self._kill_controller = events, server, client, keys, kill
        self.did: Counter[str] = Counter()
        self.back_s: float | None = None
        """When Redis is to come back; None while it is there."""
        self._due: list[tuple[float, Event]] = []

    @property
    def pending(self) -> bool:
        """Whether something is still to come."""
        return bool(self._due) or self.back_s is not None

    def before(self, number: int) -> None:
        """Worker `number` is about to start: what the plan has for now is on its way."""
        while self.events and self.events[0].before <= number:
            event = self.events.pop(0)
            self._due.append((time.monotonic() + event.after_s, event))

    def step(self, now_s: float) -> None:
        """Do what is due."""
        if self.back_s is not None and now_s >= self.back_s:
            self.recover()
        for entry in [entry for entry in self._due if entry[0] <= now_s]:
            if self.back_s is None or entry[1].what == "kill controller":
                self._due.remove(entry)
                self._strike(entry[1], now_s)

    def recover(self) -> None:
        """Redis is there again, whatever it was."""
        self.back_s = None
        self.server.thaw()
        self.server.start()

    def _strike(self, event: Event, now_s: float) -> None:
        self.did[event.what] += 1
        if event.what == "kill controller":
            self._kill_controller(event.index)
        elif event.what in ("kill redis", "freeze redis"):
            self.back_s = now_s + event.down_s
            self.server.kill() if event.what == "kill redis" else self.server.freeze()
        else:
            with suppress(*FAILURES, ResponseError):  # no such group or consumer now: nothing to destroy
                self._operate(event.what, self.keys[event.index % len(self.keys)])
            if event.what == "fill memory":
                self._due.append((now_s + event.down_s, replace(event, what="free memory")))

    def _operate(self, what: str, key: str) -> None:
        """What an operator or a foreign program does to the group behind our back."""
        if what == "flush scripts":
            self.client.script_flush()
        elif what == "cut connections":
            self.client.client_kill_filter(_type="normal", skipme=True)
        elif what in ("fill memory", "free memory"):
            self.client.config_set("maxmemory", int(what == "fill memory"))
        elif what == "destroy group":
            self.client.xgroup_destroy(key, "runner")
        elif what == "delete consumer":
            self.client.xgroup_delconsumer(key, "runner", "runner")
        elif what == "foreign reader":
            self.client.xreadgroup("runner", "foreign", {key: ">"}, count=3)
