"""Stands between a client and Redis, and loses answers on demand. Called by the tests beside this file."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path


class Proxy:
    """A unix socket that forwards to Redis's. After `lose(n)`, the next n answers to a script call arrive nowhere: the connection ends."""

    def __init__(self, url: str) -> None:
        self._target = url.removeprefix("unix://").partition("?")[0]
        self._path = str(Path(tempfile.mkdtemp(prefix="runner-")) / "proxy.sock")
        self.url = f"unix://{self._path}?db=0"
        self.lost = 0
        self._to_lose = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen()
        self._ends: list[socket.socket] = []
        self._doomed: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, answers: int) -> None:
        """From now on."""
        self._to_lose = answers

    def close(self) -> None:
        """End all connections."""
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._ends += [near, far]
                pair = [near, far]
                threading.Thread(target=self._ask, args=pair, daemon=True).start()
                threading.Thread(target=self._answer, args=pair, daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while request := near.recv(1 << 20):
                if self._to_lose and b"EVALSHA" in request:
                    self._doomed.add(far)
                far.sendall(request)
        self._end(near, far)

    def _answer(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while (answer := far.recv(1 << 20)) and far not in self._doomed:
                near.sendall(answer)
        if far in self._doomed:
            self._to_lose, self.lost = self._to_lose - 1, self.lost + 1
        self._end(near, far)

    def _end(self, near: socket.socket, far: socket.socket) -> None:
        for end in (near, far):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
