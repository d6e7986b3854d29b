"""The public names exist, are documented, and appear in the docs."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import runner

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for name in runner.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(runner, name))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_in_the_readme_or_the_docs(name: str) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

    assert name in pages


def test_an_unknown_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(runner, "nothing")  # noqa: B009


def test_the_versions_agree() -> None:
    assert f'version = "{runner.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
