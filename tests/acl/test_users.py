"""The four Redis users: each can do all of its work, in both modes, and nothing of another's; no command is granted that nobody calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.exceptions import NoPermissionError

from runner.broker import Broker, Queue
from runner.config import ControllerSettings
from runner.controller import Controller
from runner.errors import ReplicationError, WaitTimeoutError
from runner.outcome import Ending, Kind
from runner.producer import NewTask, Producer
from runner.queue import Declaration
from runner.reaper import settle_reaped
from runner.stop import Stop
from tests.acl.users import FILES, PREFIX, USERS, Guarded, granted, make_users, rules
from tests.making import bury, claim, due, end_lease, held, overdue, retry
from tests.servers import DURABLE, binary_of
from tests.waiting import until
from tests.worker.pods import Pod

SHAKING_HANDS = {"ping", "hello", "select", "client|setname", "eval"}
"""What a client says whatever it is for, or when the server lost its scripts."""
KEDA_LISTS = "local t = redis.call('type', KEYS[1]).ok; if t == 'list' then return redis.call('llen', KEYS[1]) else return 0 end"


@pytest.fixture(scope="module")
def _guarded(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(binary_of(backend), tmp_path_factory.mktemp("users"))
    yield made
    made.close()


@pytest.fixture
def guarded(_guarded: Guarded, mode: str) -> Guarded:
    _guarded.admin.flushall()
    _guarded.admin.script_flush()
    Broker(_guarded.admin, PREFIX).declare(Declaration("emails", mode=mode, lease_s=1, backoff_s=0.01, max_length=1000))
    return _guarded


def opened(guarded: Guarded, user: str) -> Queue:
    return Broker(guarded.client(user), PREFIX).open("emails")


def produce(guarded: Guarded) -> None:
    """All that a producer does."""
    admin = opened(guarded, "admin")
    with Producer(guarded.url("producer"), PREFIX) as producer:
        producer.submit("note", {"n": 1}, queue="emails", task_id="a", priority="low", key="k")
        producer.submit("note", queue="emails", task_id="a")
        producer.submit("note", queue="emails", task_id="b", delay_s=60, expires_s=90)
        producer.submit_many([NewTask("note"), NewTask("note")], queue="emails")
        assert [producer.cancel(name) for name in ("a", "b", "nobody")] == ["cancelled", "cancelled", "unknown"]
        assert producer.submit("note", queue="emails", task_id="a").state == "waiting"
        with pytest.raises(WaitTimeoutError):
            producer.wait("a", 0.01)
        dead = claim(admin)
        bury(admin, dead.id, "t1")
        producer.rerun(dead.id)
        producer.submit("note", queue="emails", task_id=dead.id)
        assert producer.find(dead.id, queue="emails")
    replicated(guarded, "producer")
    pushing = guarded.client("producer")
    key = admin.keys.main
    pushing.xadd(key, {"type": "note"}) if admin.declaration.mode == "stream" else (pushing.lpush(key, "{}"), pushing.rpush(key, "{}"))


def replicated(guarded: Guarded, user: str) -> None:
    """Submit to replicas, of which this server has none."""
    with Producer(guarded.url(user), PREFIX, wait_replicas=1, wait_replicas_s=0.001) as producer, pytest.raises(ReplicationError):
        producer.submit("note", queue="emails", task_id="replicated", delay_s=60)


class Work:
    """Real workers as the worker's user."""

    def __init__(self, guarded: Guarded, folder: Path) -> None:
        self.guarded, self.folder, self.number = guarded, folder, 0
        self.queue = opened(guarded, "admin")

    def pod(self) -> Pod:
        """Start one."""
        self.number += 1
        login = {"RUNNER_REDIS_USERNAME": "worker", "RUNNER_REDIS_PASSWORD": "worker-secret", "RUNNER_PREFIX": PREFIX}
        return Pod(self.folder, f"pod-{self.number}", self.guarded.plain_url, **login, RUNNER_POD_UID="uid", RUNNER_NODE="node")

    def submit(self, task_type: str, task_id: str, **more: Any) -> None:
        """Put one in, as anybody."""
        with Producer(self.guarded.url("admin"), PREFIX) as producer:
            producer.submit(task_type, queue="emails", task_id=task_id, **more)

    def run(self) -> None:
        """Done with a key, retried, buried, handed back, taken over; pushed bare; after a destroyed group."""
        for task_type, expected in (("note", "done"), ("nobody knows it", "delayed"), ("die", "delayed")):
            self.submit(task_type, task_type, key=task_type)
            assert self.pod().ended() == 0
            assert self.queue.look(task_type).state == expected  # type: ignore[union-attr]
        with Producer(self.guarded.url("worker"), PREFIX) as producer:  # a handler's follow-up
            producer.submit("note", queue="emails", task_id="next", delay_s=60)
        replicated(self.guarded, "worker")
        self._stopped()
        self._taken_over()
        self._pushed()

    def _stopped(self) -> None:
        self.submit("hold", "held")
        pod = self.pod()
        pod.event("claimed")
        until(lambda: (self.folder / "began").exists())
        pod.signal(15)
        assert pod.ended() == 0
        assert self.queue.cancel("held") == "cancelled"

    def _taken_over(self) -> None:
        self.submit("note", "lost")
        end_lease(self.queue, claim(self.queue, "t1", "gone").id)
        pod = self.pod()
        assert pod.ended() == 0
        assert "reaped" in [event["event"] for event in pod.events()]
        self._buried()

    def _buried(self) -> None:
        self.guarded.admin.delete(self.queue.keys.part("delayed"))
        self.submit("note", "unreadable")
        self.queue.cancel("unreadable")
        self._bare(b"\xff\xfe")
        assert self.pod().ended() == 0
        assert self.queue.measure().dead == 1

    def _bare(self, body: bytes) -> None:
        key, admin = self.queue.keys.main, self.guarded.admin
        admin.xadd(key, {"body": body}) if self.queue.declaration.mode == "stream" else admin.lpush(key, body)

    def _pushed(self) -> None:
        self._bare(json.dumps({"id": "own", "type": "note", "payload": None}).encode())
        if self.queue.declaration.mode == "stream":
            self.guarded.admin.xgroup_destroy(self.queue.keys.main, "runner")
        assert until(lambda: self.pod().ended() == 0 and self.queue.look("own").state == "done", 20)  # type: ignore[union-attr]


def control(guarded: Guarded, folder: Path) -> None:
    """All that a controller does, with something to do in each step."""
    admin, client = opened(guarded, "admin"), guarded.client("controller")
    broker = Broker(client, PREFIX)
    with Producer(guarded.url("admin"), PREFIX) as producer:
        for name in ("later", "lost", "late", "again", "old"):
            producer.submit("note", queue="emails", task_id=name, priority="normal", expires_s=60 if name == "late" else None, key=name)
    for name in ("later", "lost", "again", "old"):
        token = f"token-{name}"
        found = until(lambda token=token: claim(admin, token))  # type: ignore[misc]
        if found.id == "lost":
            end_lease(admin, found.id)
        elif found.id == "later":
            retry(admin, found.id, token)
        elif found.id != "late":
            bury(admin, found.id, token, "crash")
    due(admin, "later")
    overdue(admin, "late")
    if admin.declaration.mode == "stream":
        guarded.admin.xgroup_createconsumer(admin.keys.main, "runner", "stranger")
    declared = {"mode": admin.declaration.mode, "lease_s": 0.2, "backoff_s": 0.01, "replay_after_s": 0, "dead_max": 1}
    path = folder / "queues.json"
    path.write_text(json.dumps({"emails": declared, "photos": {"mode": admin.declaration.mode}, "other": {"mode": "stream"}}))
    controller = Controller(broker, ControllerSettings(queues_file=str(path)), Stop())
    assert controller.one_pass()
    if admin.declaration.mode == "stream":
        until(lambda: controller.one_pass() and "stranger" not in str(guarded.admin.xinfo_consumers(admin.keys.main, "runner")))
    queue = broker.open("emails")
    assert broker.find("later") and broker.undeclared() == []
    assert isinstance(queue.measure().dead, int)
    _as_a_person(broker, queue, guarded.url("controller"))
    queue.purge([letter.entry for letter in queue.dead_letters(newest_first=True)])
    list(queue.dead_letters())


def _as_a_person(broker: Broker, queue: Queue, url: str) -> None:
    """What the command line does besides."""
    with Producer(url, PREFIX) as producer:
        producer.submit("note", queue=queue.name, task_id="typed")
        assert producer.cancel("typed") == "cancelled"
    list(queue.attempts_kept(10))
    for mode in ("list", "stream", "list"):
        broker.declare(Declaration("moved", mode=mode))


def watch(guarded: Guarded) -> None:
    """What KEDA's operator asks."""
    client, key = guarded.client("keda"), f"{PREFIX}:emails"
    client.ping()
    client.client_setname("keda")
    if guarded.admin.type(key) == b"stream":
        assert client.xlen(key) == 0
    else:
        guarded.admin.lpush(key, "{}")
        assert client.eval(KEDA_LISTS, 1, key) == 1


WORK = {
    "producer": lambda guarded, folder: produce(guarded),
    "worker": lambda guarded, folder: Work(guarded, folder).run(),
    "controller": control,
    "keda": lambda guarded, folder: watch(guarded),
}


@pytest.mark.parametrize("user", USERS)
def test_a_user_can_do_all_of_its_work(guarded: Guarded, user: str, tmp_path: Path) -> None:
    guarded.admin.acl_log_reset()

    WORK[user](guarded, tmp_path)

    refused = [(one["username"], one["object"], one["context"]) for one in guarded.admin.acl_log() if one["object"] != "client|setinfo"]
    assert refused == []


REFUSED = {
    "producer": [
        ("XREADGROUP", "GROUP", "runner", "runner", "STREAMS", "staging:emails", ">"),
        ("RPOP", "staging:emails"),
        ("SADD", "staging:runner/queues", "x"),
    ],
    "worker": [
        ("SADD", "staging:runner/queues", "x"),
        ("SMEMBERS", "staging:runner/queues"),
        ("XGROUP", "DESTROY", "staging:emails", "runner"),
    ],
    "controller": [
        ("CONFIG", "SET", "maxmemory", "1"),
        ("FLUSHALL",),
        ("ACL", "SETUSER", "keda", "+@all"),
        ("XGROUP", "DESTROY", "staging:emails", "runner"),
    ],
    "keda": [
        ("XADD", "staging:emails", "*", "a", "b"),
        ("HGETALL", "{staging:emails}:tasks"),
        ("XRANGE", "staging:emails", "-", "+"),
        ("CLIENT", "KILL", "ID", "1"),
    ],
}


@pytest.mark.parametrize("user", USERS)
def test_a_user_is_refused_what_another_may(guarded: Guarded, user: str) -> None:
    client = guarded.client(user)

    for command in REFUSED[user]:
        with pytest.raises(NoPermissionError):
            client.execute_command(*command)


@pytest.mark.parametrize("user", USERS)
def test_a_user_sees_no_other_prefix(guarded: Guarded, user: str) -> None:
    with pytest.raises(NoPermissionError):
        guarded.client(user).eval("return 1", 1, "other:emails")


def test_a_worker_with_the_login_of_another_says_so_in_one_line(guarded: Guarded, tmp_path: Path) -> None:
    login = {"RUNNER_REDIS_USERNAME": "producer", "RUNNER_REDIS_PASSWORD": "producer-secret", "RUNNER_PREFIX": PREFIX}

    pod = Pod(tmp_path, "pod", guarded.plain_url, **login)

    assert pod.ended() == 1
    assert "does not permit this user a command or key that is needed" in pod.last()["error"]
    assert "Traceback" not in pod.log_path.read_text()


def test_the_default_user_is_off(guarded: Guarded) -> None:
    with pytest.raises(redis.RedisError, match=r"must be called with the client already authenticated|Authentication required"):
        redis.Redis.from_url(guarded.plain_url).ping()


def test_a_restart_with_these_users_keeps_every_task(backend: str, mode: str, tmp_path: Path) -> None:
    """Seen: with a default user that may nothing, Redis read its log, refused every transaction in it, and started empty."""
    guarded = Guarded(binary_of(backend), tmp_path, DURABLE)
    try:
        Broker(guarded.admin, PREFIX).declare(Declaration("emails", mode=mode))
        with Producer(guarded.url("producer"), PREFIX) as producer:
            producer.submit("note", queue="emails", task_id="kept")
        before = sorted(guarded.admin.keys())
        guarded.server.kill()
        guarded.server.start()

        assert sorted(guarded.admin.keys()) == before
        assert claim(opened(guarded, "worker")).id == "kept"
    finally:
        guarded.close()


def test_while_a_password_changes_both_are_let_in(tmp_path: Path) -> None:
    logins = {f"{user}-password": f"{user}-new" for user in USERS} | {"worker-password-previous": "worker-old"}

    done = make_users(tmp_path, logins)

    lines = {line.split()[1]: line for line in (tmp_path / "out.acl").read_text().splitlines()}
    assert done.returncode == 0
    assert {user: len(re.findall(r" #[0-9a-f]{64}\b", lines[user])) for user in USERS} == {
        "producer": 1,
        "worker": 2,
        "controller": 1,
        "keda": 1,
    }
    assert "-new" not in "".join(lines.values())


def test_a_secret_without_a_password_is_told(tmp_path: Path) -> None:
    done = make_users(tmp_path, {"producer-password": "x"})

    assert done.returncode == 1 and "the Secret has no worker-password" in done.stderr


def test_the_rules_are_published() -> None:
    page = (FILES.parents[2] / "docs" / "security.md").read_text()

    for line in (FILES / "users.acl").read_text().splitlines():
        assert line.startswith("#") or line in page
    assert rules("").count(" ~* ") == 5
    assert rules("").splitlines()[0] == "user default off resetpass ~* &* +@all", "see the test of a restart"


GRANTED_FOR_MORE = SHAKING_HANDS | {"evalsha"}


@pytest.fixture(scope="module")
def called(_guarded: Guarded, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By user, the commands that its work calls in both modes together."""
    found: dict[str, set[str]] = {user: set() for user in USERS}
    for mode in ("stream", "list"):
        for user in USERS:
            _guarded.admin.flushall()
            Broker(_guarded.admin, PREFIX).declare(Declaration("emails", mode=mode, lease_s=1, backoff_s=0.01, max_length=1000))
            folder = tmp_path_factory.mktemp(f"{mode}-{user}")
            found[user] |= _guarded.commands_of(lambda user=user, folder=folder: WORK[user](_guarded, folder))  # type: ignore[misc]
    return found


@pytest.mark.parametrize("user", USERS)
def test_no_command_is_granted_that_its_work_does_not_call(called: dict[str, set[str]], user: str) -> None:
    assert granted(user) - called[user] - GRANTED_FOR_MORE == ({"client"} if user == "keda" else set())


@pytest.mark.parametrize("user", ["worker", "controller"])
def test_what_was_killed_for_memory_moves_as_either_user(guarded: Guarded, user: str) -> None:
    admin, mode = Broker(guarded.admin, PREFIX), opened(guarded, "admin").declaration.mode
    big, small = admin.declare(Declaration("big", mode=mode)), admin.declare(Declaration("small", mode=mode, oom_to="big"))
    held(small, "a", key="k")
    queue = Broker(guarded.client(user), PREFIX).open("small")

    taken = queue.seize(queue.holdings())
    done = settle_reaped(queue, taken.claims, taken.now_ms, {"a": Ending(Kind.OOM)})

    assert done.moved == 1
    assert claim(big, "t2").id == "a"


def test_the_controller_may_note_what_it_found(guarded: Guarded) -> None:
    broker = Broker(guarded.client("controller"), PREFIX)

    broker.note_findings({"emails": [{"kind": "stuck"}]}, broker.now_ms())
    broker.note_starts("emails", {"turn": broker.open("emails").turn()})

    assert broker.findings(broker.now_ms()) == {"emails": [{"kind": "stuck"}]}
    assert broker.starts("emails") == {"turn": 0}
