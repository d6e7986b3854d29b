"""Reads what processes append to their log files, whole lines as they come. Called by session."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

CHUNK_BYTES = 1 << 16


class Follow:
    """All `*.log` files of one folder. A file whose process has ended is read to its end and removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, int] = {}
        self._rests: dict[str, bytes] = {}
        self._ran: set[str] = set()

    def lines(self, running: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Each new line with the name of the process that wrote it. `running` was asked for before this call."""
        self._ran.update(running)
        for path in sorted(self._folder.glob("*.log"), key=lambda path: (len(path.name), path.name)):
            name = path.stem
            yield from ((name, line) for line in self._new_lines(path, name))
            if name in self._ran and name not in running:
                yield from ((name, rest) for rest in [self._rests.get(name, b"")] if rest)
                self._drop(path, name)

    def _new_lines(self, path: Path, name: str) -> Iterator[bytes]:
        with path.open("rb") as log:
            log.seek(self._places.get(name, 0))
            while chunk := log.read(CHUNK_BYTES):
                *lines, rest = (self._rests.get(name, b"") + chunk).split(b"\n")
                self._places[name], self._rests[name] = log.tell(), rest
                yield from lines

    def _drop(self, path: Path, name: str) -> None:
        path.unlink(missing_ok=True)
        self._ran.discard(name)
        self._places.pop(name, None)
        self._rests.pop(name, None)
