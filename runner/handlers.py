"""Users' handlers: how they are registered, what they are given, what they may raise. Imported by users' modules and by the child only.

A handler is told of a stop (timeout, SIGTERM of the pod, cancel, lost claim) in one of two ways. One that has asked
`context.cancelled()` is left to finish by itself; in any other `Stopped` is raised where it stands, so that its
finally-blocks run. An async handler is cancelled at its next await. Whoever is still there after the grace is killed.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from runner.errors import HandlersError
from runner.signature import declared_type, named, takes_context

if TYPE_CHECKING:
    import logging
    from datetime import datetime

Function = TypeVar("Function", bound=Callable[..., Any])
MAX_NOTE = 200


class Retry(Exception):
    """Run this task again, after `after_s` seconds or after the queue's own backoff. Counted like an error."""

    def __init__(self, reason: str = "", *, after_s: float | None = None) -> None:
        super().__init__(reason)
        if after_s is not None and not (math.isfinite(after_s) and after_s >= 0):
            raise ValueError(f"Retry(after_s={after_s!r}): after_s is a number of seconds, 0 or more")
        self.after_s = after_s


class Fatal(Exception):
    """No further run can help: the task goes to the dead letters now."""


class Stopped(BaseException):
    """Raised in a handler that is to end; no `except Exception` holds it up."""


class Stop:
    """Whether this attempt is to end, and how its handler is told. `interrupt` is set only while the handler runs."""

    def __init__(self) -> None:
        self.asked = False
        self.watched = False
        self.interrupt: Callable[[], object] | None = None

    def on_term(self, _signal: int = 0, _frame: object = None) -> None:
        """The child's handler of SIGTERM; a second one changes nothing, so that finally-blocks are not cut short."""
        if self.asked:
            return
        self.asked = True
        if self.interrupt and not self.watched:
            self.interrupt()


def raise_stopped() -> None:
    """The way into a handler that is not async."""
    raise Stopped


class Context:
    """What a handler with a second parameter is given: the facts of this attempt and the way back to the supervisor."""

    def __init__(self, facts: dict[str, Any], stop: Stop, report: Callable[[float, str], None]) -> None:
        self.id: str = facts["id"]
        self.type: str = facts["type"]
        self.version: int | None = facts.get("version")
        self.queue: str = facts.get("queue", "")
        self.attempt: int = facts.get("attempt", 1)
        self._deadline_ms: int = facts["deadline_ms"]
        self._stop = stop
        self._report = report
        self._logger: logging.LoggerAdapter[logging.Logger] | None = None

    @property
    def deadline(self) -> datetime:
        """When the timeout strikes, in UTC, by this machine's clock."""
        from datetime import UTC, datetime

        return datetime.fromtimestamp(self._deadline_ms / 1000, UTC)

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger of the standard library that writes to stderr, each line with the task's id."""
        if self._logger is None:
            self._logger = _logger(self.id)
        return self._logger

    def progress(self, fraction: float, note: str = "") -> None:
        """Tell how far this attempt is, 0 to 1; the last word before each heartbeat is shown by `runner inspect`."""
        self._report(min(1.0, max(0.0, float(fraction))), str(note)[:MAX_NOTE])

    def cancelled(self) -> bool:
        """Whether to finish now. From the first call on, this handler is trusted to ask again and end within the grace."""
        self._stop.watched = True
        return self._stop.asked


def _logger(task_id: str) -> logging.LoggerAdapter[logging.Logger]:
    import logging

    logger = logging.getLogger("runner.task")
    if not logger.handlers:
        stream = logging.StreamHandler(sys.stderr)
        stream.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(task_id)s %(message)s"))
        logger.addHandler(stream)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logging.LoggerAdapter(logger, {"task_id": task_id})


class Handler:
    """One registered function; whether it takes a context, and what payload, is read off its signature once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.takes_context = takes_context(function)

    @cached_property
    def read(self) -> Callable[[Any], Any] | None:
        """Makes a payload what the function declares; None where it takes any. HandlersError for a type that no payload can be.

        Only when all modules are there: the type may be defined below the function.
        """
        try:
            if (declared := declared_type(self.function)) is None:
                return None
            from runner.convert import converter  # most handlers take any payload, and pay for none of this

            return converter(declared)
        except HandlersError as error:
            said = " ".join(str(error).split())
            raise HandlersError(f"handler {named(self.function)} in module {self.function.__module__!r}: {said}") from error

    def call(self, payload: Any, context: Context) -> Any:
        """What the function returns; a coroutine, if it is async. Mismatch for a payload that is not what it declares."""
        value = self.read(payload) if self.read else payload
        return self.function(value, context) if self.takes_context else self.function(value)


class Registry:
    """Handlers by type and version; the version None stands for all that have no handler of their own."""

    def __init__(self) -> None:
        self._handlers: dict[str, dict[int | None, Handler]] = {}

    def task(self, type: str, *, versions: Iterable[int] | None = None) -> Callable[[Function], Function]:
        """Register the decorated function for tasks of this type, of these versions or of any."""
        if not isinstance(type, str) or not type:
            raise HandlersError('a handler names its type: @runner.task("image.resize")')
        wanted: tuple[int | None, ...] = (None,) if versions is None else tuple(versions)
        if not wanted or (versions is not None and not all(isinstance(v, int) for v in wanted)):
            raise HandlersError(f"task {type!r}: versions are whole numbers, such as versions=(1, 2)")

        def register(function: Function) -> Function:
            self._add(type, wanted, Handler(function))
            return function

        return register

    def _add(self, type: str, versions: tuple[int | None, ...], handler: Handler) -> None:
        known = self._handlers.setdefault(type, {})
        for version in versions:
            if version in known:
                which = "" if version is None else f" version {version}"
                taken = getattr(known[version].function, "__module__", "?")
                raise HandlersError(f"task {type!r}{which} has two handlers, the first in module {taken!r}: keep one")
            known[version] = handler

    def find(self, type: str, version: int | None) -> Handler | None:
        """Who runs this task: the version's own handler, else that of any; for a task without a version the newest."""
        known = self._handlers.get(type, {})
        if version is None and known and None not in known:
            version = max(v for v in known if v is not None)
        return known.get(version) or known.get(None)

    def prepare(self) -> None:
        """See that the payload of every handler can be read; HandlersError for the first that cannot."""
        for known in self._handlers.values():
            for handler in known.values():
                _ = handler.read

    def types(self) -> list[tuple[str, list[int] | None]]:
        """Each type with its versions, None for any: what the child reports to its supervisor."""
        return [(type, None if None in known else sorted(v for v in known if v is not None)) for type, known in self._handlers.items()]


REGISTRY = Registry()
task = REGISTRY.task


def load(modules: Sequence[str]) -> None:
    """Import the modules of RUNNER_HANDLERS, found from the working directory as by `python -m`. HandlersError in one line."""
    if not {"", os.getcwd()} & set(sys.path):  # noqa: PTH109 - the child does without pathlib
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:  # a module that calls sys.exit() must not end the child without a word
            raise HandlersError(f"handlers module {module!r}: {_in_one_line(error)}") from error
    REGISTRY.prepare()


def _in_one_line(error: BaseException) -> str:
    said = " ".join(str(error).split())
    where = _innermost(error)
    name = "" if isinstance(error, HandlersError) else f"{type(error).__name__}: "
    return f"{name}{said}{f' ({where})' if where else ''}"


def _innermost(error: BaseException) -> str:
    """The file and line of the user's that failed; the frames of the import system and of this file say nothing."""
    if isinstance(error, SyntaxError):
        return ""
    place, frame = "", error.__traceback__
    while frame:
        file = frame.tb_frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith("<frozen"):
            place = f"{file}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place


@task("runner.echo")
def echo(payload: Any) -> Any:
    """Built in, for trying out: the result is the payload."""
    return payload


@task("runner.sleep")
def sleep(payload: Any) -> None:
    """Built in, for trying out: `{"s": 2}` sleeps that long; a stop wakes it at once."""
    time.sleep(float(payload["s"]))
