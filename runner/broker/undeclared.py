"""Keys that look like queues nobody declared: pushed to by mistake, or left by a rename. Called by Broker for `runner status`."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Any

from runner.broker.base import text
from runner.keys import queue_key
from runner.queue import NAME

MOST = 50


def undeclared(client: Any, prefix: str, declared: Collection[str]) -> list[str]:
    """Names under this prefix that are streams or lists and no declared queue, at most MOST of each; walks over all keys there are."""
    start = queue_key(prefix, "")
    found: set[str] = set()
    for kind in ("stream", "list"):
        names = (text(key).removeprefix(start) for key in client.scan_iter(match=f"{start}*", count=1000, _type=kind))
        found |= set(islice((name for name in names if NAME.fullmatch(name) and name not in declared), MOST))
    return sorted(found)
