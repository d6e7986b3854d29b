"""ScaledJobs against the traps that KEDA sets: what we print falls into none, and each one is seen. Called by pytest."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.cli.doctor import SUPPORTED, _versions
from runner.cli.traps import faults
from runner.cluster.facts import scaled_job_of
from runner.manifest import Options, manifests
from runner.queue import Declaration

Spec = dict[str, Any]


def declared(mode: str) -> Declaration:
    return Declaration("emails", mode=mode)


def found(mode: str, change: Callable[[Spec], object] = lambda made: None, prefix: str = "") -> list[str]:
    """What is said of our own ScaledJob once something in it is changed."""
    made = copy.deepcopy(manifests(declared(mode), prefix, Options())[0])
    change(made)
    made["metadata"] |= {"name": "emails"}
    return faults(scaled_job_of(made | {"metadata": made["metadata"] | {"uid": "u"}}), declared(mode), prefix)


def trigger(made: Spec, at: int = 0) -> Spec:
    """The metadata of one trigger."""
    found: Spec = made["spec"]["triggers"][at]["metadata"]
    return found


def job(made: Spec) -> Spec:
    found: Spec = made["spec"]["jobTargetRef"]
    return found


def pod(made: Spec) -> Spec:
    found: Spec = job(made)["template"]["spec"]
    return found


@pytest.mark.parametrize("prefix", ["", "staging"])
def test_what_the_command_line_prints_falls_into_no_trap(mode: str, prefix: str) -> None:
    assert found(mode, prefix=prefix) == []


BOTH = [
    (lambda made: made["spec"]["triggers"].pop(), "nothing watches"),
    (lambda made: made["spec"]["triggers"].append(made["spec"]["triggers"][0]), "is watched 2 times"),
    (lambda made: trigger(made).update({"stream": "mails", "listName": "mails"}), "mails is watched, and no task"),
    (lambda made: [trigger(made).pop(name, None) for name in ("streamLength", "listLength")], "not set, which is 5"),
    (lambda made: trigger(made).update(activationListLength="3", activationLagCount="3"), "activation"),
    (lambda made: made["spec"]["triggers"][0].update(metricType="Value"), "metricType"),
    (lambda made: made["spec"]["triggers"][0].update(type="rabbitmq"), "does not count a"),
    (lambda made: made["spec"]["scalingStrategy"].pop("multipleScalersCalculation"), "multipleScalersCalculation"),
    (lambda made: made["spec"].pop("rollout"), "kills the running Jobs"),
    (lambda made: made["spec"].update(fallback={"replicas": 1}), "fallback"),
    (lambda made: job(made).pop("backoffLimit"), "backoffLimit"),
    (lambda made: job(made).update(parallelism=2), "parallelism"),
    (lambda made: job(made).pop("activeDeadlineSeconds"), "counts as running for ever"),
    (lambda made: job(made).update(activeDeadlineSeconds=60), "the longest task needs"),
    (lambda made: pod(made).update(restartPolicy="OnFailure"), "restartPolicy"),
    (lambda made: pod(made)["containers"].append({"name": "proxy"}), "second container"),
    (lambda made: pod(made).update(terminationGracePeriodSeconds=5), "no time is left to hand a task back"),
    (lambda made: pod(made)["containers"][0].update(env=[]), "RUNNER_POD_UID"),
    (lambda made: made["metadata"]["annotations"].update({"karpenter.sh/do-not-disrupt": "true"}) or _bare(made), "pods get theirs"),
]
OWN = [
    ("stream", lambda made: trigger(made).update(consumerGroup="runner"), "consumerGroup"),
    ("stream", lambda made: trigger(made).update(pendingEntriesCount="1"), "pendingEntriesCount"),
    ("stream", lambda made: trigger(made).update(lagCount="1"), "lagCount"),
    ("stream", lambda made: made["spec"]["scalingStrategy"].update(strategy="accurate"), "leave it out"),
    ("list", lambda made: made["spec"]["scalingStrategy"].pop("strategy"), "set accurate"),
    ("list", lambda made: made["spec"]["scalingStrategy"].pop("pendingPodConditions"), "pendingPodConditions"),
    ("list", lambda made: pod(made)["containers"][0].pop("readinessProbe"), "readinessProbe"),
]


def _bare(made: Spec) -> None:
    job(made)["template"]["metadata"].pop("annotations")


@pytest.mark.parametrize(("change", "said"), BOTH, ids=[said for _, said in BOTH])
def test_each_trap_is_seen(mode: str, change: Callable[[Spec], object], said: str) -> None:
    assert any(said in one for one in found(mode, change)), found(mode, change)


@pytest.mark.parametrize(("mode_", "change", "said"), OWN, ids=[said for _, _, said in OWN])
def test_each_trap_of_a_mode_is_seen(mode_: str, change: Callable[[Spec], object], said: str) -> None:
    assert any(said in one for one in found(mode_, change)), found(mode_, change)


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"Kubernetes": "1.34.4", "KEDA": "2.20.2"}, []),
        ({"Kubernetes": "1.29.0-eks-1"}, []),
        ({"Kubernetes": "1.28.9", "KEDA": "2.9.0"}, ["Kubernetes", "KEDA"]),
        ({}, []),
    ],
)
def test_versions_before_the_oldest_supported_ones_are_told(versions: dict[str, str], said: list[str]) -> None:
    assert [about for about, _ in _versions(versions)] == said


def test_the_readme_names_the_oldest_supported_versions() -> None:
    page = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())

    assert all(f"{name} {major}.{minor} or later" in page for name, (major, minor) in SUPPORTED.items())
