"""What mkdocs.yml leaves to code: the decisions of docs/adr/ in their order, so that a new one needs no line. Called by mkdocs."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Add a group with one entry per decision to the explanations."""
    decisions = sorted(path.name for path in (Path(config["docs_dir"]) / "adr").glob("*.md"))
    explanation = next(group["Explanation"] for group in config["nav"] if isinstance(group, dict) and "Explanation" in group)
    explanation.append({"Decisions": [f"adr/{name}" for name in decisions]})
    return config
