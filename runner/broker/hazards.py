"""Settings of a Redis server under which tasks can be lost, told in sentences. Called by controller at its start and by cli."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from redis.exceptions import NoPermissionError


def hazards(client: Any) -> list[str]:
    """One sentence for each hazard, with what to do; none where the server may not be asked."""
    try:
        asked = client.info("memory"), client.info("persistence")
    except NoPermissionError:  # a user without INFO is none of those that are to know
        return []
    servers = [dict(zip(("memory", "persistence"), pair, strict=True)) for pair in zip(*map(by_node, asked), strict=True)]
    return sorted({said for one in servers for said in _of_one(one["memory"], one["persistence"])})


def by_node(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer for each server: a Cluster client answers by node, where a single server answers plainly."""
    nodes = [value for value in answer.values() if isinstance(value, dict)]
    return nodes if nodes and len(nodes) == len(answer) else [answer]


def _of_one(memory: dict[str, Any], persistence: dict[str, Any]) -> Iterator[str]:
    policy = memory.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield f"maxmemory-policy is {policy}: Redis may drop tasks without a word when memory is short; set noeviction"
    if not persistence.get("aof_enabled"):
        yield "appendonly is off: tasks since the last snapshot are lost when Redis restarts; set appendonly yes"
    elif persistence.get("aof_last_write_status", "ok") != "ok":
        yield "its last write to the append-only file failed, and it refuses writes meanwhile: make room on its disk"
