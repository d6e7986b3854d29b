"""Notices that handlers were saved, and what importing them says now. Called by session.

What is looked at are the files that the last import loaded, so a look costs as many stats as the user has modules.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

LONGEST_S = 60.0
"""An import that takes longer is what a worker would give up on, too (RUNNER_START_S)."""
Stamps = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What an import came to: the types that are handled, or the error in one line."""

    types: list[str] = field(default_factory=list)
    error: str = ""
    files: list[str] = field(default_factory=list)


class Watch:
    """Handlers of some modules, imported anew by a process of its own whenever one of their files changed."""

    def __init__(self, modules: Sequence[str], environ: Mapping[str, str]) -> None:
        self.last: Checked | None = None
        self._command = [sys.executable, "-m", "runner.dev.check", *modules]
        self._environ = dict(environ)
        self._files: list[str] = []
        self._stamps: Stamps = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._began_s = 0.0
        self._start()

    def look(self) -> Checked | None:
        """What an import said that ended since the last look; starts one when a file changed. Never waits."""
        if self._process is not None:
            return self._finished()
        now = _stamps(self._files)
        if changed := [name for name, stamp in now.items() if stamp != self._stamps.get(name)]:
            _drop_bytecode(changed)
            self._start()
        return None

    def close(self) -> None:
        """End an import that runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._output is not None:
            self._output.close()

    def _start(self) -> None:
        # Before the import: what is saved while it runs is found by the next look.
        self._stamps, self._began_s = _stamps(self._files), time.monotonic()
        self._output = TemporaryFile()  # noqa: SIM115  (closed when the process has ended)
        self._process = subprocess.Popen(
            self._command, env=self._environ, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output, start_new_session=True
        )

    def _finished(self) -> Checked | None:
        assert self._process is not None and self._output is not None
        code = self._process.poll()
        late = time.monotonic() - self._began_s > LONGEST_S
        if code is None and not late:
            return None
        self._output.seek(0)
        printed = self._output.read()
        self.close()
        found = Checked(error=f"importing the handlers took longer than {LONGEST_S:g} s") if late else _read(printed, code)
        self._remember(found)
        changed = found != self.last
        self.last = found
        return found if changed or not found.error else None

    def _remember(self, found: Checked) -> None:
        files = found.files or self._files
        if found.error:  # mending it may take a file that is not there yet, or one that was loaded before
            files = [*{*files, *self._files, *(str(Path(name).parent) for name in files), str(Path.cwd())}]
        now = _stamps(files)
        # A file that was stamped before the import keeps that stamp, and is found changed if it was saved meanwhile.
        self._files, self._stamps = files, {name: self._stamps.get(name, stamp) for name, stamp in now.items()}


def _read(printed: bytes, code: int | None) -> Checked:
    lines = printed.decode(errors="replace").strip().splitlines()
    try:
        return Checked(**json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        return Checked(error=f"importing the handlers ended its process (exit code {code}): {lines[-1] if lines else 'it printed nothing'}")


def _drop_bytecode(files: Sequence[str]) -> None:
    """Python takes compiled code for good while second and size of the source are the same: two saves in one second ran the first one's."""
    for name in files:
        if name.endswith(".py"):
            Path(cache_from_source(name)).unlink(missing_ok=True)


def _stamps(files: Sequence[str]) -> Stamps:
    found: Stamps = {}
    for name in files:
        try:
            status = Path(name).stat()
            found[name] = (status.st_mtime_ns, status.st_size)
        except OSError:  # between two steps of an editor that replaces it
            found[name] = (0, 0)
    return found
