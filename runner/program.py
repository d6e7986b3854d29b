"""A task run by any program (RUNNER_EXEC): found, started in the child's place, and its exit code read. Called by child and supervisor.

The program gets the body on stdin exactly as it was submitted, the facts as RUNNER_TASK_ID, _TYPE, _VERSION, _QUEUE,
_ATTEMPT, _TIMEOUT_MS and _DEADLINE_MS (ms since the epoch), and may write a result to the file RUNNER_RESULT_FILE.
It exits with 0 for done, 75 for another run, 65 for the dead letters; any other code is an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Any, NoReturn

from runner.channels import Channels
from runner.ending import Outcome
from runner.errors import HandlersError
from runner.outcome import Kind
from runner.tail import clip, last_line

DONE, AGAIN, DEAD, KILLED = 0, 75, 65, 137
MAX_RESULT_BYTES = 64 * 1024


def check(command: str) -> list[str]:
    """The words of RUNNER_EXEC, the first a program that exists; HandlersError in one line. Called in the child."""
    import shlex
    import shutil

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise HandlersError(f"RUNNER_EXEC={command!r} cannot be split into words: {error}") from error
    if not words or not shutil.which(words[0]):
        raise HandlersError(f"RUNNER_EXEC={command!r}: no program {words[0] if words else ''!r} on PATH that may be run")
    return words


def become(words: list[str], facts: dict[str, Any], channels: Channels, result_file: str) -> NoReturn:
    """Replace the child by the program. An OSError comes back if the kernel refuses it."""
    os.lseek(channels.body_fd, 0, os.SEEK_SET)  # its writer left it at the end
    os.dup2(channels.body_fd, 0)
    os.set_inheritable(channels.lifeline_r, True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(words[0], words, environment(facts, result_file))


def environment(facts: dict[str, Any], result_file: str) -> dict[bytes, bytes]:
    """This process's environment and the facts."""
    told = {f"RUNNER_TASK_{name.upper()}": str(value) for name, value in facts.items() if value is not None}
    told["RUNNER_RESULT_FILE"] = result_file
    return dict(os.environb) | {name.encode(): _possible(value) for name, value in told.items()}


def tell_id(task_id: str) -> None:
    """RUNNER_TASK_ID for a Python handler's process too: what it starts can name the task, and a producer knows where it is."""
    os.environb[b"RUNNER_TASK_ID"] = _possible(task_id)


def _possible(value: str) -> bytes:
    """An id may hold what no environment can: NUL is left out, the rest escaped."""
    return value.replace("\0", "").encode("utf-8", "backslashreplace")


def new_result_file() -> str:
    """An empty file for the program's result. HandlersError where no directory takes one. Called by the supervisor."""
    import tempfile

    try:
        fd, path = tempfile.mkstemp(prefix="runner-result-", dir=os.environ.get("TMPDIR"))
    except OSError as error:
        raise HandlersError(f"no place for RUNNER_RESULT_FILE: {error.strerror or error}; mount a writable /tmp or set TMPDIR") from error
    os.close(fd)
    return path


def take_result(path: str) -> bytes:
    """What the program wrote, one byte over the limit at most; the file is gone after this. Called by the supervisor."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a FIFO in its place must not block
            return file.read(MAX_RESULT_BYTES + 1) or b""
    except OSError:
        # The program removed it, or put something there that is no file: it has no result, and that is its own choice.
        return b""
    finally:
        with contextlib.suppress(OSError):  # a directory, which is left where the program put it
            Path(path).unlink()


def outcome_of(exit_code: int, written: bytes, tail: bytes, stopped: bool, oom_killed: bool) -> Outcome | None:
    """What the exit code says; None for a signal, also one that a shell tells of the tool that it ran.

    Many programs exit with 0 when SIGTERM asks them to, done or not. So after a stop a 0 counts only beside a result.
    """
    if exit_code < 0 or (exit_code == KILLED and oom_killed) or (exit_code == DONE and stopped and not written):
        return None
    if exit_code == DONE:
        return _done(written)
    kind = {AGAIN: Kind.RETRY, DEAD: Kind.FATAL}.get(exit_code, Kind.ERROR)
    return Outcome(kind, clip(f"exit code {exit_code}: {last_line(written or tail)}".rstrip(": ")))


def _done(written: bytes) -> Outcome:
    """A result that is JSON is kept as it is; other text as a JSON string."""
    if len(written) > MAX_RESULT_BYTES:
        return Outcome(Kind.DONE, f"the result is over {MAX_RESULT_BYTES} bytes and not kept: store it elsewhere and write its address")
    try:
        text = written.decode()
    except UnicodeDecodeError:
        return Outcome(Kind.DONE, "the result is no UTF-8 and not kept: store it elsewhere and write its address")
    return Outcome(Kind.DONE, result=_as_json(text.strip()))


def _as_json(text: str) -> bytes:
    try:
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return json.dumps(text).encode() if text else b""
    return text.encode()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
