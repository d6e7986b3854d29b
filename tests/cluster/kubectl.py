"""Makes objects in a namespace of a real cluster as KEDA and the chart would. Called by the tests of this folder."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

IMAGE = os.environ.get("REDIS_IMAGE", "redis:7")
WORKER = {"app.kubernetes.io/component": "worker", "app.kubernetes.io/instance": "shop"}
NOTES = {"runner/queue": "emails"}


class Namespace:
    """One namespace, through kubectl."""

    def __init__(self, kubeconfig: str, name: str) -> None:
        self.kubeconfig, self.name = kubeconfig, name

    def kubectl(self, *args: str, given: Any = None, namespaced: bool = True) -> str:
        """Run kubectl; what it printed."""
        command = ["kubectl", "--kubeconfig", self.kubeconfig, *(["--namespace", self.name] if namespaced else []), *args]
        text = None if given is None else json.dumps(given)
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout

    def apply(self, made: dict[str, Any]) -> None:
        """Create or change an object."""
        self.kubectl("apply", "--server-side", "-f", "-", given=made)

    def job(
        self, name: str, script: str, *, container: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **spec: Any
    ) -> None:
        """A Job of queue `emails`, generation 1, whose worker runs a shell script."""
        labels = WORKER | {"scaledjob.keda.sh/name": "emails"}
        worker = {"name": "worker", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script]} | (container or {})
        template = {"metadata": {"labels": WORKER, "annotations": NOTES}, "spec": {"restartPolicy": "Never", "containers": [worker]}}
        template["spec"] |= {"terminationGracePeriodSeconds": 1} | (pod or {})
        meta = {"name": name, "labels": labels, "annotations": NOTES | {"scaledjob.keda.sh/generation": "1"}}
        made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"backoffLimit": 0, "template": template} | spec}
        self.apply(made)

    def scaled_job(self, address: str, name: str = "emails") -> None:
        """A ScaledJob over a stream of a Redis."""
        worker = {"name": "worker", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["true"]}
        spec = {
            "pollingInterval": 1,
            "jobTargetRef": {"template": {"spec": {"restartPolicy": "Never", "containers": [worker]}}},
            "triggers": [{"type": "redis-streams", "metadata": {"address": address, "stream": "emails", "streamLength": "1"}}],
        }
        meta = {"name": name, "labels": WORKER, "annotations": NOTES}
        self.apply({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": meta, "spec": spec})

    def redis(self) -> None:
        """A Redis behind the Service `redis`."""
        worker = {"name": "redis", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["redis-server", "--protected-mode", "no"]}
        meta = {"name": "redis", "labels": {"app": "redis"}}
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [worker]}})
        ports = [{"port": 6379}]
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": "redis"}, "ports": ports}})
