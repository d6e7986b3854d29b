"""The command for one's own machine: dev. Called by cli."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from runner.cli.common import examples
from runner.errors import ConfigError


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(
        epilog=examples(
            "runner dev resize --queue images",
            "runner dev shop.tasks shop.mail --queue images --queue emails --workers 4",
            "runner dev --exec 'node resize.js' --queue images --mode list",
            "runner --redis-url redis://localhost:6379/0 dev resize",
        )
    )(dev)


def dev(
    handlers: Annotated[list[str] | None, typer.Argument(help="Modules with handlers, such as shop.tasks or resize.py.")] = None,
    queue: Annotated[
        list[str] | None, typer.Option("--queue", "-q", help="Work this queue, declared if it is not; without it, all that are declared.")
    ] = None,
    mode: Annotated[str, typer.Option(help="What a queue is declared as: stream or list.")] = "stream",
    workers: Annotated[int, typer.Option(min=1, help="How many tasks of each queue run at a time.")] = 2,
    program: Annotated[str, typer.Option("--exec", help="A program that handles the tasks, in place of modules.")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the embedded server listens; 16379 or another one.")] = 0,
    grace_s: Annotated[float, typer.Option(min=0, help="How long running tasks may take to end after Ctrl-C.")] = 5,
) -> int:
    """Run tasks on this machine while you write their handlers: workers, controller, and a Redis where none is named.

    A saved file is imported at once and its errors are shown; the next task runs the new code. With RUNNER_REDIS_URL or --redis-url
    your own Redis is used. On a terminal each event is a coloured line, elsewhere a line of JSON. Exit code 0 after Ctrl-C.
    """
    from rich.console import Console

    from runner.config import ProducerSettings, load
    from runner.dev.develop import develop
    from runner.dev.session import Plan

    settings = load(ProducerSettings)
    url = settings.redis_url if os.environ.get("RUNNER_REDIS_URL", "").strip() else ""
    modules = tuple(_module(name) for given in handlers or () for name in given.split(",") if name.strip())
    plan = Plan(modules, program, url, settings.prefix, tuple(dict.fromkeys(queue or ())), mode, workers, port, grace_s)
    return develop(plan, Console(highlight=False))


def _module(name: str) -> str:
    """`shop/tasks.py` is what a shell completes; its module is shop.tasks."""
    name = name.strip()
    if not name.endswith(".py"):
        return name
    path = os.path.relpath(name)
    if path.startswith(".."):
        raise ConfigError(f"{name} is not below this folder, so no module of it: change into its folder, and name it from there")
    return path.removesuffix(".py").replace("/", ".")
