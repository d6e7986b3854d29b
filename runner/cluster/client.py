"""Asks the API of Kubernetes: the only module that imports its client. Called by runner.cluster alone.

The client logs in and holds the connections; the objects are read as plain JSON, because its own models take ten times as long and
differ from release to release. A token is projected anew every hour: an answer 401 makes it be read again, once.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from runner.cluster.door import ACCOUNT
from runner.cluster.facts import Pod, Raw, ScaledJob, Snapshot, event_of, job_of, pod_of, scaled_job_of
from runner.errors import ClusterError

TIMEOUT_S = 10.0
PAGE, MOST_PAGES = 500, 40
WORKERS = "app.kubernetes.io/component=worker"


def _inside(account: Path) -> client.Configuration:
    """The account that the pod was given."""
    made = client.Configuration()
    loader = config.incluster_config.InClusterConfigLoader(str(account / "token"), str(account / "ca.crt"))
    loader.load_and_set(made)
    return made


def _outside(kubeconfig: str) -> tuple[client.Configuration, str]:
    """A person's file, and the namespace that it names."""
    made = client.Configuration()
    # The client reads the variable when it is imported, and never again.
    path = kubeconfig or os.environ.get("KUBECONFIG")
    config.load_kube_config(path, client_configuration=made)
    current = config.list_kube_config_contexts(path)[1]
    return made, current["context"].get("namespace", "default")


class Kubernetes:
    """One namespace, and in it the workers of one release, or of all if it is empty."""

    def __init__(self, release: str = "", namespace: str = "", kubeconfig: str | None = None, account: Path = ACCOUNT) -> None:
        self.selector = WORKERS + (f",app.kubernetes.io/instance={release}" if release else "")
        self.namespace = namespace
        self._load: Callable[[], Any] = lambda: self._configuration(kubeconfig, account)
        self._log_in()

    def _configuration(self, kubeconfig: str | None, account: Path) -> client.Configuration:
        try:
            if kubeconfig is None:
                self.namespace = self.namespace or (account / "namespace").read_text().strip()
                return _inside(account)
            made, current = _outside(kubeconfig)
            self.namespace = self.namespace or current
        except (OSError, config.ConfigException) as error:
            raise ClusterError(f"no account of a cluster: {' '.join(str(error).split())}") from error
        return made

    def _log_in(self) -> None:
        self._settings = self._load()
        self._pool = client.ApiClient(self._settings).rest_client.pool_manager

    def _ask(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Raw | None = None) -> tuple[int, bytes]:
        """The status and the answer; a token that was refused is read again."""
        try:
            status, answer = self._once(method, path, query, body)
            if status == 401:
                self._log_in()
                status, answer = self._once(method, path, query, body)
        except HTTPError as error:
            raise ClusterError(f"the API at {self._settings.host} does not answer: {type(error).__name__}") from error
        if status in (401, 403) or status >= 500:
            raise ClusterError(f"the API refused {method} {path}: {status} {_said(answer)}")
        return status, answer

    def _once(self, method: str, path: str, query: Mapping[str, str] | None, body: Raw | None) -> tuple[int, bytes]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Accept": "application/json, */*", "Content-Type": kind, "User-Agent": "runner"}
        # Clients before release 32 keep the token under another name.
        if token := self._settings.get_api_key_with_prefix("BearerToken", "authorization"):
            headers["Authorization"] = token
        url = self._settings.host.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        sent = None if body is None else json.dumps(body)
        answer = self._pool.request(method, url, body=sent, headers=headers, timeout=TIMEOUT_S, retries=1)
        return answer.status, answer.data

    def _path(self, api: str, *names: str) -> str:
        return "/".join([f"/{api}/namespaces/{quote(self.namespace)}", *map(quote, names)])

    def _all(self, path: str, **query: str) -> Iterator[Raw]:
        """Every object of a list, a page at a time."""
        asked = {"limit": str(PAGE), **query}
        for _ in range(MOST_PAGES):
            status, answer = self._ask("GET", path, asked)
            if status != 200:
                raise ClusterError(f"the API refused GET {path}: {status} {_said(answer)}")
            page = json.loads(answer)
            yield from page["items"]
            if not (after := (page.get("metadata") or {}).get("continue")):
                return
            asked["continue"] = after

    def snapshot(self) -> Snapshot:
        """All objects of the release; Jobs first, so that no pod is missed whose Job is seen."""
        chosen = {"labelSelector": self.selector}
        jobs = tuple(map(job_of, self._all(self._path("apis/batch/v1", "jobs"), **chosen)))
        pods = {one.uid: one for one in map(pod_of, self._all(self._path("api/v1", "pods"), **chosen))}
        scaled = tuple(map(scaled_job_of, self._all(self._path("apis/keda.sh/v1alpha1", "scaledjobs"), **chosen)))
        fields = [f"involvedObject.kind={kind}" for kind in ("Job,type=Warning", "Pod,type=Warning", "ScaledJob")]
        events = [event_of(one) for which in fields for one in self._all(self._path("api/v1", "events"), fieldSelector=which)]
        return Snapshot(time.time(), pods, jobs, scaled, tuple(events))

    def pod(self, name: str) -> Pod | None:
        """One pod as it is now."""
        status, answer = self._ask("GET", self._path("api/v1", "pods", name))
        return pod_of(json.loads(answer)) if status == 200 else None

    def pods_of(self, job_uid: str) -> list[Pod]:
        """The pods of a Job as they are now."""
        return list(map(pod_of, self._all(self._path("api/v1", "pods"), labelSelector=f"batch.kubernetes.io/controller-uid={job_uid}")))

    def scaled_job(self, name: str) -> ScaledJob | None:
        """One ScaledJob as it is now."""
        status, answer = self._ask("GET", self._path("apis/keda.sh/v1alpha1", "scaledjobs", name))
        return scaled_job_of(json.loads(answer)) if status == 200 else None

    def delete_job(self, name: str, uid: str) -> bool:
        """Delete this very Job; its pods follow in the background."""
        wanted = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        return self._ask("DELETE", self._path("apis/batch/v1", "jobs", name), body=wanted)[0] in (200, 202)

    def annotate(self, scaled_job: str, version: str, changes: Mapping[str, str | None]) -> bool:
        """Set and take away annotations in one write, unless the object changed meanwhile."""
        body = {"metadata": {"resourceVersion": version, "annotations": dict(changes)}}
        return self._ask("PATCH", self._path("apis/keda.sh/v1alpha1", "scaledjobs", scaled_job), body=body)[0] == 200

    def log(self, pod: str, tail_lines: int) -> str | None:
        """The end of a pod's log, of the container that works."""
        asked = {"tailLines": str(tail_lines), "container": "worker"}
        status, answer = self._ask("GET", self._path("api/v1", "pods", pod, "log"), asked)
        return answer.decode("utf-8", "backslashreplace") if status == 200 else None

    def versions(self) -> dict[str, str]:
        """Kubernetes tells its own; KEDA's is its operator's image, which not everybody may see."""
        found = {"Kubernetes": str(json.loads(self._ask("GET", "/version")[1]).get("gitVersion", "")).removeprefix("v")}
        try:
            operators = list(self._all("/apis/apps/v1/deployments", labelSelector="app=keda-operator"))
        except ClusterError:
            return found
        images = [one["image"] for raw in operators for one in raw["spec"]["template"]["spec"]["containers"]]
        tags = [tag[1] for image in images if (tag := re.search(r":v?([0-9]+\.[0-9]+\.[0-9]+)", image))]
        return found | ({"KEDA": tags[0]} if tags else {})


def _said(answer: bytes) -> str:
    try:
        return str(json.loads(answer).get("message", ""))[:300]
    except (ValueError, AttributeError):
        return answer[:100].decode("utf-8", "backslashreplace")
