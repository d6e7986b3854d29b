"""One Redis and one prefix: declarations, the index of queues, finding an id, the controller's own record. Called by the roles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from redis.exceptions import ResponseError

from runner import scripts
from runner.broker.base import declaration_key, declared, head, raw, read_declaration, refusal, text
from runner.broker.notes import Notes
from runner.broker.queue import Queue
from runner.broker.reads import Facts, facts_of
from runner.broker.undeclared import orphans, undeclared
from runner.errors import BrokerError, ConfigError, NewerLayoutError, OutOfMemoryError, RunnerError, UndeclaredQueueError
from runner.keys import Keys, index_key, marks_key
from runner.queue import LAYOUT, NAME, Declaration

RANKS = {"moving": 1, "done": 2, "cancelled": 2, "dead": 2, "moved": 3}
"""Of two queues that know an id, the lower rank tells where the task is; what lives is 0."""
MOST_MOVES = 10


class Broker(Notes):
    """Opens queues. `client` is redis-py's, with bytes replies and a Retry: every script can be called again."""

    def open(self, name: str) -> Queue:
        """A declared queue.

        Raises UndeclaredQueueError, NewerLayoutError.
        """
        return Queue(self.client, self.prefix, read_declaration(self.client, self.prefix, name))

    def declare(self, declaration: Declaration, *, listed: bool = True) -> Queue:
        """Write a declaration; saying the same again changes only its rev. One that is not `listed` is met by no controller and no search.

        Raises ConfigError when a limit makes no sense or mode or priorities would change under tasks, NewerLayoutError, OutOfMemoryError.
        """
        declaration.check_new()
        rev = None
        while rev is None:
            with suppress(scripts.StaleDeclaration):  # somebody else declared it at the same moment
                rev = self._declare(declaration)
        if listed:
            self.client.sadd(index_key(self.prefix), declaration.name)
        return Queue(self.client, self.prefix, replace(declaration, rev=rev))

    def drop(self, queue: Queue) -> None:
        """Delete a queue that was not listed, with all that is in it."""
        self.client.delete(*queue.keys.all)

    def _declare(self, new: Declaration) -> int:
        old = None
        with suppress(UndeclaredQueueError):
            old = read_declaration(self.client, self.prefix, new.name)
        watched = [Keys(self.prefix, old).watched(priority) for priority in old.priorities] if old else []
        keys = (*Keys(self.prefix, new).all, *watched)
        stored = [word for item in new.to_fields().items() if item[0] != "rev" for word in item]
        try:
            return int(scripts.run(self.client, "declare", keys, (old.rev if old else 0, *head(new)[1:], LAYOUT, *stored)))
        except scripts.MemoryFull:
            raise OutOfMemoryError from None
        except ResponseError as error:
            raise _refusal(new, error) from None

    def names(self) -> list[str]:
        """The declared queues' names, sorted."""
        return sorted(text(name) for name in self.client.smembers(index_key(self.prefix)))

    def queues(self) -> list[Queue]:
        """All declared queues, opened; without one whose declaration somebody deleted, which must not hide the others."""
        opened = []
        for one in self.each().values():
            if isinstance(one, Queue):
                opened.append(one)
            elif not isinstance(one, UndeclaredQueueError):
                raise one
        return opened

    def each(self) -> dict[str, Queue | RunnerError]:
        """By name, each declared queue or why it cannot be opened, so that a broken one hides no other. One round trip after the index."""
        names = [name for name in self.names() if NAME.fullmatch(name)]
        keys = [declaration_key(self.prefix, name) for name in names]
        pipeline = self.client.pipeline(transaction=False)
        for key in keys:
            pipeline.hgetall(key)
        replies = pipeline.execute(raise_on_error=False) if keys else []
        return {name: self._opened(name, key, reply) for name, key, reply in zip(names, keys, replies, strict=True)}

    def _opened(self, name: str, key: str, reply: Any) -> Queue | RunnerError:
        try:
            if isinstance(reply, Exception):
                raise refusal(name, reply) if isinstance(reply, ResponseError) else reply
            return Queue(self.client, self.prefix, declared(name, key, reply))
        except RunnerError as error:
            return error

    def find(self, task_id: str, queues: Sequence[Queue] | None = None) -> tuple[Queue, Facts] | None:
        """Look for an id over all declared queues, in one round trip; a live one wins over one that ended, one that moved is followed.

        A broken queue raises its error only where no other one knows the id.
        """
        asked: Sequence[Queue | RunnerError] = list(self.each().values()) if queues is None else list(queues)
        opened = [one for one in asked if isinstance(one, Queue)]
        broken = [one for one in asked if isinstance(one, RunnerError) and not isinstance(one, UndeclaredQueueError)]
        calls = [("look", q.keys.all, (*head(q.declaration), raw(task_id))) for q in opened]
        try:
            replies = scripts.run_all(self.client, calls)
        except (scripts.StaleDeclaration, scripts.MissingDeclaration, ResponseError):  # one was declared again, or is broken: ask each
            found, more = _asked_each(opened, task_id)
            broken += more
        else:
            found = [(q, facts_of(reply)) for q, reply in zip(opened, replies, strict=True) if reply]
        best = min(found, key=lambda pair: RANKS.get(pair[1].state, 0), default=None)
        if best is None and broken:
            raise broken[0]
        return self._followed(task_id, *best) if best else None

    def _followed(self, task_id: str, queue: Queue, facts: Facts) -> tuple[Queue, Facts]:
        """Where a task is that moved into another queue, as far as it is known there."""
        for _ in range(MOST_MOVES):
            if facts.state != "moved":
                break
            try:
                other = self.open(text(facts.result))
            except (UndeclaredQueueError, NewerLayoutError):
                break
            found = other.look(task_id)
            if found is None:
                break
            queue, facts = other, found
        return queue, facts

    def now_ms(self) -> int:
        """Redis's clock."""
        seconds, micros = self.client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def mark(self, queue: Queue) -> str:
        """The entry that `keep_mark` kept under this very declaration; empty for none."""
        rev, _, entry = text(self.client.hget(marks_key(self.prefix), queue.name) or b"").partition(" ")
        return entry if rev == str(queue.declaration.rev) else ""

    def keep_mark(self, queue: Queue, entry: str) -> None:
        """Remember up to which dead letter the controller need not look again."""
        self._note(marks_key(self.prefix), {queue.name: f"{queue.declaration.rev} {entry}"})

    def undeclared(self) -> list[str]:
        """Keys that look like queues nobody declared, by the names they would have."""
        return undeclared(self.client, self.prefix, self.names())

    def orphans(self) -> dict[str, list[str]]:
        """By queue, the last words of keys that nobody will look at."""
        opened = self.each()
        known = {name: one.declaration.priorities for name, one in opened.items() if isinstance(one, Queue)}
        unread = {name for name, one in opened.items() if not isinstance(one, (Queue, UndeclaredQueueError))}
        return {name: words for name, words in orphans(self.client, self.prefix, known).items() if name not in unread}


def _asked_each(queues: Sequence[Queue], task_id: str) -> tuple[list[tuple[Queue, Facts]], list[RunnerError]]:
    found, broken = [], list[RunnerError]()
    for queue in queues:
        try:
            facts = queue.look(task_id)
        except BrokerError as error:
            broken.append(error)
        else:
            found += [(queue, facts)] if facts else []
    return found, broken


def _refusal(declaration: Declaration, error: ResponseError) -> Exception:
    said = str(error)
    if "NEWERLAYOUT" in said:
        return NewerLayoutError(declaration.name, int(said.split()[-1]), LAYOUT)
    if "QUEUEBUSY" in said:
        why = said.split("QUEUEBUSY ", 1)[1]
        held = f"queue {declaration.name!r}: mode and priorities cannot change while it holds {why}"
        return ConfigError(f"{held}: let it drain, or declare another name")
    return refusal(declaration.name, error)
