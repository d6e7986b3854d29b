"""The live screen of `runner status --watch`: looks again and again until q or Ctrl-C. Called by status."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from runner.cli import view
from runner.cli.common import opened_broker, sigterm_as_ctrl_c
from runner.cli.keyboard import Keyboard
from runner.cli.lengths import measure
from runner.cli.screen import Look, screen
from runner.connect import TOLD, explain
from runner.errors import ClusterError, ConfigError, RunnerError
from runner.url import from_environment

if TYPE_CHECKING:
    from runner.broker import Broker
    from runner.cluster import Cluster, Snapshot

PATIENCE_S = 2.0
"""A screen that stands still tells nothing: a Redis that is away for longer is told in it."""
CLUSTER_EVERY_S = 5.0


def show(queue: str, namespace: str, release: str, every_s: float) -> int:
    """The screen, until a person has seen enough."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("--watch needs a terminal; a script asks `runner status --json` again and again")
    try:
        with sigterm_as_ctrl_c(), opened_broker(PATIENCE_S) as broker:
            pods = Pods(namespace, release)
            before = now = _look(broker, queue, pods)
            console = Console(highlight=False)
            with Keyboard() as keyboard, Live(console=console, screen=True, auto_refresh=False) as live:
                while True:
                    live.update(screen(before, now, every_s, console.size), refresh=True)
                    if keyboard.pressed(every_s) in ("q", "Q", "\x1b"):
                        return 0
                    before, now = (now if not now.failed else before), _looked(broker, queue, pods, now)
    except KeyboardInterrupt:
        return 0


def _look(broker: Broker, queue: str, pods: Pods) -> Look:
    lengths, now_ms = measure(broker, queue), broker.now_ms()
    findings = {name: found for name, found in broker.findings(now_ms).items() if queue in ("", name)}
    return Look(now_ms, lengths, broker.last_pass(), findings, pods.seen, pods.why)


def _looked(broker: Broker, queue: str, pods: Pods, last: Look) -> Look:
    """The next look, or the last one's numbers with why there is none."""
    try:
        return _look(broker, queue, pods)
    except TOLD as error:
        return replace(last, failed=str(explain(error, from_environment(os.environ))))
    except RunnerError as error:
        return replace(last, failed=str(error))


class Pods(threading.Thread):
    """What the cluster says, asked beside the screen: an API server that is slow must not hold it up."""

    def __init__(self, namespace: str, release: str) -> None:
        super().__init__(daemon=True)
        self.seen: Snapshot | None = None
        cluster, self.why = view.entered(namespace, release)
        if cluster is not None:
            self._cluster: Cluster = cluster
            self.start()

    def run(self) -> None:
        """Ask until the process ends."""
        while True:
            began_s = time.monotonic()
            try:
                self.seen, self.why = self._cluster.snapshot(), ""
            except ClusterError as error:
                self.why = str(error)
            threading.Event().wait(max(0.0, CLUSTER_EVERY_S - (time.monotonic() - began_s)))
