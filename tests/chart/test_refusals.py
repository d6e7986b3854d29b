"""Settings that contradict each other stop the install with one sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.rendering import Data, refused, with_values

EXTERNAL = {"internal": {"enabled": False}}


def outside(url: str, **secret: object) -> Data:
    return {"redis": EXTERNAL | {"external": {"url": url, "secret": secret}}}


def queue(**settings: object) -> Data:
    return {"queues": {"a": settings}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (queue(handlers=["a"], exec="b"), "queues.a has handlers and exec: a worker is either Python modules or one program, remove one"),
        (queue(priorities=["high", "high"]), "names one twice: each is a Redis key of its own, remove one"),
        (queue(priorities=["dead"]), "is one of the queue's other keys, take another word"),
        (queue(defaultPriority="none"), 'queues.a.defaultPriority "none" is none of high, normal, low'),
        (queue(timeoutSeconds=9999), "queues.a.timeoutSeconds is more than maxTimeoutSeconds 3600: raise maxTimeoutSeconds"),
        (queue(idleSeconds=10), "queues.a.idleSeconds 10 is less than leaseSeconds + 5: raise it, or leave it at 0"),
        (queue(activeDeadlineSeconds=4000), "would cut the longest task short: it needs at least 4245"),
        (queue(graceSeconds=60, pod={"terminationGracePeriodSeconds": 30}), "the pod would be killed before it hands its task back"),
        (
            queue(pod={"containers": [{"name": "proxy"}]}),
            "a plain sidecar keeps the Job alive after its task: write it as pod.initContainers",
        ),
        (queue(escalate={"outOfMemoryTo": "big"}), 'outOfMemoryTo "big" is no other queue of this release: add it to queues'),
        (queue(escalate={"outOfMemoryTo": "a"}), 'outOfMemoryTo "a" is no other queue of this release'),
        ({"queues": {"big": {}, "a": {"maxOoms": 1, "escalate": {"outOfMemoryTo": "big"}}}}, "needs maxOoms of at least 2"),
        (queue(pod={"restartPolicy": "OnFailure"}), "a worker takes one task and is never restarted, remove it"),
        (queue(mode="list", container={"readinessProbe": {}}), "a list queue needs the chart's own, KEDA counts Jobs as pending by it"),
        (queue(resources={"limits": {"ephemeral-storage": None}}), "queues.a.resources.limits has no ephemeral-storage"),
        (queue(env=[{"name": "RUNNER_POD", "value": "x"}]), "RUNNER_POD is set by the chart: use the queue's own setting instead"),
        (queue(podLabels={"app.kubernetes.io/name": "x"}), "is the chart's own label, take another"),
        ({"queues": {"a b": {}}}, "is no name of a queue: use letters, digits"),
        ({"redis": {"external": {"url": "redis://a.b"}}}, "set redis.internal.enabled to false to use the external one"),
        ({"redis": EXTERNAL}, "no Redis: set redis.external.url, or leave redis.internal.enabled at true"),
        (outside("redis://me:secret@a.b"), "put user and password into a Secret and name it in redis.external.secret"),
        (outside("redis://redis:6379"), 'host "redis:6379" is not fully qualified: KEDA looks it up from its own namespace'),
        (outside("http://a.b"), "makes no sense: write redis(s)://HOST:PORT/DB"),
        (outside("redis+sentinel://a.b"), "names no service: write redis+sentinel://HOST:26379/SERVICE/0"),
        (outside("redis+cluster://a.b/1"), "a cluster has only database 0, leave the path away"),
        (outside("redis://a.b/x"), 'database "x" is no number'),
        (outside("rediss://a.b", keys={"ca": "ca.crt"}), "name the Secret that holds it"),
        (outside("redis://a.b", name="s", keys={"ca": "ca.crt"}), "the URL speaks no TLS: write rediss://"),
        (outside("redis://a.b", roles={"keda": {"password": "x"}}), "name the Secret that holds the logins"),
        ({"redis": {"internal": {"maxmemory": "500Mi"}}}, "is over three quarters of the memory limit 512Mi: raise the limit"),
        ({"redis": {"internal": {"resources": {"limits": {"memory": None}}}}}, "give Redis a memory limit, maxmemory is derived from it"),
        ({"controller": {"everySeconds": 90}}, "a CronJob pod would make one pass only, lower everySeconds"),
    ],
)
def test_a_contradiction_is_refused_with_advice(tmp_path: Path, values: Data, said: str) -> None:
    told = refused(tmp_path, values).replace('\\"', '"')

    assert said in told, told


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (queue(mode="lists"), "/queues/a/mode"),
        (queue(maxReplica=3), "'maxReplica' not allowed"),
        (queue(maxReplicas="3"), "/queues/a/maxReplicas"),
        (queue(pollingInterval=0), "/queues/a/pollingInterval"),
        (queue(replay=["fatal"]), "/queues/a/replay"),
        (queue(pod={"initcontainers": []}), "'initcontainers' not allowed"),
        (queue(image={"digest": "abc"}), "/queues/a/image/digest"),
        ({"queuedefaults": {}}, "'queuedefaults' not allowed"),
        ({"redis": {"password": "x"}}, "'password' not allowed"),
        ({"redis": {"external": {"password": "x"}}}, "'password' not allowed"),
        ({"prefix": "a:b"}, "/prefix"),
        ({"controller": {"mode": "DaemonSet"}}, "/controller/mode"),
    ],
)
def test_a_misspelt_or_mistyped_value_is_named(tmp_path: Path, values: Data, said: str) -> None:
    assert said in refused(tmp_path, values)


def test_a_native_sidecar_is_welcome(tmp_path: Path) -> None:
    sidecar = {"name": "proxy", "image": "registry.example.com/proxy", "restartPolicy": "Always"}

    made = with_values(tmp_path, queue(pod={"initContainers": [sidecar]}))

    (job,) = [one for one in made if one["kind"] == "ScaledJob"]
    assert job["spec"]["jobTargetRef"]["template"]["spec"]["initContainers"] == [sidecar]
