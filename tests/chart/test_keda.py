"""What is known about KEDA's ScaledJobs, one by one: each line was a queue that stood still, ran twice, or lost its Jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner import keda
from runner.declare import KINDS, read
from runner.keys import Keys
from runner.queue import Declaration
from tests.chart.rendering import SCENARIOS, Data, of_kind, rendered, scenario, with_values


def scaled_jobs() -> list[tuple[Data, Data]]:
    """Every ScaledJob of every scenario, with the declaration of its queue."""
    found = []
    for path in SCENARIOS:
        objects = rendered("--values", str(path))
        declared = declarations(objects)
        found += [(one["spec"], {"name": name, **declared[name]}) for one in of_kind(objects, "ScaledJob") for name in [queue_of(one)]]
    return found


def queue_of(scaled_job: Data) -> str:
    return str(scaled_job["metadata"]["annotations"]["runner/queue"])


def declarations(objects: list[Data]) -> dict[str, Data]:
    (config,) = [one for one in of_kind(objects, "ConfigMap") if "queues.json" in one["data"]]
    return dict(json.loads(config["data"]["queues.json"]))


def env_of(spec: Data) -> dict[str, Any]:
    (container,) = spec["jobTargetRef"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}


def test_stream_mode_counts_the_whole_stream_and_takes_the_default_strategy() -> None:
    for spec, queue in scaled_jobs():
        if queue["mode"] == "stream":
            assert "strategy" not in spec.get("scalingStrategy", {}), "writing `default` is refused by some releases"
            for trigger in spec["triggers"]:
                assert trigger["type"].endswith("-streams") and trigger["metadata"]["streamLength"] == "1"
                assert not {"consumerGroup", "lagCount", "pendingEntriesCount"} & set(trigger["metadata"])


def test_list_mode_counts_pending_jobs_until_their_pod_is_ready() -> None:
    for spec, queue in scaled_jobs():
        (container,) = spec["jobTargetRef"]["template"]["spec"]["containers"]
        if queue["mode"] == "list":
            assert spec["scalingStrategy"]["strategy"] == keda.STRATEGY_OF_MODE["list"] == "accurate"
            assert spec["scalingStrategy"]["pendingPodConditions"] == ["Ready"]
            assert container["readinessProbe"]["periodSeconds"] == 1
            assert container["readinessProbe"]["exec"]["command"] == ["test", "-f", env_of(spec)["RUNNER_READY_FILE"]]
            assert all(not t["type"].endswith("-streams") and t["metadata"]["listLength"] == "1" for t in spec["triggers"])
        else:
            assert "readinessProbe" not in container


def test_every_priority_has_its_trigger_and_they_are_summed() -> None:
    for spec, queue in scaled_jobs():
        assert len(spec["triggers"]) == len(queue["priorities"])
        assert (spec.get("scalingStrategy", {}).get("multipleScalersCalculation") == "sum") is (len(queue["priorities"]) > 1)


def test_the_watched_keys_are_those_of_the_queue() -> None:
    for spec, queue in scaled_jobs():
        prefix = env_of(spec).get("RUNNER_PREFIX", "")
        keys = Keys(prefix, Declaration(queue["name"], queue["mode"], tuple(queue["priorities"]), queue["default_priority"]))

        watched = [trigger["metadata"].get("stream") or trigger["metadata"]["listName"] for trigger in spec["triggers"]]

        assert watched == [keys.watched(priority) for priority in queue["priorities"]]


def test_nothing_that_scaled_jobs_refuse_or_misread_is_there() -> None:
    for spec, _ in scaled_jobs():
        assert not {"fallback", "minReplicaCount"} & set(spec) and 1 <= spec["pollingInterval"] <= 5
        for trigger in spec["triggers"]:
            assert "metricType" not in trigger and not any(name.startswith("activation") for name in trigger["metadata"])
            assert all(isinstance(value, str) for value in trigger["metadata"].values())


def test_an_upgrade_leaves_running_jobs_and_a_job_runs_one_pod_once() -> None:
    for spec, _ in scaled_jobs():
        assert spec["rollout"] == {"strategy": "gradual"}
        job = spec["jobTargetRef"]
        assert (job["backoffLimit"], job["completions"], job["parallelism"]) == (0, 1, 1)
        assert job["template"]["spec"]["restartPolicy"] == "Never"
        assert spec["successfulJobsHistoryLimit"] <= 5 and spec["failedJobsHistoryLimit"] <= 10


def test_the_deadline_leaves_room_for_the_longest_task() -> None:
    for spec, queue in scaled_jobs():
        env = env_of(spec)
        idle_s = float(env["RUNNER_IDLE_S"]) or queue["lease_s"] + 5
        least_s = queue["max_timeout_s"] + idle_s + float(env["RUNNER_GRACE_S"]) + 600
        assert spec["jobTargetRef"]["activeDeadlineSeconds"] >= least_s
        assert spec["jobTargetRef"]["template"]["spec"]["terminationGracePeriodSeconds"] >= float(env["RUNNER_GRACE_S"]) + 10


def test_a_pod_of_a_lost_node_is_given_up_after_half_a_minute() -> None:
    (spec,) = [one["spec"] for one in of_kind(scenario("defaults"), "ScaledJob")]

    tolerations = {one["key"]: one for one in spec["jobTargetRef"]["template"]["spec"]["tolerations"]}

    assert set(tolerations) == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    assert all(one["tolerationSeconds"] == 30 and one["effect"] == "NoExecute" for one in tolerations.values())


def test_eviction_annotations_are_there_overridable_and_removable() -> None:
    pods = {queue_of(one): one["spec"]["jobTargetRef"]["template"]["metadata"] for one in of_kind(scenario("everything"), "ScaledJob")}
    (plain,) = [one["spec"]["jobTargetRef"]["template"]["metadata"] for one in of_kind(scenario("defaults"), "ScaledJob")]
    (long,) = [pod for name, pod in pods.items() if name != "plain"]

    assert plain["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    assert plain["annotations"]["karpenter.sh/do-not-disrupt"] == "true"
    assert "karpenter.sh/do-not-disrupt" not in pods["plain"]["annotations"] and pods["plain"]["annotations"]["team"] == "mail"
    assert long["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "true"


def test_every_address_is_fully_qualified() -> None:
    for spec, _ in scaled_jobs():
        for trigger in spec["triggers"]:
            where = trigger["metadata"]
            hosts = (where.get("address") or where["addresses"]).split(",")
            assert all(host.count(".") >= 2 and host.rsplit(":", 1)[1].isdigit() for host in hosts)


@pytest.mark.parametrize(
    ("name", "kinds", "where"),
    [
        (
            "defaults",
            {"redis-streams"},
            {"address": "rel-runner-redis.demo.svc.cluster.local:6379", "databaseIndex": "0", "username": "keda"},
        ),
        ("external-tls", {"redis-streams", "redis"}, {"address": "redis.example.com:6380", "databaseIndex": "2", "enableTLS": "true"}),
        (
            "sentinel",
            {"redis-sentinel-streams", "redis-sentinel"},
            {
                "addresses": "s1.example.com:26379,s2.example.com:26379,s3.example.com:26379",
                "databaseIndex": "1",
                "sentinelMaster": "main",
            },
        ),
        ("cluster", {"redis-cluster-streams", "redis-cluster"}, {"addresses": "c1.example.com:6379,c2.example.com:6379"}),
    ],
)
def test_keda_reaches_every_kind_of_redis(name: str, kinds: set[str], where: Data) -> None:
    triggers = [trigger for one in of_kind(scenario(name), "ScaledJob") for trigger in one["spec"]["triggers"]]

    assert {trigger["type"] for trigger in triggers} == kinds
    for trigger in triggers:
        assert {key: value for key, value in trigger["metadata"].items() if not key.startswith(("stream", "list"))} == where


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("defaults", {"password": "keda-password"}),
        ("deployment-controller", {"password": "keda-password"}),
        ("external-tls", {"username": "user", "password": "password", "ca": "ca.crt"}),
        ("sentinel", {"username": "keda-user", "password": "keda-password", "sentinelPassword": "sentinel-password"}),
    ],
)
def test_keda_logs_in_from_the_secret(name: str, parameters: dict[str, str]) -> None:
    objects = scenario(name)
    (authentication,) = of_kind(objects, "TriggerAuthentication")

    assert {one["parameter"]: one["key"] for one in authentication["spec"]["secretTargetRef"]} == parameters
    for one in of_kind(objects, "ScaledJob"):
        assert all(t["authenticationRef"] == {"name": authentication["metadata"]["name"]} for t in one["spec"]["triggers"])


def test_a_redis_without_login_needs_no_authentication() -> None:
    objects = scenario("cluster")

    assert of_kind(objects, "TriggerAuthentication") == []
    assert all("authenticationRef" not in t for one in of_kind(objects, "ScaledJob") for t in one["spec"]["triggers"])


def test_workers_get_url_login_and_authority() -> None:
    env = env_of(of_kind(scenario("external-tls"), "ScaledJob")[0]["spec"])

    assert env["RUNNER_REDIS_URL"] == "rediss://redis.example.com:6380/2?ssl_ca_certs=/etc/runner/ca/ca.crt"
    assert env["RUNNER_REDIS_USERNAME"] == {"secretKeyRef": {"name": "redis-login", "key": "user"}}
    assert env_of(of_kind(scenario("sentinel"), "ScaledJob")[0]["spec"])["RUNNER_REDIS_URL"].endswith(":26379/main/1")


def test_the_queues_file_is_what_the_controller_reads_and_defaults_are_the_librarys(tmp_path: Path) -> None:
    found = declarations(scenario("defaults"))
    path = tmp_path / "queues.json"
    path.write_text(json.dumps(found))

    (declared,) = read(str(path))

    assert set(found["emails"]) == set(KINDS), "every field can be declared by values"
    assert declared == Declaration("emails")


def test_a_zero_overrides_and_a_list_replaces(tmp_path: Path) -> None:
    values = {"queueDefaults": {"maxRetries": 5}, "queues": {"a": {"maxRetries": 0, "replay": []}, "b": {}}}

    found = declarations(with_values(tmp_path, values))

    assert (found["a"]["max_retries"], found["a"]["replay"], found["b"]["max_retries"]) == (0, [], 5)
