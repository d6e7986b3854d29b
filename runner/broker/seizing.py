"""Who holds what, and taking claims over whose pods are shown to be gone. Called by controller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.broker.base import Base, raw, text
from runner.broker.claims import CHUNK, REAPER_MS, Reaped, new_token, taken_over
from runner.scripts import Argument
from runner.tasks import Holding

ALIAS = "entry:"


class Seizing(Base):
    """Looks at claims, and takes over the ones that are named."""

    def holdings(self) -> list[Holding]:
        """All claims that are held now, in no order."""
        return list(self._holdings())

    def _holdings(self) -> Iterator[Holding]:
        for token, line in self.client.hgetall(self.keys.part("held")).items():
            if not text(token).startswith(ALIAS):
                started_ms, holder, _, task_id = text(line).split(" ", 3)
                yield Holding(task_id, text(token), holder, int(started_ms))

    def turn(self) -> int:
        """How many claims succeeded since the queue was declared."""
        return int(self.client.get(self.keys.part("turn")) or 0)

    def seize(self, holdings: Sequence[Holding]) -> Reaped:
        """Take over those of these claims, at most CHUNK, that are held as they were seen."""
        named: list[Argument] = [word for one in holdings[:CHUNK] for word in (raw(one.id), one.token)]
        return taken_over(self.run("seize", new_token(), REAPER_MS, *named))
