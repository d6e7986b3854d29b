"""A queue's ScaledJob and its TriggerAuthentication as plain data, the same as the chart's (a test compares). Called by cli.

For those who apply manifests without Helm. Every field and its reason is in charts/runner/templates.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any

from runner.errors import ConfigError
from runner.keys import Keys
from runner.queue import Declaration

READY_FILE = "/tmp/runner-ready"
CA_FOLDER = "/etc/runner/ca"
URL = re.compile(r"(rediss?)(?:\+(sentinel|cluster))?://([^/?#@ ]+)(?:/([A-Za-z0-9._-]+))?(?:/([0-9]+))?/?")
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
Data = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is not in a declaration. Names of a Secret's entries are empty where there is none."""

    release: str = "runner"
    namespace: str = "default"
    image: str = "runner-worker:0.1.0"
    handlers: str = ""
    exec: str = ""
    max_replicas: int = 100
    polling_interval_s: int = 2
    grace_s: float = 10
    settle_s: float = 300
    idle_s: float = 0
    start_s: float = 60
    start_allowance_s: float = 600
    redis_url: str = "redis://redis.default.svc.cluster.local:6379/0"
    secret: str = ""
    username_key: str = ""
    password_key: str = "password"
    sentinel_username_key: str = ""
    sentinel_password_key: str = ""
    ca_key: str = ""

    def __post_init__(self) -> None:
        """Raise ConfigError for what Kubernetes would refuse, or KEDA take without a word."""
        for word, name in (("release", self.release), ("namespace", self.namespace)):
            if not LABEL.fullmatch(name):
                raise ConfigError(f"{word} is {name!r}: Kubernetes takes lower-case letters, digits and `-`, at most 63")
        if not self.image or re.search(r"\s", self.image):
            raise ConfigError(f"image is {self.image!r}, which names none")

    @property
    def full_name(self) -> str:
        """As the chart has it."""
        return self.release if "runner" in self.release else f"{self.release}-runner"

    @property
    def keys(self) -> dict[str, str]:
        """KEDA's parameters and the Secret's entries."""
        words = ("username", "password", "sentinelUsername", "sentinelPassword", "ca")
        names = (self.username_key, self.password_key, self.sentinel_username_key, self.sentinel_password_key, self.ca_key)
        return {word: name for word, name in zip(words, names, strict=True) if name and self.secret}


@dataclass(frozen=True)
class Address:
    """A URL without a login, taken apart."""

    kind: str
    tls: bool
    hosts: tuple[str, ...]
    service: str
    db: str

    @classmethod
    def of(cls, url: str) -> Address:
        """ConfigError for a URL that KEDA could not use, in one sentence."""
        found = URL.fullmatch(url)
        if "@" in url or not found:
            raise ConfigError(
                "the Redis URL has to be rediss(+sentinel|+cluster)://HOST:PORT/... without a login, which comes from a Secret"
            )
        kind = found[2] or "single"
        hosts = tuple(
            host if re.search(r":[0-9]+$", host) else f"{host}:{26379 if kind == 'sentinel' else 6379}" for host in found[3].split(",")
        )
        for host in hosts:
            if "." not in host and not host.startswith("["):
                raise ConfigError(
                    f"host {host!r} is not fully qualified: KEDA looks it up from its own namespace, write NAME.NAMESPACE.svc.cluster.local"
                )
        service, db = (found[4] or "", found[5] or "0") if kind == "sentinel" else ("", found[4] or "0")
        if not db.isdigit() or (kind == "cluster" and db != "0") or (kind == "sentinel" and not service):
            raise ConfigError("the Redis URL ends with /DB, for sentinels with /SERVICE/DB, for a cluster with nothing")
        return cls(kind, found[1] == "rediss", hosts, service, db)

    def url(self, ca: bool) -> str:
        """As a pod gets it."""
        scheme = f"redis{'s' if self.tls else ''}{'' if self.kind == 'single' else f'+{self.kind}'}"
        path = "/".join(part for part in (self.service, "" if self.kind == "cluster" else self.db) if part)
        return f"{scheme}://{','.join(self.hosts)}{f'/{path}' if path else ''}{f'?ssl_ca_certs={CA_FOLDER}/ca.crt' if ca else ''}"


def fit(text: str, most: int) -> str:
    """A text as a DNS label; one that had to change carries a hash of the whole."""
    clean = re.sub("[^a-z0-9-]", "-", text.lower()).strip("-")
    if clean == text and len(clean) <= most:
        return clean
    return f"{clean[: most - 9].removesuffix('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def manifests(declaration: Declaration, prefix: str, options: Options) -> list[Data]:
    """What to apply for one queue."""
    address = Address.of(options.redis_url)
    made = [_scaled_job(declaration, prefix, options, address)]
    return [*made, _authentication(options)] if options.keys else made


def _authentication(options: Options) -> Data:
    targets = [{"parameter": word, "name": options.secret, "key": key} for word, key in options.keys.items()]
    return _object("TriggerAuthentication", fit(f"{options.full_name}-redis", 63), options, {"secretTargetRef": targets})


def _object(kind: str, name: str, options: Options, spec: Data) -> Data:
    metadata = {"name": name, "namespace": options.namespace, "labels": _labels(options)}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _labels(options: Options) -> Data:
    words = {"name": "runner", "instance": fit(options.release, 63), "component": "worker"}
    return {f"app.kubernetes.io/{word}": value for word, value in words.items()}


def _scaled_job(declaration: Declaration, prefix: str, options: Options, address: Address) -> Data:
    spec: Data = {
        "pollingInterval": options.polling_interval_s,
        "maxReplicaCount": options.max_replicas,
        "successfulJobsHistoryLimit": 2,
        "failedJobsHistoryLimit": 5,
        "rollout": {"strategy": "gradual"},
    }
    strategy: Data = {"strategy": "accurate", "pendingPodConditions": ["Ready"]} if declaration.mode == "list" else {}
    strategy |= {"multipleScalersCalculation": "sum"} if len(declaration.priorities) > 1 else {}
    spec |= {"scalingStrategy": strategy} if strategy else {}
    keys = Keys(prefix, declaration)
    spec["triggers"] = [_trigger(keys.watched(priority), declaration.mode, options, address) for priority in declaration.priorities]
    spec["jobTargetRef"] = _job(declaration, prefix, options, address)
    made = _object("ScaledJob", fit(f"{options.full_name}-{declaration.name}", 52), options, spec)
    made["metadata"]["annotations"] = {"runner/queue": declaration.name}
    return made


def _trigger(key: str, mode: str, options: Options, address: Address) -> Data:
    watched = {"listName": key, "listLength": "1"} if mode == "list" else {"stream": key, "streamLength": "1"}
    where = {"address" if address.kind == "single" else "addresses": ",".join(address.hosts)}
    where |= {} if address.kind == "cluster" else {"databaseIndex": address.db}
    where |= {"sentinelMaster": address.service} if address.service else {}
    where |= {"enableTLS": "true"} if address.tls else {}
    name = f"redis{'' if address.kind == 'single' else f'-{address.kind}'}{'-streams' if mode == 'stream' else ''}"
    made: Data = {"type": name, "metadata": watched | where}
    return made | ({"authenticationRef": {"name": fit(f"{options.full_name}-redis", 63)}} if options.keys else {})


def _job(declaration: Declaration, prefix: str, options: Options, address: Address) -> Data:
    idle_s = options.idle_s or declaration.lease_s + 5
    deadline_s = math.ceil(declaration.max_timeout_s + idle_s + options.grace_s + options.start_allowance_s)
    annotations = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
    metadata = {
        "labels": _labels(options) | {"runner/queue": fit(declaration.name, 63)},
        "annotations": {"runner/queue": declaration.name} | annotations,
    }
    template = {"metadata": metadata, "spec": _pod(declaration, prefix, options, address)}
    return {"parallelism": 1, "completions": 1, "backoffLimit": 0, "activeDeadlineSeconds": deadline_s, "template": template}


def _pod(declaration: Declaration, prefix: str, options: Options, address: Address) -> Data:
    lost = [{"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoExecute"} for word in ("not-ready", "unreachable")]
    volumes: list[Data] = [{"name": "tmp", "emptyDir": {"sizeLimit": "512Mi"}}]
    if ca := options.keys.get("ca"):
        volumes.append({"name": "redis-ca", "secret": {"secretName": options.secret, "items": [{"key": ca, "path": "ca.crt"}]}})
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": math.ceil(options.grace_s + 20),
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "tolerations": [one | {"tolerationSeconds": 30} for one in lost],
        "containers": [_container(declaration, prefix, options, address)],
        "volumes": volumes,
    }


def _container(declaration: Declaration, prefix: str, options: Options, address: Address) -> Data:
    mounts: list[Data] = [{"name": "tmp", "mountPath": "/tmp"}]
    mounts += [{"name": "redis-ca", "mountPath": CA_FOLDER, "readOnly": True}] if "ca" in options.keys else []
    probe = {"exec": {"command": ["test", "-f", READY_FILE]}, "periodSeconds": 1, "failureThreshold": 1}
    made: Data = {
        "name": "worker",
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "env": [*_redis(options, address, prefix), *_settings(declaration, options)],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "64Mi"},
            "limits": {"memory": "256Mi", "ephemeral-storage": "1Gi"},
        },
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }
    return made | ({"readinessProbe": probe} if declaration.mode == "list" else {})


def _redis(options: Options, address: Address, prefix: str) -> list[Data]:
    variables = {
        "password": "PASSWORD",
        "sentinelPassword": "SENTINEL_PASSWORD",
        "sentinelUsername": "SENTINEL_USERNAME",
        "username": "USERNAME",
    }
    made = [{"name": "RUNNER_REDIS_URL", "value": address.url("ca" in options.keys)}]
    for word, variable in variables.items():
        if key := options.keys.get(word):
            reference = {"secretKeyRef": {"name": options.secret, "key": key}}
            made.append({"name": f"RUNNER_REDIS_{variable}", "valueFrom": reference})  # type: ignore[dict-item]
    return [*made, {"name": "RUNNER_PREFIX", "value": prefix}] if prefix else made


def _settings(declaration: Declaration, options: Options) -> list[Data]:
    plain = {
        "QUEUE": declaration.name,
        "HANDLERS": options.handlers,
        "EXEC": options.exec,
        "IDLE_S": f"{options.idle_s:g}",
        "GRACE_S": f"{options.grace_s:g}",
        "SETTLE_S": f"{options.settle_s:g}",
        "START_S": f"{options.start_s:g}",
        "LOG_LEVEL": "info",
        "READY_FILE": READY_FILE,
    }
    fields = {"POD": "metadata.name", "POD_UID": "metadata.uid", "NODE": "spec.nodeName"}
    made: list[Data] = [{"name": f"RUNNER_{word}", "value": value} for word, value in plain.items() if value]
    return made + [{"name": f"RUNNER_{word}", "valueFrom": {"fieldRef": {"fieldPath": path}}} for word, path in fields.items()]
