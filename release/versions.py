"""The version, wherever it is written: found, compared, raised. `python -m release.versions 0.2.0` is `make version V=0.2.0`.

`runner/version.py` is the one that counts; the others are written from it here and nowhere else, and a test compares them.
"""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path

from release.faults import Refused

ROOT = Path(__file__).parents[1]
NUMBER = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
SOURCE = "runner/version.py"
PLACES = {
    SOURCE: r'__version__ = "({})"',
    "pyproject.toml": r'(?m)^version = "({})"',
    "charts/runner/Chart.yaml": r'(?m)^(?:version: |appVersion: ")({})"?$',
    "runner/manifest.py": r'"runner-worker:({})"',
    "deploy/kind/demo/Dockerfile": r"runner-worker:({})",
    "deploy/keda/stream.yaml": r'(?:runner-worker:|app\.kubernetes\.io/version: ")({})',
    "deploy/keda/list.yaml": r'(?:runner-worker:|app\.kubernetes\.io/version: ")({})',
    "deploy/keda/priorities.yaml": r'(?:runner-worker:|app\.kubernetes\.io/version: ")({})',
    "deploy/keda/external-tls.yaml": r'(?:runner-worker:|app\.kubernetes\.io/version: ")({})',
}
"""Each file, and what stands around the version in it."""


def found(root: Path = ROOT) -> dict[str, set[str]]:
    """The versions in each file; an empty set where the file no longer says one."""
    return {name: set(re.findall(place.format(NUMBER), (root / name).read_text(encoding="utf-8"))) for name, place in PLACES.items()}


def current(root: Path = ROOT) -> str:
    """The version, Refused where two places differ."""
    by_file = found(root)
    (version,) = by_file[SOURCE] if len(by_file[SOURCE]) == 1 else ("",)
    wrong = sorted(name for name, versions in by_file.items() if versions != {version})
    if wrong or not version:
        raise Refused(f"the version is {version or 'missing'} in {SOURCE} and another one in {', '.join(wrong)}: make version V={version}")
    return version


def write(version: str, today: str, root: Path = ROOT) -> None:
    """Write it everywhere, and give what the changelog calls unreleased its name and day."""
    if not re.fullmatch(NUMBER, version):
        raise Refused(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1")
    for name, place in PLACES.items():
        text = (root / name).read_text(encoding="utf-8")
        (root / name).write_text(re.sub(place.format(NUMBER), lambda hit: hit[0].replace(hit[1], version), text), encoding="utf-8")
    log = root / "CHANGELOG.md"
    text = log.read_text(encoding="utf-8")
    if f"\n## [{version}]" not in text:
        log.write_text(text.replace("\n## [Unreleased]\n", f"\n## [Unreleased]\n\n## [{version}] - {today}\n", 1), encoding="utf-8")


def section(version: str, root: Path = ROOT) -> str:
    """What the changelog says of it; Refused where that is nothing, or without a day."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    hit = re.search(rf"(?ms)^## \[{re.escape(version)}\] - (\S+)$\n(.*?)(?=^## |\Z)", text)
    if not hit or not re.fullmatch(r"\d{4}-\d\d-\d\d", hit[1]) or not hit[2].strip():
        wanted = f"`## [{version}] - YYYY-MM-DD`"
        raise Refused(f"CHANGELOG.md has no section {wanted} that says something: make version V={version}, and write it")
    return hit[2].strip() + "\n"


if __name__ == "__main__":
    try:
        write(sys.argv[1] if len(sys.argv) == 2 else "", date.today().isoformat())
    except Refused as error:
        sys.exit(f"version: {error}")
