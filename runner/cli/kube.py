"""The command that prints a queue's Kubernetes manifests: keda. Called by cli."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import typer

from runner.cli.common import DeclaredQueue, examples, opened_broker
from runner.manifest import Options, manifests

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
MEANINGS = {
    "release": "Name of the release, which the objects' names begin with.",
    "namespace": "Where the objects go.",
    "image": "The worker's image.",
    "handlers": "RUNNER_HANDLERS: modules with handlers, joined by commas.",
    "exec": "RUNNER_EXEC: a program that handles the tasks.",
    "max_replicas": "Pods at most at a time.",
    "polling_interval_s": "How often KEDA looks at the queue.",
    "grace_s": "How long a handler may take to end after it was asked to, before it is killed.",
    "settle_s": "How long a pod tries to record an outcome while Redis is away.",
    "idle_s": "How long a pod waits for the claims of silent pods to expire; 0 is the lease and 5 s.",
    "start_s": "How long the handlers may take to import.",
    "start_allowance_s": "What a Job may spend pending and pulling its image.",
    "redis_url": "Where Redis is for KEDA and the pods; without a login.",
    "secret": "Name of the Secret with the login.",
    "username_key": "The Secret's entry with the user.",
    "password_key": "The Secret's entry with the password.",
    "sentinel_username_key": "The Secret's entry with the Sentinels' user.",
    "sentinel_password_key": "The Secret's entry with the Sentinels' password.",
    "ca_key": "The Secret's entry with the authority that signed Redis's certificate.",
}
LEAST = {"max_replicas": 1, "polling_interval_s": 1, "start_s": 1}
"""As the chart's schema has it; of all other numbers 0."""
WORDS_OF_YAML = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    shown = examples(
        "runner keda emails --redis-url redis://redis.data.svc.cluster.local:6379/0 | kubectl apply --server-side -f -",
        "runner keda emails --redis-url rediss://redis.example.com:6380/0 --secret redis-login --ca-key ca.crt",
    )
    app.command(epilog=shown)(keda)


def keda(queue: str, **given: Any) -> None:
    """Print the ScaledJob of a declared queue, and the TriggerAuthentication where a Secret is named. Hosts are as seen from KEDA."""
    chosen = {name: value for name, value in given.items() if value is not None}
    with opened_broker() as broker:
        declaration, prefix = broker.open(queue).declaration, broker.prefix
    made = manifests(declaration, prefix, Options(**chosen))
    print("\n---\n".join("\n".join(yaml(one)) for one in made))


def _sign(command: Any) -> None:
    """An option per field of Options."""
    kind = inspect.Parameter.KEYWORD_ONLY
    signs = [inspect.Parameter("queue", kind, annotation=DeclaredQueue)]
    hints: dict[str, Any] = {"queue": DeclaredQueue}
    for field in fields(Options):
        hints[field.name] = type(field.default) | None
        least = None if isinstance(field.default, str) else LEAST.get(field.name, 0)
        option = typer.Option(None, min=least, help=_meaning(field.name, field.default))
        signs.append(inspect.Parameter(field.name, kind, annotation=hints[field.name], default=option))
    command.__signature__, command.__annotations__ = inspect.Signature(signs), hints


def _meaning(name: str, default: Any) -> str:
    return f"{MEANINGS[name]} [{default if default != '' else 'none'}]"


def yaml(value: Any, indent: str = "") -> Iterator[str]:
    """Plain data as lines of YAML: maps and lists in blocks, texts bare where nothing else could be read in them."""
    for key, one in value.items():
        if isinstance(one, dict) and one:
            yield f"{indent}{_scalar(key)}:"
            yield from yaml(one, f"{indent}  ")
        elif isinstance(one, list) and one:
            yield f"{indent}{_scalar(key)}:"
            for item in one:
                yield from _item(item, f"{indent}  ")
        else:
            yield f"{indent}{_scalar(key)}: {_scalar(one)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if not isinstance(item, dict):
        yield f"{indent}- {_scalar(item)}"
        return
    for number, line in enumerate(yaml(item, f"{indent}  ")):
        yield line if number else f"{indent}- {line[len(indent) + 2 :]}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS_OF_YAML:
        return value
    return json.dumps(value, ensure_ascii=False)


_sign(keda)
