"""One helm release in the cluster: its objects by kubectl, its Redis through a node port. Called by the tests beside this file."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import redis

from runner.broker import Broker, Facts, Measures, Queue
from runner.connect import connect
from runner.errors import UnavailableError
from runner.producer import Producer
from tests.kind.cluster import CHART, NODE, VALUES, Data, Namespace, run
from tests.waiting import until

ENDED = ("done", "dead", "cancelled", "expired")
PATIENT_S = 90


class Release(Namespace):
    """A release named `runner` in a namespace of its own."""

    def __init__(self, namespace: str, node_port: int, values: Path = VALUES) -> None:
        super().__init__(namespace)
        self.node_port, self.values = node_port, values

    def helm(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`helm VERB runner` with these arguments, in this namespace."""
        verb, *others = arguments
        return run("helm", verb, "runner", *others, "--namespace", self.name, check=check)

    def install(self, *arguments: str, verb: str = "install") -> None:
        """Install or upgrade with the values of this release."""
        name, _, tag = os.environ["REDIS_IMAGE"].rpartition(":")
        redis = f"redis.internal.image.repository={name},redis.internal.image.tag={tag}"
        self.helm(verb, str(CHART), "--values", str(self.values), "--set-string", redis, "--timeout", "6m", *arguments)

    def open_door(self) -> None:
        """A node port to this release's Redis."""
        selector = {"app.kubernetes.io/instance": "runner", "app.kubernetes.io/component": "redis"}
        ports = [{"port": 6379, "targetPort": "redis", "nodePort": self.node_port}]
        spec = {"type": "NodePort", "selector": selector, "ports": ports}
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "door"}, "spec": spec})

    def password(self, user: str) -> str:
        """A Redis user's password, from the Secret that the chart made."""
        found = json.loads(self.kubectl("get", "secret", "runner-redis-logins", "--output", "json"))
        return base64.b64decode(found["data"][f"{user}-password"]).decode()

    def url(self, user: str) -> str:
        """The Redis of this release, as seen from outside the cluster."""
        door = run("docker", "port", NODE, f"{self.node_port}/tcp").stdout.split()[0]
        return f"redis://{user}:{quote(self.password(user), safe='')}@{door}/0"

    def redis_cli(self, *arguments: str, user: str = "producer", check: bool = True) -> str:
        """The answer of a bare redis-cli in Redis's own pod."""
        login = ("env", f"REDISCLI_AUTH={self.password(user)}", "redis-cli", "--user", user, "--no-auth-warning")
        return self.kubectl("exec", "runner-redis-0", "--container", "redis", "--", *login, *arguments, check=check)

    def jobs(self, queue: str) -> list[Data]:
        """A queue's Jobs, ended ones too."""
        return self.items("jobs", f"scaledjob.keda.sh/name=runner-{queue}")


class Shop:
    """A release with clients to its Redis: what scenarios submit to and look at."""

    def __init__(self, release: Release, prefix: str = "") -> None:
        self.release = release
        self.broker = Broker(connect(release.url("controller"), retry_s=120), prefix)
        self.producer = Producer(release.url("producer"), prefix, retry_s=120)

    def close(self) -> None:
        """Leave Redis alone."""
        self.producer.close()
        self.broker.client.close()

    def queue(self, name: str) -> Queue:
        """A queue of this release, once it is declared."""
        return self.broker.open(name)

    def submit(self, queue: str, count: int = 1, type: str = "kind.work", priority: str | None = None, **payload: object) -> list[str]:
        """So many tasks; their ids."""
        more = {} if priority is None else {"priority": priority}
        return [self.producer.submit(type, payload, queue=queue, **more).id for _ in range(count)]  # type: ignore[arg-type]

    def facts(self, queue: str, task_id: str) -> Facts:
        """All that is known of a task; an empty state while nobody has seen it yet (a bare push), or while Redis is away."""
        try:
            return self.queue(queue).look(task_id) or Facts(state="")
        except (redis.RedisError, UnavailableError):
            return Facts(state="")

    def measure(self, queue: str) -> Measures:
        """A queue's lengths and totals."""
        return self.queue(queue).measure()

    def claimed(self, queue: str, task_id: str, within_s: float = PATIENT_S) -> Facts:
        """Wait until a pod has claimed this task."""
        until(lambda: self.facts(queue, task_id).state == "claimed", within_s, every_s=0.1)
        return self.facts(queue, task_id)

    def holder(self, queue: str, task_id: str, within_s: float = PATIENT_S) -> str:
        """The name of the pod that has claimed this task, once one has."""
        return str(self.claimed(queue, task_id, within_s).holder).split("/")[0]

    def ended(self, queue: str, ids: Iterable[str], within_s: float = PATIENT_S) -> list[Facts]:
        """Wait until all of these have ended."""
        found, deadline = [], time.monotonic() + within_s
        for task_id in ids:
            ended = until(lambda one=task_id: self._ended(queue, one), max(1, deadline - time.monotonic()), every_s=0.2)  # type: ignore[misc]
            found.extend(ended)
        return found

    def _ended(self, queue: str, task_id: str) -> list[Facts]:
        facts = self.facts(queue, task_id)
        return [facts] if facts.state in ENDED else []

    def done(self, queue: str, ids: Iterable[str], within_s: float = PATIENT_S) -> list[Facts]:
        """Wait until all of these are done; AssertionError if one is dead instead."""
        found = self.ended(queue, ids, within_s)
        assert [one.detail for one in found if one.state != "done"] == []
        return found
