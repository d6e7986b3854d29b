"""The command that shows one task: inspect. Called by cli."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from runner.cli.common import AnyQueue, Json, TaskId, examples, opened_producer
from runner.cli.output import harmless, say_json, say_table
from runner.errors import TaskUnknownError, UnreadableError

if TYPE_CHECKING:
    from runner.broker import Facts

PREVIEW = 2000
IN_THE_TIMELINE = ("first_ms", "due_ms", "started_ms", "ended_ms", "lease_until_ms", "expires_ms", "holder", "progress", "reason", "detail")


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=examples("runner inspect 206", "runner inspect 206 --json | jq .attempts"))(inspect)


def inspect(task_id: TaskId, queue: AnyQueue = "", as_json: Json = False) -> None:
    """Show all that is known of a task: state, payload, result, and what happened to it when."""
    from runner.attempt import read_attempts
    from runner.cli.timeline import spans, timeline

    with opened_producer() as producer:
        found = producer.find(task_id, queue=queue or None)
    if not found:
        raise TaskUnknownError(f"no queue knows task {task_id!r}")
    name, facts = found
    attempts = read_attempts(facts.attempts)
    known = _known(task_id, name, facts, attempts)
    events = timeline(task_id, facts, attempts)
    if as_json:
        return say_json(known | {"attempts": attempts, "timeline": [asdict(one) for one in events]})
    _tell({word: value for word, value in known.items() if word not in IN_THE_TIMELINE})
    print()
    say_table(("when", "after", "what"), spans(events))
    return _tell_tail(attempts)


def _known(task_id: str, queue: str, facts: Facts, attempts: list[dict[str, Any]]) -> dict[str, Any]:
    said = {word: value for word, value in asdict(facts).items() if value not in (None, b"", "", "-")}
    said.pop("attempts", None)
    result = said.pop("result", None)
    task_type = _type(task_id, facts, attempts)
    known = {"id": task_id, **({"type": task_type} if task_type else {}), "queue": queue} | said
    return known | ({"result": json.loads(result)} if result and facts.state == "done" else {})


def _type(task_id: str, facts: Facts, attempts: list[dict[str, Any]]) -> str:
    """As its attempts noted it, else from its body; a bare push that leaves it to the queue's declaration names none."""
    from runner import wire

    noted = [str(one["type"]) for one in attempts if "type" in one]
    if noted or not facts.body:
        return noted[-1] if noted else ""
    try:
        return wire.read(facts.body, "", task_id).type
    except UnreadableError:
        return ""


def _tell(known: dict[str, Any]) -> None:
    body = known.pop("body", None)
    counts = known.pop("counters")
    known["counters"] = ", ".join(f"{n} {name}" for name, n in counts.items() if n) or "-"
    if "result" in known:
        known["result"] = json.dumps(known["result"], ensure_ascii=False)
    if body is not None:
        known["body"] = f"{body[:PREVIEW].decode('utf-8', 'backslashreplace')}{' ...' if len(body) > PREVIEW else ''} ({len(body)} bytes)"
    say_table(("fact", "value"), list(known.items()))


def _tell_tail(attempts: list[dict[str, Any]]) -> None:
    """What the last attempt wrote, if it failed; runner logs has more while there is the pod."""
    for one in attempts[-1:]:
        if one.get("tail"):
            print(f"\nLast output of attempt {one.get('attempt', '?')}:\n{harmless(str(one['tail']))}")
