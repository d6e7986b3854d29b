"""Makes the declarations in a file true in Redis. Called by the controller at each pass, by cli, and by the chart's test.

The file is JSON: `{"emails": {"mode": "stream", "max_retries": 5}, ...}`; what is left out takes its default. Nothing is written for a
queue that is declared so already, so that no process has to read its declaration anew. `python -m runner.declare --check FILE` only looks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from runner import logs
from runner.broker import Broker
from runner.config import ProducerSettings, load
from runner.connect import TOLD, connect, explain
from runner.errors import ConfigError, RunnerError, UndeclaredQueueError
from runner.queue import Declaration

KINDS: dict[str, Any] = {one.name: type(one.default) for one in fields(Declaration) if one.name not in ("name", "rev", "layout")}


def read(path: str) -> list[Declaration]:
    """The declarations of a file, by name; ConfigError in one line."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the file {path!r} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"the file {path!r} holds no map from queues to their declarations")
    return [_declaration(name, values) for name, values in sorted(found.items())]


def _declaration(name: str, values: Any) -> Declaration:
    if not isinstance(values, dict):
        raise ConfigError(f"queue {name!r}: its declaration is no map")
    if unknown := sorted(set(values) - set(KINDS)):
        raise ConfigError(f"queue {name!r}: {', '.join(unknown)} cannot be declared; known are {', '.join(KINDS)}")
    return Declaration(name, **{field: _valued(name, field, value) for field, value in values.items()})


def _valued(name: str, field: str, value: Any) -> Any:
    kind = KINDS[field]
    good = (float, int) if kind is float else (list,) if kind is tuple else (kind,)
    if type(value) not in good:
        raise ConfigError(f"queue {name!r}: {field} is {value!r}, allowed is {'a list' if kind is tuple else kind.__name__}")
    return tuple(str(part) for part in value) if kind is tuple else kind(value)


def make_true(broker: Broker, wanted: Declaration, known: Collection[str]) -> bool:
    """Declare the queue where it is not declared so; whether it had to be. `known` are the names in the index.

    Raises ConfigError when mode or priorities would change under tasks, NewerLayoutError.
    """
    try:
        stored = broker.open(wanted.name).declaration
    except UndeclaredQueueError:
        stored = None
    if stored is not None and wanted.name in known and stored == replace(wanted, rev=stored.rev, layout=stored.layout):
        return False
    broker.declare(wanted)
    return True


def main(arguments: list[str]) -> int:
    """The command; its exit code: 0 all is as in the file, 1 it is not or Redis failed, 2 a wrong setting, file or option."""
    try:
        check, path = arguments[:-1] == ["--check"], arguments[-1] if arguments else ""
        if not path or arguments[:-1] not in ([], ["--check"]):
            raise ConfigError("usage: python -m runner.declare [--check] FILE")
        return _done(read(path), load(ProducerSettings), check)
    except RunnerError as error:
        logs.event("failed", "error", error=str(error))
        return 2 if isinstance(error, ConfigError) else 1


def _done(wanted: list[Declaration], settings: ProducerSettings, check: bool) -> int:
    try:
        broker = Broker(connect(settings.redis_url, retry_s=settings.connect_s, client_name="runner-declare"), settings.prefix)
        if check:
            return max((_checked(broker, one) for one in wanted), default=0)
        known = broker.names()
        for one in wanted:
            logs.event("declared" if make_true(broker, one, known) else "declared already", queue=one.name)
    except TOLD as error:
        raise explain(error, settings.redis_url) from error
    return 0


def _checked(broker: Broker, wanted: Declaration) -> int:
    stored = broker.open(wanted.name).declaration
    same = stored == replace(wanted, rev=stored.rev, layout=stored.layout)
    logs.event("as in the file" if same else "differs from the file", "info" if same else "error", queue=wanted.name, rev=stored.rev)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
