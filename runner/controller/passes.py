"""Passes over all declared queues, one or for a given time. `python -m runner.controller`; called by cli.

Exit code 0: all that was to be done was done, or the end was asked for (SIGTERM; the chunk in hand is finished). 1: something could
not be done; each is told in a line of its own, and the rest was done. 2: a setting is wrong. 3: Redis could not be asked.

Two at once, one killed at any moment and one that hangs for an hour are harmless: every step is a script that moves each task once, and
what a reaper took over and left expires again.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection
from itertools import count

from runner import declare, logs
from runner.broker import Broker
from runner.broker.hazards import hazards
from runner.cluster import Cluster, inside, opened, tell_once
from runner.config import ControllerSettings, load
from runner.connect import FAILURES, TOLD, connect, explain
from runner.controller.cluster_pass import ClusterPass, Finding, Sight
from runner.controller.queue_pass import QueuePass
from runner.controller.silence import Silence
from runner.errors import ClusterError, ConfigError, RunnerError, UnavailableError
from runner.queue import Declaration
from runner.stop import Stop
from runner.version import __version__

UNAVAILABLE = 3
PASSES_MORE = 3
"""A single pass that nudged KEDA looks again so often whether that helped: right after an install its first look may come too early."""
PODS_KEPT = 20_000
"""Pods that were seen in earlier passes of this process, so that one that vanished is known to have been here."""


class Controller:
    """Makes passes. `cluster` is the door to Kubernetes; without it, everything that needs only Redis is done."""

    def __init__(self, broker: Broker, settings: ControllerSettings, stop: Stop, cluster: Cluster | None = None) -> None:
        self.broker, self.settings, self.stop, self.cluster = broker, settings, stop, cluster
        self.nudged = False
        self._ever: dict[str, None] = {}
        self._silence = Silence()

    def run(self) -> bool:
        """One pass, or passes for `for_s`; whether all could be done."""
        ends_s, good = time.monotonic() + self.settings.for_s, True
        for number in count(1):
            next_s = time.monotonic() + self.settings.every_s
            good = self.one_pass() and good
            if self.stop.asked or (next_s >= ends_s and not (self.nudged and number <= PASSES_MORE)):
                return good
            self.stop.wait(next_s - time.monotonic())
            if self.stop.asked:
                return good
        return good

    def one_pass(self) -> bool:
        """Every declared queue once; recorded, so that somebody can tell when no controller runs."""
        began_s, now_ms = time.monotonic(), self.broker.now_ms()
        failed = self._declare()
        names, sight, self.nudged = self.broker.names(), self._sight(), False
        found: dict[str, list[Finding]] = {}
        failed += [name for name in names if not self.stop.asked and not self._passed(name, now_ms, sight, found)]
        self.broker.note_findings(found, now_ms)
        facts: dict[str, str | int] = {"at_ms": now_ms, "took_ms": int((time.monotonic() - began_s) * 1000)}
        facts |= {"host": f"{socket.gethostname()}/{os.getpid()}", "queues": len(names), "failed": ",".join(failed), "version": __version__}
        self.broker.note_pass(facts)
        return not failed

    def _sight(self) -> Sight | None:
        """What the cluster shows; None where it cannot be asked, and leases have to do."""
        try:
            seen = self.cluster.snapshot() if self.cluster else None
        except ClusterError as error:
            tell_once(str(error))
            return None
        if self.cluster is None or seen is None:
            return None
        self._ever |= dict.fromkeys(seen.pods)
        for uid in list(self._ever)[: max(0, len(self._ever) - PODS_KEPT)]:
            del self._ever[uid]
        self._silence.forget(seen)
        return Sight(self.cluster, seen, self._ever, self._silence, self.settings.stuck_s)

    def _declare(self) -> list[str]:
        """Make the queues of the file true, each by itself; what could not be."""
        try:
            wanted = declare.read(self.settings.queues_file) if self.settings.queues_file else []
        except ConfigError as error:
            logs.event("queues file left out", "error", error=str(error))
            return [self.settings.queues_file]
        known = self.broker.names() if wanted else []
        return [one.name for one in wanted if not self._declared(one, known)]

    def _declared(self, one: Declaration, known: Collection[str]) -> bool:
        try:
            if declare.make_true(self.broker, one, known):
                logs.event("declared", queue=one.name)
            return True
        except RunnerError as error:  # also where keys are broken or Redis is full: it is the passes that make room
            logs.event("not declared", "error", queue=one.name, error=str(error))
            return False

    def _passed(self, name: str, now_ms: int, sight: Sight | None, found: dict[str, list[Finding]]) -> bool:
        try:
            queue = self.broker.open(name)
        except FAILURES:
            raise
        except Exception as error:  # noqa: BLE001  (a declaration that cannot be read stops no other queue; it is told, and the exit code is 1)
            logs.event("queue left out", "error", queue=name, error=str(error))
            return False
        pods = ClusterPass(sight, self.broker, queue) if sight else None
        good = QueuePass(self.broker, queue, now_ms, lambda: self.stop.asked, pods).run()
        self.nudged |= bool(pods and pods.did["nudged"])
        found |= {name: pods.found} if pods else {}
        return good


def main(cluster: Cluster | None = None) -> int:
    """Run the controller; the exit code."""
    try:
        settings = load(ControllerSettings)
        logs.least(settings.log_level)
        return 0 if _controlled(settings, cluster) else 1
    except ConfigError as error:
        logs.event("refused to start", "error", error=str(error))
        return 2
    except UnavailableError as error:
        logs.event("Redis failed", "error", error=str(error))
        return UNAVAILABLE
    except RunnerError as error:
        logs.event("failed", "error", error=str(error))
        return 1


def _controlled(settings: ControllerSettings, cluster: Cluster | None) -> bool:
    stop = Stop()
    stop.listen()
    try:
        client = connect(settings.redis_url, retry_s=settings.connect_s, client_name="runner-controller")
        for said in hazards(client):
            logs.event("tasks can be lost", "warning", why=said)
        door = cluster or (opened(settings.release) if inside() else None)
        return Controller(Broker(client, settings.prefix), settings, stop, door).run()
    except TOLD as error:
        raise explain(error, settings.redis_url) from error
