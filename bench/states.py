"""Queues full of tasks in a state that a pass works on, built once and copied back before each round. Called by controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.server import Stand
from bench.submit import PAYLOAD, TYPE
from runner.broker import Broker, Queue, Settled
from runner.keys import marks_key
from runner.producer import NewTask, Producer
from runner.queue import Declaration

PREFIX = "bench"
CHUNK = 200
ALL = 10**9
LONG_AGO = 1e-9
"""A time in ms since the epoch, multiplied by this, is past, and not 0."""
LINE = b'{"attempt":1,"kind":"crash","detail":"the claim of pod-1/node-1 expired: its pod, its node or Redis went away"}'


@dataclass(frozen=True, slots=True)
class Kept:
    """One queue in its state, kept under other names as a server-side copy."""

    stand: Stand
    broker: Broker
    queue: Queue
    names: tuple[str, ...]

    def restore(self) -> None:
        """Bring the state back."""
        client = self.stand.client
        client.delete(*self.queue.keys.all, marks_key(PREFIX))
        for name in self.names:
            client.execute_command("COPY", f"kept:{name}", name)


def kept(stand: Stand, mode: str, number: int, build: Callable[[Stand, Queue], object]) -> Kept:
    """Declare a queue, build its state, keep a copy."""
    broker = Broker(stand.client, PREFIX)
    declared = Declaration(f"{mode}-{number}", mode=mode, replay_after_s=0, replay_per_pass=number, dead_max=ALL, lease_s=600)
    queue = broker.declare(declared)
    build(stand, queue)
    names = tuple(name for name in queue.keys.all if stand.client.exists(name))
    for name in names:
        stand.client.execute_command("COPY", name, f"kept:{name}")
    return Kept(stand, broker, queue, names)


def delayed(number: int, expires_s: float | None = None, delay_s: float = 3600) -> Callable[[Stand, Queue], None]:
    """Tasks that are due."""

    def build(stand: Stand, queue: Queue) -> None:
        task = NewTask(TYPE, PAYLOAD, delay_s=delay_s, expires_s=expires_s)
        with Producer(stand.url, queue.prefix) as producer:
            producer.submit_many((task for _ in range(number)), queue=queue.name)
        _let_pass(queue, "delayed" if delay_s else "expiries")

    return build


def expired(number: int) -> Callable[[Stand, Queue], None]:
    """Waiting tasks that were not started in time."""
    return delayed(number, expires_s=3600, delay_s=0)


def claimed(number: int) -> Callable[[Stand, Queue], list[tuple[str, str]]]:
    """Held tasks, each by a pod of its own."""

    def build(stand: Stand, queue: Queue) -> list[tuple[str, str]]:
        with Producer(stand.url, queue.prefix) as producer:
            producer.submit_many(((TYPE, PAYLOAD) for _ in range(number)), queue=queue.name)
        held: list[tuple[str, str]] = []
        for at in range(0, number, CHUNK):
            calls = [("claim", (f"token-{at + i:024}", f"pod-{at + i}/node-1", f"bare-{at + i}")) for i in range(min(CHUNK, number - at))]
            held += [(reply[2].decode(), args[0]) for reply, (_, args) in zip(queue.run_all(calls), calls, strict=True)]
        return held

    return build


def lost(number: int) -> Callable[[Stand, Queue], None]:
    """Held tasks whose claims have expired, with their holders silent."""

    def build(stand: Stand, queue: Queue) -> None:
        claimed(number)(stand, queue)
        _let_pass(queue, "claims")

    return build


def dead(number: int) -> Callable[[Stand, Queue], None]:
    """Dead letters that crashed, and may be replayed."""

    def build(stand: Stand, queue: Queue) -> None:
        held = claimed(number)(stand, queue)
        queue.bury([Settled(task_id, token, "crashes", LINE, reason="crash", detail="killed by SIGKILL") for task_id, token in held])

    return build


def _let_pass(queue: Queue, part: str) -> None:
    key = queue.keys.part(part)
    queue.client.execute_command("ZUNIONSTORE", key, 1, key, "WEIGHTS", LONG_AGO)
