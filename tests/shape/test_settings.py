"""docs/settings.md says what runner/config.py does."""

from __future__ import annotations

from pathlib import Path

from runner.config import document

ROOT = Path(__file__).resolve().parents[2]


def test_the_settings_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")

    assert written == "\n".join(document()) + "\n", "run: make docs-settings"
