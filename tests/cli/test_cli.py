"""The command line: what it prints, its exit codes, one line for what is wrong. In one process, on a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.broker import Queue
from runner.cli import app, run
from runner.queue import Declaration
from tests.making import bury, claim, dead, submit
from tests.waiting import until


def test_a_task_is_submitted_found_and_cancelled(queue: Queue, said: Any) -> None:
    assert said("submit", "a", '{"n": 1}', "-q", "emails", "--task-id", "206", "--priority", "high") == (0, "206 waiting\n", "")
    assert said("submit", "a", "-q", "emails", "--task-id", "206")[1] == "206 waiting (was there already)\n"

    code, out, _ = said("inspect", "206", "--json")
    found = json.loads(out)
    assert (code, found["queue"], found["state"], found["priority"]) == (0, "emails", "waiting", "high")
    assert json.loads(found["body"])["payload"] == {"n": 1}
    assert "emails" in said("inspect", "206")[1]

    assert said("cancel", "206") == (0, "206 cancelled\n", "")


def test_a_payload_comes_from_stdin(queue: Queue) -> None:
    command = [sys.executable, "-m", "runner.cli", "submit", "a", "-", "-q", "emails"]
    subprocess.run(command, input='["ü", 130775545883395173]'.encode(), check=True, capture_output=True, timeout=60)

    assert json.loads(claim(queue).body)["payload"] == ["ü", 130775545883395173]


def test_an_empty_stdin_is_no_payload(queue: Queue) -> None:
    command = [sys.executable, "-m", "runner.cli", "submit", "a", "-", "-q", "emails"]

    done = subprocess.run(command, input="\n", capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (2, "runner: stdin holds no payload: send null where none is meant\n")
    assert queue.measure().waiting == 0


def test_submit_waits_for_the_result_of_a_real_worker(queue: Queue, url: str, said: Any) -> None:
    submitted = said("submit", "runner.echo", '{"n": 1}', "-q", "emails", "--task-id", "x")
    done = subprocess.run([sys.executable, "-m", "runner.cli", "work", "-q", "emails"], capture_output=True, text=True, timeout=60)

    assert (submitted[0], done.returncode) == (0, 0), done.stderr
    code, out, _ = said("submit", "runner.echo", "-q", "emails", "--task-id", "x", "--wait", "10", "--json")
    assert (code, json.loads(out)["created"], json.loads(out)["result"]) == (0, False, {"n": 1})


def test_a_wait_that_fails_exits_with_1(queue: Queue, said: Any) -> None:
    code, out, err = said("submit", "a", "-q", "emails", "--wait", "0.05")

    assert (code, out) == (1, "")
    assert "did not end within 0.05 s: it is waiting" in err


WRONG = [
    (("submit", "a", "{", "-q", "emails"), "the payload is not valid JSON"),
    (("submit", "a", "-q", "nope"), "queue 'nope' is not declared"),
    (("submit", "a", "-q", "emails", "--delay-s", "-1"), "`delay_s` is -1.0, not a number of seconds"),
    (("submit", "a", "-q", "emails", "--timeout-s", "x"), "Invalid value for '--timeout-s'"),
    (("submit", "a", "-q", "emails", "--priority", "urgent"), "has no priority 'urgent'"),
    (("submit",), "Missing argument"),
    (("queue", "declare", "bad name"), "a name has letters"),
    (("queue", "declare", "x", "--mode", "heap"), "neither stream nor list"),
    (("queue", "declare", "x", "--lease-s", "inf"), "lease_s is inf, not seconds from 0 to 1000000000"),
    (("queue", "declare", "x", "--max-length", "-1"), "max_length is -1, not a number from 0 up"),
    (("queue", "declare", "x", "--replay", "frob"), "replay holds reasons, of crash"),
    (("submit", "a", "-q", "emails", "--wait", "-1"), "(see `runner submit --help`)"),
    (("frob",), "No such command 'frob'"),
    ((), "Missing command"),
    (("keda", "emails", "--max-replicas", "0"), "Invalid value for '--max-replicas'"),
    (("keda", "emails", "--namespace", "My Shop"), "namespace is 'My Shop': Kubernetes takes lower-case letters"),
    (("keda", "emails", "--image", ""), "image is '', which names none"),
    (("status", "--cpu-hour", "0.04"), "--cpu-hour and --gib-hour go with --usage"),
    (("--redis-url", "http://x", "status"), "RUNNER_REDIS_URL"),
]


@pytest.mark.parametrize(("args", "line"), WRONG, ids=[" ".join(args) for args, _ in WRONG])
@pytest.mark.parametrize("mode", ["stream"])
def test_what_is_wrong_is_one_line_and_exit_code_2(
    queue: Queue, said: Any, args: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("RUNNER_REDIS_URL", url)
    code, out, err = said(*args)

    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert line in err
    assert queue.measure().waiting == 0


@pytest.mark.parametrize("mode", ["stream"])
def test_a_redis_that_is_away_is_one_line_and_exit_code_1(said: Any, monkeypatch: pytest.MonkeyPatch, queue: Queue) -> None:
    monkeypatch.setenv("RUNNER_CONNECT_S", "0")
    monkeypatch.setenv("RUNNER_REDIS_URL", "redis://127.0.0.1:1/0")

    for args in (("status",), ("submit", "a", "-q", "emails"), ("dead", "ls"), ("queue", "ls"), ("inspect", "x")):
        code, out, err = said(*args)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "refused the connection" in err


@pytest.mark.parametrize("command", [("status",), ("queue", "ls"), ("inspect", "a"), ("cancel", "a"), ("dead", "ls")])
def test_an_answer_that_nobody_expected_is_one_line_and_exit_code_1(queue: Queue, said: Any, command: tuple[str, ...]) -> None:
    queue.client.delete("runner/queues")
    queue.client.set("runner/queues", "somebody else's")

    code, out, error = said(*command)

    assert (code, out) == (1, "") and "WRONGTYPE" in error and error.count("\n") == 1


def test_a_full_queue_is_exit_code_1(queue: Queue, said: Any) -> None:
    assert said("queue", "declare", "small", "--max-length", "1", "--mode", queue.declaration.mode)[0] == 0
    assert said("submit", "a", "-q", "small")[0] == 0

    code, _, err = said("submit", "a", "-q", "small")

    assert code == 1
    assert "is full" in err


def test_a_queue_is_declared_and_listed(queue: Queue, said: Any) -> None:
    options = ("--priorities", "urgent, bulk", "--timeout-s", "12.5", "--replay", "crash", "--max-retries", "0")
    code, out, _ = said("queue", "declare", "images", "--mode", "list", *options, "--json")

    made = json.loads(out)
    assert (code, made["priorities"], made["default_priority"], made["timeout_s"], made["max_retries"]) == (
        0,
        ["urgent", "bulk"],
        "bulk",
        12.5,
        0,
    )
    assert [one["name"] for one in json.loads(said("queue", "ls", "--json")[1])] == ["emails", "images"]
    assert "urgent,bulk" in said("queue", "ls")[1]


def test_every_field_of_a_declaration_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queue", "declare", "--help"]) == 0

    shown = capsys.readouterr().out
    missing = [name for name in Declaration("x").to_fields() if f"--{name.replace('_', '-')}" not in shown]
    assert missing == ["rev", "layout"]


def test_status_shows_lengths_the_last_pass_and_keys_of_no_queue(queue: Queue, said: Any) -> None:
    """C49: a queue that was renamed, or misspelt by a bare push, fills up unseen."""
    submit(queue, "a")
    queue.client.xadd("emials", {"type": "a"})
    queue.client.lpush("old.queue", "x")
    queue.client.set("cache", "no queue")

    found = json.loads(said("status", "--json")[1])
    assert [(one["queue"], one["waiting"]) for one in found["queues"]] == [("emails", 1)]
    assert (found["undeclared"], found["last_pass"]) == (["emials", "old.queue"], {})
    assert said("control")[0] == 0
    code, out, _ = said("status")
    assert code == 0
    assert "last pass" in out
    assert "'emials' holds entries but is no declared queue" in out


def test_a_dead_task_is_rerun_under_a_new_id(queue: Queue, said: Any) -> None:
    dead(queue, "x")

    code, out, _ = said("rerun", "x", "--json")

    made = json.loads(out)
    assert (code, made["after"]) == (0, "dead x")
    assert json.loads(said("inspect", made["id"], "--json")[1])["attempts"] == [{"kind": "rerun", "of": "x"}]
    assert said("rerun", "nothing")[0] == 1


def test_bytes_that_are_no_text_can_be_inspected(queue: Queue, said: Any) -> None:
    submit(queue, "x", body=b"\xff\xfe{\x1b[31m")
    claim(queue)
    bury(queue, "x", "t1", reason="unreadable")

    code, out, _ = said("inspect", "x")
    assert code == 0
    assert "\\xff\\xfe{" in out
    assert "\x1b" not in out
    assert json.loads(said("inspect", "x", "--json")[1])["reason"] == "unreadable"


def test_every_command_has_examples_in_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {name: group.typer_instance for group in app.registered_groups if (name := group.name) and group.typer_instance}
    commands = [(c,) for c in app.registered_commands] + [(g, c) for g, typer in groups.items() for c in typer.registered_commands]

    for *group, command in commands:
        name = command.name or command.callback.__name__  # type: ignore[union-attr]
        assert run([*map(str, group), name, "--help"]) == 0
        assert f"Examples:\n    runner {' '.join([*map(str, group), name])}" in capsys.readouterr().out.replace("RUNNER_QUEUE=emails ", "")


def test_help_is_quick_to_import() -> None:
    loaded = "import sys, runner.cli; print([m for m in ('redis', 'orjson', 'pydantic', 'rich.console', 'msgpack') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_full_disk_is_one_line(queue: Queue) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "runner.cli", "status"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (1, "runner: the output cannot be written: No space left on device\n")


def test_streams_that_a_daemon_closed_are_no_error(queue: Queue) -> None:
    shell = ["sh", "-c", f"exec {sys.executable} -m runner.cli status <&- >&-"]

    done = subprocess.run(shell, stderr=subprocess.PIPE, timeout=60)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_pipe_is_no_error(queue: Queue) -> None:
    process = subprocess.Popen([sys.executable, "-m", "runner.cli", "status"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    process.stdout.close()

    assert until(lambda: process.poll() is not None, 20)
    assert (process.returncode, process.stderr.read()) == (0, b"")
    process.stderr.close()
