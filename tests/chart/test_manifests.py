"""The plain manifests are the chart's: those in deploy/keda, and what `runner keda` prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from runner.broker import Broker
from runner.cli.kube import yaml as lines_of
from runner.declare import make_true, read
from runner.errors import ConfigError
from runner.manifest import Options, manifests
from runner.queue import Declaration
from tests.chart.rendering import ROOT, Data, helm, of_kind, with_values

FOLDER = ROOT / "deploy" / "keda"
NAMES = sorted(path.name for path in (FOLDER / "values").glob("*.yaml"))


def test_the_manifests_in_the_repository_are_rendered_from_the_chart(tmp_path: Path) -> None:
    helm("version")

    subprocess.run(["sh", str(ROOT / "deploy" / "render.sh"), str(tmp_path)], check=True)

    assert sorted(path.name for path in FOLDER.glob("*.yaml")) == NAMES
    for name in NAMES:
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text(), f"{name} drifted: make manifests"


URLS = {
    "single": ("redis://redis.demo.svc.cluster.local:6379/3", {}),
    "tls": ("rediss://redis.example.com", {"name": "login", "keys": {"username": "user", "password": "pass", "ca": "ca.crt"}}),
    "sentinel": ("redis+sentinel://a.b:1,c.d/main/1", {"name": "login", "keys": {"sentinelPassword": "sp", "sentinelUsername": "su"}}),
    "cluster": ("rediss+cluster://a.b:1,c.d", {"name": "login"}),
}
ENTRIES = {
    "username": "username_key",
    "password": "password_key",
    "sentinelUsername": "sentinel_username_key",
    "sentinelPassword": "sentinel_password_key",
    "ca": "ca_key",
}
QUEUES: list[tuple[str, Data, dict[str, Any]]] = [
    ("emails", {}, {}),
    (
        "Images_Of.All",
        {"mode": "list", "priorities": ["a", "b"], "exec": "node x.js", "graceSeconds": 2.5},
        {"exec": "node x.js", "grace_s": 2.5},
    ),
    (
        "q" * 80,
        {"priorities": ["only"], "handlers": ["a", "b.c"], "maxReplicas": 3, "pollingInterval": 5, "idleSeconds": 77, "settleSeconds": 9},
        {"handlers": "a,b.c", "max_replicas": 3, "polling_interval_s": 5, "idle_s": 77, "settle_s": 9},
    ),
]


@pytest.mark.parametrize("release", ["rel", "my-runner"])
@pytest.mark.parametrize("prefix", ["", "staging"])
@pytest.mark.parametrize("kind", URLS)
def test_the_command_prints_what_the_chart_renders(tmp_path: Path, kind: str, prefix: str, release: str) -> None:
    url, secret = URLS[kind]
    values = {"prefix": prefix, "queues": {name: settings for name, settings, _ in QUEUES}}
    values["redis"] = {"internal": {"enabled": False}, "external": {"url": url, "secret": secret}}
    chart = {(one["kind"], one["metadata"]["name"]): plain(one) for one in with_values(tmp_path, values, release)}

    for name, settings, options in QUEUES:
        entries = {ENTRIES[word]: key for word, key in secret.get("keys", {}).items()}
        given = Options(release=release, namespace="demo", redis_url=url, secret=secret.get("name", ""), **entries, **options)
        declared = Declaration(name, settings.get("mode", "stream"), tuple(settings.get("priorities", ("high", "normal", "low"))))
        for one in manifests(declared, prefix, given):
            assert one == chart[(one["kind"], one["metadata"]["name"])]
            assert yaml.safe_load("\n".join(lines_of(one))) == one


def plain(one: Data) -> Data:
    """Without what says that Helm made it."""
    said = ("app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart")
    one["metadata"]["labels"] = {key: value for key, value in one["metadata"]["labels"].items() if key not in said}
    return one


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://me:x@a.b", "without a login"),
        ("redis://redis:6379", "is not fully qualified"),
        ("redis+sentinel://a.b", "/SERVICE/DB"),
        ("redis+cluster://a.b/2", "for a cluster with nothing"),
        ("http://a.b", "has to be redis"),
    ],
)
def test_a_redis_that_keda_could_not_reach_is_refused(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        manifests(Declaration("emails"), "", Options(redis_url=url))


@pytest.mark.parametrize(
    "value", ["true", "No", "1", "1.5", "a: b", "# x", "- x", "", "é", "null", "{emails}:high", "a\nb", "y", "0x1", "1e3", "~"]
)
def test_any_text_survives_the_way_through_yaml(value: str) -> None:
    data = {"a": value, value or "b": [value, {"c": value, "d": []}], "e": {"f": {}}}

    assert yaml.safe_load("\n".join(lines_of(data))) == data


def command(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"RUNNER_REDIS_URL": url}
    return subprocess.run([sys.executable, "-m", "runner.cli", *arguments], capture_output=True, text=True, env=environ, check=False)


def test_the_command_reads_the_declaration(url: str) -> None:
    Broker(redis.Redis.from_url(url)).declare(Declaration("emails", "list", ("only",), max_timeout_s=700))

    done = command(url, "keda", "emails", "--image", "words:1", "--secret", "login")

    job, authentication = yaml.safe_load_all(done.stdout)
    assert done.returncode == 0 and (job["kind"], authentication["kind"]) == ("ScaledJob", "TriggerAuthentication")
    assert job["spec"]["jobTargetRef"]["activeDeadlineSeconds"] == 700 + 35 + 10 + 600
    assert of_kind([job], "ScaledJob")[0]["spec"]["jobTargetRef"]["template"]["spec"]["containers"][0]["image"] == "words:1"


def test_queues_of_a_file_are_applied_by_the_command(url: str, tmp_path: Path) -> None:
    path = tmp_path / "queues.json"
    path.write_text('{"emails": {"mode": "list"}}')

    first, second = (command(url, "queue", "apply", str(path)) for _ in range(2))

    assert (first.stdout, second.stdout) == ("emails: declared\n", "emails: declared already\n")
    broker = Broker(redis.Redis.from_url(url))
    assert not any(make_true(broker, one, broker.names()) for one in read(str(path)))


def test_a_wrong_option_is_one_line_and_exit_code_2(url: str) -> None:
    Broker(redis.Redis.from_url(url)).declare(Declaration("emails"))

    done = command(url, "keda", "emails", "--redis-url", "redis://redis:6379")

    assert done.returncode == 2 and "not fully qualified" in done.stderr and "Traceback" not in done.stderr
