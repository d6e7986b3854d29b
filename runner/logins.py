"""Makes the Secret with the passwords of the four Redis users, once. `python -m runner.logins SECRET`; called by a Job of the chart.

In the cluster and not by the chart: passwords in values are read by everybody who reads a release, and a template that makes them gives
others at each render. One request, sent with the standard library: the Job may create Secrets, and neither read nor change one.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from runner import logs
from runner.errors import ConfigError, RunnerError

USERS = ("producer", "worker", "controller", "keda")
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
CREATED, THERE = 201, 409


def secret(name: str) -> dict[str, Any]:
    """The Secret, with fresh passwords of 192 bits, in letters and digits that need no quoting anywhere."""
    data = {f"{user}-password": base64.b64encode(secrets.token_hex(24).encode()).decode() for user in USERS}
    labels = {"app.kubernetes.io/managed-by": "runner.logins"}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": name, "labels": labels}, "data": data}


def make(name: str, api: str, account: Path = ACCOUNT) -> bool:
    """Create the Secret; False if it is there already, and then it stays as it is."""
    namespace, token = ((account / part).read_text().strip() for part in ("namespace", "token"))
    request = urllib.request.Request(f"{api}/api/v1/namespaces/{namespace}/secrets", json.dumps(secret(name)).encode(), method="POST")
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    authority = account / "ca.crt"
    trust = ssl.create_default_context(cafile=str(authority)) if authority.exists() else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=trust) as answer:
            return bool(answer.status == CREATED)
    except urllib.error.HTTPError as error:
        if error.code == THERE:
            return False
        said = error.read().decode(errors="replace")
        raise RunnerError(f"Kubernetes refused to create the Secret {name!r}: {error.code} {said}") from error
    except OSError as error:
        raise RunnerError(f"Kubernetes cannot be reached at {api}: {error}") from error


def main(arguments: list[str]) -> int:
    """The command; its exit code: 0 the Secret is there, 1 it could not be made, 2 used wrongly."""
    try:
        if len(arguments) != 1 or "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise ConfigError("usage, in a pod of the cluster: python -m runner.logins SECRET")
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        made = make(arguments[0], f"https://{f'[{host}]' if ':' in host else host}:{port}")
    except RunnerError as error:
        logs.event("failed", "error", error=str(error))
        return 2 if isinstance(error, ConfigError) else 1
    logs.event("made the Secret" if made else "the Secret is there already", secret=arguments[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
