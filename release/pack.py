"""Wheel, sdist and chart out of a clean copy of the commit; wheel and chart have the same bytes each time. Called by __main__."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tarfile
from pathlib import Path

from release.faults import Refused, ran

HOOKS = "import sys; from setuptools import build_meta; out = sys.argv[1]; build_meta.build_sdist(out); build_meta.build_wheel(out)"


def python_packages(source: Path, out: Path, epoch_s: int) -> list[Path]:
    """The wheel and the sdist, by the build backend that pyproject.toml names."""
    env = {"SOURCE_DATE_EPOCH": str(epoch_s), "PATH": "/usr/bin:/bin"}
    ran([sys.executable, "-c", HOOKS, str(out)], cwd=source, env=env)
    return [*out.glob("*.whl"), *out.glob("*.tar.gz")]


def chart(source: Path, out: Path, version: str, epoch_s: int) -> Path:
    """The chart as `helm package` makes it, which need not be here; where helm is, it reads the package."""
    ignored = tuple(f"charts/runner/{line}" for line in (source / "charts/runner/.helmignore").read_text().split())
    files = [path for path in sorted((source / "charts/runner").rglob("*")) if path.is_file()]
    package = out / f"runner-chart-{version}.tgz"
    with package.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, epoch_s) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path in files:
            name = path.relative_to(source).as_posix()
            if name not in ignored and not name.startswith(tuple(one for one in ignored if one.endswith("/"))):
                _add(tar, path, name.removeprefix("charts/"), epoch_s)
    if shutil.which("helm"):
        said = ran(["helm", "show", "chart", str(package)], cwd=out)
        if f"version: {version}\n" not in said:
            raise Refused(f"helm reads another version out of {package.name}: {said}")
    return package


def _add(tar: tarfile.TarFile, path: Path, name: str, epoch_s: int) -> None:
    facts = tarfile.TarInfo(name)
    facts.size, facts.mtime, facts.mode = path.stat().st_size, epoch_s, 0o644
    with path.open("rb") as file:
        tar.addfile(facts, file)


def checksums(out: Path) -> Path:
    """SHA256SUMS over all that is there, as `sha256sum --check` reads it."""
    files = [path for path in sorted(out.iterdir()) if path.name != "SHA256SUMS"]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines))
    return out / "SHA256SUMS"
