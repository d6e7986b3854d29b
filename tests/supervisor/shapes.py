"""What typed handlers take: dataclasses. Imported by the handlers and by the tests, which must register no handler."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum


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
