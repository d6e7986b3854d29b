"""Commands that become a role: work, control. Called by cli; their settings are environment variables, as in a pod."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from runner.cli.common import examples
from runner.cli.completion import queue_names


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("runner work --queue emails --handlers shop.tasks", "RUNNER_QUEUE=emails runner work"))(work)
    app.command(epilog=examples("runner control", "runner control --for-s 50 --every-s 5"))(control)


def _set(**given: object) -> None:
    os.environ.update({f"RUNNER_{name.upper()}": str(value) for name, value in given.items() if value not in (None, "")})


def work(
    queue: Annotated[str, typer.Option("--queue", "-q", help="RUNNER_QUEUE.", autocompletion=queue_names)] = "",
    handlers: Annotated[str, typer.Option(help="RUNNER_HANDLERS: modules with handlers, joined by commas.")] = "",
    program: Annotated[str, typer.Option("--exec", help="RUNNER_EXEC: a program that handles the tasks.")] = "",
) -> None:
    """Take one task, run it, exit: what a pod does. All settings are in docs/settings.md."""
    from runner.worker import leave, main

    _set(queue=queue, handlers=handlers, exec=program)
    leave(main())


def control(
    for_s: Annotated[float | None, typer.Option(help="RUNNER_CONTROL_FOR_S: make passes for so long; 0 is one pass.")] = None,
    every_s: Annotated[float | None, typer.Option(help="RUNNER_CONTROL_EVERY_S: from pass to pass.")] = None,
) -> int:
    """Make the controller's passes: promote, reap, replay, expire, trim."""
    from runner.controller import main

    _set(control_for_s=for_s, control_every_s=every_s)
    return main()
