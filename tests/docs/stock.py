"""Handlers for pages that submit tasks and show none. Imported by the workers of a page (tests/docs/scene.py)."""

from __future__ import annotations

from typing import Any

import runner


@runner.task("image.resize")
def resize(payload: dict[str, Any]) -> dict[str, Any]:
    """What the pages tell of it."""
    return {"file": payload["file"], "width": payload["width"]}
