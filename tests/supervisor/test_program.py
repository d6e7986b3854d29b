"""Tasks run by any program (RUNNER_EXEC): a shell stands for all of them. Called by pytest."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from runner.errors import HandlersError
from runner.outcome import Ending, Kind
from runner.supervisor import Supervisor
from tests.supervisor.children import watched

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def sh(script: str, body: bytes = b"{}", timeout_s: float = 30, grace_s: float = 5.0, root: str = "/", **more: Any) -> Ending:
    with watched(exec_command=f"sh -c {shlex.quote(script)}", grace_s=grace_s, root=root) as one:
        return one.run("image.resize", body=body, timeout_s=timeout_s, **more)


@pytest.fixture(autouse=True)
def _no_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("body", [b'{"type": "image.resize",  "payload":{"n": 1.0}}', b"\x82\xa4type\xa1x\x00\xff", b""])
def test_the_body_is_on_stdin_exactly_as_it_was_submitted(body: bytes) -> None:
    ending = sh("""printf '"%s"' "$(od -An -v -tx1 | tr -d ' \n')" > "$RUNNER_RESULT_FILE" """, body)

    assert json.loads(ending.result) == body.hex()


def test_the_facts_are_in_the_environment() -> None:
    ending = sh("env | grep ^RUNNER_TASK_ | sort", id="a b\0ü\udcff", version=2, attempt=3, timeout_s=9)

    lines = dict(line.split("=", 1) for line in ending.tail.decode().splitlines())
    assert int(lines.pop("RUNNER_TASK_DEADLINE_MS")) > 1_700_000_000_000
    assert lines == {
        "RUNNER_TASK_ID": "a bü\\udcff",
        "RUNNER_TASK_TYPE": "image.resize",
        "RUNNER_TASK_VERSION": "2",
        "RUNNER_TASK_QUEUE": "emails",
        "RUNNER_TASK_ATTEMPT": "3",
        "RUNNER_TASK_TIMEOUT_MS": "9000",
    }


@pytest.mark.parametrize(
    ("script", "kind", "detail"),
    [
        ("exit 0", Kind.DONE, ""),
        ("exit 75", Kind.RETRY, "exit code 75"),
        ("echo too soon; exit 75", Kind.RETRY, "exit code 75: too soon"),
        ("echo no such customer >&2; exit 65", Kind.FATAL, "exit code 65: no such customer"),
        ('echo noise; echo the reason > "$RUNNER_RESULT_FILE"; exit 65', Kind.FATAL, "exit code 65: the reason"),
        ("exit 3", Kind.ERROR, "exit code 3"),
        ("no-such-tool", Kind.ERROR, "exit code 127: "),
        ("kill -9 $$", Kind.CRASH, "ended without an outcome, killed by SIGKILL"),
        ("kill -SEGV $$", Kind.CRASH, "ended without an outcome, killed by SIGSEGV"),
    ],
)
def test_the_exit_code_is_the_outcome(script: str, kind: Kind, detail: str) -> None:
    ending = sh(script)

    assert ending.kind is kind
    assert ending.detail.startswith(detail)


@pytest.mark.parametrize(
    ("written", "result"),
    [('{"a": [1.0]}', b'{"a": [1.0]}'), ("plain text", b'"plain text"'), ("NaN", b'"NaN"'), ("", b"")],
)
def test_the_result_file_is_the_result_json_as_it_is_and_text_as_a_string(written: str, result: bytes) -> None:
    assert sh(f"printf %s {shlex.quote(written)} > $RUNNER_RESULT_FILE").result == result


def test_a_result_may_be_written_beside_and_renamed_or_removed() -> None:
    assert sh('echo 1 > "$RUNNER_RESULT_FILE.new"; mv "$RUNNER_RESULT_FILE.new" "$RUNNER_RESULT_FILE"').result == b"1"
    assert sh('rm "$RUNNER_RESULT_FILE"').kind is Kind.DONE
    assert sh('rm "$RUNNER_RESULT_FILE"; mkfifo "$RUNNER_RESULT_FILE"').kind is Kind.DONE


@pytest.mark.parametrize(("write", "note"), [("head -c 70000 /dev/zero", "over 65536 bytes"), (r"printf '\377'", "no UTF-8")])
def test_a_result_that_cannot_be_kept_leaves_the_task_done_with_a_note(write: str, note: str) -> None:
    ending = sh(f'{write} > "$RUNNER_RESULT_FILE"')

    assert (ending.kind, ending.result) == (Kind.DONE, b"")
    assert note in ending.detail


def test_a_program_is_ended_by_its_timeout_with_the_tools_it_started() -> None:
    ending = sh("sleep 60; true", timeout_s=0.3)

    assert (ending.kind, ending.exit_code) == (Kind.TIMEOUT, -15)
    assert ending.wall_s < 3


def test_a_program_that_ignores_sigterm_is_killed() -> None:
    ending = sh("trap '' TERM; while :; do sleep 1; done", timeout_s=0.3, grace_s=0.3)

    assert (ending.kind, ending.exit_code) == (Kind.TIMEOUT, -9)


def test_exit_code_0_after_a_stop_counts_only_beside_a_result() -> None:
    polite = "trap 'exit 0' TERM; sleep 60 & wait"
    finishing = "trap 'echo 7 > $RUNNER_RESULT_FILE; exit 0' TERM; sleep 60 & wait"

    assert sh(polite, timeout_s=0.3).kind is Kind.TIMEOUT
    assert (sh(finishing, timeout_s=0.3).kind, sh(finishing, timeout_s=0.3).result) == (Kind.DONE, b"7")


@pytest.mark.parametrize(("counted", "kind"), [("1", Kind.OOM), ("0", Kind.ERROR)])
def test_a_shell_whose_tool_was_killed_for_memory_is_out_of_memory(tmp_path_factory: Any, counted: str, kind: Kind) -> None:
    root = tmp_path_factory.mktemp("root")
    file = root / "sys/fs/cgroup/memory.events"
    file.parent.mkdir(parents=True)
    file.write_text("oom_kill 0\n")

    assert sh(f"echo oom_kill {counted} > {file}; exit 137", root=str(root)).kind is kind


def test_any_program_knows_every_type() -> None:
    with watched(exec_command="true") as one:
        one.supervisor.start()

        assert one.supervisor.await_ready().knows("whatever", 9)


@pytest.mark.parametrize(
    ("command", "line"),
    [("no-such-program --x", "no program 'no-such-program' on PATH"), ("sh -c 'x", "cannot be split into words"), (" ", "no program ''")],
)
def test_a_program_that_is_not_there_is_one_clear_line_and_nothing_is_claimed(command: str, line: str) -> None:
    with watched(exec_command=command) as one:
        one.supervisor.start()

        with pytest.raises(HandlersError, match=line):
            one.supervisor.await_ready()


def test_a_program_that_the_kernel_refuses_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(b"\x7fELF")
    script.chmod(0o755)
    with watched(exec_command=str(script)) as one:
        ending = one.run("image.resize")
    script.unlink()

    assert ending.kind is Kind.ERROR
    assert "could not be started" in ending.detail


def test_no_place_for_the_result_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    one = Supervisor(exec_command="true")

    with pytest.raises(HandlersError, match="no place for RUNNER_RESULT_FILE: No such file or directory; mount a writable /tmp"):
        one.start()

    one.close()
