"""Moves a task into another queue by steps that each can be repeated, so that a kill between any two loses and doubles nothing.

The two queues may lie on two servers, so there is no one step. Called by settle, for a task that ran out of memory, and by reaper, for
one whose pod was killed and for a move that somebody left half done.
"""

from __future__ import annotations

import json

from runner import logs
from runner.broker import Broker, Queue, Settled
from runner.broker.moving import Leaving
from runner.errors import NewerLayoutError, UndeclaredQueueError
from runner.outcome import Verdict
from runner.tasks import Claim

HERE, BACK = "here", "back"


def move_or_retry(queue: Queue, claim: Claim, verdict: Verdict, attempt: bytes, now_ms: int) -> str:
    """What a verdict to move wants done; where the other queue cannot have the task, it runs again here. A word as of `retry`."""
    word = move(queue, claim, queue.declaration.oom_to, attempt, now_ms)
    if word not in (HERE, BACK):
        return word
    counter, line = ("", b"") if word == BACK else (verdict.counter, attempt)
    return queue.retry([Settled(claim.id, claim.token, counter, line, verdict.delay_ms)])[0]


def destination(queue: Queue, name: str) -> Queue | None:
    """The other queue, None (told) if it cannot take anything in."""
    try:
        return Broker(queue.client, queue.prefix).open(name)
    except (UndeclaredQueueError, NewerLayoutError) as error:
        logs.event("cannot move", "error", queue=queue.name, to=name, error=str(error))
        return None


def move(queue: Queue, claim: Claim, to: str, attempt: bytes, now_ms: int) -> str:
    """Move a claimed task, or go on with a move that was taken over: `ok`, `again`, `cancelled` or `lost`, and the task is settled;
    `here` when the other queue cannot have it and nothing was counted; `back` when that was found too late: it is claimed here again, and
    counted.
    """
    other = destination(queue, claim.moving_to or to)
    if other is None and not claim.moving_to:
        return HERE
    leaving = queue.move_out(claim.id, claim.token, to, attempt)
    if isinstance(leaving, str):
        return HERE if leaving == "bodiless" else leaving
    if other is not None and other.move_in(leaving, _with_line(queue, leaving, now_ms)) != "taken":
        return queue.move_done(claim.id, claim.token, leaving.to)
    if other is not None:
        logs.event("cannot move", "error", queue=queue.name, to=leaving.to, task_id=claim.id, error="its id or key is another task's there")
    word = queue.move_back(claim.id, claim.token)
    return BACK if word == "ok" else word


def _with_line(queue: Queue, leaving: Leaving, now_ms: int) -> bytes:
    """The attempts with a last line that tells of the move; the script knows by it whether this move came before."""
    said = {"kind": "moved", "by": leaving.move, "detail": f"from queue {queue.name}", "at_ms": now_ms}
    line = json.dumps(said, separators=(",", ":")).encode()
    return leaving.attempts + b"\n" + line if leaving.attempts else line
