"""What the child says of itself, read as it comes and believed only as far as it makes sense. Called by the supervisor."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

from runner.ending import Outcome

MAX_LINE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Known:
    """What the child can run: each type with its versions, None for any version; `any_type` for a program."""

    types: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    any_type: bool = False

    def knows(self, type: str, version: int | None) -> bool:
        """Whether this child has a handler; a task that states no version goes to whoever knows its type."""
        if self.any_type or type not in self.types:
            return self.any_type
        versions = self.types[type]
        return version is None or versions is None or version in versions


class Replies:
    """The reply pipe of one child, never blocking."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.open = True
        self.ready: Known | None = None
        self.failed = ""
        """Why the handlers cannot be loaded, in one line."""
        self.progress: tuple[float, str] | None = None
        self.outcome: Outcome | None = None
        self.nonsense = ""
        """Only a handler that wrote into this pipe itself gets here; nothing more is believed from then on."""
        self._buffer = b""

    def take(self) -> None:
        """Read all that is there."""
        while self.open and not self.nonsense:
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return
            self.open = bool(data)
            *lines, self._buffer = (self._buffer + data).split(b"\n")
            for line in lines:
                self._hear(line)
            if len(self._buffer) > MAX_LINE_BYTES:
                self.nonsense = "the child's reply has no end"

    def _hear(self, line: bytes) -> None:
        try:
            said = json.loads(line)
            if "progress" in said:
                self.progress = (float(said["progress"][0]), str(said["progress"][1]))
            elif "outcome" in said:
                self.outcome = self.outcome or Outcome.of_reply(said["outcome"])
            elif "failed" in said:
                self.failed = str(said["failed"])
            else:
                self.ready = _known(said["ready"])
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
            self.nonsense = f"the child's reply makes no sense: {error}"


def _known(types: list[tuple[str, list[int] | None]] | None) -> Known:
    if types is None:
        return Known(any_type=True)
    return Known({type: None if versions is None else tuple(versions) for type, versions in types})
