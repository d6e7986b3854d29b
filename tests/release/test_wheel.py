"""What is packed: the wheel holds all that the quick start needs, the chart is at its version, the sums are right. Called by pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import runner
from release import bom, pack, trial
from release.__main__ import check_clean
from release.faults import Refused
from release.versions import ROOT

EPOCH_S = 1_764_500_000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This tree without what was built in it."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("runner", "charts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.mark.slow
def test_the_quick_start_passes_with_nothing_but_the_wheel_and_what_it_depends_on(source: Path, tmp_path: Path) -> None:
    packed = pack.python_packages(source, tmp_path, EPOCH_S)
    (wheel,) = tmp_path.glob(f"runner-{runner.__version__}-py3-none-any.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")} | {"PYTHONPATH": str(installed)}
    where = subprocess.run(
        [sys.executable, "-c", "import runner.broker; print(runner.__file__)"], cwd=tmp_path, env=env, capture_output=True, text=True
    )

    trial.quick_start([sys.executable, "-m", "runner.cli"], tmp_path, env)

    assert where.stdout.strip() == str(installed / "runner/__init__.py")
    assert (installed / "runner/py.typed").exists()
    assert {path.suffix for path in packed} == {".whl", ".gz"}


def test_the_chart_is_packed_without_its_test_values_and_the_same_each_time(source: Path, tmp_path: Path) -> None:
    package = pack.chart(source, tmp_path, runner.__version__, EPOCH_S)
    first = package.read_bytes()
    pack.chart(source, tmp_path, runner.__version__, EPOCH_S)

    names = tarfile.open(package).getnames()  # noqa: SIM115
    assert "runner/Chart.yaml" in names and "runner/templates/scaledjobs.yaml" in names
    assert not [name for name in names if name.startswith("runner/ci/")]
    assert package.read_bytes() == first


def test_the_sums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    pack.checksums(tmp_path)

    done = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a.txt: OK\n")


def test_a_bill_lists_what_a_linux_image_installs_and_nothing_for_other_systems() -> None:
    lock = "".join(
        [
            "redis==8.1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n",
            "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:cc\n",
            "uvloop==1.0 ; sys_platform != 'win32' \\\n    --hash=sha256:dd\n",
            "async-timeout==5.0.1 ; python_full_version < '3.11.3' \\\n    --hash=sha256:ee\n",
        ]
    )

    kept, older = (bom.installed(lock, python) for python in ("3.13.0", "3.11.2"))

    assert [line.split("==")[0] for line in kept.splitlines()] == ["redis", "uvloop"]
    assert "--hash=sha256:bb" in kept
    assert "async-timeout" in older


def test_a_tree_with_uncommitted_files_is_not_released(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "."], cwd=tmp_path, check=True)
    check_clean(tmp_path)
    (tmp_path / "new.txt").touch()

    with pytest.raises(Refused, match=r"1 files are not committed, such as new\.txt"):
        check_clean(tmp_path)
