"""The door to Kubernetes: what may be asked and done, and how it is opened where there is a cluster. Called by controller and cli."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from runner import logs
from runner.cluster.facts import Pod, ScaledJob, Snapshot
from runner.errors import ClusterError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_told: set[str] = set()


class Cluster(Protocol):
    """A namespace of a cluster. Every method raises ClusterError when Kubernetes cannot be asked or refuses."""

    def snapshot(self) -> Snapshot:
        """All objects of the release."""

    def pod(self, name: str) -> Pod | None:
        """One pod as it is now; None if there is none of this name."""

    def pods_of(self, job_uid: str) -> list[Pod]:
        """The pods of a Job as they are now."""

    def scaled_job(self, name: str) -> ScaledJob | None:
        """One ScaledJob as it is now; None if there is none of this name."""

    def delete_job(self, name: str, uid: str) -> bool:
        """Delete this very Job and, in the background, its pods; False if it is gone or another has its name."""

    def annotate(self, scaled_job: str, version: str, changes: Mapping[str, str | None]) -> bool:
        """Set annotations of a ScaledJob, None takes one away; False if it changed since `version`, or is gone."""

    def log(self, pod: str, tail_lines: int) -> str | None:
        """The end of a pod's log; None if there is no such pod, or it has not started."""

    def versions(self) -> dict[str, str]:
        """The versions of Kubernetes and, where it can be told, of KEDA."""


def inside() -> bool:
    """Whether this process runs in a pod that was given an account."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and (ACCOUNT / "token").exists()


def enter(release: str = "", *, namespace: str = "", kubeconfig: str | None = None) -> Cluster:
    """The cluster that this process runs in, or, with `kubeconfig` (empty for the usual file), the one that a person uses.

    Raises ClusterError.
    """
    try:
        from runner.cluster.client import Kubernetes
    except ImportError as error:
        raise ClusterError("the Kubernetes client is not installed: pip install 'runner[kubernetes]'") from error
    return Kubernetes(release, namespace, kubeconfig)


def opened(release: str = "") -> Cluster | None:
    """The cluster that this process runs in; None where there is none, and why in one line."""
    try:
        return enter(release)
    except ClusterError as error:
        tell_once(str(error))
        return None


def tell_once(why: str) -> None:
    """Say once per process why Kubernetes is not asked; leases do what pods cannot tell."""
    if why not in _told:
        _told.add(why)
        logs.event("without Kubernetes", "warning", why=why, so="dead pods are found by their leases")
