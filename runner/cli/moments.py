"""Moments as people type them: `2h` ago, `3d` ago, or an ISO time. Pure; called by dead."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from runner.errors import ConfigError

AGO = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(s|min|m|h|d|w)")
UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment_ms(said: str, now_ms: int, option: str) -> int:
    """The moment in ms since the epoch; a time without a zone is UTC. ConfigError names the option."""
    if ago := AGO.fullmatch(said.strip()):
        return max(0, now_ms - int(float(ago[1]) * UNITS_S[ago[2]] * 1000))
    try:
        at = datetime.fromisoformat(said.strip())
        return max(0, int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        allowed = "a time ago such as 90s, 30min, 2h, 3d or 1w, or a moment such as 2026-11-30 or 2026-11-30T14:00 (UTC, or with its zone)"
        raise ConfigError(f"{option} is {said!r}, allowed is {allowed}") from error


def day_of(at_ms: int) -> str:
    """The day, by UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
