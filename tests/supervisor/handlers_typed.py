"""Handlers that declare what payload they take. Loaded by the children of the tests beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

import runner
from tests.supervisor.shapes import Box, Resize

if TYPE_CHECKING:
    from runner import Context


@runner.task("resize")
def resize(p: Resize, context: Context) -> dict[str, Any]:
    """Only the type checker knows what a Context is."""
    assert context.type == "resize"
    return {"at": str(p.at.astimezone(UTC)), "took": p.took.total_seconds(), "fit": p.fit.name, "boxes": len(p.boxes), "note": p.note}


@runner.task("boxes")
async def boxes(payload: dict[str, Crate]) -> list[str]:
    return sorted(payload)


@dataclass(frozen=True)
class Crate(Box):
    """Defined below the handler that takes it."""


@runner.task("documented")
def documented(payload: dict[str, int], factor: int = 2) -> Any:
    return payload
