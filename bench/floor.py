"""The least that any worker of this kind costs: interpreter, redis-py, a fork, three round trips. A process of its own; run by worker."""

from __future__ import annotations

import os
import sys

import redis


def main() -> None:
    """Connect, ask, let a child do nothing, ask twice more."""
    client = redis.Redis.from_url(sys.argv[1])
    client.ping()
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    client.ping()
    client.ping()
    os._exit(0)  # as our worker ends; taking the interpreter apart is no part of the floor


if __name__ == "__main__":
    main()
