"""The chart as a whole: it lints, every scenario renders, twice the same, valid, at the restricted level, with names that fit."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.chart.rendering import CHART, CLUSTER, SCENARIOS, Data, helm, of_kind, pod_templates, rendered, templated, with_values

EVERY = pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem.removesuffix("-values"))
GROWS = {"CronJob": 52, "ScaledJob": 52, "StatefulSet": 52, "Job": 52}
"""Kinds whose pods or Jobs append to the name."""


def objects_of(path: Path) -> list[Data]:
    return rendered("--values", str(path))


@EVERY
def test_it_lints(path: Path) -> None:
    done = helm("lint", str(CHART), "--strict", "--kube-version", "1.34.0", "--values", str(path))

    assert done.returncode == 0, done.stdout


@EVERY
def test_it_renders_the_same_twice(path: Path) -> None:
    first, second = (templated("--values", str(path)).stdout for _ in range(2))

    assert first == second and first


def test_without_any_value_there_is_redis_a_controller_and_no_queue() -> None:
    kinds = {one["kind"] for one in rendered()}

    assert {"StatefulSet", "CronJob", "ConfigMap"} <= kinds and "ScaledJob" not in kinds


@EVERY
def test_every_name_is_a_label_that_fits_and_is_unique(path: Path) -> None:
    seen = []
    for one in objects_of(path):
        name = one["metadata"]["name"]
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name) and len(name) <= GROWS.get(one["kind"], 63), name
        seen.append((one["kind"], name))
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("release", ["r" * 53, "a-" * 25 + "b", "runner"])
def test_names_fit_and_stay_unique_whatever_the_release_is_called(tmp_path: Path, release: str) -> None:
    queues = {"q" * 100: {}, "q" * 99 + "r": {}, "A": {}, "a": {}, "a.b": {}, "a_b": {}, "a-b": {}}

    made = with_values(tmp_path, {"queues": queues}, release)

    names = [one["metadata"]["name"] for one in of_kind(made, "ScaledJob")]
    assert len(set(names)) == len(queues) and max(map(len, names)) <= 52
    assert all(len(one["metadata"]["name"]) <= GROWS.get(one["kind"], 63) for one in made)
    for _, pod in pod_templates(made):
        assert all(re.fullmatch(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", value) for value in pod["metadata"]["labels"].values())


@EVERY
def test_every_pod_passes_the_restricted_level(path: Path) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards, written out."""
    for name, pod in pod_templates(objects_of(path)):
        spec = pod["spec"]
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"].get("runAsUser") != 0, name
        assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault", name
        kinds = {kind for volume in spec.get("volumes", []) for kind in volume if kind != "name"}
        assert kinds <= {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}, name
        for container in ours(spec):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False and context["capabilities"] == {"drop": ["ALL"]}, name
            assert context["readOnlyRootFilesystem"] is True and not {"privileged", "procMount"} & set(context), name
            assert all("hostPort" not in port for port in container.get("ports", [])), name


def ours(spec: Data) -> list[Data]:
    """The chart's own containers: a user's init containers are the user's."""
    return spec["containers"] + [one for one in spec.get("initContainers", []) if one["name"] == "make-users"]


@EVERY
def test_every_pod_has_requests_limits_a_sized_tmp_and_no_token_without_need(path: Path) -> None:
    for name, pod in pod_templates(objects_of(path)):
        spec = pod["spec"]
        for container in ours(spec):
            resources = container["resources"]
            assert {"memory", "ephemeral-storage"} <= set(resources["limits"]) and {"cpu", "memory", "ephemeral-storage"} <= set(
                resources["requests"]
            )
        assert next(volume for volume in spec["volumes"] if volume["name"] == "tmp")["emptyDir"]["sizeLimit"], name
        needs = any(word in name for word in ("controller", "first-pass", "make-logins"))
        assert spec["automountServiceAccountToken"] is needs, name


@EVERY
def test_every_mount_has_its_volume_and_every_volume_its_object(path: Path) -> None:
    objects = objects_of(path)
    maps = {one["metadata"]["name"] for one in of_kind(objects, "ConfigMap")}
    for name, pod in pod_templates(objects):
        spec = pod["spec"]
        volumes = {volume["name"] for volume in spec["volumes"]} | {
            claim["metadata"]["name"] for one in objects for claim in one.get("spec", {}).get("volumeClaimTemplates", [])
        }
        assert {mount["name"] for container in ours(spec) for mount in container["volumeMounts"]} <= volumes, name
        assert {volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume} <= maps, name


@EVERY
def test_no_password_is_in_a_rendering(path: Path) -> None:
    objects = objects_of(path)

    assert of_kind(objects, "Secret") == []
    for _, pod in pod_templates(objects):
        for variable in (variable for container in pod["spec"]["containers"] for variable in container.get("env", [])):
            assert "PASSWORD" not in variable["name"] or "secretKeyRef" in variable["valueFrom"]


@EVERY
def test_every_selector_meets_its_pods_and_no_others(path: Path) -> None:
    objects = objects_of(path)
    pods = [(name, pod["metadata"]["labels"]) for name, pod in pod_templates(objects)]
    for service in of_kind(objects, "Service"):
        met = [name for name, labels in pods if service["spec"]["selector"].items() <= labels.items()]
        assert met == [f"StatefulSet/{service['metadata']['name']}"]
    for one in of_kind(objects, "StatefulSet") + of_kind(objects, "Deployment"):
        assert one["spec"]["selector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()


@cache
def crd_schema(kind: str) -> Data:
    manifest = os.environ.get("KEDA_MANIFEST", "")
    if not manifest or not Path(manifest).exists():
        pytest.skip("no KEDA_MANIFEST with KEDA's CRDs")
    for one in yaml.load_all(Path(manifest).read_text(), yaml.CSafeLoader):
        if one and one["kind"] == "CustomResourceDefinition" and one["spec"]["names"]["kind"] == kind:
            schema: Data = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            return closed(schema)
    raise AssertionError(f"no CRD of {kind}")


def closed(schema: Any) -> Any:
    """A structural schema that also refuses the fields it does not know, as server-side apply does."""
    if not isinstance(schema, dict):
        return schema
    made = {
        key: closed(value) if key != "properties" else {name: closed(one) for name, one in value.items()} for key, value in schema.items()
    }
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
        made["additionalProperties"] = False
    return made


@pytest.mark.parametrize("kind", ["ScaledJob", "TriggerAuthentication"])
def test_what_goes_to_keda_is_valid_by_its_own_schema(kind: str) -> None:
    schema = crd_schema(kind)
    schema["properties"]["metadata"] = {"type": "object"}
    validator = jsonschema.Draft7Validator(schema)

    checked = [one for path in SCENARIOS for one in of_kind(objects_of(path), kind)]

    assert len(checked) > 5
    assert [error.message for one in checked for error in validator.iter_errors(one)] == []


def test_worker_templates_are_valid_pods_and_so_are_the_others() -> None:
    """The pod template inside KEDA's CRD is Kubernetes' own, so every pod of the chart is checked by it."""
    pod = crd_schema("ScaledJob")["properties"]["spec"]["properties"]["jobTargetRef"]["properties"]["template"]
    pod["properties"]["metadata"] = {"type": "object"}
    validator = jsonschema.Draft7Validator(pod)

    for path in SCENARIOS:
        for name, one in pod_templates(objects_of(path)):
            wrong = [error.message for error in validator.iter_errors({"metadata": one["metadata"], "spec": one["spec"]})]
            assert wrong == [], f"{path.stem}: {name}"


def test_without_keda_it_is_refused_in_one_sentence() -> None:
    done = helm("template", "rel", str(CHART), "--kube-version", CLUSTER[1])

    assert done.returncode != 0 and "install KEDA 2.19 or later first" in done.stderr
