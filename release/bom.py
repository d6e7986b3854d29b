"""The bill of materials of each image's Python packages, CycloneDX JSON, from the lock that its build installs. Called by __main__."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.faults import ran

LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}


def written(source: Path, out: Path, target: str, version: str, python: str, epoch_s: int) -> dict[str, str]:
    """Write `sbom-TARGET-VERSION.cdx.json` for an image with this Python; the packages in it, name to version."""
    file = out / f"sbom-{target}-{version}.cdx.json"
    options = ["--pyproject", str(source / "pyproject.toml"), "--output-reproducible", "--output-format", "JSON", "-o", str(file), "-"]
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch_s), "PYTHONWARNINGS": "ignore"}
    lock = (source / f"requirements/{target}.lock").read_text(encoding="utf-8")
    ran([sys.executable, "-m", "cyclonedx_py", "requirements", *options], cwd=source, env=env, stdin=installed(lock, python))
    return packages(json.loads(file.read_text(encoding="utf-8")))


def installed(lock: str, python: str) -> str:
    """What of a lock an image on Linux gets; its lines for other systems and other Pythons are left out."""
    kept, image = [], {**LINUX, "python_full_version": python, "python_version": ".".join(python.split(".")[:2])}
    for entry in lock.replace("\\\n", " ").splitlines():
        marker = Requirement(entry.split(" --hash")[0]).marker if entry.strip() else None
        if entry.strip() and (marker is None or marker.evaluate(image)):
            kept.append(entry)
    return "\n".join(kept) + "\n"


def packages(bom: dict[str, Any]) -> dict[str, str]:
    """Name to version of all components."""
    return {canonicalize_name(one["name"]): one["version"] for one in bom["components"]}
