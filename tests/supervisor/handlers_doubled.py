"""Registers a type that handlers_ordinary has. Loaded by the children of the tests beside it."""

from __future__ import annotations

from typing import Any

import runner


@runner.task("sum")
def other(payload: Any) -> None:
    pass
