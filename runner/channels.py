"""What connects a supervisor and its child: pipes and two files in memory. Made by the supervisor before the fork, used by both.

The supervisor can never block on its child: what it tells goes through files in memory of any size and one byte in an
empty pipe. The child cannot outlive its supervisor: the kernel kills its whole process group once the lifeline breaks.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
from typing import Any


class Channels:
    """All descriptors of one child, open on both sides until each side keeps its own ends."""

    def __init__(self) -> None:
        _fill_standard_descriptors()
        self.output_r, self.output_w = os.pipe()
        """The child's stdout and stderr."""
        self.reply_r, self.reply_w = os.pipe()
        """JSON lines from the child: ready or failed, progress, outcome."""
        self.go_r, self.go_w = os.pipe()
        """One byte: the task is in the files. Closed instead: there will be none."""
        self.lifeline_r, self.lifeline_w = os.pipe()
        """Nothing is ever written; it breaks when the supervisor is gone."""
        self.facts_fd = memory_file("facts")
        self.body_fd = memory_file("body")

    def keep_supervisors_ends(self) -> None:
        """Close the child's ends, and never block on a read."""
        _close(self.output_w, self.reply_w, self.go_r, self.lifeline_r)
        self.output_w = self.reply_w = self.go_r = self.lifeline_r = -1
        os.set_blocking(self.output_r, False)
        os.set_blocking(self.reply_r, False)

    def keep_childs_ends(self) -> None:
        """Close the supervisor's ends; the lifeline breaks only if no other process holds it."""
        _close(self.output_r, self.reply_r, self.go_w, self.lifeline_w)
        self.output_r = self.reply_r = self.go_w = self.lifeline_w = -1

    def close(self) -> None:
        """Close whatever this side still has open."""
        for name, fd in vars(self).items():
            _close(fd)
            setattr(self, name, -1)

    def hand_over(self, facts: dict[str, Any], body: bytes) -> bool:
        """Give the child its task; False if it is gone."""
        write_all(self.facts_fd, json.dumps(facts).encode())
        write_all(self.body_fd, body)
        try:
            os.write(self.go_w, b"\n")
        except BrokenPipeError:
            return False
        return True

    def await_task(self) -> dict[str, Any] | None:
        """Wait in the child; the facts of its task, or None if there will be none."""
        if not os.read(self.go_r, 1):
            return None
        facts: dict[str, Any] = json.loads(read_all(self.facts_fd))
        return facts


def _fill_standard_descriptors() -> None:
    """A process started without stdin, stdout or stderr would get its pipes there, and the child would overwrite them."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)


def _close(*fds: int) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)


def wake_pipe() -> tuple[int, int]:
    """A pipe to wake a waiting loop with; neither end ever blocks."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    return reader, writer


def memory_file(name: str) -> int:
    """A file without a name that takes any size without blocking."""
    try:
        return os.memfd_create(f"runner-{name}")
    except (AttributeError, OSError):  # not Linux, or a sandbox that does not have it
        import tempfile

        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_all(fd: int) -> bytes:
    """The whole of a memory file, from its beginning; its offset stays at 0 for who reads it next."""
    size = os.fstat(fd).st_size
    parts, at = [], 0
    while at < size and (part := os.pread(fd, size - at, at)):
        parts.append(part)
        at += len(part)
    os.lseek(fd, 0, os.SEEK_SET)
    return b"".join(parts)


def tie_to(lifeline_fd: int) -> None:
    """Have this process's group killed when the lifeline breaks, also while a handler holds the GIL or is stopped.

    Without it, a supervisor that is killed leaves a child that runs on beside the task's next attempt. Where the kernel
    cannot do it a thread does, for handlers that leave it the GIL.
    """
    try:
        fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline_fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, fcntl.fcntl(lifeline_fd, fcntl.F_GETFL) | os.O_ASYNC)
    except (AttributeError, OSError):
        import threading

        threading.Thread(target=_watch, args=(lifeline_fd,), daemon=True).start()
    poll = select.poll()
    poll.register(lifeline_fd, select.POLLHUP)
    if poll.poll(0):
        os._exit(1)


def _watch(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os.killpg(0, signal.SIGKILL)
