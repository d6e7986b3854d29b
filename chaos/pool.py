"""The driver's side of the nursery: asks for processes, counts who is alive, what befell whom, and how each ended. Called by storm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos.plan import Fate

ROOT = Path(__file__).resolve().parents[1]


class Pool:
    """All processes of one run."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self.env, self.folder = env, folder
        self.alive: set[str] = set()
        self.stopped: set[str] = set()
        self.did: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self.ended: dict[str, int] = {}
        command = [sys.executable, "-m", "chaos.nursery"]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")} | {"PYTHONPATH": str(ROOT)}
        with (folder / "nursery.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environ, cwd=ROOT)
        assert self._process.stdout is not None
        self._process.stdout.readline()
        os.set_blocking(self._process.stdout.fileno(), False)
        self._buffer = b""

    @property
    def running(self) -> int:
        """Workers that are alive and not stopped."""
        return sum(name.startswith("worker") for name in self.alive - self.stopped)

    def start(self, name: str, module: str, fate: Fate | None = None, **env: str) -> None:
        """Start one process; its log is named after it."""
        log = self.folder / "logs" / name.replace(" ", "-")
        self.alive.add(name)
        order = {"start": name, "module": module, "log": str(log), "env": self.env | env, "fate": asdict(fate) if fate else None}
        self._order(order)

    def kill(self, name: str) -> None:
        """Kill one process, and its child."""
        self._order({"kill": name})

    def poll(self) -> None:
        """Take in what was reported."""
        assert self._process.stdout is not None
        data = self._process.stdout.read() or b""
        if self._process.poll() is not None:
            raise RuntimeError(f"the nursery has ended, see {self.folder / 'nursery.log'}")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def close(self) -> None:
        """End all that is left."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()

    def _order(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self, said: dict[str, Any]) -> None:
        if "did" in said:
            self.did[said["did"]] += 1
            (self.stopped.add if said["did"].startswith("stop") else self.stopped.discard)(said["name"])
            return
        name, code = said["ended"], said["code"]
        self.alive.discard(name)
        self.stopped.discard(name)
        self.ended[name] = code
        if name.startswith("worker"):
            self.codes[code] += 1
