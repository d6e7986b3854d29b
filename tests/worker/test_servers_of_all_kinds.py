"""The same way on every kind of Redis: submit, work, control, on a Cluster, behind Sentinel, on a server that loads or fails over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import redis

from runner import Producer
from runner.broker import Broker
from runner.connect import connect
from runner.queue import Declaration
from tests.servers import SentinelServers, Server, binary_of
from tests.waiting import until
from tests.worker.pods import ROOT, Pod, cluster


def five_tasks(url: str, folder: Path, mode: str) -> list[Any]:
    """Five tasks in three priorities, one of them delayed, one failing at first; their results."""
    Broker(connect(url)).declare(Declaration("emails", mode=mode, lease_s=1.0, backoff_s=0.01))
    with Producer(url) as producer:
        ids = [producer.submit("note", n, queue="emails", priority=p).id for n, p in enumerate(("low", "normal", "high"))]
        ids.append(producer.submit("note", 3, queue="emails", delay_s=0.2, key="k").id)
        ids.append(producer.submit("fail", 1, queue="emails").id)
        pods = 0
        while not all((found := producer.find(one)) and found[1].state == "done" for one in ids):
            assert pods < 20 and Pod(folder, f"pod-{pods}", url).ended(30) == 0
            pods += 1
            control = [sys.executable, "-m", "runner.controller"]
            subprocess.run(control, env=os.environ | {"RUNNER_REDIS_URL": url}, cwd=ROOT, check=True, capture_output=True)
        return [producer.wait(one, 1) for one in ids]


def test_tasks_run_on_a_cluster(tmp_path: Path, cluster_url: str, mode: str) -> None:
    """C41: every key of a queue lies in one slot."""
    assert five_tasks(cluster_url, tmp_path, mode) == [0, 1, 2, 3, "good"]


def test_tasks_run_behind_a_sentinel(tmp_path: Path, sentinel_url: str, mode: str) -> None:
    assert five_tasks(sentinel_url, tmp_path, mode) == [0, 1, 2, 3, "good"]


def test_a_task_that_ends_during_a_failover_is_settled_on_the_new_master(tmp_path: Path, sentinel: SentinelServers, mode: str) -> None:
    """C36, C80: the holder waits for a master; the attempt is not burnt. The servers' password is not the sentinel's, which has none."""
    for one in (sentinel.master, sentinel.replica):
        with redis.Redis.from_url(one.url) as client:
            client.config_set("masterauth", "inner")
            client.config_set("requirepass", "inner")
    with redis.Redis.from_url(sentinel._sentinel.url) as watcher:
        watcher.execute_command("SENTINEL", "SET", "main", "auth-pass", "inner")
    url = sentinel.url.replace("://", "://:inner@")
    broker = Broker(connect(url))
    broker.declare(Declaration("emails", mode=mode, lease_s=20.0))
    with Producer(url) as producer:
        task = producer.submit("hold", queue="emails").id
        pod = Pod(tmp_path, "pod", url, RUNNER_CONNECT_S="2", RUNNER_SETTLE_S="60")
        until(lambda: (tmp_path / "began").exists(), 15)
        until(lambda: _replica_has(sentinel, "{emails}:held"), 15)

        sentinel.master.kill()
        (tmp_path / "go").touch()

        assert pod.ended(60) == 0 and producer.wait(task, 10) == "held"
        facts = broker.open("emails").look(task)
        assert facts and [json.loads(line)["kind"] for line in facts.attempts.splitlines()] == ["done"]


def _replica_has(sentinel: SentinelServers, key: str) -> bool:
    with redis.Redis.from_url(sentinel.replica.url.replace("://", "://:inner@")) as client:
        return bool(client.exists(key))


def test_a_server_that_loads_its_data_is_waited_for(tmp_path: Path, backend: str, mode: str) -> None:
    """C37, C84: LOADING is neither empty nor fatal."""
    server = Server(binary_of(backend))
    server.start()
    try:
        with cluster(tmp_path, server.url, mode=mode) as q:
            q.submit("note")
            with q.client.pipeline(transaction=False) as ballast:
                for n in range(3000):
                    ballast.set(f"ballast:{n}", "x" * 100)
                ballast.execute()
            q.client.save()
            server.stop()
            # Half a millisecond for each key, so that it answers LOADING for more than a second.
            server._command += ["--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024"]

            impatient = _started(server, q.folder, {"RUNNER_CONNECT_S": "0.1"})
            assert impatient.ended(20) == 1 and "loading" in impatient.last()["error"]
            patient = Pod(q.folder, "patient", server.url)

            assert patient.ended(30) == 0 and q.state() == "done" and q.notes("ran") == ["t1 1"]
    finally:
        server.close()


def _started(server: Server, folder: Path, settings: dict[str, str]) -> Pod:
    """A pod that meets the server while it loads: the process is started without waiting for its first answer."""
    with (server.folder / "log").open("ab") as log:
        server._process = subprocess.Popen(server._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    until(lambda: _loading(server.url), 10)
    return Pod(folder, "impatient", server.url, **settings)


def _loading(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, retry=None) as client:
            client.ping()
    except redis.BusyLoadingError:
        return True
    except redis.ConnectionError:
        return False
    return False


def test_a_delayed_task_due_after_many_leases_runs_once(tmp_path: Path, url: str, mode: str) -> None:
    """C5: pods look all the while, before it is due and after."""
    with cluster(tmp_path, url, mode=mode, lease_s=0.4) as q, Producer(url) as producer:
        task = producer.submit("note", queue="emails", delay_s=1.2).id
        due_ms = q.queue.look(task).due_ms  # type: ignore[union-attr]

        until(lambda: q.pod().ended() == 0 and q.state(task) == "done", 20)
        assert q.pod().ended() == 0

        (attempt,) = q.attempts(task)
        assert q.notes("ran") == [f"{task} 1"] and attempt["started_ms"] >= due_ms


def test_a_killed_pod_leaves_the_retries_that_are_left(tmp_path: Path, url: str, mode: str) -> None:
    """C18: a cold kill while retries are left costs none of them."""
    with cluster(tmp_path, url, mode=mode, max_retries=1) as q:
        q.submit("fail", 1)
        q.pod().ended()
        until(lambda: q.queue.promote()[0])
        claim = q.queue.claim("a-token-of-a-pod-that-dies-here", "killed")
        until(lambda: q.pod().ended() == 0 and q.state() == "done", 20)

        facts = q.queue.look("t1")
        assert claim and facts and (facts.counters.errors, facts.counters.crashes) == (1, 1)
        assert [a["kind"] for a in q.attempts()] == ["error", "lost", "done"]


def test_a_pod_waits_longer_than_a_socket_timeout_on_an_empty_queue(tmp_path: Path, url: str, mode: str, full: bool) -> None:
    """C35: no command blocks in Redis, so no timeout of the client ends the wait for a silent holder."""
    lease_s = 6.0 if full else 1.5
    with cluster(tmp_path, url, mode=mode, lease_s=lease_s) as q:
        q.submit("note")
        q.queue.claim("a-token-of-a-pod-that-dies-here", "silent")

        pod = q.pod()

        assert pod.ended(lease_s * 3 + 10) == 0 and q.notes("ran") == ["t1 2"]
