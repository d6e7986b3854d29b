"""How many dead letters there are, by type, reason and day. Called by dead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from runner.cli.common import age
from runner.cli.letters import Found, type_of
from runner.cli.moments import day_of
from runner.cli.output import say_table

GROUPS = ("queue", "type", "reason", "dead", "oldest", "newest")


@dataclass
class Stats:
    """What was counted: by queue, type and reason with the first and last burial, and by day."""

    groups: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    days: Counter[str] = field(default_factory=Counter)
    spans: dict[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)

    def add(self, found: Iterable[Found]) -> Stats:
        """Count letters, in any order."""
        for queue, one in found:
            group = (queue.name, type_of(queue, one) or "-", one.reason or "-")
            first, last = self.spans.get(group, (one.buried_ms, one.buried_ms))
            self.spans[group] = (min(first, one.buried_ms), max(last, one.buried_ms))
            self.groups[group] += 1
            self.days[day_of(one.buried_ms)] += 1
        return self

    def plain(self) -> dict[str, Any]:
        """All of it as data."""
        groups = [
            {"queue": queue, "type": kind, "reason": reason, "dead": number, "oldest_ms": span[0], "newest_ms": span[1]}
            for (queue, kind, reason), number in self.groups.most_common()
            for span in [self.spans[queue, kind, reason]]
        ]
        return {"dead": self.groups.total(), **self._totals(), "by_day": dict(sorted(self.days.items())), "groups": groups}

    def _totals(self) -> dict[str, dict[str, int]]:
        """By type alone and by reason alone, the most first."""
        totals: dict[str, Counter[str]] = {"by_type": Counter(), "by_reason": Counter()}
        for (_, kind, reason), number in self.groups.items():
            totals["by_type"][kind] += number
            totals["by_reason"][reason] += number
        return {name: dict(counted.most_common()) for name, counted in totals.items()}

    def tell(self, now_ms: int) -> None:
        """Print it as two tables."""
        if not self.groups:
            return print("no dead letters")
        rows = [
            [*group, number, *(f"{age(at_ms, now_ms)} ago" for at_ms in self.spans[group])] for group, number in self.groups.most_common()
        ]
        say_table(GROUPS, rows)
        print()
        return say_table(("day (UTC)", "dead"), sorted(self.days.items()))
