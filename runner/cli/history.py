"""The command about done tasks whose bodies are kept: history. Called by cli."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import AnyQueue, Json, age, chosen, examples, opened_broker
from runner.cli.letters import type_of
from runner.cli.output import say_json, say_table

if TYPE_CHECKING:
    from runner.broker import Queue


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=examples("runner history", "runner history --queue emails --max 5 --json", "runner rerun 206"))(history)


def history(
    queue: AnyQueue = "",
    most: Annotated[int, typer.Option("--max", min=1, help="Show at most so many.")] = 50,
    as_json: Json = False,
) -> None:
    """List done tasks that `runner rerun` can run again, the newest first; a queue keeps them if it is declared with history_bytes."""
    with opened_broker() as broker:
        asked = chosen(broker, queue)
        found = sorted((row for one in asked for row in _rows(one, most)), key=lambda row: -row["ended_ms"])[:most]
    if as_json:
        return say_json(found)
    if not found and not any(one.declaration.history_bytes for one in asked):
        print("no queue keeps done tasks: runner queue declare NAME --history-bytes 100000000")
        return None
    columns = ("queue", "id", "type", "bytes", "done")
    return say_table(columns, [[*(row[name] for name in columns[:4]), f"{age(row['ended_ms'])} ago"] for row in found])


def _rows(queue: Queue, most: int) -> Iterator[dict[str, Any]]:
    for one in islice(queue.history(), most):
        facts = {"queue": queue.name, "id": one.id, "type": type_of(queue, one), "bytes": len(one.body)}
        yield facts | {"priority": one.priority, "ended_ms": one.ended_ms}
