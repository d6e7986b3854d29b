"""The attempts that a queue keeps, of ended and of living tasks. Called by cli for what types use, and for the types there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from redis.exceptions import ResponseError

from runner.broker.base import refusal
from runner.broker.dead import Dead
from runner.keys import ORDER

FEW_DEAD = 10
"""A dead letter comes with its body, which may be 1 MiB; a page of these is read at once, and one tenth of what is asked for at most."""
PAGE = 200


class Attempts(Dead):
    """Reads of the attempts of one queue."""

    def attempts_kept(self, most: int) -> Iterator[bytes]:
        """The lines of at most `most` done, `most` living and a tenth as many dead tasks; one task's at a time, the newest bucket first."""
        yield from islice(self._done(), most)
        yield from islice((lines for _, lines in self._fields("lives", "*")), most)
        yield from islice((one.attempts for one in self.dead_letters(newest_first=True, page=FEW_DEAD)), most // FEW_DEAD)

    def _done(self) -> Iterator[bytes]:
        buckets = [word for word in ORDER if word.startswith("done:")]
        seconds, _ = self.client.time()
        turn = int(seconds / (self.declaration.keep_done_s / 2))
        for back in range(len(buckets)):
            yield from (lines for _, lines in self._fields(buckets[(turn - back) % len(buckets)], "l:*"))

    def _fields(self, part: str, match: str) -> Iterator[tuple[bytes, bytes]]:
        try:
            yield from self.client.hscan_iter(self.keys.part(part), match=match, count=PAGE)
        except ResponseError as error:
            raise refusal(self.name, error) from error
