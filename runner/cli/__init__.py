"""The command line, for people and scripts: `runner`. Called by the entry point of the package; the commands sit in its modules."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import cast

import typer

from runner.cli import bench, bundle, check, dead, dev, doctor, history, inspect, kube, pods, queues, roles, status, tasks
from runner.errors import ConfigError, QueueFullError, RefusedError, RunnerError

__all__ = ["main", "run"]

EPILOG = (
    "Exit codes: 0 it worked; 1 it did not work (Redis is away, a queue is full, a waited-for task is dead, ...); "
    "2 something given is wrong (an option, a setting, a payload), and nothing was done. "
    "`runner check` has those of Nagios. Errors are one line on stderr."
)
# Typer brings its own click since 0.20; what its errors derive from is the same in both.
UsageFault: type[Exception] = cast(type[Exception], typer.BadParameter.__mro__[2])

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a disk says that takes no more of the output."""

app = typer.Typer(
    name="runner",
    help="A task queue on Redis in which one pod takes one task and exits.",
    epilog=EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
tasks.add_to(app)
inspect.add_to(app)
queues.add_to(app)
status.add_to(app)
bench.add_to(app)
pods.add_to(app)
doctor.add_to(app)
check.add_to(app)
bundle.add_to(app)
dead.add_to(app)
history.add_to(app)
roles.add_to(app)
dev.add_to(app)
kube.add_to(app)


@app.callback()
def _common(
    redis_url: str = typer.Option("", help="Where Redis is; RUNNER_REDIS_URL where it is not given."),
    prefix: str = typer.Option("", help="Put before every queue's name; RUNNER_PREFIX where it is not given."),
) -> None:
    # Through the environment, so that one place reads, checks and words them.
    given = {"RUNNER_REDIS_URL": redis_url, "RUNNER_PREFIX": prefix}
    os.environ.update({name: value for name, value in given.items() if value})


def run(args: list[str]) -> int:
    """One command; its exit code. Every error that a user can cause is one line on stderr."""
    try:
        answer = app(args, prog_name="runner", standalone_mode=False)
        return answer if isinstance(answer, int) else 0
    except UsageFault as fault:
        said = fault.format_message().rstrip(".")  # type: ignore[attr-defined]
        where = getattr(getattr(fault, "ctx", None), "command_path", "runner")
        return _failed(f"{said} (see `{where} --help`)", check.UNKNOWN if where == "runner check" else getattr(fault, "exit_code", 2))
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except SystemExit:  # click's answer to a closed pipe: the reader has what it wanted, as in `main`
        return 0
    except RunnerError as error:
        wrong = isinstance(error, (ConfigError, RefusedError)) and not isinstance(error, QueueFullError)
        return _failed(" ".join((str(error), *getattr(error, "__notes__", ()))), 2 if wrong else 1)


def _failed(said: str, code: int) -> int:
    print("runner:", " ".join(said.split()), file=sys.stderr)
    return code


def main() -> None:
    """The entry point."""
    _open_streams()
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `runner dead ls | head`: the reader has what it wanted
        code = 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        code = _failed(f"the output cannot be written: {error.strerror}", 1)
    else:
        sys.exit(code)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is not written yet would fail once more
    sys.exit(code)


def _open_streams() -> None:
    """Where a daemon closed them, Python has None in their place, and a connection would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  (for as long as the process lives)
