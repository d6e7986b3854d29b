"""What the controller writes down for itself and for people: when it ran, what it found. Called through Broker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from runner.broker.base import text
from runner.broker.ended import Ended, Sample, ended_since, sample_of, with_sample
from runner.keys import ended_key, findings_key, passes_key, starts_key

FINDINGS_MS = 900_000
"""Findings that no pass renewed are no news any more."""
Finding = dict[str, Any]
NOTE = "#!lua flags=allow-oom\nreturn redis.call('HSET', KEYS[1], unpack(ARGV))"


class Notes:
    """The notes of one Redis and one prefix."""

    def __init__(self, client: Any, prefix: str = "") -> None:
        self.client = client
        self.prefix = prefix

    def note_pass(self, facts: dict[str, str | int]) -> None:
        """Record that the controller ran."""
        self._note(passes_key(self.prefix), facts)

    def _note(self, key: str, facts: Mapping[str, str | int]) -> None:
        # A bare HSET is refused when Redis is full, and it is then that passes have to go on: they make room. Told by `make chaos`.
        self.client.eval(NOTE, 1, key, *(word for pair in facts.items() for word in pair))

    def last_pass(self) -> dict[str, str]:
        """What `note_pass` recorded last; empty if the controller never ran."""
        return {text(k): text(v) for k, v in self.client.hgetall(passes_key(self.prefix)).items()}

    def note_findings(self, found: Mapping[str, Sequence[Finding]], now_ms: int) -> None:
        """Record what was found wrong, by queue; a queue that is not named keeps what was found before."""
        if found:
            key = findings_key(self.prefix)
            self._note(key, {name: json.dumps({"at_ms": now_ms, "found": list(some)}) for name, some in found.items()})
            self.client.pexpireat(key, now_ms + FINDINGS_MS)

    def findings(self, now_ms: int) -> dict[str, list[Finding]]:
        """What was found wrong lately, by queue."""
        noted = {text(k): json.loads(v) for k, v in self.client.hgetall(findings_key(self.prefix)).items()}
        return {name: one["found"] for name, one in noted.items() if one["found"] and now_ms - one["at_ms"] < FINDINGS_MS}

    def note_starts(self, queue: str, starts: Mapping[str, Any]) -> None:
        """Record the pods of a queue that ended without a claim."""
        self._note(starts_key(self.prefix), {queue: json.dumps(starts)})

    def starts(self, queue: str) -> dict[str, Any]:
        """What `note_starts` recorded; empty for nothing."""
        found: dict[str, Any] = json.loads(self.client.hget(starts_key(self.prefix), queue) or b"{}")
        return found

    def note_ended(self, queue: str, counts: Mapping[str, int], now_ms: int) -> None:
        """Record a queue's totals now and then, so that somebody can tell what ended lately."""
        if samples := with_sample(self._samples(queue), sample_of(counts, now_ms)):
            self._note(ended_key(self.prefix), {queue: json.dumps(samples)})

    def ended_lately(self, queue: str, counts: Mapping[str, int], now_ms: int) -> Ended:
        """What ended in the last hour, or as long as it was noted."""
        return ended_since(self._samples(queue), sample_of(counts, now_ms))

    def _samples(self, queue: str) -> list[Sample]:
        samples: list[Sample] = json.loads(self.client.hget(ended_key(self.prefix), queue) or b"[]")
        return samples
