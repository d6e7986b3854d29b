"""One event is one line of JSON, whatever its fields hold, and no password is in it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import logs
from tests.waiting import until


def written(capsys: pytest.CaptureFixture[str], name: str, level: str = "info", **fields: Any) -> dict[str, Any]:
    logs.event(name, level, **fields)
    (line,) = capsys.readouterr().err.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_an_event_has_its_time_level_and_name_first(capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "claimed", task_id="206", attempt=2)

    assert list(found) == ["ts", "level", "event", "task_id", "attempt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["ts"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"caf\xc3\xa9 \xff", "café \\xff"),
        ([b"\xff"], ["\\xff"]),
        (Path("/a"), "/a"),
        (float("nan"), "nan"),
        ("a\nb", "a\nb"),
        ("\ud800", "\ud800"),
    ],
)
def test_any_value_can_be_logged(capsys: pytest.CaptureFixture[str], value: object, shown: object) -> None:
    assert written(capsys, "seen", value=value)["value"] == shown


def test_a_url_is_logged_without_its_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys, "connected", redis_url="redis://me:hush@host/0")["redis_url"] == "redis://me:***@host/0"


def test_an_event_below_the_least_level_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    logs.event("detail", "debug")

    assert capsys.readouterr().err == ""


def test_a_person_at_a_terminal_reads_plain_lines() -> None:
    ours, theirs = pty.openpty()
    code = "from runner.logs import event; event('claimed', 'warning', task_id='206', wait_s=1.5)"

    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True)

    shown = os.read(ours, 1000).decode().strip()
    os.close(ours)
    os.close(theirs)
    assert re.fullmatch(r"[\d:.]{12} WARNING claimed task_id=206 wait_s=1\.5", shown)


def blocked(pid: int) -> bool:
    """Whether the process waits in a write to a full pipe."""
    return "pipe" in Path(f"/proc/{pid}/wchan").read_text() or "S" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_signal_handler_may_log_while_a_line_is_written() -> None:
    code = """
import signal, threading
from runner.logs import event
signal.signal(signal.SIGUSR1, lambda *_: event('heard'))
written = threading.Event()
def bother():
    while not written.is_set():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
other = threading.Thread(target=bother)
other.start()
for _ in range(500):
    event('ordinary', text='x' * 3000)
written.set()
other.join()
"""

    reader, writer = os.pipe()  # nobody reads at first, so that the pipe is full and writes are interrupted
    with subprocess.Popen([sys.executable, "-c", code], stderr=writer) as process, os.fdopen(reader) as lines:
        os.close(writer)
        until(lambda: blocked(process.pid))
        names = {json.loads(line)["event"] for line in lines}

    assert names == {"heard", "ordinary"}
    assert process.returncode == 0


def test_a_reader_that_went_away_does_not_stop_the_process() -> None:
    code = "from runner.logs import event; [event('line', n=n) for n in range(3)]; print('alive')"
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=writer, text=True, check=False)

    os.close(writer)
    assert done.stdout == "alive\n"
