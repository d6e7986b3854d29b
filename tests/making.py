"""Short ways to bring a queue into a state. Called by tests/arrows and tests/core."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runner.broker import Broker, Queue, Settled
from runner.tasks import Claim, Receipt, Submission
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


def keeps(queue: Queue, history_bytes: int) -> None:
    """Declare again that bodies of done tasks are kept, up to so many bytes."""
    queue.use(Broker(queue.client, queue.prefix).declare(replace(queue.declaration, history_bytes=history_bytes)).declaration)


def done(queue: Queue, *names: str, body: bytes = b"body") -> None:
    """Submit, claim and complete tasks."""
    for name in names:
        held(queue, name, token := "token-of-" + name.replace(" ", "-"), body=body)
        assert queue.complete(name, token, b"", b"") == "ok"


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


def overdue(queue: Queue, *names: str) -> None:
    """Let tasks have expired."""
    for name in names:
        queue.client.zadd(queue.keys.part("expiries"), {name: 1}, xx=True)


def rob(queue: Queue, name: str) -> None:
    """Take a task's body away, as another program might."""
    facts = queue.look(name)
    if facts is not None and facts.entry not in (None, "-"):
        queue.client.xdel(queue.keys.watched(str(facts.priority)), str(facts.entry))
    queue.client.hdel(queue.keys.part("bodies"), name)


def pushed(queue: Queue) -> Claim:
    """A bare push, claimed by `t1` and not adopted yet."""
    push(queue, b'{"task_id":206}')
    return claim(queue)


def adopt(queue: Queue, found: Claim, name: str, key: str = "", token: str = "t1") -> str:
    """The word of the script for a bare push."""
    return str(queue.run("adopt", found.id, token, name, key), "utf-8")


def retry_and_bury(queue: Queue, name: str = "a", **more: Any) -> str:
    """A dead letter with an attempt and a count; its entry."""
    held(queue, name, "t1", body=b"body", **more)
    retry(queue, name, "t1", 0)
    claim(queue, "t2")
    bury(queue, name, "t2", "crash", "crashes")
    return str(getattr(queue.look(name), "entry", ""))


def foreign(queue: Queue) -> None:
    """Another program reads what was not delivered yet, in our group; in list mode there is no such thing."""
    if queue.declaration.mode == "stream":
        queue.client.xreadgroup("runner", "foreign", {queue.keys.watched("normal"): ">"})


def one_of_each(queue: Queue) -> None:
    """A task in each state, and a bare push."""
    dead(queue, "dead", "t1")
    held(queue, "claimed", "t2")
    queue.complete(held(queue, "done", "t3").id, "t3", b"", b"")
    submit(queue, "delayed", delay_ms=60_000)
    submit(queue, "waiting", priority="high")
    push(queue, b"bare")


def forget_key(queue: Queue) -> None:
    """Let the markers of keys and ids be as old as they can be: gone."""
    queue.client.delete(*(queue.keys.part(f"done:{n}") for n in range(4)))
