"""The command that packs what somebody who helps needs to see, and no secret: support-bundle. Called by cli.

No payload, id, key, detail or output of a task is in it, no value of an environment, no password. It is made also when Redis or the
cluster cannot be asked: then it says so, and holds the rest.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import Json, Namespace, Release, examples, opened_broker, unwrapped
from runner.cli.output import say_json
from runner.cli.redaction import HIDDEN, Redactor, secrets_of
from runner.errors import ClusterError, ConfigError, RunnerError
from runner.version import __version__

if TYPE_CHECKING:
    from runner.broker import Broker, Queue
    from runner.cluster import Snapshot

PATIENCE_S = 5.0
LETTERS = 200
LIBRARIES = ("redis", "pydantic", "pydantic-settings", "orjson", "python-ulid", "msgpack", "typer", "rich", "kubernetes")
RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Timeout|Interrupt|Warning)(?=:)")
"""What Python calls its errors, at the start of a detail; a program's detail may begin with anything."""
README = f"""What `runner support-bundle` found. Passwords, tokens, logins of URLs, values of environments and annotations are {HIDDEN}.
There are no payloads, ids, business keys, error messages or output of tasks in it. Names are: of queues, types, hosts, pods and images.
Look into it before you send it.
"""
File = Annotated[str, typer.Argument(help="The file to write; without it, one in this folder, named after the time.", show_default=False)]
Parts = dict[str, Any]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    shown = examples("runner support-bundle", "runner support-bundle /tmp/bundle.tar.gz --namespace shop --release shop")
    app.command("support-bundle", epilog=shown)(support_bundle)


def support_bundle(file: File = "", namespace: Namespace = "", release: Release = "", as_json: Json = False) -> None:
    """Pack status, faults, declarations, settings and versions into one .tar.gz, without payloads and secrets, for somebody who helps."""
    path = Path(file or time.strftime("runner-support-%Y%m%d-%H%M%S.tar.gz", time.gmtime()))
    parts = gathered(namespace, release)
    _write(path, parts)
    if as_json:
        return say_json({"file": str(path), "parts": list(parts)})
    print(f"{path}: {', '.join(parts)}")
    return print("Passwords, payloads and ids were left out; look into it before you send it.")


def gathered(namespace: str, release: str) -> Parts:
    """The parts by their names; what cannot be had says why."""
    redact = Redactor(secrets_of(os.environ, _urls()))
    parts: Parts = {"versions": _versions(), "settings": _settings()}
    try:
        with opened_broker(PATIENCE_S) as broker:
            parts |= of_redis(broker)
    except RunnerError as error:
        parts["redis"] = {"not_had": str(error)}
    parts["kubernetes"] = _had(lambda: _kubernetes(namespace, release))
    return {name: redact.data(unwrapped(part)) for name, part in parts.items()}


def _urls() -> list[str]:
    from runner.config import ProducerSettings, load

    try:
        return [load(ProducerSettings).redis_url]
    except ConfigError:  # a wrong setting is told in the part `settings`
        return [os.environ.get("RUNNER_REDIS_URL", "")]


def _had(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except RunnerError as error:
        return {"not_had": str(error)}


def _versions() -> Parts:
    found = {"runner": __version__, "python": sys.version, "platform": platform.platform()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _settings() -> Parts:
    """Each setting that is given, secrets hidden; of other variables of ours, the names."""
    from runner.config import ControllerSettings, WorkerSettings, variable
    from runner.masking import masked

    known = {variable(one): one for kind in (ControllerSettings, WorkerSettings) for one in fields(kind)}
    shown: Parts = {}
    for name in sorted(one for one in os.environ if one.startswith("RUNNER_")):
        value, one = os.environ[name], known.get(name)
        shown[name] = HIDDEN if one is None else value
        if one is not None and one.metadata.get("secret"):
            shown[name] = masked(value) if name.endswith("_URL") else HIDDEN
        elif name == "RUNNER_EXEC":
            shown[name] = value.split()[0] + " ..." if value.split() else ""
    return shown


def of_redis(broker: Broker) -> Parts:
    """What Redis holds about the queues, and what is wrong with it."""
    from runner.broker.server import facts
    from runner.cli import doctor
    from runner.cli.lengths import measure

    opened = broker.each()
    lengths = measure(broker, "")
    return {
        "status": {
            "queues": [{"queue": declared.name, **asdict(found)} for declared, found in lengths.measured],
            "broken": lengths.broken,
            "last_pass": broker.last_pass(),
            "findings": broker.findings(broker.now_ms()),
            "starts": {name: broker.starts(name) for name in opened},
        },
        "doctor": _had(lambda: _told(doctor.of_redis(broker, "", "controller")[0])),
        "declarations": {name: str(one) if isinstance(one, RunnerError) else asdict(one.declaration) for name, one in opened.items()},
        "server": facts(broker.client) or {"not_had": "this login may not call INFO"},
        "dead": _had(lambda: list(_letters(broker, [one for one in opened.values() if not isinstance(one, RunnerError)]))),
    }


def _letters(broker: Broker, queues: list[Queue]) -> Iterator[Parts]:
    """The newest dead letters by type and reason, and what was raised by its name alone: a message may hold anything."""
    from runner.cli.letters import chosen_letters, newest_of, type_of

    for queue, one in islice(newest_of(queues, chosen_letters(broker.now_ms())), LETTERS):
        raised = RAISED.match(one.detail)
        facts: Parts = {"queue": queue.name, "entry": one.entry, "type": type_of(queue, one), "reason": one.reason}
        facts |= {"raised": raised[0] if raised else "", "body_bytes": len(one.body)}
        yield facts | {"counters": asdict(one.counters)}


def _kubernetes(namespace: str, release: str) -> Parts:
    from runner.cli import doctor, view

    cluster, why = view.entered(namespace, release)
    if cluster is None:
        raise ClusterError(why or "no cluster is named: neither in a pod nor by a kubeconfig")
    parts = of_cluster(cluster.snapshot()) | {"versions": cluster.versions()}
    with opened_broker(PATIENCE_S) as broker:
        declared = [one.declaration for one in broker.queues()]
        prefix = broker.prefix
    return parts | {"doctor": _told(doctor.of_cluster(declared, prefix, namespace, release)[0])}


def _told(faults: list[tuple[str, str]]) -> list[Parts]:
    return [{"about": about, "said": said} for about, said in faults]


def of_cluster(seen: Snapshot) -> Parts:
    """The objects of the release."""
    return {
        "pods": [asdict(one) for one in seen.pods.values()],
        "jobs": [asdict(one) for one in seen.jobs],
        "scaled_jobs": [asdict(one) for one in seen.scaled_jobs],
        "events": [asdict(one) for one in seen.events],
    }


def _write(path: Path, parts: Parts) -> None:
    files = {"README.txt": README} | {f"{name}.json": json.dumps(part, indent=2, ensure_ascii=False) for name, part in parts.items()}
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as tar:
            for name, text in files.items():
                said = text.encode("utf-8", "backslashreplace")
                entry = tarfile.TarInfo(f"runner-support/{name}")
                entry.size, entry.mtime, entry.mode = len(said), int(time.time()), 0o600
                tar.addfile(entry, io.BytesIO(said))
    except OSError as error:
        raise ConfigError(f"the file {str(path)!r} cannot be written: {error.strerror}; name another") from error
