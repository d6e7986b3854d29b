"""One attempt as the JSON line that stays with the task. Called by worker and reaper; read by inspect and status."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quoted

from runner.outcome import Ending, Kind

LONGEST_TYPE = 200
CLEAN = (Kind.DONE, Kind.RELEASED, Kind.CANCELLED)


def attempt_line(ending: Ending, *, number: int, holder: str, started_ms: int, ended_ms: int, task_type: str = "") -> bytes:
    """The line for `lives`: what happened, where, what it used; the tail of its output only for one that failed.

    The type stands in it because a done task's body is gone, and what a type uses is asked afterwards.
    """
    facts: dict[str, object] = {"attempt": number, "kind": str(ending.kind), "holder": holder}
    facts |= {"type": task_type[:LONGEST_TYPE]} if task_type else {}
    facts |= {"started_ms": started_ms, "ended_ms": ended_ms}
    facts |= {"wall_s": round(ending.wall_s, 3), "cpu_s": round(ending.cpu_s, 3), "peak_kib": ending.peak_kib}
    if ending.detail:
        facts["detail"] = ending.detail[:2048]
    if ending.exit_code is not None:
        facts["exit_code"] = ending.exit_code
    if ending.tail and ending.kind not in CLEAN:
        facts["tail"] = ending.tail.decode("utf-8", "backslashreplace")
    return json.dumps(facts, separators=(",", ":")).encode()


def lost_line(*, detail: str, number: int, holder: str, started_ms: int, ended_ms: int) -> bytes:
    """`attempt_line` of a lost claim, letter for letter, at a fifth of the price: a reaper may write 100,000 of them."""
    who, why = quoted(holder), quoted(detail[:2048])
    when = f'"started_ms":{started_ms},"ended_ms":{ended_ms},"wall_s":0.0,"cpu_s":0.0,"peak_kib":0'
    return f'{{"attempt":{number},"kind":"lost","holder":{who},{when},"detail":{why}}}'.encode()


def read_attempts(lines: bytes) -> list[dict[str, object]]:
    """The attempts of a task, oldest first."""
    return [json.loads(line) for line in lines.split(b"\n") if line]
