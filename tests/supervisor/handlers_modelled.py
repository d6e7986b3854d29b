"""A handler that declares a pydantic model. Loaded by the children of the tests beside it."""

from __future__ import annotations

import runner
from tests.supervisor.models import Size


@runner.task("size")
def size(p: Size) -> int:
    return p.width
