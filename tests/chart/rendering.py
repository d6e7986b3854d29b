"""Renders the chart with the real helm. Called by the tests beside this file.

Without helm on PATH they are skipped with one line; RUNNER_REQUIRE_HELM=1, as CI sets it, makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "runner"
SCENARIOS = sorted((CHART / "ci").glob("*.yaml"))
CLUSTER = ("--kube-version", "1.34.0", "--api-versions", "keda.sh/v1alpha1/ScaledJob")
Data = dict[str, Any]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm; skip the test where there is none."""
    if not shutil.which("helm"):
        assert not os.environ.get("RUNNER_REQUIRE_HELM"), "helm is not on PATH"
        pytest.skip("no helm on PATH")
    return subprocess.run(["helm", *arguments], capture_output=True, text=True, check=False, cwd=ROOT)


def templated(*arguments: str, release: str = "rel") -> subprocess.CompletedProcess[str]:
    """`helm template` in namespace demo of a cluster with KEDA."""
    return helm("template", release, str(CHART), "--namespace", "demo", *CLUSTER, *arguments)


@cache
def _rendered(arguments: tuple[str, ...], release: str) -> str:
    done = templated(*arguments, release=release)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(*arguments: str, release: str = "rel") -> list[Data]:
    """The objects of a rendering."""
    return [one for one in yaml.safe_load_all(_rendered(arguments, release)) if one]


def with_values(folder: Path, values: Data, release: str = "rel") -> list[Data]:
    """The objects rendered from these values."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    done = templated("--values", str(path), release=release)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def refused(folder: Path, values: Data) -> str:
    """What helm says to values that it must refuse."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    done = templated("--values", str(path))
    assert done.returncode != 0, "this must be refused"
    return done.stderr


def scenario(name: str) -> list[Data]:
    """The objects of one of the chart's ci scenarios."""
    return rendered("--values", str(CHART / "ci" / f"{name}-values.yaml"))


def of_kind(objects: list[Data], kind: str) -> list[Data]:
    """Those of one kind."""
    return [one for one in objects if one["kind"] == kind]


def pod_templates(objects: list[Data]) -> list[tuple[str, Data]]:
    """Every pod that these objects make: a readable name, and metadata and spec."""
    found = []
    for one in objects:
        spec, name = one.get("spec", {}), f"{one['kind']}/{one['metadata']['name']}"
        if one["kind"] == "Pod":
            found.append((name, one))
        for path in (("template",), ("jobTemplate", "spec", "template"), ("jobTargetRef", "template")):
            inner: Any = spec
            for step in path:
                inner = inner.get(step, {}) if isinstance(inner, dict) else {}
            if inner:
                found.append((name, inner))
    return found
