"""`runner dev` as a person uses it: real processes, files saved while it runs, Ctrl-C. A run costs seconds, so each is a story."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runner.broker import Broker
from runner.cli import run
from runner.connect import FAILURES, connect, unretried
from runner.producer import Producer
from runner.queue import Declaration
from tests.processes import still_alive
from tests.servers import free_port
from tests.waiting import until

HANDLER = "import runner\n\n@runner.task('greet')\ndef greet(name):\n    print('greeting', name)\n    return {word!r} + name\n"


class Dev:
    """One run, and what it said so far."""

    def __init__(self, folder: Path, *options: str, **environ: str) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_") and name != "PYTHONDONTWRITEBYTECODE"}
        self.marked = f"RUN-{folder}"
        self._said = folder / "said.jsonl"
        with self._said.open("wb") as said, (folder / "complaints").open("wb") as complaints:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "runner.cli", "dev", *options],
                cwd=folder,
                env=plain | environ | {"MARKED": self.marked},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=complaints,
            )
        self._complaints = folder / "complaints"

    def events(self, name: str, **fields: Any) -> list[dict[str, Any]]:
        """The events of this name with these fields."""
        if self.process.poll() not in (None, 0):
            raise AssertionError(self._complaints.read_text())
        found = [json.loads(line) for line in self._said.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [one for one in found if one["event"] == name and all(one.get(key) == value for key, value in fields.items())]

    def await_event(self, name: str, **fields: Any) -> dict[str, Any]:
        """The last such event, once there is one."""
        return until(lambda: self.events(name, **fields), within_s=30, every_s=0.05)[-1]

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and what is on stderr."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30), self._complaints.read_text()


def saved_within_the_second(path: Path, text: str) -> None:
    """Write as many bytes as there were, at a time that differs by less than Python looks at."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns ^ 1))
    assert path.stat().st_size == before.st_size


@contextmanager
def running(folder: Path, *options: str, **environ: str) -> Iterator[Dev]:
    dev = Dev(folder, *options, **environ)
    try:
        yield dev
    finally:
        dev.process.send_signal(signal.SIGINT)
        dev.process.wait(30)


def test_saved_handlers_are_what_the_next_task_runs_and_a_broken_file_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "greetings.py").write_text(HANDLER.format(word="hello "))
    with running(tmp_path, "greetings.py", "--queue", "greetings", "--port", str(free_port())) as dev:
        url = dev.await_event("serving")["url"]
        assert dev.await_event("handlers ready")["types"] == ["greet"]
        with Producer(url) as producer:
            task_id = producer.submit("greet", "Ada", queue="greetings").id
            assert producer.wait(task_id, 30) == "hello Ada"
            assert dev.await_event("output", task_id=task_id)["line"] == "greeting Ada"
            assert dev.await_event("settled", task_id=task_id)["action"] == "complete"

            saved_within_the_second(tmp_path / "greetings.py", HANDLER.format(word="howdy "))
            until(lambda: len(dev.events("handlers ready")) == 2, within_s=30)
            assert producer.wait(producer.submit("greet", "Ada", queue="greetings").id, 30) == "howdy Ada"

            (tmp_path / "greetings.py").write_text(HANDLER.format(word="good morning ") + "from words import more\n")
            assert "No module named 'words'" in dev.await_event("handlers cannot be imported")["error"]
            waiting = producer.submit("greet", "Eve", queue="greetings").id
            (tmp_path / "words.py").write_text("more = 'world'\n")

            assert producer.wait(waiting, 30) == "good morning Eve"

        assert dev.interrupt() == (0, "")
        assert still_alive(dev.marked) == []
        with pytest.raises(FAILURES):  # a server's title hides its environment
            unretried(url).ping()
        assert not dev.events("controller ended")


def test_on_ones_own_redis_a_queue_declared_later_is_worked_and_ctrl_c_hands_a_task_back(tmp_path: Path, url: str) -> None:
    broker = Broker(connect(url))
    broker.declare(Declaration("letters", mode="list"))
    with running(tmp_path, "--grace-s", "1", RUNNER_REDIS_URL=url) as dev, Producer(url) as producer:
        assert dev.await_event("serving")["queues"] == ["letters"]
        emails = broker.declare(Declaration("emails"))
        task_id = producer.submit("runner.sleep", {"s": 60}, queue="emails").id
        dev.await_event("claimed", id=task_id)

        ended = dev.interrupt()

        facts = emails.look(task_id)
        assert facts is not None
        assert (ended, facts.state, facts.counters.releases) == ((0, ""), "waiting", 1)
        assert dev.events("ending", tasks=1) and dev.events("settled", task_id=task_id, action="release")
        assert still_alive(dev.marked) == []
        assert broker.open("letters").declaration.mode == "list"


def test_queues_that_were_asked_for_are_there_again_after_redis_was_emptied(tmp_path: Path, url: str) -> None:
    client = connect(url)
    with running(tmp_path, "--queue", "emails", "--mode", "list", RUNNER_REDIS_URL=url) as dev, Producer(url) as producer:
        dev.await_event("serving")

        client.flushall()
        until(lambda: Broker(client).names() == ["emails"], within_s=30)

        assert producer.wait(producer.submit("runner.echo", 1, queue="emails").id, 30) == 1
        assert Broker(client).open("emails").declaration.mode == "list"
    client.close()


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (("--exec", "no-such-program -x"), "--exec names 'no-such-program', and no such program is on PATH"),
        (("--exec", '"cat'), "cannot be split into words: No closing quotation"),
        (("--exec", " "), "--exec names ''"),
        (("../shop/resize.py",), "../shop/resize.py is not below this folder"),
        (("resize", "--exec", "cat"), "give handlers or --exec, not both"),
        (("--mode", "heap"), "mode 'heap' is neither stream nor list"),
        (("--queue", "a b"), "queue 'a b': a name has letters"),
    ],
)
def test_what_cannot_work_is_one_line_before_anything_starts(
    options: tuple[str, ...], wrong: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RUNNER_REDIS_URL", "")

    code = run(["dev", *options])

    complained = capsys.readouterr().err
    assert (code, complained.count("\n")) == (2, 1)
    assert wrong in complained


def test_a_taken_port_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RUNNER_REDIS_URL", "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        code = run(["dev", "--port", str(port)])

    assert (code, f"port {port} of this machine is taken" in capsys.readouterr().err) == (2, True)
