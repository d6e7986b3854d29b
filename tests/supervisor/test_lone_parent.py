"""What only shows in a process of its own: its memory, its modules, its death, its own descriptors. Called by pytest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.supervisor.children import ORDINARY, STUBBORN, gone
from tests.waiting import until

ROOT = Path(__file__).parents[2]


@contextmanager
def parent(type: str, payload: Any = None, *, stderr: Any = subprocess.PIPE, **more: Any) -> Iterator[Any]:
    given = json.dumps({"type": type, "payload": payload, "modules": (ORDINARY,), **more})
    command = [sys.executable, "-m", "tests.supervisor.lone_parent", given]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[bytes]) -> tuple[dict[str, Any], bytes]:
    out, err = process.communicate(timeout=60)
    return json.loads(out), err or b""


def test_a_hundred_megabytes_of_output_pass_through_unbroken_and_do_not_grow_the_parent() -> None:
    with parent("prints", 100_000_000) as process:
        ending, printed = told(process)

    assert ending["kind"] == "done"
    assert ending["tail"] == 16 * 1024
    assert ending["grown_kib"] < 4096
    assert printed == (b"x" * 99 + b"\n") * 1_000_000 + b"the end\n"


def test_peak_memory_is_told_of_every_attempt() -> None:
    """Not from the tests' own process: its child begins as large as that has grown."""
    with parent("sum", [1]) as process:
        idle, _ = told(process)
    with parent("eats", 64 * 1024 * 1024) as process:
        hungry, _ = told(process)

    assert hungry["peak_kib"] - idle["peak_kib"] > 50 * 1024


def test_a_handler_may_use_a_process_pool() -> None:
    """Not from the tests' own process: it has threads, and a fork of a fork may meet a lock that one of them held."""
    with parent("uses-a-pool", [-1, -2], modules=(STUBBORN,)) as process:
        ending, _ = told(process)

    assert (ending["kind"], ending["result"]) == ("done", "[1,2]")


def test_sigterm_ends_a_process_that_a_handler_forked() -> None:
    """As everywhere else. One that only took note of it left a closing process pool waiting until the timeout, one time in four."""
    with parent("terminates-a-fork", modules=(STUBBORN,)) as process:
        ending, _ = told(process)

    assert (ending["kind"], ending["result"]) == ("done", str(-signal.SIGTERM))


def test_a_log_that_nobody_reads_does_not_hold_up_the_timeout() -> None:
    with parent("prints-for-ever", timeout_s=0.5, grace_s=0.5) as process:
        assert process.stdout
        ending = json.loads(process.stdout.readline())

    assert ending["kind"] == "timeout"
    assert ending["wall_s"] < 1.0 + 0.25


def test_a_log_whose_reader_is_gone_does_not_end_the_task() -> None:
    reader, writer = os.pipe()
    with parent("prints", 1_000_000, stderr=writer) as process:
        os.close(writer)
        os.close(reader)
        ending, _ = told(process)

    assert (ending["kind"], ending["tail"]) == ("done", 16 * 1024)


def test_a_killed_parent_takes_its_child_and_grandchildren_along() -> None:
    with parent("waits-with-grandchild", modules=(STUBBORN,)) as process:
        line = process.stderr.readline()
        pids = [int(word.split(b"=")[1]) for word in line.split()[:2]]

        process.send_signal(signal.SIGKILL)

        until(lambda: all(gone(pid) for pid in pids))


def test_a_killed_parent_takes_a_program_along() -> None:
    with parent("any", modules=(), exec="sh -c 'echo pid=$$ >&2; sleep 60'") as process:
        pid = int(process.stderr.readline().split(b"=")[1])

        process.send_signal(signal.SIGKILL)

        until(lambda: gone(pid))


def test_a_killed_parent_takes_a_child_along_that_is_not_ready_yet() -> None:
    with parent("any", modules=("tests.supervisor.handlers_announced",)) as process:
        pid = int(process.stderr.readline().split(b"=")[1])

        process.send_signal(signal.SIGKILL)

        until(lambda: gone(pid))


def test_the_parent_loads_none_of_the_users_code_and_the_child_no_redis() -> None:
    with parent("modules") as process:
        ending, _ = told(process)

    assert ORDINARY not in ending["modules"]
    assert not {"redis", "pydantic", "orjson", "ulid", "asyncio", "logging", "ctypes", "tempfile"} & set(ending["modules"])
    assert ORDINARY in json.loads(ending["result"])
    assert not {"redis", "pydantic", "orjson", "ulid"} & set(json.loads(ending["result"]))


def test_a_parent_started_without_standard_streams_works() -> None:
    given = json.dumps({"type": "prints", "payload": 100, "modules": [ORDINARY]})
    script = f"exec <&- 2>&-; exec {sys.executable} -m tests.supervisor.lone_parent '{given}'"

    done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True, timeout=30, cwd=ROOT)

    assert json.loads(done.stdout)["kind"] == "done"
