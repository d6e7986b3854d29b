"""README in both languages shows the same; links lead somewhere, lists are lists, pictures are light. Called by pytest."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.blocks import PAGES, ROOT, prose, read

ITEM = re.compile(r"^(?! )(?!#|[-*] |\d+\. ).*\S\n(?:[-*]|\d+\.) .*$", re.MULTILINE)
"""A list that begins right below a sentence, which the site would show as one paragraph."""
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def test_the_chinese_readme_shows_the_same_code_and_links() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh.md"

    assert [(one.language, one.text, one.marks) for one in read(chinese)] == [(one.language, one.text, one.marks) for one in read(english)]
    assert set(LINK.findall(chinese.read_text())) - {"README.md"} == set(LINK.findall(english.read_text())) - {"README.zh.md"}


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_a_readme_is_short(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) < 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_leads_to_a_file(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_list_begins_after_an_empty_line(page: Path) -> None:
    assert ITEM.findall(prose(page)) == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_is_small_and_fetches_nothing(picture: Path) -> None:
    text = picture.read_text()

    ElementTree.fromstring(text)
    assert len(text) < 40_000
    assert "url(http" not in text
    assert "href" not in text


def test_the_site_has_each_page_once() -> None:
    named = re.findall(r"^ +- ([\w-]+\.md)$|^  - (index\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)

    assert sorted(one or first for one, first in named) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
