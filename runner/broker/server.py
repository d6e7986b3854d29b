"""What a Redis server says of itself that will go wrong, told in sentences: version, memory, default user. Called by cli's doctor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from redis.exceptions import NoPermissionError, ResponseError

from runner.broker.base import text
from runner.broker.hazards import by_node

OLDEST = {"Redis": (7, 0), "Valkey": (7, 2)}
"""The oldest releases that the scripts run on; the README has them (a test compares)."""
FACTS = (
    *("redis_version", "valkey_version", "server_mode", "redis_mode", "os", "uptime_in_seconds", "used_memory", "maxmemory"),
    *("maxmemory_policy", "total_system_memory", "mem_fragmentation_ratio", "aof_enabled", "aof_last_write_status"),
    *("aof_last_bgrewrite_status", "rdb_last_bgsave_status", "loading", "role", "connected_slaves", "master_link_status"),
    *("connected_clients", "blocked_clients"),
)
HEADROOM = 0.8
REPLAYED = (("multi",), ("eval", "return 1", "0"), ("hset", "{queue}:tasks", "id", "record"), ("xadd", "queue", "*", "id", "1"))
"""What a server's append-only file holds of ours; multi, because a script is written down as a transaction."""


def doubts(client: Any) -> list[str]:
    """One sentence for each thing, with what to do.

    Raises NoPermissionError for a login that may not call INFO.
    """
    servers = zip(by_node(client.info("server")), by_node(client.info("memory")), strict=True)
    said = {one for server, memory in servers for one in (*_version(server), *_memory(memory))}
    return sorted(said | set(_default_user(client)))


def facts(client: Any) -> list[dict[str, Any]] | None:
    """What helps to understand a server, one by one; None where the login may not ask."""
    try:
        found = [by_node(client.info(section)) for section in ("server", "memory", "persistence", "replication", "clients")]
    except NoPermissionError:
        return None
    merged = [{name: value for part in parts for name, value in part.items()} for parts in zip(*found, strict=True)]
    return [{name: one[name] for name in FACTS if name in one} for one in merged]


def _version(server: dict[str, Any]) -> Iterator[str]:
    name = "Valkey" if "valkey_version" in server else "Redis"
    version = str(server.get("valkey_version") or server.get("redis_version", ""))
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers and numbers < OLDEST[name]:
        yield f"it is {name} {version}, the oldest that is supported is {name} {OLDEST[name][0]}.{OLDEST[name][1]}: upgrade it"


def _memory(memory: dict[str, Any]) -> Iterator[str]:
    used, most = int(memory.get("used_memory", 0)), int(memory.get("maxmemory", 0))
    machine = int(memory.get("total_system_memory", 0))
    if most and used > HEADROOM * most:
        yield f"it uses {100 * used // most} % of its maxmemory, at all of it submits are refused: raise it, or let queues drain"
    elif not most and machine and used > HEADROOM * machine:
        yield f"it uses {100 * used // machine} % of its machine's memory and has no maxmemory: it will be killed; set maxmemory"


def _default_user(client: Any) -> Iterator[str]:
    """Seen: with a default user that may nothing, Redis read its append-only file, refused every transaction in it, and started empty."""
    try:
        refused = [one[0] for one in REPLAYED if text(client.execute_command("ACL DRYRUN", "default", *one)) != "OK"]
    except (NoPermissionError, ResponseError):  # a login that may not read users, or a server without the command
        return
    if refused:
        yield (
            f"the default user may not {', '.join(refused)}: with an append-only file, which is read as that user, "
            "Redis starts EMPTY after a restart; switch it off, but leave its rights: user default off resetpass ~* &* +@all"
        )
