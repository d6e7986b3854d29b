"""Handlers that do what handlers do, well and badly. Loaded by the children of the tests beside it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import runner
from runner.child import Reply
from runner.handlers import Context, Stopped


@runner.task("sum")
def add(payload: list[int]) -> int:
    return sum(payload)


@runner.task("facts")
def tell_facts(payload: Any, context: Context) -> dict[str, Any]:
    return {"id": context.id, "attempt": context.attempt, "deadline": context.deadline.isoformat(), "type": context.type}


@runner.task("async")
async def later(payload: Any, context: Context) -> Any:
    await asyncio.sleep(0)
    return {"async": payload, "id": context.id}


@runner.task("async-waits")
async def wait_async(payload: Any) -> None:
    try:
        print("started", flush=True)
        await asyncio.Event().wait()
    finally:
        print("cleaned up", flush=True)


@runner.task("versioned", versions=(1, 2))
def old(payload: Any) -> str:
    return "old"


@runner.task("versioned", versions=[3])
def new(payload: Any) -> str:
    return "new"


@runner.task("raises")
def fail(payload: str) -> None:
    raise ValueError(payload)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@runner.task("raises-unspeakable")
def fail_unspeakably(payload: Any) -> None:
    raise Unspeakable


@runner.task("exits")
def leave(payload: int) -> None:
    sys.exit(payload)


@runner.task("interrupts")
def interrupt(payload: Any) -> None:
    raise KeyboardInterrupt


@runner.task("vanishes")
def vanish(payload: Any) -> None:
    os._exit(0)


@runner.task("retry")
def again(payload: float | None) -> None:
    raise runner.Retry("not yet", after_s=payload)


@runner.task("fatal")
def never(payload: str) -> None:
    raise runner.Fatal(payload)


@runner.task("memory")
def too_much(payload: Any) -> None:
    raise MemoryError("cannot allocate")


@runner.task("segfault")
def fault(payload: Any) -> None:
    ctypes.string_at(0)


@runner.task("killed")
def kill_oneself(payload: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@runner.task("oom")
def killed_for_memory(payload: str) -> None:
    """Does what the kernel does: counts, then kills."""
    Path(payload).write_text("low 0\noom 1\noom_kill 1\n")
    os.kill(os.getpid(), signal.SIGKILL)


@runner.task("returns")
def give(payload: str) -> Any:
    loop: list[Any] = []
    loop.append(loop)
    odd = {"file": sys.stdout, "nan": float("nan"), "loop": loop, "complex": 1j, "long": "x" * 70_000, "none": None}
    return {"price": Decimal("1.10"), "tags": {"a"}} if payload == "rich" else odd[payload]


@runner.task("prints")
def speak(payload: int) -> None:
    line = "x" * 99 + "\n"
    for _ in range(payload // 100):
        sys.stdout.write(line)
    sys.stderr.write("the end")


@runner.task("prints-for-ever")
def babble(payload: Any) -> None:
    while True:
        os.write(1, b"y" * 65536)


@runner.task("logs")
def log(payload: str, context: Context) -> None:
    context.logger.info(payload)


@runner.task("progress")
def report(payload: Any, context: Context) -> None:
    context.progress(0.25, "a quarter")
    context.progress(7, "x" * 1000)
    print("reported", flush=True)
    threading.Event().wait()


@runner.task("waits")
def wait(payload: Any) -> None:
    try:
        print(f"pid={os.getpid()} started", flush=True)
        threading.Event().wait()
    finally:
        print("cleaned up", flush=True)


@runner.task("waits-swallowing-errors")
def wait_swallowing(payload: Any) -> None:
    print("started", flush=True)
    while True:
        try:
            threading.Event().wait(1)
        except Exception:
            print("swallowed", flush=True)


@runner.task("watches")
def watch(payload: Any, context: Context) -> str:
    """Looks at `cancelled`, so it is left to finish by itself."""
    looks = 0
    while not context.cancelled():
        looks += 1
        if looks == 1:
            print("started", flush=True)
        threading.Event().wait(0.01)
    return "finished by itself"


@runner.task("finishes-when-stopped")
def finish(payload: Any) -> str:
    try:
        print("started", flush=True)
        threading.Event().wait()
    except Stopped:
        return "done all the same"
    return "never"


@runner.task("breaks-when-stopped")
def break_off(payload: Any) -> None:
    """As a tool killed by the same SIGTERM does to its caller."""
    print("started", flush=True)
    subprocess.run(["sleep", "60"], check=True)


@runner.task("fatal-when-stopped")
def give_up(payload: Any) -> None:
    try:
        print("started", flush=True)
        threading.Event().wait()
    except Stopped:
        raise runner.Fatal("it will never fit") from None


@runner.task("spins")
def spin(payload: float) -> None:
    begin = os.times().user
    while os.times().user - begin < payload:
        pass


@runner.task("eats")
def eat(payload: int) -> int:
    return len(bytearray(payload))


FORGED = {"nonsense": b"}{", "depth": b"[" * 100_000, "number": b'{"progress":[1' + b"0" * 400 + b',""]}'}


@runner.task("speaks-out-of-turn")
def forge(payload: str) -> None:
    """Finds the child's own reply pipe and writes there."""
    reply = next(thing for thing in gc.get_objects() if isinstance(thing, Reply))
    os.write(reply._fd, FORGED[payload] + b"\n")
    threading.Event().wait()


@runner.task("modules")
def modules(payload: Any) -> list[str]:
    return sorted({name.partition(".")[0] for name in sys.modules} | {__name__})


@runner.task("half-a-line")
def half(payload: Any) -> None:
    print("half", end="", flush=True)
    threading.Event().wait()
