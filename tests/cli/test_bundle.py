"""The bundle for somebody who helps: what is in it, and that no secret is, wherever one was planted. Called by pytest."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from runner.broker import Broker, Queue, Settled
from runner.cli.bundle import of_cluster
from runner.cli.redaction import Redactor, secrets_of
from runner.cluster import Event
from runner.queue import Declaration
from tests.cli.conftest import Say
from tests.controller.town import job, pod, scaled, seen
from tests.making import claim, submit

HUSH = "hush-7f3a"
"""Part of every secret that is planted."""
CONTAINER = {
    "image": "shop/worker:1",
    "env": [{"name": "DB", "value": f"x{HUSH}1"}, {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}],
    "args": ["--token", f"{HUSH}2", f"--api-key={HUSH}3", f"postgres://me:{HUSH}4@db/x", "plain"],
}
SPEC = {
    "triggers": [{"type": "redis-streams", "metadata": {"password": f"{HUSH}5", "passwordFromEnv": "PW", "stream": "emails"}}],
    "jobTargetRef": {
        "template": {"metadata": {"annotations": {"vault/role": f"{HUSH}6", "runner/queue": "emails"}}, "spec": {"containers": [CONTAINER]}}
    },
}
LAST_APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(SPEC), "autoscaling.keda.sh/paused": "true"}


def unpacked(path: Path) -> dict[str, Any]:
    """The parts by name; `raw` is all of it as one text."""
    with tarfile.open(path) as tar:
        files = {Path(one.name).name: tar.extractfile(one).read().decode() for one in tar.getmembers()}  # type: ignore[union-attr]
    return {Path(name).stem: json.loads(text) for name, text in files.items() if name.endswith(".json")} | {"raw": "".join(files.values())}


def plant(queue: Queue) -> None:
    """Secrets in every place of Redis that anybody may write to."""
    body = json.dumps({"type": "mail", "payload": {"password": f"{HUSH}1"}}).encode()
    submit(queue, f"id-{HUSH}2", body, key=f"key-{HUSH}3")
    claim(queue)
    line = json.dumps({"attempt": 1, "kind": "error", "detail": f"{HUSH}4", "tail": f"{HUSH}5"}).encode()
    queue.bury([Settled(f"id-{HUSH}2", "t1", "", line, reason="error", detail=f"ValueError: no such card {HUSH}6")])
    submit(queue, "programs", body)
    claim(queue, "t2")
    queue.bury([Settled("programs", "t2", "", b"", reason="error", detail=f"{HUSH.replace('-', '_')}: card")])
    submit(queue, f"waiting-{HUSH}", body)
    broker = Broker(queue.client)
    found = {"kind": "stuck", "name": "job-1", "reason": "ErrImagePull", "message": f"https://me:{HUSH}7@registry/x: denied, token={HUSH}8"}
    broker.note_findings({"emails": [found]}, broker.now_ms())


@pytest.mark.parametrize("mode", ["stream", "list"])
def test_no_secret_is_in_the_bundle_wherever_it_was_planted(
    queue: Queue, said: Say, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(queue)
    with redis.Redis.from_url(url) as admin:
        admin.execute_command("ACL", "SETUSER", "me", "on", f">{HUSH}9", "~*", "&*", "+@all")
    monkeypatch.setenv("RUNNER_REDIS_URL", url.replace("unix://", f"unix://me:{HUSH}9@"))
    monkeypatch.setenv("RUNNER_EXEC", f"node mail.js --secret {HUSH}10")
    monkeypatch.setenv("RUNNER_UNKNOWN", f"{HUSH}11")
    monkeypatch.setenv("STRIPE_API_KEY", f"{HUSH}12")
    monkeypatch.setenv("RUNNER_REDIS_SENTINEL_PASSWORD", f"{HUSH}13")
    path = tmp_path / "bundle.tar.gz"

    code, out, err = said("support-bundle", str(path))

    found = unpacked(path)
    assert (code, err) == (0, "") and str(path) in out
    assert HUSH not in found["raw"] and HUSH.replace("-", "_") not in found["raw"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [(one["type"], one["reason"], one["raised"]) for one in found["dead"]] == [
        ("mail", "error", ""),
        ("mail", "error", "ValueError"),
    ]
    assert found["declarations"]["emails"]["mode"] == queue.declaration.mode
    assert found["status"]["findings"]["emails"][0]["message"] == "https://***@registry/x: denied, token=***"
    assert (found["settings"]["RUNNER_EXEC"], found["settings"]["RUNNER_UNKNOWN"]) == ("node ...", "***")
    assert "controller" in [one["about"] for one in found["doctor"]]
    assert found["server"][0]["maxmemory_policy"] == "noeviction" and found["versions"]["runner"]


def test_objects_of_the_cluster_keep_their_shape_and_lose_their_secrets() -> None:
    message = f"failed to pull https://me:{HUSH}1@registry: Authorization: Bearer {HUSH}2, PASSWORD='{HUSH} 3'"
    event = Event("Pod", "pod-1", "u", "Failed", message)
    things = pod(0, message=message, waiting_message=message), job(0, message=message), scaled(spec=SPEC, annotations=LAST_APPLIED)

    found = Redactor([]).data(of_cluster(seen(*things, event)))

    assert HUSH not in json.dumps(found)
    (kept,) = found["scaled_jobs"]
    assert kept["annotations"] == {"kubectl.kubernetes.io/last-applied-configuration": "***", "autoscaling.keda.sh/paused": "true"}
    (container,) = kept["spec"]["jobTargetRef"]["template"]["spec"]["containers"]
    assert container["image"] == "shop/worker:1" and container["args"][-1] == "plain"
    assert container["env"] == [{"name": "DB", "value": "***"}, CONTAINER["env"][1]]
    assert kept["spec"]["triggers"][0]["metadata"] == {"password": "***", "passwordFromEnv": "PW", "stream": "emails"}


@pytest.mark.parametrize("plain", ["it never made a pass: nothing is promoted", "redis://host:6379/0", "a token of no use", ""])
def test_what_is_no_secret_stays(plain: str) -> None:
    assert Redactor(secrets_of({"PWD": "/home", "DB_PASS": "hush-7"}, ())).text(plain) == plain


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=12))
def test_a_secret_that_is_known_is_hidden_in_any_form(around: str) -> None:
    secret = f"{around}HUSH{around}"
    redact = Redactor(secrets_of({"DB_PASSWORD": secret}, ()))

    assert secret not in redact.text(f"it said {secret}: no") and "HUSH" not in redact.text(f"redis://me:{secret}@host/0")


@pytest.mark.parametrize("mode", ["stream"])
def test_a_bundle_is_made_without_redis_too(
    queue: Queue, said: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_CONNECT_S", "0")
    monkeypatch.setenv("RUNNER_REDIS_URL", f"redis://me:{HUSH}@127.0.0.1:1/0")
    monkeypatch.chdir(tmp_path)

    code, out, _ = said("support-bundle", "--json")

    found = unpacked(tmp_path / json.loads(out)["file"])
    assert code == 0 and "refused the connection" in found["redis"]["not_had"] and HUSH not in found["raw"]
    assert found["settings"]["RUNNER_REDIS_URL"] == "redis://***@127.0.0.1:1/0"


@pytest.mark.parametrize("mode", ["stream"])
def test_a_broken_queue_and_a_wrong_setting_are_told_in_it(
    queue: Queue, said: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Broker(queue.client).declare(Declaration("newer"))
    queue.client.hset("{newer}:queue", "layout", 99)
    monkeypatch.setenv("RUNNER_CONTROL_FOR_S", "soon")

    assert said("support-bundle", str(tmp_path / "a.tar.gz"))[0] == 0

    found = unpacked(tmp_path / "a.tar.gz")
    assert "layout 99" in found["declarations"]["newer"] and found["dead"] == []
    assert "RUNNER_CONTROL_FOR_S is 'soon'" in json.dumps(found["doctor"])


@pytest.mark.parametrize("mode", ["stream"])
def test_a_file_that_is_there_is_never_written_over(queue: Queue, said: Say, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")

    code, out, err = said("support-bundle", str(tmp_path / "mine"))

    assert (code, out, err.count("\n")) == (2, "", 1) and "File exists" in err
    assert (tmp_path / "mine").read_text() == "kept"
