"""The pages that come out of the code say what the code does. Called by pytest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pages import values
from pages.__main__ import DOCS, GENERATED, text_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == text_of(name), "run: make pages"


def test_every_value_that_the_chart_takes_is_on_the_page() -> None:
    schema = json.loads((ROOT / "charts/runner/values.schema.json").read_text())
    told = {one.path for one in values.read(values.SOURCE.read_text())}

    wanted = {name for name in schema["properties"] if name != "global"}
    wanted |= {f"queueDefaults.{name}" for name in schema["$defs"]["queue"]["properties"]}

    assert wanted <= told
