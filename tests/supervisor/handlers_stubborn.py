"""Handlers that will not end, and what they leave behind. Loaded by the children of the tests beside it."""

from __future__ import annotations

import ctypes
import itertools
import multiprocessing
import os
import signal
import subprocess
import threading
from typing import Any

import runner


@runner.task("swallows-everything")
def swallow(payload: Any) -> None:
    print("started", flush=True)
    while True:
        try:
            threading.Event().wait(1)
        except BaseException:
            print("swallowed", flush=True)


@runner.task("ignores-sigterm")
def ignore(payload: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"pid={os.getpid()} started", flush=True)
    threading.Event().wait()


@runner.task("sleeps-in-c")
def sleep_in_c(payload: Any) -> None:
    """A call that no signal interrupts, so that the signal's Python handler never runs: a lock that is taken already."""
    libc, lock = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    print("started", flush=True)
    libc.pthread_mutex_lock(lock)
    libc.pthread_mutex_lock(lock)


@runner.task("holds-the-gil")
def hold(payload: Any) -> None:
    print("started", flush=True)
    sum(itertools.repeat(1))


@runner.task("is-stopped")
def halt(payload: Any) -> None:
    print(f"pid={os.getpid()} started", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    threading.Event().wait()


@runner.task("leaves-thread")
def leave_thread(payload: Any) -> str:
    threading.Thread(target=threading.Event().wait).start()
    return "done"


@runner.task("leaves-grandchild")
def leave_grandchild(payload: Any) -> int:
    """It holds the output pipe open and would live for a minute."""
    return subprocess.Popen(["sleep", "60"]).pid


@runner.task("leaves-talker")
def leave_talker(payload: Any) -> int:
    """Out of the group, where no signal of the supervisor's comes, and printing for ever. It ends when nobody listens."""
    return subprocess.Popen(["yes"], start_new_session=True).pid


@runner.task("waits-with-grandchild")
def wait_with_grandchild(payload: Any) -> None:
    other = subprocess.Popen(["sleep", "60"])
    print(f"pid={os.getpid()} grandchild={other.pid} started", flush=True)
    threading.Event().wait()


@runner.task("forks-and-falls-through")
def fork(payload: Any) -> str:
    """The copy comes out of the handler before the original does, and must not speak for it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        return "the copy"
    os.close(writer)
    os.read(reader, 1)
    os.waitpid(pid, 0)
    return "the original"


@runner.task("uses-a-pool")
def pool(payload: list[int]) -> list[int]:
    with multiprocessing.get_context("fork").Pool(2) as workers:
        return workers.map(abs, payload)


@runner.task("terminates-a-fork")
def terminates(payload: None) -> int | None:
    hear, say = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=lambda: (say.send("here"), signal.pause()))
    process.start()
    hear.recv()
    process.terminate()
    process.join()
    return process.exitcode
