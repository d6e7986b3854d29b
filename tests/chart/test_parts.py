"""Redis, its logins, the controller, rights, network policies: what each promises beyond being valid."""

from __future__ import annotations

from pathlib import Path

from runner.config import ControllerSettings, ProducerSettings, WorkerSettings, load
from runner.logins import USERS
from tests.acl.users import rules
from tests.chart.rendering import SCENARIOS, Data, of_kind, pod_templates, rendered, scenario, with_values


def one_of(objects: list[Data], kind: str, ending: str = "") -> Data:
    (found,) = [one for one in of_kind(objects, kind) if one["metadata"]["name"].endswith(ending)]
    return found


def test_redis_keeps_every_write_evicts_nothing_and_has_room_to_rewrite() -> None:
    objects = scenario("defaults")
    lines = one_of(objects, "ConfigMap", "redis-config")["data"]["redis.conf"].splitlines()
    (container,) = one_of(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"]

    assert {"appendonly yes", "appendfsync always", "maxmemory-policy noeviction", "aclfile /run/acl/users.acl"} <= set(lines)
    assert f"maxmemory {256 * 1024 * 1024}" in lines and container["resources"]["limits"]["memory"] == "512Mi"


def test_the_users_are_those_of_the_one_file() -> None:
    plain, prefixed = (one_of(scenario(name), "ConfigMap", "redis-config")["data"]["users.acl"] for name in ("defaults", "priorities"))

    assert plain.strip() == rules("").strip()
    assert prefixed.strip() == rules("staging").strip()


def test_the_volume_stays_unless_told() -> None:
    kept, dropped = (
        one_of(scenario(name), "StatefulSet")["spec"]["persistentVolumeClaimRetentionPolicy"]
        for name in ("defaults", "deployment-controller")
    )

    assert (kept["whenDeleted"], dropped["whenDeleted"]) == ("Retain", "Delete")


def test_the_logins_are_made_by_a_hook_that_may_only_create() -> None:
    objects = scenario("defaults")
    role, job = one_of(objects, "Role", "make-logins"), one_of(objects, "Job", "make-logins")
    secret = job["spec"]["template"]["spec"]["containers"][0]["command"][-1]

    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]
    for one in [one for one in objects if one["metadata"]["name"].endswith("make-logins")]:
        assert one["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
        assert "hook-succeeded" in one["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
    asked = {ref["name"] for _, pod in pod_templates(objects) for ref in secret_keys(pod)}
    assert asked == {secret}
    assert {ref["key"] for _, pod in pod_templates(objects) for ref in secret_keys(pod)} <= {f"{user}-password" for user in USERS}


def secret_keys(pod: Data) -> list[Data]:
    variables = [variable for container in pod["spec"]["containers"] for variable in container.get("env", [])]
    return [variable["valueFrom"]["secretKeyRef"] for variable in variables if "secretKeyRef" in variable.get("valueFrom", {})]


def test_with_a_secret_of_the_users_own_nothing_is_made() -> None:
    objects = scenario("deployment-controller")

    assert not [one for one in objects if "make-logins" in one["metadata"]["name"]]
    assert {ref["name"] for _, pod in pod_templates(objects) for ref in secret_keys(pod)} == {"my-logins"}


def test_the_controllers_role_reads_no_secret_and_has_no_star() -> None:
    for path in SCENARIOS:
        rules_ = one_of(rendered("--values", str(path)), "Role", "-controller")["rules"]
        granted = {(resource, verb) for rule in rules_ for resource in rule["resources"] for verb in rule["verbs"]}
        assert granted == {
            *(("pods", verb) for verb in ("get", "list")),
            *(("events", verb) for verb in ("get", "list")),
            *(("jobs", verb) for verb in ("get", "list", "delete")),
            *(("scaledjobs", verb) for verb in ("get", "list", "patch")),
        }


def test_the_first_pass_runs_after_install_upgrade_and_rollback() -> None:
    job = one_of(scenario("defaults"), "Job", "first-pass")

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade,post-rollback"


def test_every_variable_is_a_setting_that_its_role_reads() -> None:
    kinds = {"ScaledJob": WorkerSettings, "CronJob": ControllerSettings, "Deployment": ControllerSettings, "Job": ControllerSettings}
    for path in SCENARIOS:
        for name, pod in pod_templates(rendered("--values", str(path))):
            variables = [v for container in pod["spec"]["containers"] for v in container.get("env", []) if v["name"].startswith("RUNNER_")]
            if variables:
                load(kinds.get(name.split("/")[0], ProducerSettings), {v["name"]: v.get("value", "from-elsewhere") for v in variables})


def test_a_cron_job_that_hangs_keeps_nobody_from_coming_and_is_ended() -> None:
    spec = one_of(scenario("defaults"), "CronJob")["spec"]

    assert spec["concurrencyPolicy"] == "Allow" and 60 < spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] <= 300


def test_no_network_policy_unless_asked_and_then_redis_alone_is_closed(tmp_path: Path) -> None:
    assert of_kind(scenario("defaults"), "NetworkPolicy") == []
    (policy,) = of_kind(with_values(tmp_path, {"networkPolicy": {"enabled": True}}), "NetworkPolicy")

    assert policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "redis"
    assert policy["spec"]["policyTypes"] == ["Ingress"] and "egress" not in policy["spec"]


def test_the_policy_lets_in_every_pod_of_the_release_keda_and_who_is_named() -> None:
    objects = scenario("networkpolicy")
    (rule,) = one_of(objects, "NetworkPolicy", "redis")["spec"]["ingress"]
    own, keda, named = rule["from"]

    assert keda == {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "keda"}}}
    assert named == {"podSelector": {"matchLabels": {"app": "shop"}}}
    for _, pod in pod_templates(objects):
        assert own["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_users_fields_reach_the_pod_and_the_charts_stay() -> None:
    (job,) = [one for one in of_kind(scenario("everything"), "ScaledJob") if "uncommonly" in one["metadata"]["name"]]
    spec = job["spec"]["jobTargetRef"]["template"]["spec"]
    (container,) = spec["containers"]

    assert (spec["serviceAccountName"], spec["priorityClassName"], spec["runtimeClassName"]) == ("resizer", "batch", "sandboxed")
    assert spec["imagePullSecrets"] == [{"name": "other"}] and spec["nodeSelector"] == {"disk": "ssd"}
    assert [one["name"] for one in spec["initContainers"]] == ["fetch", "proxy"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "runAsUser": 12345, "seccompProfile": {"type": "RuntimeDefault"}}
    assert {one["name"] for one in spec["volumes"]} == {"tmp", "models"}
    lost = {one["key"]: one.get("tolerationSeconds") for one in spec["tolerations"]}
    assert lost == {"gpu": None, "node.kubernetes.io/unreachable": 60, "node.kubernetes.io/not-ready": 30}
    assert container["image"] == "registry.example.com/resize:7" and container["lifecycle"] and container["envFrom"]
    assert container["resources"]["limits"] == {"memory": "2Gi", "cpu": "2", "ephemeral-storage": "1Gi"}
    assert {"name": "STAGE", "value": "prod"} in container["env"]


def test_a_hundred_queues_fit_into_one_release(tmp_path: Path) -> None:
    made = with_values(tmp_path, {"queues": {f"queue-{number}": {} for number in range(100)}})

    assert len(of_kind(made, "ScaledJob")) == 100
