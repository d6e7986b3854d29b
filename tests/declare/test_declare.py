"""Declarations from a file: made true once, left alone afterwards, each wrong one told by name; the controller does it at each pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis

from runner.broker import Broker
from runner.config import ControllerSettings
from runner.controller import Controller
from runner.declare import make_true, read
from runner.errors import ConfigError, UndeclaredQueueError
from runner.keys import index_key
from runner.queue import Declaration
from runner.stop import Stop
from runner.tasks import Submission


def written(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "queues.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def applied(broker: Broker, path: str) -> list[bool]:
    return [make_true(broker, one, broker.names()) for one in read(path)]


@pytest.fixture
def broker(url: str) -> Broker:
    return Broker(redis.Redis.from_url(url))


def test_what_is_declared_so_already_is_left_alone(broker: Broker, tmp_path: Path) -> None:
    path = written(tmp_path, {"emails": {"mode": "list", "lease_s": 20, "replay": []}, "photos": {}})

    first, second = applied(broker, path), applied(broker, path)

    assert (first, second) == ([True, True], [False, False])
    assert [(q.name, q.declaration.mode) for q in broker.queues()] == [("emails", "list"), ("photos", "stream")]


def test_a_change_is_declared_and_a_lost_index_is_healed(broker: Broker, tmp_path: Path) -> None:
    applied(broker, written(tmp_path, {"emails": {}}))

    changed = applied(broker, written(tmp_path, {"emails": {"max_retries": 9}}))
    broker.client.delete(index_key(""))
    healed = applied(broker, written(tmp_path, {"emails": {"max_retries": 9}}))

    assert (changed, healed, broker.names()) == ([True], [True], ["emails"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read as JSON"),
        ([], "holds no map"),
        ({"emails": 1}, "queue 'emails': its declaration is no map"),
        ({"emails": {"colour": 1}}, "queue 'emails': colour cannot be declared; known are mode"),
        ({"emails": {"max_retries": "3"}}, "queue 'emails': max_retries is '3', allowed is int"),
        ({"emails": {"max_retries": True}}, "max_retries is True"),
        ({"emails": {"priorities": "high"}}, "priorities is 'high', allowed is a list"),
        ({"a b": {}}, "a name has letters"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read(written(tmp_path, content))

    assert "\n" not in str(caught.value)


def controller(broker: Broker, path: str) -> Controller:
    return Controller(broker, ControllerSettings(queues_file=path), Stop())


def test_the_controllers_pass_declares_before_it_looks(broker: Broker, tmp_path: Path) -> None:
    good = controller(broker, written(tmp_path, {"emails": {}})).one_pass()

    assert good and broker.last_pass()["queues"] == "1"


def test_a_queue_that_cannot_be_declared_stops_no_other(broker: Broker, tmp_path: Path) -> None:
    applied(broker, written(tmp_path, {"busy": {}}))
    broker.client.xadd("busy", {"type": "runner.echo"})

    good = controller(broker, written(tmp_path, {"busy": {"mode": "list"}, "emails": {}})).one_pass()

    assert not good
    assert broker.open("emails") and broker.open("busy").declaration.mode == "stream"
    assert broker.last_pass()["failed"] == "busy"


def test_a_queue_whose_declaration_is_broken_stops_no_other(broker: Broker, tmp_path: Path) -> None:
    broker.client.set("{broken}:queue", "somebody else's")

    good = controller(broker, written(tmp_path, {"broken": {}, "emails": {}})).one_pass()

    assert not good and broker.open("emails") and broker.last_pass()["failed"] == "broken"


def test_a_file_that_cannot_be_read_stops_no_pass(broker: Broker) -> None:
    broker.client.flushall()

    good = controller(broker, "/nowhere.json").one_pass()

    assert not good and broker.last_pass()["failed"] == "/nowhere.json"


def command(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"RUNNER_REDIS_URL": url, "RUNNER_CONNECT_S": "1"}
    return subprocess.run([sys.executable, "-m", "runner.declare", *arguments], capture_output=True, text=True, env=environ, check=False)


def test_the_check_writes_nothing_and_tells_what_differs(url: str, broker: Broker, tmp_path: Path) -> None:
    path = written(tmp_path, {"emails": {}})

    undeclared, declared = command(url, "--check", path), command(url, path)
    same, differs = command(url, "--check", path), command(url, "--check", written(tmp_path, {"emails": {"lease_s": 5}}))

    assert [one.returncode for one in (undeclared, declared, same, differs)] == [2, 0, 0, 1]
    assert "differs from the file" in differs.stdout + differs.stderr
    assert broker.open("emails").declaration.lease_s == 30


@pytest.mark.parametrize("arguments", [[], ["--look", "x"], ["a", "b"]])
def test_wrong_use_is_exit_code_2(url: str, arguments: list[str]) -> None:
    done = command(url, *arguments)

    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_no_redis_is_exit_code_1(tmp_path: Path) -> None:
    done = command("redis://127.0.0.1:1", written(tmp_path, {"emails": {}}))

    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_an_undeclared_queue_stays_an_error_of_its_own(broker: Broker) -> None:
    with pytest.raises(UndeclaredQueueError):
        broker.open("nobody")


def test_a_declaration_that_somebody_deleted_hides_no_other_queue(broker: Broker) -> None:
    broker.declare(Declaration("emails")).submit([Submission("t1", b"{}", "normal")])
    broker.declare(Declaration("retired"))
    broker.client.delete("{retired}:queue")

    found = broker.find("t1")

    assert found is not None and found[0].name == "emails"
    assert [queue.name for queue in broker.queues()] == ["emails"]
