"""Short ways to bring a queue into a state. Called by tests/arrows and tests/core."""

from __future__ import annotations

from typing import Any

from runner.broker import Queue, Settled
from runner.task import Claim, Receipt, Submission
from tests.waiting import until

LINE = b'{"attempt":1}'


def submit(queue: Queue, name: str, body: bytes = b"{}", **more: Any) -> Receipt:
    """Submit one task."""
    return queue.submit([Submission(**{"id": name, "body": body, "priority": "normal", **more})])[0]


def claim(queue: Queue, token: str = "t1", holder: str = "pod-1") -> Claim:
    """Claim what is next; there must be something."""
    found = queue.claim(token, holder)
    assert isinstance(found, Claim), found
    return found


def held(queue: Queue, name: str = "a", token: str = "t1", **more: Any) -> Claim:
    """Submit one task and claim it."""
    submit(queue, name, **more)
    found = claim(queue, token)
    assert found.id == name
    return found


def bury(queue: Queue, name: str, token: str, reason: str = "fatal", counter: str = "", attempt: bytes = b"") -> str:
    """Bury one held task."""
    return queue.bury([Settled(name, token, counter, attempt, reason=reason, detail="no use")])[0]


def retry(queue: Queue, name: str, token: str, delay_ms: int = 60_000, counter: str = "errors", attempt: bytes = LINE) -> str:
    """Let one held task run again."""
    return queue.retry([Settled(name, token, counter, attempt, delay_ms)])[0]


def dead(queue: Queue, name: str = "a", token: str = "t1", reason: str = "fatal", **more: Any) -> str:
    """Submit, claim and bury one task; its entry among the dead letters."""
    held(queue, name, token, **more)
    assert bury(queue, name, token, reason) == "ok"
    entry = queue.look(name)
    assert entry is not None
    return str(entry.entry)


def push(queue: Queue, body: bytes, priority: str = "normal") -> None:
    """Push a body as somebody does who knows only the queue's key."""
    if queue.declaration.mode == "stream":
        queue.client.xadd(queue.keys.watched(priority), {"body": body})
    else:
        queue.client.lpush(queue.keys.watched(priority), body)


def end_lease(queue: Queue, *names: str) -> None:
    """Let claims expire now, with a pulse just heard."""
    for name in names:
        queue.client.zadd(queue.keys.part("claims"), {name: 1}, xx=True)


def due(queue: Queue, *names: str) -> None:
    """Let delayed tasks be due now."""
    for name in names:
        queue.client.zadd(queue.keys.part("delayed"), {name: 1}, xx=True)


def later(queue: Queue, after_ms: int) -> int:
    """Wait until Redis's clock is past a moment; the time then."""
    return until(lambda: (now := queue.measure().now_ms) > after_ms and now, within_s=10)
