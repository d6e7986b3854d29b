"""Redis elsewhere: by TLS with a user of its own, behind Sentinel, as a Cluster; five tasks each. Run by `make kind-test-more`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.kind.cluster import CHART, Data, Namespace, live, run
from tests.waiting import until

HOST = "{name}.elsewhere.svc.cluster.local"
TASKS = 5
TLS = (
    "exec redis-server --port 0 --tls-port 6379 --tls-cert-file /tls/tls.crt --tls-key-file /tls/tls.key --tls-auth-clients no"
    " --user default off --user someone on '>secret' '~*' '&*' '+@all' --save '' --dir /tmp"
)
SENTINEL = """
redis-server --save '' --dir /tmp --protected-mode no &
printf 'port 26379\\nprotected-mode no\\nsentinel monitor main %s 6379 1\\n' "$POD_IP" >/tmp/sentinel.conf
exec redis-server /tmp/sentinel.conf --sentinel
"""
CLUSTER = """
for port in 7000 7001 7002; do
    mkdir /tmp/$port
    redis-server --port $port --cluster-enabled yes --cluster-announce-ip "$POD_IP" --protected-mode no --save '' --dir /tmp/$port &
done
until redis-cli --cluster create $POD_IP:7000 $POD_IP:7001 $POD_IP:7002 --cluster-yes; do sleep 1; done
wait
"""


@dataclass(frozen=True)
class Elsewhere:
    """One kind of Redis: what its pod runs, how redis-cli asks it, and what the chart is told."""

    name: str
    script: str
    url: str
    ports: tuple[int, ...]
    cli: str
    ready: str
    secret: Data = field(default_factory=dict)


KINDS = [
    Elsewhere(
        "tls",
        TLS,
        "rediss://{host}:6379/0",
        (6379,),
        "redis-cli --tls --insecure --no-auth-warning --user someone --pass secret",
        "PONG",
        {"name": "elsewhere", "keys": {"username": "username", "password": "password", "ca": "tls.crt"}},
    ),
    Elsewhere("sentinel", SENTINEL, "redis+sentinel://{host}:26379/main/0", (26379, 6379), "redis-cli", "PONG"),
    Elsewhere("cluster", CLUSTER, "redis+cluster://{host}:7000,{host}:7001", (7000, 7001, 7002), "redis-cli -c -p 7000", "PONG"),
]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """A namespace with a certificate and a login."""
    run("kubectl", "delete", "namespace", "elsewhere", "--ignore-not-found", "--wait")
    run("kubectl", "create", "namespace", "elsewhere")
    place, folder, host = Namespace("elsewhere"), tmp_path_factory.mktemp("tls"), HOST.format(name="tls")
    files = {"tls.key": folder / "tls.key", "tls.crt": folder / "tls.crt"}
    names = ["-subj", "/CN=elsewhere", "-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=critical,CA:TRUE"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(files["tls.key"]), "-out", str(files["tls.crt"])]
    run("openssl", "req", "-x509", *made, *names)
    given = {name: path.read_text() for name, path in files.items()} | {"username": "someone", "password": "secret"}
    place.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "elsewhere"}, "stringData": given})
    yield place
    run("kubectl", "delete", "namespace", "elsewhere", "--wait=false")


def pod_of(one: Elsewhere) -> Data:
    """Its Redis, in one pod."""
    container: Data = {
        "name": "redis",
        "image": os.environ["REDIS_IMAGE"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", one.script],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
    }
    # On the node that stays.
    stays = {"node-role.kubernetes.io/control-plane": ""}
    volumes = [{"name": "tls", "secret": {"secretName": "elsewhere"}}]
    spec = {"containers": [container], "volumes": volumes, "nodeSelector": stays}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": one.name, "labels": {"app": one.name}}, "spec": spec}


def service_of(one: Elsewhere) -> Data:
    """Its fully qualified name."""
    spec = {"selector": {"app": one.name}, "ports": [{"name": f"p{port}", "port": port} for port in one.ports]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": one.name}, "spec": spec}


def values_of(one: Elsewhere) -> Data:
    """The chart's values for it."""
    external: Data = {"url": one.url.format(host=HOST.format(name=one.name))} | ({"secret": one.secret} if one.secret else {})
    small = {"requests": {"cpu": "5m", "memory": "24Mi"}}
    return {
        "image": {"worker": {"repository": "runner-kind", "tag": "1"}},
        "redis": {"internal": {"enabled": False}, "external": external},
        "queueDefaults": {"pollingInterval": 1, "successfulJobsHistoryLimit": 50, "resources": small},
        "queues": {"stream": {"priorities": ["normal"]}, "list": {"mode": "list", "priorities": ["high", "normal"]}},
    }


def asked(place: Namespace, one: Elsewhere, *words: str) -> str:
    """What its redis-cli answers."""
    return place.kubectl("exec", one.name, "--", *one.cli.split(), *words, check=False)


def done_in(place: Namespace, queue: str) -> int:
    """How many pods of a queue say that they recorded a done task."""
    return sum(
        event["event"] == "settled" and event["kind"] == "done"
        for pod in place.pods(queue)
        if pod["status"]["phase"] == "Succeeded"
        for event in place.logs(pod["metadata"]["name"])
    )


@pytest.mark.parametrize("one", KINDS, ids=lambda one: one.name)
def test_five_tasks_of_each_mode_are_done_on_a_redis_elsewhere(elsewhere: Namespace, one: Elsewhere, tmp_path: Path) -> None:
    elsewhere.apply(pod_of(one), service_of(one))
    until(lambda: one.ready in asked(elsewhere, one, "ping"), 120, every_s=1)
    if one.name == "cluster":
        until(lambda: "cluster_state:ok" in asked(elsewhere, one, "cluster", "info"), 120, every_s=1)
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values_of(one)))
    run("helm", "install", one.name, str(CHART), "--namespace", "elsewhere", "--values", str(tmp_path / "values.yaml"), "--timeout", "5m")

    for _ in range(TASKS):
        asked(elsewhere, one, "xadd", "stream", "*", "type", "kind.work", "payload", "{}")
        asked(elsewhere, one, "lpush", "list", '{"type": "kind.work", "payload": {}}')

    for queue in ("stream", "list"):
        until(lambda q=queue: done_in(elsewhere, q) == TASKS, 180, every_s=2)  # type: ignore[misc]
        until(lambda q=queue: not live(elsewhere.pods(q)), 60, every_s=1)  # type: ignore[misc]
    assert len(elsewhere.items("jobs", "scaledjob.keda.sh/name")) == 2 * TASKS
    run("helm", "uninstall", one.name, "--namespace", "elsewhere", "--wait", "--timeout", "5m")
    until(lambda: not elsewhere.items("jobs"), 60, every_s=1)
