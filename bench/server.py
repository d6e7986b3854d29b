"""The one server of a run: `redis-server` from PATH, else the embedded one, on loopback TCP as a pod would reach it. Called by __main__."""

from __future__ import annotations

import shutil
import socket
from dataclasses import dataclass
from typing import Any

import redis

from runner.embedded import VOLATILE, EmbeddedServer


@dataclass(frozen=True, slots=True)
class Stand:
    """Where the measurements take place: a private server that may be emptied at any time."""

    url: str
    client: Any
    says: str

    def cpu_s(self) -> float:
        """CPU that the server has used so far."""
        used = self.client.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"])

    def empty(self) -> None:
        """Take all data away, at once: what is freed in the background would slow the next step down."""
        self.client.flushall(asynchronous=False)


def started() -> EmbeddedServer:
    """The server, not yet started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    return EmbeddedServer(shutil.which("redis-server") or "", VOLATILE, port, apart=True)


def stand(server: EmbeddedServer) -> Stand:
    """The stand on a started server."""
    client = redis.Redis.from_url(server.url)
    facts = client.info("server")
    which = "redis-server from PATH" if shutil.which("redis-server") else "the embedded server"
    version = f"Valkey {facts['valkey_version']}" if "valkey_version" in facts else f"Redis {facts['redis_version']}"
    return Stand(server.url, client, f"{version}, {which}, loopback TCP, nothing written to disk")
