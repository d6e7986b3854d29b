"""Many tasks brought into a state, and real controller processes. Called by the tests beside this file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import redis

from runner.broker import Broker, Facts, Queue, Settled
from runner.broker.reads import facts_of
from runner.queue import Declaration
from runner.tasks import Submission
from tests.waiting import until

ROOT = Path(__file__).parents[2]


def declared(url: str, mode: str, name: str = "emails", prefix: str = "", **more: Any) -> tuple[Broker, Queue]:
    """A declared queue and its broker."""
    broker = Broker(redis.Redis.from_url(url), prefix)
    return broker, broker.declare(Declaration(name, mode=mode, **more))


def submit(queue: Queue, number: int, body: bytes = b"{}", **more: Any) -> list[str]:
    """Submit tasks t0, t1, ...; their ids."""
    made = [Submission(id=f"t{i}", body=body, priority="normal", **more) for i in range(number)]
    for at in range(0, number, 100):
        queue.submit(made[at : at + 100])
    return [one.id for one in made]


def claim(queue: Queue, number: int, pod: str = "pod") -> list[tuple[str, str]]:
    """Claim that many, each by a pod of its own: id and token of each."""
    wanted = [(f"token-{pod}-{i}", f"{pod}-{i}", f"bare-{pod}-{i}") for i in range(number)]
    claims: list[tuple[str, str]] = []
    for at in range(0, number, 200):
        chunk = wanted[at : at + 200]
        replies = queue.run_all([("claim", args) for args in chunk])
        claims += [(reply[2].decode(), token) for reply, (token, _, _) in zip(replies, chunk, strict=True) if reply[0]]
    return claims


def look(queue: Queue, ids: list[str]) -> list[Facts]:
    """What is known of each id."""
    return [
        facts_of(reply) for at in range(0, len(ids), 200) for reply in queue.run_all([("look", (name,)) for name in ids[at : at + 200]])
    ]


def expire_claims(queue: Queue) -> None:
    """Let all held claims expire now, with their holders just heard of."""
    claims = queue.keys.part("claims")
    held = queue.client.zrangebyscore(claims, 1, "+inf")
    if held:
        queue.client.zadd(claims, dict.fromkeys(held, 1), xx=True)


def bury(queue: Queue, number: int, reason: str = "crash", body: bytes = b"{}") -> list[str]:
    """Submit, claim and bury that many; their ids."""
    ids = submit(queue, number, body)
    claims = claim(queue, number, reason)
    queue.bury([Settled(name, token, "crashes", b'{"attempt":1}', reason=reason, detail="seen by a test") for name, token in claims])
    return ids


def waiting_ids(queue: Queue) -> list[str]:
    """The ids in the watched keys, each as often as it is there."""
    ids: list[str] = []
    for key in map(queue.keys.watched, queue.declaration.priorities):
        if queue.declaration.mode == "stream":
            ids += [fields[b"id"].decode() for _, fields in queue.client.xrange(key)]
        else:
            ids += [ref.decode().removeprefix("ref:") for ref in queue.client.lrange(key, 0, -1)]
    return ids


class Process:
    """One real controller process and its log."""

    def __init__(self, folder: Path, name: str, url: str, **settings: str) -> None:
        self.log_path = folder / f"{name}.log"
        environ = {k: v for k, v in os.environ.items() if not k.startswith("RUNNER_")}
        with self.log_path.open("wb") as log:
            command = [sys.executable, "-m", "runner.controller"]
            self.process = subprocess.Popen(command, env=environ | {"RUNNER_REDIS_URL": url} | settings, stderr=log, cwd=ROOT)

    def ended(self, within_s: float = 20) -> int:
        """Its exit code, once it has one."""
        until(lambda: self.process.poll() is not None, within_s)
        return int(self.process.returncode)

    def signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.signal(signal.SIGKILL)
        self.process.wait(20)

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """What it logged, or the events of one name."""
        lines = [json.loads(line) for line in self.log_path.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in lines if not name or line["event"] == name]
