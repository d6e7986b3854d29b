"""The two images, at the version, and what is in them. Called by __main__; needs docker."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from packaging.utils import canonicalize_name

from release.faults import Refused, ran

TARGETS = ("worker", "controller")
LISTED = "import json, importlib.metadata as m; print(json.dumps([(one.name, one.version) for one in m.distributions()]))"
PYTHON = "import platform; print(platform.python_version())"


def why_not() -> str:
    """Why no image can be built here; empty where one can."""
    if not shutil.which("docker"):
        return "docker is not on PATH"
    done = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    said = (done.stderr or done.stdout).strip().partition("\n")[0]
    return f"docker does not answer: {said}" if done.returncode else ""


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


def python_of(source: Path, tag: str = "") -> str:
    """The version of Python in an image; without one, the version that the Dockerfile starts from."""
    if tag:
        return _asked(tag, PYTHON).strip()
    (named,) = re.findall(r"(?m)^ARG PYTHON_IMAGE=python:([\d.]+)", (source / "Dockerfile").read_text(encoding="utf-8"))
    return f"{named}.0" if named.count(".") == 1 else str(named)


def compare(tag: str, listed: dict[str, str]) -> None:
    """Refused where the image holds other Python packages than its bill of materials says."""
    held = {canonicalize_name(name): version for name, version in json.loads(_asked(tag, LISTED))}
    if held != listed:
        wrong = sorted(set(held.items()) ^ set(listed.items()))
        raise Refused(f"{tag} and its bill of materials differ in {wrong}")


def _asked(tag: str, code: str) -> str:
    return ran(["docker", "run", "--rm", "--entrypoint", "python", tag, "-c", code], cwd=Path.cwd())
