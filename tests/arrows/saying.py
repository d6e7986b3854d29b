"""Answers as the tables write them: short, without what differs from run to run. Called by the tests of this folder."""

from __future__ import annotations

from runner.broker import Empty, Queue
from runner.tasks import Claim, Receipt

SHOWN = ("state", "counters", "life", "priority", "key", "wish", "holder", "progress", "reason", "detail", "result", "body", "attempts")

TIMES = ("first_ms", "due_ms", "expires_ms", "lease_until_ms", "started_ms", "ended_ms")


def received(receipt: Receipt) -> str:
    """A receipt in a line."""
    after = f", after {receipt.after}" if receipt.after else ""
    return f"{receipt.id} {receipt.state}{'' if receipt.created else ', there already'}{after}"


def told(found: Claim | Empty) -> str:
    """A claim in a line."""
    if isinstance(found, Empty):
        return "empty"
    return f"{found.id} {found.priority} {found.body!r}{' to adopt' if found.fresh else ''}{' to cancel' if found.cancelled else ''}"


def reaped(queue: Queue, limit: int = 200, stem: str = "stem") -> list[str]:
    """Each row that the script answers: priority, first submit, counters, wish, start, holder, token, id."""
    return rows_of(queue.run("reap", stem, limit, 15_000))


def rows_of(reply: list[bytes]) -> list[str]:
    """Each row of a script that takes claims over."""
    return [_reaped_row(str(row, "utf-8")) for row in reply[1:]]


def _reaped_row(row: str) -> str:
    size, lines = row.split(" ", 1)
    started, holder, _, name = lines[: int(size)].split(" ", 3)
    _, priority, _, first, counters, _, wish, token, _ = lines[int(size) :].split(" ", 8)
    return f"{priority} {first} {counters} {wish} {started} {holder} {token} {name}"


def looked(queue: Queue, name: str = "a") -> dict[str, object]:
    """What is known of an id, without times."""
    facts = queue.look(name)
    shown = {word: getattr(facts, word) for word in SHOWN} if facts else {}
    shown = {word: str(value, "utf-8") if isinstance(value, bytes) else value for word, value in shown.items()}
    shown["times"] = [word for word in TIMES if getattr(facts, word, None)]
    return {word: value if isinstance(value, (str, list, int)) else str(value) for word, value in shown.items() if value}


def measured(queue: Queue) -> dict[str, object]:
    """Lengths and totals."""
    found = queue.measure()
    return {"waiting": found.waiting, "delayed": found.delayed, "claimed": found.claimed, "dead": found.dead, "watched": found.watched} | {
        "counts": {word: n for word, n in found.counts.items() if n},
        "by reason": found.dead_by_reason,
        "times": [found.oldest_waiting_ms > 0, found.next_due_ms > 0],
    }
