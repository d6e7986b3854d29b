"""One version everywhere, raised from one place, and a changelog without which nothing is released. Called by pytest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import runner
from release import versions
from release.faults import Refused
from release.versions import PLACES, ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that hold the version, to be written to."""
    for name in (*PLACES, "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_place_has_the_version_that_the_package_tells() -> None:
    assert versions.found() == {name: {runner.__version__} for name in PLACES}
    assert versions.current() == runner.__version__


def test_what_is_released_now_is_in_the_changelog() -> None:
    assert versions.section(runner.__version__).startswith("### ")


def test_one_command_writes_a_new_version_everywhere_and_dates_its_changes(copy: Path) -> None:
    log = copy / "CHANGELOG.md"
    log.write_text(log.read_text().replace("## [Unreleased]\n", "## [Unreleased]\n\n### Fixed\n\n- A fault.\n", 1))

    versions.write("9.8.7rc1", "2030-01-02", copy)

    assert versions.current(copy) == "9.8.7rc1"
    assert versions.section("9.8.7rc1", copy) == "### Fixed\n\n- A fault.\n"
    assert log.read_text().count("## [Unreleased]") == 1
    assert versions.section(runner.__version__, copy) == versions.section(runner.__version__)


@pytest.mark.parametrize("name", [name for name in PLACES if name != versions.SOURCE])
def test_a_place_with_another_version_is_named(copy: Path, name: str) -> None:
    (copy / name).write_text((copy / name).read_text().replace(runner.__version__, "0.0.9", 1))

    with pytest.raises(Refused, match=name):
        versions.current(copy)


def test_a_version_without_a_dated_section_is_refused(copy: Path) -> None:
    log = copy / "CHANGELOG.md"
    for wrong in ("\n## [0.0.8] - soon\n\n- A line.\n", "\n## [0.0.8] - 2030-01-02\n\n"):
        log.write_text(log.read_text().partition("\n## [Unreleased]")[0] + wrong)
        with pytest.raises(Refused, match=r"no section `## \[0.0.8\]"):
            versions.section("0.0.8", copy)


def test_what_is_no_version_is_refused(copy: Path) -> None:
    with pytest.raises(Refused, match="'next' is no version"):
        versions.write("next", "2030-01-02", copy)
