"""The processes around the demo's tasks: server, controller, local scaler; all of them end when the stage is left. Called by the story."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.broker import Broker, Queue
from runner.connect import connect
from runner.embedded import EmbeddedServer
from runner.local_controller import LocalController
from runner.producer import Producer
from runner.queue import Declaration
from runner.scaler import Scaler

ROOT = Path(__file__).resolve().parents[1]
PASS_EVERY_S = 0.5
POLL_S = 0.5


def declaration(mode: str) -> Declaration:
    """The demo's queue: as any other, only that everything that waits does so for seconds, not for minutes."""
    return Declaration(
        "photos",
        mode=mode,
        lease_s=3,
        timeout_s=60,
        max_crashes=2,
        backoff_s=0.3,
        replay_after_s=4,
        replay_max=1,
    )


@dataclass(frozen=True)
class Stage:
    """What the story works with. `queue` is for the story's own thread; the scaler has another client."""

    broker: Broker
    queue: Queue
    producer: Producer
    scaler: Scaler
    controller: LocalController
    server: str


@contextmanager
def stage(mode: str, workers: int, within_s: float, logs: Path) -> Iterator[Stage]:
    """Set it up on an embedded server of its own, with logs of all processes in one folder."""
    logs.mkdir(parents=True, exist_ok=True)
    for old in (*logs.glob("worker-*"), *logs.glob("controller.log")):
        old.unlink()
    with EmbeddedServer(apart=True) as server, Producer(server.url) as producer:
        broker = Broker(connect(server.url))
        queue = broker.declare(declaration(mode))
        environ = _environ(server.url)
        scaled = Broker(connect(server.url)).open(queue.name)
        name = str(broker.client.info("server").get("server_name", "redis"))
        scaling = Scaler(scaled, environ, logs, max_replicas=workers, poll_s=POLL_S)
        making = LocalController(environ, logs / "controller.log", for_s=within_s + 60, every_s=PASS_EVERY_S)
        with making as controller, scaling as scaler:
            yield Stage(broker, queue, producer, scaler, controller, name)


def _environ(url: str) -> dict[str, str]:
    """The caller's, without what it may hold for workers of its own."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")}
    path = os.pathsep.join([str(ROOT), *filter(None, [plain.get("PYTHONPATH")])])
    return plain | {"PYTHONPATH": path, "RUNNER_REDIS_URL": url, "RUNNER_HANDLERS": "demo.handlers"}
