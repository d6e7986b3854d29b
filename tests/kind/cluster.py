"""Runs kubectl and helm against the cluster of kind-config.yaml, and asks it what is there. Called by the tests beside this file."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "runner"
VALUES = Path(__file__).with_name("values.yaml")
NODE = "runner-kind-control-plane"
FULL = bool(os.environ.get("FULL"))
Data = dict[str, Any]


def run(
    *command: str, stdin: str | None = None, check: bool = True, within_s: float = 400, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command's outcome; AssertionError with what it said if it fails and `check` is on."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, cwd=ROOT, timeout=within_s, env=environ)
    assert not check or done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done


class Namespace:
    """One namespace of the cluster."""

    def __init__(self, name: str) -> None:
        self.name = name

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """What kubectl prints."""
        return run("kubectl", "--namespace", self.name, *arguments, stdin=stdin, check=check).stdout

    def apply(self, *objects: Data) -> None:
        """Make these objects so."""
        everything = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(everything))

    def items(self, kind: str, *selectors: str) -> list[Data]:
        """All objects of a kind."""
        chosen = ["--selector", ",".join(selectors)] if selectors else []
        return list(json.loads(self.kubectl("get", kind, *chosen, "--output", "json"))["items"])

    def pods(self, queue: str) -> list[Data]:
        """A queue's worker pods, ended ones too."""
        return self.items("pods", f"runner/queue={queue}")

    def pod(self, name: str) -> Data | None:
        """A pod that is there."""
        said = self.kubectl("get", "pod", name, "--ignore-not-found", "--output", "json")
        return json.loads(said) if said else None

    def logs(self, pod: str) -> list[Data]:
        """The events that a pod has logged."""
        lines = self.kubectl("logs", pod, check=False).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


def running(pods: list[Data]) -> list[Data]:
    """Those that are Running and not about to go."""
    return [pod for pod in pods if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]


def live(pods: list[Data]) -> list[Data]:
    """Those that have not ended."""
    return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]


def unfinished(jobs: list[Data]) -> list[Data]:
    """Jobs that KEDA counts as running."""
    ended = {"Complete", "Failed"}
    return [
        job for job in jobs if not any(one["type"] in ended and one["status"] == "True" for one in job["status"].get("conditions", []))
    ]
