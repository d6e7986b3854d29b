"""What a handler does, and the ending that its supervisor makes of it. Called by pytest."""

from __future__ import annotations

import gc
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.outcome import Kind
from tests.supervisor.children import STUBBORN, open_descriptors, run, watched

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_returned_value_is_the_result_as_json() -> None:
    ending = run("sum", [1, 2, 3])

    assert (ending.kind, ending.detail, ending.result, ending.exit_code) == (Kind.DONE, "", b"6", 0)


def test_a_handler_may_ask_for_the_facts_of_its_attempt() -> None:
    with watched() as one:
        ending = one.run("facts", timeout_s=60, id="a b/ü", attempt=3)

    told = json.loads(ending.result)
    assert (told["id"], told["attempt"], told["type"]) == ("a b/ü", 3, "facts")
    assert 50 < (datetime.fromisoformat(told["deadline"]) - datetime.now().astimezone()).total_seconds() <= 60


def test_an_async_handler_runs_in_a_loop_of_its_own() -> None:
    assert json.loads(run("async", [1]).result) == {"async": [1], "id": "206"}


@pytest.mark.parametrize(("version", "ran"), [(1, "old"), (2, "old"), (3, "new"), (None, "new")])
def test_the_version_picks_the_handler(version: int | None, ran: str) -> None:
    with watched() as one:
        assert json.loads(one.run("versioned", version=version).result) == ran


def test_the_built_in_echo_returns_its_payload_and_exact_numbers() -> None:
    assert run("runner.echo", {"id": 130775545883395173, "a": [], "f": 1.0}).result == b'{"id":130775545883395173,"a":[],"f":1.0}'


def test_the_built_in_sleep_sleeps() -> None:
    assert 0.2 <= run("runner.sleep", {"s": 0.2}).wall_s < 5


def test_a_result_is_written_as_a_payload_is() -> None:
    assert json.loads(run("returns", "rich").result) == {"price": "1.10", "tags": ["a"]}


@pytest.mark.parametrize("size", [0, 70_000, 5_000_000])
def test_a_body_of_any_size_reaches_the_handler(size: int) -> None:
    with watched() as one:
        ending = one.run("eats", body=json.dumps({"type": "eats", "junk": "x" * size, "payload": 7}).encode())

    assert ending.result == b"7"


@pytest.mark.parametrize(
    ("type", "payload", "detail"),
    [
        ("raises", "no such image", "ValueError: no such image"),
        ("raises", "", "ValueError"),
        ("raises", "\ud800", "ValueError: \\ud800"),
        ("raises-unspeakable", None, "Unspeakable: (no text: its __str__ raised RuntimeError)"),
        ("exits", 0, "SystemExit: 0"),
        ("exits", 3, "SystemExit: 3"),
        ("interrupts", None, "KeyboardInterrupt"),
        ("unheard-of", None, "no handler for type 'unheard-of', version None"),
    ],
)
def test_whatever_a_handler_raises_is_an_error_and_never_silence(type: str, payload: Any, detail: str) -> None:
    ending = run(type, payload)

    assert (ending.kind, ending.detail) == (Kind.ERROR, detail)


def test_an_error_keeps_its_traceback_in_the_tail_and_its_detail_bounded() -> None:
    ending = run("raises", "ä" * 5000)

    assert b"Traceback" in ending.tail
    assert b"handlers_ordinary.py" in ending.tail
    assert 2000 < len(ending.detail.encode()) <= 2048
    assert ending.detail.endswith("ä...")


@pytest.mark.parametrize("after_s", [None, 0, 2.5])
def test_a_retry_is_the_handlers_wish_with_its_delay(after_s: float | None) -> None:
    ending = run("retry", after_s)

    assert (ending.kind, ending.detail, ending.after_s, ending.tail) == (Kind.RETRY, "not yet", after_s, b"")


def test_fatal_is_told_with_its_reason() -> None:
    ending = run("fatal", "no such customer")

    assert (ending.kind, ending.detail) == (Kind.FATAL, "no such customer")


@pytest.mark.parametrize(
    ("what", "note"),
    [
        ("file", "the result is no JSON and not kept: TypeError: a value in it is of type TextIOWrapper"),
        ("nan", "the result is no JSON and not kept: ValueError"),
        ("loop", "the result is no JSON and not kept: ValueError: Circular reference"),
        ("complex", "the result is no JSON and not kept: TypeError: a value in it is of type complex"),
        ("long", "the result is over 65536 bytes and not kept"),
    ],
)
def test_a_result_that_cannot_be_kept_leaves_the_task_done_with_a_note(what: str, note: str) -> None:
    ending = run("returns", what)

    assert (ending.kind, ending.result) == (Kind.DONE, b"")
    assert ending.detail.startswith(note)


@pytest.mark.parametrize(
    ("type", "detail"),
    [
        ("vanishes", "ended without an outcome, exit code 0"),
        ("killed", "ended without an outcome, killed by SIGKILL"),
        ("segfault", "ended without an outcome, killed by SIGSEGV"),
    ],
)
def test_an_end_without_a_word_is_a_crash_that_names_its_cause(type: str, detail: str) -> None:
    ending = run(type)

    assert (ending.kind, ending.detail) == (Kind.CRASH, detail)


def test_a_segfault_leaves_its_place_in_the_tail() -> None:
    assert b"handlers_ordinary.py" in run("segfault").tail


def test_a_memory_error_is_out_of_memory() -> None:
    ending = run("memory")

    assert (ending.kind, ending.detail) == (Kind.OOM, "MemoryError: cannot allocate")


@pytest.mark.parametrize(
    ("line", "counter"),
    [
        ("0::/pod\n", "sys/fs/cgroup/pod/memory.events"),
        ("0::/\n", "sys/fs/cgroup/memory.events"),
        ("0::/not/mounted/in/here\n", "sys/fs/cgroup/memory.events"),
        ("9:name=systemd:/\n4:cpu,memory:/pod\n0::/\n", "sys/fs/cgroup/memory/pod/memory.oom_control"),
        ("4:memory:/docker/5f\n", "sys/fs/cgroup/memory/memory.oom_control"),
    ],
)
def test_a_kill_that_the_kernel_counted_is_out_of_memory(tmp_path: Path, line: str, counter: str) -> None:
    file, own = tmp_path / counter, tmp_path / "proc/self/cgroup"
    for path in (file, own):
        path.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("low 0\noom 0\noom_kill 0\n")
    own.write_text(line)

    ending = run("oom", str(file), root=str(tmp_path))

    assert (ending.kind, ending.exit_code) == (Kind.OOM, -9)


def test_a_kill_that_the_kernel_did_not_count_is_a_crash(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.events").write_text("oom_kill 4\n")

    assert run("killed", root=str(tmp_path)).kind is Kind.CRASH


def test_usage_is_told_of_every_attempt() -> None:
    idle, busy = run("sum", [1]), run("spins", 0.3)

    assert busy.cpu_s - idle.cpu_s >= 0.25
    assert busy.wall_s >= 0.3


def test_progress_is_there_while_the_task_runs_bounded() -> None:
    seen: list[Any] = []
    with watched() as one:
        one.once_printed(b"reported", lambda: seen.append(one.supervisor.progress))
        one.once_printed(b"reported", lambda: one.supervisor.stop(Kind.RELEASED))
        one.run("progress")

        assert one.supervisor.progress == (1.0, "x" * 200)
    assert seen


def test_a_fork_of_the_child_does_not_speak_for_it() -> None:
    assert run("forks-and-falls-through", module=STUBBORN).result == b'"the original"'


@pytest.mark.parametrize("forged", ["nonsense", "depth", "number"])
def test_a_child_that_forges_its_reply_is_not_believed(forged: str) -> None:
    ending = run("speaks-out-of-turn", forged)

    assert ending.kind is Kind.CRASH
    assert "makes no sense" in ending.detail


def test_nothing_stays_open_after_an_attempt() -> None:
    run("sum", [1])
    gc.collect()
    before = open_descriptors()

    run("sum", [1])
    run("waits", timeout_s=0.1)

    gc.collect()
    assert open_descriptors() == before


def test_facts_may_be_of_any_size() -> None:
    with watched() as one:
        assert one.run("sum", [1], id="i" * 200_000).result == b"1"
