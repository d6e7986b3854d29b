"""A way to a server that can fall silent: what is open then gets no answer and no end, new connections work. For the tests beside it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class SilentWire:
    """Passes bytes between a loopback port and a server's, until `fall_silent`: as when a pod is gone and its address is nobody's."""

    def __init__(self, server_port: int) -> None:
        self._to = ("127.0.0.1", server_port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._silent: set[socket.socket] = set()
        self._open: list[socket.socket] = []
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        """From now on nothing passes on the connections that are open."""
        self._silent |= set(self._open)

    def close(self) -> None:
        """End all."""
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = socket.create_connection(self._to)
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if one not in self._silent:
                    other.sendall(data)
            if one not in self._silent:
                other.shutdown(socket.SHUT_WR)
