"""Commands that change one task: submit, cancel, rerun. Called by cli."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from runner.cli.common import AnyQueue, Json, QueueName, TaskId, examples, opened_producer
from runner.cli.completion import task_types
from runner.cli.output import say_json
from runner.errors import RefusedError, RunnerError, TaskUnknownError


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples(*SUBMIT))(submit)
    app.command(epilog=examples("runner cancel 206", "runner cancel 206 --queue emails"))(cancel)
    app.command(epilog=examples("runner rerun 206"))(rerun)


SUBMIT = (
    "runner submit runner.echo '{\"n\": 1}' --queue emails --wait 30",
    "runner submit image.resize - --queue images --priority high < payload.json",
    "runner submit report --queue reports --delay-s 3600 --key report-2026-11",
)


def submit(
    type: Annotated[str, typer.Argument(help="The type, which names the handler.", autocompletion=task_types)],
    payload: Annotated[str, typer.Argument(help="JSON, or - to read it from stdin; none is null.")] = "",
    *,
    queue: QueueName,
    priority: Annotated[str, typer.Option(help="One of the queue's priorities.")] = "",
    delay_s: Annotated[float, typer.Option(help="Start it no sooner than in so many seconds.")] = 0,
    expires_s: Annotated[float | None, typer.Option(help="Bury it as expired when it was not started by then.")] = None,
    timeout_s: Annotated[float | None, typer.Option(help="How long one attempt may run.")] = None,
    max_retries: Annotated[int | None, typer.Option(help="Runs after a first one that raised.")] = None,
    task_id: Annotated[str | None, typer.Option(help="Its id; a new one is made without it.")] = None,
    key: Annotated[str | None, typer.Option(help="A business key: at most one task of it at a time.")] = None,
    version: Annotated[int | None, typer.Option(help="The version of the type.")] = None,
    wait: Annotated[float | None, typer.Option(min=0, help="Wait so many seconds for the result, and print it.")] = None,
    as_json: Json = False,
) -> None:
    """Submit a task, and print its id and state."""
    limits: dict[str, Any] = {"expires_s": expires_s, "timeout_s": timeout_s, "max_retries": max_retries, "version": version}
    value = _payload(payload)
    with opened_producer() as producer:
        receipt = producer.submit(type, value, queue=queue, priority=priority or None, delay_s=delay_s, task_id=task_id, key=key, **limits)
        said: dict[str, Any] = asdict(receipt)
        if wait is not None:
            said["result"] = producer.wait(receipt.id, wait, queue=queue)
    if as_json:
        say_json(said)
    elif wait is not None:
        print(json.dumps(said["result"], ensure_ascii=False))
    else:
        print(receipt.id, receipt.state, *([] if receipt.created else ["(was there already)"]))


def _payload(text: str) -> Any:
    try:
        if text == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig")
            if not text.strip():  # what should have written it failed; a task without payload is not what was meant
                raise RefusedError("stdin holds no payload: send null where none is meant")
        return json.loads(text) if text.strip() else None
    except UnicodeDecodeError as error:
        raise RefusedError(f"the payload is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}") from error
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the payload is not valid JSON ({error}); a text needs its own quotes: '\"text\"'") from error


def cancel(task_id: TaskId, queue: AnyQueue = "", as_json: Json = False) -> int:
    """Cancel a task: one that waits never starts, one that runs is ended by its worker within a heartbeat."""
    with opened_producer() as producer:
        word = producer.cancel(task_id, queue=queue or None)
    if as_json:
        say_json({"id": task_id, "answer": word})
        return 0 if word in CANCELLED else 1
    if word not in CANCELLED:
        raise _not_cancelled(task_id, word)
    print(task_id, word + CANCELLED[word])
    return 0


CANCELLED = {"cancelled": "", "cancelling": ": it runs, and its worker ends it within a heartbeat"}


def _not_cancelled(task_id: str, word: str) -> RunnerError:
    if word == "unknown":
        return TaskUnknownError(f"no queue knows task {task_id!r}: nothing was cancelled")
    why = {
        "done": "it is done",
        "dead": f"it is dead and will not run again by itself; `runner dead purge {task_id}` drops its dead letter",
        "moving": "it is on its way into another queue for a moment: ask again",
    }
    return RunnerError(f"task {task_id!r} cannot be cancelled: {why.get(word, f'it is {word}')}")


def rerun(task_id: TaskId, queue: AnyQueue = "", as_json: Json = False) -> None:
    """Run a dead task, or a done one of `runner history`, again under a new id; nothing of the old one changes.

    `runner dead replay` runs a dead one under its own id.
    """
    with opened_producer() as producer:
        receipt = producer.rerun(task_id, queue=queue or None)
    say_json(asdict(receipt)) if as_json else print(receipt.id, receipt.state)
