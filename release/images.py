"""The two images, at the version, and what is in them. Called by __main__; needs docker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from release.faults import Refused, ran

TARGETS = ("worker", "controller")
LISTED = "import json, importlib.metadata as m; print(json.dumps(sorted((one.name.lower(), one.version) for one in m.distributions())))"


def why_not() -> str:
    """Why no image can be built here; empty where one can."""
    if not shutil.which("docker"):
        return "docker is not on PATH"
    done = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    return f"docker does not answer: {(done.stderr or done.stdout).strip().splitlines()[-1:]}" if done.returncode else ""


def built(source: Path, version: str) -> dict[str, str]:
    """Tags and ids of the images."""
    base = os.environ.get("PYTHON_IMAGE")
    found = {}
    for target in TARGETS:
        tag = f"runner-{target}:{version}"
        own = ["--build-arg", f"PYTHON_IMAGE={base}"] if base else []
        ran(["docker", "build", "--quiet", "--target", target, "--tag", tag, *own, "."], cwd=source, env=dict(os.environ))
        found[tag] = ran(["docker", "image", "inspect", "--format", "{{.Id}}", tag], cwd=source).strip()
    return found


def compare(tag: str, listed: dict[str, str], source: Path) -> None:
    """Refused where the image holds other Python packages than its bill of materials says."""
    said = ran(["docker", "run", "--rm", "--entrypoint", "python", tag, "-c", LISTED], cwd=source)
    held = {_plain(name): version for name, version in json.loads(said)}
    if held != listed:
        wrong = sorted(set(held.items()) ^ set(listed.items()))
        raise Refused(f"{tag} and its bill of materials differ in {wrong}")


def _plain(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()
