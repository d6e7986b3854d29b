"""Handlers that declare what payload they take. Loaded by the children of the tests beside it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

import runner

if TYPE_CHECKING:
    from runner import Context


@runner.task("resize")
def resize(p: Resize, context: Context) -> dict[str, Any]:
    """Its type is defined below it, and the context's only for the type checker."""
    assert context.type == "resize"
    return {"at": str(p.at.astimezone(UTC)), "took": p.took.total_seconds(), "fit": p.fit.name, "boxes": len(p.boxes), "note": p.note}


class Fit(Enum):
    COVER = "cover"


@dataclass(frozen=True)
class Box:
    width: int
    secret: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError("width is at least 1")
        int(self.secret or 0)


@dataclass(frozen=True)
class Resize:
    at: datetime
    took: timedelta
    fit: Fit
    price: Decimal
    boxes: list[Box]
    note: str | None = None


@runner.task("boxes")
async def boxes(payload: dict[str, Box]) -> list[str]:
    return sorted(payload)


@runner.task("documented")
def documented(payload: dict[str, int], factor: int = 2) -> Any:
    return payload


@runner.task("modules")
def modules(payload: Box) -> list[str]:
    return sorted(name.partition(".")[0] for name in sys.modules)
