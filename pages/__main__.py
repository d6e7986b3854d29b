"""`python -m pages`: writes each generated page of docs/ anew. Run by `make pages`; `GENERATED` is read by tests/docs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pages import cli, errors, values
from runner import config

DOCS = Path(__file__).parents[1] / "docs"
GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "settings.md": config.document,
    "cli.md": cli.document,
    "errors.md": errors.document,
    "values.md": values.document,
}


def text_of(name: str) -> str:
    """What this page should hold."""
    return "\n".join(GENERATED[name]()) + "\n"


if __name__ == "__main__":
    for name in GENERATED:
        (DOCS / name).write_text(text_of(name), encoding="utf-8")
