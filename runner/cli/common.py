"""What the commands share: the door to Redis, options, how a task is shown. Called by the modules of cli."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from runner.cli.completion import queue_names
from runner.errors import RunnerError, UndeclaredQueueError

if TYPE_CHECKING:
    from runner.broker import Broker, Queue
    from runner.producer import Producer

Answer = TypeVar("Answer")
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
QueueName = Annotated[
    str, typer.Option("--queue", "-q", envvar="RUNNER_QUEUE", help="A declared queue.", autocompletion=queue_names)
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", envvar="RUNNER_NAMESPACE", help="Where the Jobs are; else as kubectl has it.")]
Release = Annotated[
    str, typer.Option("--release", envvar="RUNNER_CONTROL_RELEASE", help="The chart's release, where a namespace has several.")
]
TaskId = Annotated[str, typer.Argument(help="The task's id, as `submit` printed it.")]
DeclaredQueue = Annotated[str, typer.Argument(help="A declared queue.", autocompletion=queue_names)]
AnyQueue = Annotated[
    str, typer.Option("--queue", "-q", help="Look only there; without it, all declared queues are asked.", autocompletion=queue_names)
]


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@contextmanager
def opened_producer() -> Iterator[Producer]:
    """A producer by the settings."""
    from runner.config import ProducerSettings, load
    from runner.producer import Producer

    settings = load(ProducerSettings)
    with Producer(settings.redis_url, settings.prefix, retry_s=settings.connect_s) as producer:
        yield producer


@contextmanager
def opened_broker(patience_s: float | None = None) -> Iterator[Broker]:
    """A broker by the settings, or less patient than they say; a Redis that fails is explained in one line."""
    from runner.broker import Broker
    from runner.config import ProducerSettings, load
    from runner.connect import TIMEOUT_S, TOLD, connect, explain

    settings = load(ProducerSettings)
    try:
        retry_s = settings.connect_s if patience_s is None else min(patience_s, settings.connect_s)
        timeout_s = TIMEOUT_S if patience_s is None else patience_s  # of a server that hangs, which no retry tells
        client = connect(settings.redis_url, retry_s=retry_s, client_name="runner-cli", timeout_s=timeout_s)
        try:
            yield Broker(client, settings.prefix)
        finally:
            client.close()
    except TOLD as error:
        raise explain(error, settings.redis_url) from error


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """For commands that have something to put back: SIGTERM would end them where they are."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def chosen(broker: Broker, queue: str) -> list[Queue]:
    """One queue, or all that are declared."""
    return [broker.open(queue)] if queue else broker.queues()


def each_asked(broker: Broker, queue: str, ask: Callable[[Queue], Answer]) -> tuple[list[Answer], dict[str, str]]:
    """The answers of one queue, whose error is raised, or of all; and by name what is wrong with those that could not be asked."""
    if queue:
        return [ask(broker.open(queue))], {}
    answers, broken = list[Answer](), dict[str, str]()
    for name, found in broker.each().items():
        try:
            if isinstance(found, RunnerError):
                raise found
            answers.append(ask(found))
        except UndeclaredQueueError:  # somebody deleted its declaration: it is no queue any more
            continue
        except RunnerError as error:
            broken[name] = str(error)
    return answers, broken


def age(at_ms: int | None, now_ms: float | None = None) -> str:
    """How long ago, in the largest unit that says enough."""
    if at_ms is None or at_ms < 0:
        return "-"
    past_s = max(0.0, (now_ms or time.time() * 1000) - at_ms) / 1000
    for unit, length_s in (("d", 86_400), ("h", 3600), ("min", 60)):
        if past_s >= 2 * length_s:
            return f"{past_s / length_s:.0f} {unit}"
    return f"{past_s:.0f} s"


def lasting(seconds: float) -> str:
    """A duration, in the unit that says enough."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return age(0, max(1, seconds * 1000))


def decoded(body: bytes) -> str:
    """Bytes as text that any terminal and JSON can hold."""
    return body.decode("utf-8", "backslashreplace")


def unwrapped(value: Any) -> Any:
    """A value for JSON: bytes as text, tuples as lists."""
    if isinstance(value, bytes):
        return decoded(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {name: unwrapped(part) for name, part in value.items()}
    return [unwrapped(part) for part in value] if isinstance(value, (list, tuple)) else value
