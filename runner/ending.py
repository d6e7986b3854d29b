"""How an attempt ended, judged from what its supervisor saw. Pure; called by the supervisor when the child is gone."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from runner.outcome import Kind
from runner.process import Reaped

SAID = (Kind.DONE, Kind.ERROR, Kind.RETRY, Kind.FATAL, Kind.UNREADABLE, Kind.OOM)
"""What a child can say of itself; anything else is its supervisor's to find."""
LAST_WORDS = (Kind.DONE, Kind.FATAL, Kind.UNREADABLE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the child said of itself. `kind` None: it ended because it was told to, without another word."""

    kind: Kind | None
    detail: str = ""
    result: bytes = b""
    after_s: float | None = None

    @classmethod
    def of_reply(cls, said: dict[str, Any]) -> Outcome:
        """Read the child's reply; ValueError, KeyError or TypeError for one that it cannot have meant."""
        kind = None if said["kind"] is None else Kind(said["kind"])
        if kind is not None and kind not in SAID:
            raise ValueError(f"a child cannot say {kind} of itself")
        after_s = None if said.get("after_s") is None else float(said["after_s"])
        return cls(kind, str(said.get("detail", "")), str(said.get("result", "")).encode(), after_s)


@dataclass(frozen=True, slots=True)
class Stopping:
    """Why the child was told to end."""

    kind: Kind
    detail: str = ""


def judge(said: Outcome | None, stopping: Stopping | None, reaped: Reaped, oom_killed: bool) -> Outcome:
    """The one reading of an end; its kind is never None.

    `done`, `fatal` and `unreadable` are a handler's last word, also on the way out: the work is done, or no run can do it. An error after
    a stop is the stop's doing (a broken call, a killed tool), and burns nothing of its own. Only then is a silent end
    looked into.
    """
    if said and said.kind in LAST_WORDS:
        return said
    if stopping:
        return Outcome(stopping.kind, stopping.detail)
    if said and said.kind:
        return said
    if oom_killed and reaped.exit_code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return Outcome(Kind.OOM, "killed by the kernel for want of memory")
    if said:
        return Outcome(Kind.CRASH, "stopped by a SIGTERM that did not come from its supervisor")
    return Outcome(Kind.CRASH, f"ended without an outcome, {reaped.how}")
