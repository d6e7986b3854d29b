"""What doctor finds in Redis, keys, logins and settings, each with what to do. Called by pytest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from runner.broker import Broker, Queue
from runner.broker.rights import ROLES, lacking
from runner.broker.server import OLDEST, _version, doubts
from runner.cli.contradictions import of_declaration, of_settings
from runner.cli.doctor import clocks
from runner.queue import Declaration
from runner.url import with_login
from tests.acl.users import granted, rules
from tests.cli.conftest import Say
from tests.making import rob, submit

pytestmark = pytest.mark.parametrize("mode", ["stream"])


def faults(said: Say, *args: str) -> list[str]:
    """The lines of doctor, which finds something on every server of the tests: none has an append-only file."""
    code, out, err = said("doctor", *args)
    assert (code, err) == (1, "")
    return out.splitlines()


def test_keys_that_nobody_looks_at_are_told(queue: Queue, said: Say) -> None:
    broker, client = Broker(queue.client), queue.client
    client.xadd("{emails}:urgent", {"type": "a"})
    client.xadd("emials", {"type": "a"})
    client.hset("{staging:emails}:tasks", "of another prefix", "x")
    for name in ("deleted", "unlisted", "removed"):
        submit(broker.declare(Declaration(name)), "a")
    client.delete("{deleted}:queue", "{removed}:queue")
    client.srem("runner/queues", "unlisted", "removed")

    lines = "\n".join(faults(said))

    assert "queue emails: it has keys urgent and no such priority" in lines
    assert "key emials: it holds entries and is no declared queue" in lines
    assert "queue deleted: queue 'deleted' is not declared in this Redis" in lines
    assert "queue removed: it is not declared, and left counts, high, low, tasks: declare it again" in lines
    assert "queue unlisted: it is declared but not listed" in lines
    assert "staging" not in lines and "key unlisted" not in lines
    assert [one for one in faults(said, "--queue", "emails") if one.startswith(("key", "queue"))] == [
        "queue emails: it has keys urgent and no such priority: nothing there is ever claimed; delete them"
    ]


def test_a_queue_that_cannot_be_read_hides_no_other(queue: Queue, said: Say) -> None:
    Broker(queue.client).declare(Declaration("newer"))
    queue.client.hset("{newer}:queue", "layout", 99)
    submit(queue, "a")
    rob(queue, "a")

    lines = "\n".join(faults(said))

    assert "queue newer: queue 'newer' has layout 99, this release knows layouts up to" in lines
    assert "queue emails: 1 waiting tasks have lost their entries to another program" in lines


@contextmanager
def user(url: str, *rule: str) -> Iterator[str]:
    """The URL of a user with these rules, on a server where the default user may do all again afterwards."""
    with redis.Redis.from_url(url) as admin:
        admin.execute_command("ACL", "SETUSER", "somebody", "on", ">secret", "~*", *rule)
    yield with_login(url, "somebody", "secret")
    with redis.Redis.from_url(with_login(url, "somebody", "secret")) as admin:
        if "+@all" in rule:
            admin.execute_command("ACL", "SETUSER", "default", "~*", "+@all")


def lacks(url: str, role: str, *rule: str) -> list[str]:
    with user(url, *rule) as login, redis.Redis.from_url(login) as client:
        return lacking(client, role, "", "emails")


@pytest.mark.parametrize("role", ROLES)
def test_the_rights_of_a_role_are_those_of_the_charts_user(mode: str, url: str, role: str) -> None:
    assert set(ROLES[role]) == granted(role)
    assert lacks(url, role, "-@all", *(f"+{one}" for one in granted(role))) == []


def test_what_a_login_lacks_is_told_with_what_to_give_it(mode: str, url: str) -> None:
    few = [f"+{one}" for one in granted("worker") - {"xadd", "xgroup|create"}]

    assert lacks(url, "worker", "-@all", *few) == [
        "this login lacks xadd, xgroup|create, which a worker calls: give it +xadd +xgroup|create"
    ]
    assert lacks(url, "worker", "+@all", "resetkeys", "~emails") == ["this login may not use {emails}:tasks: give it ~*"]
    assert "may do nothing with the key emails" in lacks(url, "worker", "+@all", "resetkeys", "~other")[0]
    assert "may not run scripts" in lacks(url, "worker", "-@all", "+hget")[0]


def test_a_login_that_may_not_ask_the_server_is_told_so(queue: Queue, said: Say, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with user(url, *rules("").splitlines()[3].split()[4:]) as login:
        monkeypatch.setenv("RUNNER_REDIS_URL", login)
        lines = faults(said)

    assert not [one for one in lines if one.startswith(("login", "Redis:"))]
    (unseen,) = [one for one in lines if "not looked at" in one]
    assert unseen.startswith("Redis's version, persistence and memory: not looked at, this login may not: ") and "info" in unseen


def test_a_login_that_may_read_alone_is_judged(queue: Queue, said: Say, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with user(url, "-@all", "+@read", "+@connection") as login:
        monkeypatch.setenv("RUNNER_REDIS_URL", login)
        lines = faults(said, "--role", "producer")

    assert any(one.startswith("login: this login may not run scripts") for one in lines)
    assert any(one.startswith("the clock: not looked at") for one in lines)


def test_the_login_of_a_worker_is_judged_though_it_may_not_list_queues(
    queue: Queue, said: Say, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [f"+{one}" for one in granted("worker") - {"xadd"}]
    with user(url, "-@all", *few) as login:
        monkeypatch.setenv("RUNNER_REDIS_URL", login)
        lines = faults(said, "--role", "worker", "--queue", "emails")

    assert "login: this login lacks xadd, which a worker calls: give it +xadd" in lines
    unseen = [one.partition(":")[0] for one in lines if "not looked at" in one]
    assert unseen == ["queues", "Redis's version, persistence and memory", "keys"]


def test_a_default_user_without_rights_would_empty_redis_at_its_next_start(mode: str, url: str) -> None:
    with user(url, "+@all") as login, redis.Redis.from_url(login) as admin:
        assert doubts(admin) == []

        admin.execute_command("ACL", "SETUSER", "default", "resetkeys", "-@all", "+hset")

        (line,) = doubts(admin)
    assert line.startswith("the default user may not multi, eval, hset, xadd: with an append-only file")
    assert "user default off resetpass" in line


def test_memory_that_runs_out_is_told(mode: str, url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.1))

        (line,) = doubts(client)

    assert "% of its maxmemory, at all of it submits are refused" in line


def test_a_server_that_is_too_old_is_told(mode: str) -> None:
    assert "it is Redis 6.2.14, the oldest that is supported is Redis 7.0" in next(_version({"redis_version": "6.2.14"}))
    assert "Valkey 7.2" in next(_version({"redis_version": "7.2.4", "valkey_version": "7.1.0"}))
    assert list(_version({"redis_version": "7.2.4", "valkey_version": "9.0.0"})) == list(_version({"redis_version": "7.0.0"})) == []
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert all(f"{name} {oldest[0]}.{oldest[1]}" in readme for name, oldest in OLDEST.items())


def test_a_clock_that_differs_is_told(mode: str) -> None:
    assert list(clocks(1_000_000, 998_500)) == []
    ((_, said),) = clocks(1_000_000, 1_009_000)
    assert said.startswith("this machine is 9 s behind Redis")


SETTINGS = [
    ({"RUNNER_REDIS_ULR": "x", "RUNNER_TASK_ID": "1", "RUNNER_PORT_6379_TCP": "tcp://1"}, "RUNNER_REDIS_ULR is set, and no setting"),
    ({"RUNNER_CONNECT_S": "soon"}, "RUNNER_CONNECT_S is 'soon'"),
    ({"RUNNER_REDIS_URL": "redis://:a@h", "RUNNER_REDIS_PASSWORD": "b"}, "has a login, so RUNNER_REDIS_PASSWORD say nothing"),
    ({"RUNNER_EXEC": "node x", "RUNNER_HANDLERS": "a"}, "RUNNER_EXEC and RUNNER_HANDLERS are both set"),
    ({"RUNNER_QUEUE": "emails", "RUNNER_IDLE_S": "10"}, "RUNNER_IDLE_S is 10, queue emails needs 35"),
    ({"RUNNER_CONTROL_FOR_S": "3"}, "there is one pass only"),
]


@pytest.mark.parametrize(("environ", "part"), SETTINGS, ids=[next(iter(environ)) for environ, _ in SETTINGS])
def test_settings_that_contradict_are_told(mode: str, environ: dict[str, str], part: str) -> None:
    (said,) = of_settings(environ, {"emails": Declaration("emails")})

    assert part in said


def test_no_variable_that_the_code_reads_is_taken_for_a_wrong_one(mode: str) -> None:
    root = Path(__file__).parents[2]
    texts = [path.read_text() for pattern in ("runner/**/*.py", "charts/**/*.yaml", "charts/**/*.tpl") for path in root.glob(pattern)]
    read = {name for text in texts for name in re.findall(r"\bRUNNER_[A-Z0-9_]*[A-Z0-9]\b", text)}

    assert len(read) > 20
    assert [said for said in of_settings(dict.fromkeys(read, ""), {}) if "no setting has this name" in said] == []


DECLARED = [
    ({"oom_to": "nowhere"}, "oom_to names nowhere, which is not declared"),
    ({"oom_to": "big"}, "oom_to goes round in a ring, emails -> big -> emails"),
    ({"dead_max_age_s": 60.0}, "dead letters are dropped before they may be replayed"),
    ({"replay_max": 0}, "nothing is replayed"),
    ({"max_backoff_s": 1.0}, "max_backoff_s is 1, less than backoff_s 5"),
]


@pytest.mark.parametrize(("given", "part"), DECLARED, ids=[next(iter(given)) + str(n) for n, (given, _) in enumerate(DECLARED)])
def test_declarations_that_cannot_come_true_are_told(mode: str, given: dict[str, float], part: str) -> None:
    one = Declaration("emails", **given)  # type: ignore[arg-type]
    (said,) = of_declaration(one, {"emails": one, "big": Declaration("big", oom_to="emails")})

    assert part in said
    assert list(of_declaration(Declaration("emails"), {})) == []


@pytest.mark.parametrize("args", [("--role", "admin"), ("--queue", "nope")])
def test_what_is_wrong_is_one_line_and_exit_code_2(queue: Queue, said: Say, args: tuple[str, ...]) -> None:
    code, out, err = said("doctor", *args)

    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_cluster_is_looked_at_node_by_node(mode: str, cluster_url: str, said: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_REDIS_URL", cluster_url)
    assert said("queue", "declare", "emails")[0] == 0

    lines = faults(said)

    assert [one.partition(":")[0] for one in lines] == ["Redis", "controller", "Kubernetes was not asked"]
