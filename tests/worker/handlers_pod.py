"""Handlers that leave notes outside Redis, so that a test can count every effect. Imported by worker processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import date
from pathlib import Path
from typing import Any

import runner

NOTES = Path(os.environ["NOTES"])


def note(name: str, text: object) -> None:
    """One line, written at once."""
    with (NOTES / name).open("a") as file:
        file.write(f"{text}\n")


def wait_for(name: str) -> None:
    """Until a file is there: how a test says go."""
    while not (NOTES / name).exists():
        threading.Event().wait(0.005)


@runner.task("note")
def noted(payload: Any, context: runner.Context) -> Any:
    note("ran", f"{context.id} {context.attempt}")
    return payload


@runner.task("hold")
def hold(payload: Any, context: runner.Context) -> str:
    """Runs until the test says go."""
    note("began", f"{context.id} {context.attempt}")
    wait_for("go")
    note("ran", f"{context.id} {context.attempt}")
    return "held"


@runner.task("stubborn")
def stubborn(payload: Any, context: runner.Context) -> None:
    """Ignores everything but SIGKILL."""
    note("began", context.id)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            threading.Event().wait(1)
        except BaseException:  # noqa: S112
            continue


@runner.task("die")
def die(payload: Any, context: runner.Context) -> None:
    note("ran", context.attempt)
    print("last words of", context.id, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@runner.task("fail")
def fail(payload: int, context: runner.Context) -> str:
    """Raises in its first `payload` attempts."""
    note("ran", context.attempt)
    if context.attempt <= payload:
        print("about to fail", flush=True)
        raise ValueError(f"attempt {context.attempt} is not good enough")
    return "good"


@runner.task("again")
def again(payload: float, context: runner.Context) -> None:
    note("ran", time.time())
    if context.attempt == 1:
        raise runner.Retry(after_s=payload)


@runner.task("fatal")
def fatal(payload: Any) -> None:
    raise runner.Fatal("no such customer")


@runner.task("hungry")
def hungry(payload: Any) -> None:
    raise MemoryError


@runner.task("dated")
def dated(payload: date) -> str:
    note("ran", payload)
    return payload.isoformat()


@runner.task("stragglers")
def stragglers(payload: Any) -> None:
    """Leaves a thread and a grandchild that hold the output open."""
    threading.Thread(target=threading.Event().wait, args=(60,)).start()
    if os.fork() == 0:
        threading.Event().wait(60)
        os._exit(0)


@runner.task("versioned", versions=(2,))
def versioned(payload: Any) -> str:
    return "two"
