"""A task queue on Redis in which one pod takes one task and exits. Imported by users: `runner.task`, `Producer`, `AsyncProducer`.

The public names are loaded at first use, so that a worker's parent process pays for none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from runner.version import __version__

if TYPE_CHECKING:
    from runner.handlers import Context, Fatal, Retry, task
    from runner.producer import AsyncProducer, NewTask, Producer

__all__ = ["AsyncProducer", "Context", "Fatal", "NewTask", "Producer", "Retry", "__version__", "task"]

_HOMES = {"Context": "runner.handlers", "Fatal": "runner.handlers", "Retry": "runner.handlers", "task": "runner.handlers"} | {
    "AsyncProducer": "runner.producer",
    "NewTask": "runner.producer",
    "Producer": "runner.producer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'runner' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
