"""What the child prints: passed on as it comes, its last 16 KiB kept. Called by the supervisor.

Lines are passed on whole where that is possible, so that a log line of the supervisor's own never lands in the middle
of one. Nothing here blocks: while the log's reader does not read, nothing is taken from the child, and its timeout goes on.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

TAIL_BYTES = 16 * 1024
CHUNK_BYTES = select.PIPE_BUF
"""A pipe that poll calls writable takes this much without blocking."""
STDERR = 2


def clip(text: str, limit_bytes: int = 2048) -> str:
    """At most this many bytes of UTF-8, marked where cut; lone surrogates escaped, which no later encoder would take."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= limit_bytes:
        return raw.decode()
    return raw[: limit_bytes - 3].decode("utf-8", "ignore") + "..."


def last_line(text: bytes) -> str:
    """The last line that says something, empty if there is none."""
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


class Output:
    """One child's output pipe. `sink` takes what is passed on; None is this process's stderr."""

    def __init__(self, source_fd: int, sink: Callable[[bytes], object] | None = None) -> None:
        self.source_fd = source_fd
        self.open = True
        self.blocked = False
        self.held = bytearray()
        """Taken from the child and not passed on yet: the beginning of a line, never over CHUNK_BYTES."""
        self._tail = bytearray()
        self._sink = sink
        self._deaf = False
        self._at_line_start = True

    @property
    def tail(self) -> bytes:
        """The last 16 KiB of all that was printed."""
        return bytes(self._tail[-TAIL_BYTES:])

    def take(self) -> bool:
        """Take one chunk and pass on its whole lines; False when there is nothing to take or nobody to pass it to."""
        if self.blocked:
            self.blocked = not _writable(STDERR)
            self.flush()
        if self.blocked:
            return False
        try:
            data = os.read(self.source_fd, CHUNK_BYTES - len(self.held))
        except BlockingIOError:
            return False
        self.open = bool(data)
        self._keep(data)
        self.held += data
        self._pass_on(len(self.held) if len(self.held) == CHUNK_BYTES else self.held.rfind(b"\n") + 1)
        return self.open

    def take_some(self) -> None:
        """Take what is there, but leave the loop its turn: a child that prints without a pause is timed like any other."""
        for _ in range(16):
            if not self.take():
                return

    def flush(self) -> None:
        """Pass on a line's beginning that has waited for its end long enough."""
        self._pass_on(len(self.held))

    def finish(self, within_s: float = 0.2) -> None:
        """Take what the dead child left in the pipe. A straggler that holds the pipe open, and prints, gets no more than this.

        A reader of the log that is only slow, as on a busy node, gets as long: without it the last lines went to the tail alone.
        """
        end = time.monotonic() + within_s
        while self.open and time.monotonic() < end and (self.take() or self._unblocked(end)):
            pass
        self._drain(time.monotonic() + within_s)
        self.flush()
        if not self._at_line_start and not self.held:
            self.held += b"\n"
            self.flush()

    def _unblocked(self, end: float) -> bool:
        return self.blocked and _writable(STDERR, end - time.monotonic())

    def _drain(self, end: float) -> None:
        """The log's reader does not read: what is left goes to the tail alone."""
        while self.open and self.blocked and time.monotonic() < end:
            try:
                data = os.read(self.source_fd, CHUNK_BYTES)
            except BlockingIOError:
                return
            self.open = bool(data)
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._tail += data
        if len(self._tail) > 4 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def _pass_on(self, size: int) -> None:
        while size and not self.blocked:
            sent = self._send(bytes(self.held[:size]))
            if sent:
                self._at_line_start = self.held[sent - 1] == 0x0A
            del self.held[:sent]
            size -= sent

    def _send(self, data: bytes) -> int:
        if self._sink:
            self._sink(data)
            return len(data)
        if self._deaf:
            return len(data)
        self.blocked = not _writable(STDERR)
        if self.blocked:
            return 0
        try:
            return os.write(STDERR, data)
        except BlockingIOError:
            self.blocked = True
            return 0
        except OSError:
            # The log's reader has gone away for good (EPIPE, EBADF). The task goes on, and its tail is still kept.
            self._deaf = True
            return len(data)


def _writable(fd: int, within_s: float = 0) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(max(0.0, within_s) * 1000))
