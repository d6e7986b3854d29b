"""A door to Redis that notes what passes: each round trip as the names of its commands. Called by trips."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Proxy:
    """Listens on loopback and hands everything on. A round trip is all that a client sends until it is answered."""

    def __init__(self, url: str) -> None:
        self._server = (urlsplit(url).hostname or "", urlsplit(url).port or 6379)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.trips: list[list[str]] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):  # closed: the end
            while True:
                client, _ = self._listener.accept()
                _Line(client, socket.create_connection(self._server), self.trips).start()


class _Line:
    """One connection of a client."""

    def __init__(self, client: socket.socket, server: socket.socket, trips: list[list[str]]) -> None:
        self._client, self._server, self._trips = client, server, trips
        self._asked = b""

    def start(self) -> None:
        for way in (self._forth, self._back):
            threading.Thread(target=way, daemon=True).start()

    def _forth(self) -> None:
        with suppress(OSError):  # a worker that ends resets its connection
            while data := self._client.recv(1 << 16):
                self._asked += data
                self._server.sendall(data)
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_WR)

    def _back(self) -> None:
        with suppress(OSError), self._client, self._server:
            while data := self._server.recv(1 << 16):
                asked, self._asked = self._asked, b""
                if asked:
                    self._trips.append(list(names(asked)))
                self._client.sendall(data)


def names(asked: bytes) -> Iterator[str]:
    """The commands' names, upper case, of requests in RESP: `*words`, then `$length` and the word, each."""
    at = 0
    while at < len(asked):
        end = asked.index(b"\r\n", at)
        count, at = int(asked[at + 1 : end]), end + 2
        for number in range(count):
            end = asked.index(b"\r\n", at)
            start, length = end + 2, int(asked[at + 1 : end])
            if not number:
                yield asked[start : start + length].decode().upper()
            at = start + length + 2
