"""The least a pod can do: take one entry of a stream with bare redis-py, say when, drop it. Run in the cluster for test_8_latency.py."""

from __future__ import annotations

import os
import time

import redis

stream = os.environ["BARE_STREAM"]
client = redis.Redis.from_url(
    os.environ["RUNNER_REDIS_URL"], username=os.environ["RUNNER_REDIS_USERNAME"], password=os.environ["RUNNER_REDIS_PASSWORD"]
)
for _, entries in client.xreadgroup("bare", os.environ["RUNNER_POD"], {stream: ">"}, count=1) or []:
    for entry, fields in entries:
        client.hset(f"{stream}:began", fields[b"name"], time.time_ns() // 1_000_000)
        client.xack(stream, "bare", entry)
        client.xdel(stream, entry)
