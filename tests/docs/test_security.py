"""docs/security.md tells of each right that the chart gives, and of no other. Called by pytest."""

from __future__ import annotations

import re

import yaml

from tests.docs.blocks import ROOT

TEMPLATES = ROOT / "charts" / "runner" / "templates"
RULE = re.compile(r"^  - (\{apiGroups:.*\})$", re.MULTILINE)
ROW = re.compile(r"^\| ([\w-]+)[^|]* \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def words(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([\w/]+)`", cell))


def test_the_page_tells_every_right_that_the_chart_gives() -> None:
    page = (ROOT / "docs" / "security.md").read_text().partition("## Rights in the cluster")[2]
    told = [(who, words(on), words(may)) for who, on, may in ROW.findall(page) if "`" in on]

    given = []
    for who, file in (("controller", "controller-rights.yaml"), ("make-logins", "redis-logins.yaml")):
        for rule in map(yaml.safe_load, RULE.findall((TEMPLATES / file).read_text())):
            given.append((who, tuple(rule["resources"]), tuple(rule["verbs"])))

    assert told == given
    assert sum("kind: Role\n" in path.read_text() for path in TEMPLATES.rglob("*.yaml")) == 2
