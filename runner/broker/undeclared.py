"""Keys that look like queues nobody declared, pushed to by mistake or left by a rename, and orphans of queues. Called by Broker."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from runner.broker.base import text
from runner.keys import ORDER, queue_key
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


def orphans(client: Any, prefix: str, declared: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """By the names of queues, keys beside them that nobody will look at; walks over all keys there are. `declared`: priorities by name.

    Of a queue that is not listed as declared that is every key, `queue` being its declaration; of a declared one, a priority it has not.
    """
    start = queue_key(prefix, "")
    ours = re.compile(rf"\{{{re.escape(start)}({NAME.pattern})\}}:(.+)")
    found: dict[str, set[str]] = {}
    for key in client.scan_iter(match=f"{{{start}*", count=1000):
        said = ours.fullmatch(text(key))
        if said and (said[1] not in declared or said[2] not in (*ORDER, *declared[said[1]])):
            found.setdefault(said[1], set()).add(said[2])
    return {name: sorted(words)[:MOST] for name, words in sorted(found.items())}
