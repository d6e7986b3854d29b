"""A page, played: its blocks run in order, in a folder of their own, against a real server. Called by test_pages.

`runner` and `redis-cli` run in this process where a line is one plain command, because starting 150 interpreters takes a minute.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import redis

from runner.broker import Broker
from runner.cli import run
from runner.handlers import REGISTRY
from runner.queue import Declaration
from runner.scaler import Scaler
from tests.docs.blocks import ROOT, Block
from tests.docs.expected import differs
from tests.waiting import until

PLACES = ("redis://localhost:6379/0", "redis://127.0.0.1:16379/0")
"""What pages call the server of whoever tries, and that of `runner dev`."""
ROLES = {"work", "control", "dev"}
"""Commands that take over the whole process."""
SPECIAL = re.compile(r"[|&;<>$`(){}*?~]|\\$")
TOGETHER = re.compile(r"<<|^(?:for|while|if|cd|export) |^[A-Za-z_]+=(?:\S*|\$\(.*\))$", re.MULTILINE)
"""What makes a line of a block depend on the one before."""
REDIS_CLI = """\
import sys
from tests.docs.scene import redis_cli
print(redis_cli({url!r}, sys.argv[1:]), end="")
"""


class Scene:
    """One page at work."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.ids: dict[str, str] = {}
        self.printed = ""
        self._names: dict[str, Any] = {"__name__": "page"}
        self._running: list[subprocess.Popen[bytes]] = []
        self._tools = folder / ".tools"
        self._tools.mkdir()
        self._install()
        # No setting and no cluster of whoever runs the tests.
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "KUBE"))}
        path = f"{self._tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environ = {**plain, "RUNNER_REDIS_URL": url, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder)}

    def _install(self) -> None:
        """A redis-cli for pipelines, on machines that have none."""
        script, tool = self._tools / "cli.py", self._tools / "redis-cli"
        script.write_text(REDIS_CLI.format(url=self.url))
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n')
        tool.chmod(0o755)

    def play(self, block: Block) -> None:
        """Run one block, with what its marks ask for around it."""
        text = self._here(block.text)
        if block.file:
            self._write(block.file, text)
        for name in block.marked("queues"):
            self._declared(name)
        with contextlib.ExitStack() as around:
            for name in block.marked("workers"):
                around.enter_context(self._workers(name))
            if "background" in block.marks:
                self._start(block, text)
            elif block.language == "python":
                self._python(block, text)
            elif block.language == "console":
                self._transcript(block, text)
            elif block.language in ("sh", "bash"):
                self._shell(block, text)

    def close(self) -> None:
        """End what runs in the background, as Ctrl-C would; it ends well."""
        for process in self._running:
            process.send_signal(signal.SIGINT)
        try:
            assert [process.wait(30) for process in self._running] == [0] * len(self._running)
        finally:
            for process in self._running:
                process.kill()

    def _here(self, text: str) -> str:
        for shown, real in self.ids.items():
            text = text.replace(shown, real)
        for place in PLACES:
            text = text.replace(place, self.url)
        return text

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        sys.modules.pop(path.stem, None)

    def _declared(self, name: str) -> Any:
        with redis.Redis.from_url(self.url) as client:
            broker = Broker(client)
            if name not in broker.names():
                broker.declare(Declaration(name))

    @contextlib.contextmanager
    def _workers(self, queue: str) -> Iterator[None]:
        modules = ",".join(sorted(path.stem for path in self.folder.glob("*.py") if "@runner.task" in path.read_text()))
        environ = {**self.environ, "RUNNER_HANDLERS": modules or "tests.docs.stock"}
        with redis.Redis.from_url(self.url) as client:
            watched = Broker(client).open(queue)
            with Scaler(watched, environ, self.folder / ".workers", poll_s=0.05):
                yield

    def _start(self, block: Block, text: str) -> None:
        log = self.folder / ".background"
        with log.open("wb") as out:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
            self._running.append(subprocess.Popen(["bash", "-c", f"exec {text.strip()}"], cwd=self.folder, env=self.environ, **streams))
        until(lambda: block.marks["background"] in log.read_text(), within_s=30)

    def _python(self, block: Block, text: str) -> None:
        """A module is imported, anything else goes on where the page's last block ended."""
        before = {name: dict(known) for name, known in REGISTRY._handlers.items()}
        said = io.StringIO()
        names = {"__name__": Path(block.file).stem} if block.file else self._names
        try:
            with contextlib.redirect_stdout(said):
                # Blank lines before it, so that a traceback names the page's own line.
                exec(compile("\n" * block.line + text, block.where, "exec", dont_inherit=True), names)
        finally:
            REGISTRY._handlers.clear()
            REGISTRY._handlers.update(before)
        self.printed = said.getvalue()

    def _transcript(self, block: Block, text: str) -> None:
        """`$ command` and below it what it prints."""
        parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
        assert not parts[0].strip(), f"{block.where}: a console block begins with a command"
        for number, part in enumerate(parts[1:], 1):
            command, shown = _split(part)
            expected = int(block.marks.get("exits", 0)) if number == len(parts) - 1 else 0
            asked = partial(self._wrong, self._here(command), self._here(shown), expected)
            if "waits" in block.marks:
                until(lambda asked=asked: not asked(), within_s=20, every_s=0.2)  # type: ignore[misc]
            else:
                wrong = asked()
                assert not wrong, f"{block.where}: {command}: {wrong}"

    def _wrong(self, command: str, shown: str, expected: int) -> str:
        code, printed = self.execute(command)
        return f"exit code {code}\n{printed}" if code != expected else differs(shown, printed, self.ids)

    def _shell(self, block: Block, text: str) -> None:
        commands = [text] if TOGETHER.search(text) else text.replace("\\\n", " ").splitlines()
        for line in commands:
            code, printed = self.execute(line)
            expected = int(block.marks.get("exits", 0)) if line == commands[-1] else 0
            assert code == expected, f"{block.where}: exit code {code} of {line}\n{printed}"

    def execute(self, command: str) -> tuple[int, str]:
        """A command's exit code and all that it prints; a plain one in this process."""
        words = _plain(command)
        if words == []:
            return 0, ""
        if words and words[0] == "runner" and words[1] not in ROLES:
            return self._runner(words[1:])
        if words and words[0] == "redis-cli":
            return 0, redis_cli(self.url, words[1:])
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout

    def _runner(self, words: list[str]) -> tuple[int, str]:
        said, before = io.StringIO(), dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environ)
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                return run(words), said.getvalue()
        finally:
            os.environ.clear()
            os.environ.update(before)


def _split(part: str) -> tuple[str, str]:
    """A command, which may go on over lines that end with a backslash, and what is shown below it."""
    lines, count = part.splitlines(), 1
    while lines[count - 1].endswith("\\"):
        count += 1
    return "\n".join(lines[:count]).replace("\\\n", " "), "\n".join(lines[count:])


def _plain(line: str) -> list[str] | None:
    """The words of a line that any shell reads the same; None for one that needs a shell."""
    bare = re.sub(r"'[^']*'", "", line)
    if SPECIAL.search(re.sub(r'"[^"$`\\]*"', "", bare)) or re.match(r"[A-Z_]+=", line):
        return None
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return None


def redis_cli(url: str, words: list[str]) -> str:
    """What redis-cli prints where its output is no terminal; a page's port is that of `runner dev`."""
    words = words[2:] if words[0] == "-p" else words
    with redis.Redis.from_url(url) as client:
        connection = client.connection_pool.get_connection()
        try:
            connection.send_command(*words)
            return "".join(f"{line}\n" for line in _flat(connection.read_response()))
        finally:
            client.connection_pool.release(connection)


def _flat(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        answer = [part for pair in answer.items() for part in pair]
    if isinstance(answer, (list, tuple)):
        for part in answer:
            yield from _flat(part)
    else:
        yield "" if answer is None else answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)
