"""The short way of a submit: its command packed from prepared parts and sent ahead on one connection. Called by producer and replicas.

The lane never tries twice. Once an answer is missing nobody knows whether the tasks are in, so they go the long way: through the
queue's patient client, and checked, which makes sending them again harmless.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from inspect import signature
from typing import Any, NamedTuple

import redis
from redis.exceptions import RedisError, ResponseError

from runner import scripts
from runner.broker.base import head, raw
from runner.broker.queue import Queue
from runner.errors import RunnerError
from runner.keys import Keys
from runner.queue import Declaration
from runner.tasks import Submission

AHEAD = 3
"""Chunks under way at most: the server runs one while the next is packed."""
Answered = Callable[[list[Submission], Any], None]

# Up to redis-py 5.2 a pool wants the command's name; later ones warn when they are given it.
_WORDS = () if signature(redis.ConnectionPool.get_connection).parameters["command_name"].default is None else ("EVALSHA",)


def bulk(word: Any) -> bytes:
    """One word of a command, as RESP has it."""
    value = word if isinstance(word, bytes) else raw(str(word))
    return b"$%d\r\n%b\r\n" % (len(value), value)


def packed(words: Iterable[Any]) -> bytes:
    """Some words of a command."""
    return b"".join(map(bulk, words))


def packed_plain(s: Submission) -> bytes:
    """A task of a plain chunk; the format at once, because it runs for every task of a bulk submit."""
    task_id = raw(s.id)
    return b"$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(task_id), task_id, len(s.body), s.body)


class _Parts(NamedTuple):
    """What every submit to a queue has in common. One value, so that threads never mix two declarations."""

    declaration: Declaration
    head: bytes
    words: int
    priorities: list[bytes]

    @classmethod
    def of(cls, queue: Queue) -> _Parts:
        declaration = queue.declaration
        keys = Keys(queue.prefix, declaration).all
        words = ("EVALSHA", scripts.load("submit").sha, len(keys), *keys, *head(declaration))
        return cls(declaration, packed(words), len(words), [packed(pair) for pair in enumerate(declaration.priorities, 1)])


def _answer(connection: Any, command: list[bytes]) -> Any:
    try:
        connection.send_packed_command(command)
        return connection.read_response()
    except BaseException:  # also Ctrl-C: the answer to this must not be taken for the next one's
        connection.disconnect()
        raise


class Lane:
    """The way into one queue. `quick` raises at the first failure; the queue's own client is patient."""

    def __init__(self, quick: Any, queue: Queue) -> None:
        self.queue = queue
        self._pool: Any = None if isinstance(quick, redis.RedisCluster) else quick.connection_pool
        self._lock = threading.Lock()
        self._kept: Any = None
        self._pid = 0
        """Of the process that `_kept` belongs to; a forked one takes its own."""
        self._parts: _Parts | None = None

    def submit(self, chunk: list[Submission]) -> Any:
        """Take in one chunk; the answer of lua/submit.lua, for `queue.receipts`."""
        self.queue.check(chunk)
        if self._pool is None:
            return self._surely(chunk)
        try:
            return self._asked(self._command(chunk))
        except (RedisError, OSError):
            return self._surely(chunk)

    def _asked(self, command: list[bytes]) -> Any:
        """Ask on the connection that the lane keeps: to borrow one of the pool costs as much as the script takes to run."""
        if not self._lock.acquire(blocking=False):  # another thread is asking
            return self._asked_on_borrowed(command)
        try:
            if self._pid != os.getpid():
                self._kept, self._pid = self._pool.get_connection(*_WORDS), os.getpid()
            return _answer(self._kept, command)
        finally:
            self._lock.release()

    def _asked_on_borrowed(self, command: list[bytes]) -> Any:
        connection = self._pool.get_connection(*_WORDS)
        try:
            return _answer(connection, command)
        finally:
            self._pool.release(connection)

    def flow(self, chunks: Iterable[list[Submission]], answered: Answered) -> None:
        """Take in chunk after chunk, a few ahead of their answers; when `chunks` raises, the answers under way are still read."""
        if self._pool is None:
            for chunk in chunks:
                answered(chunk, self.submit(chunk))
            return
        with self._stream(answered) as stream:
            for chunk in chunks:
                self.queue.check(chunk)
                stream.send(self._command(chunk), chunk)
            stream.finish()

    @contextmanager
    def _stream(self, answered: Answered) -> Iterator[_Stream]:
        stream = _Stream(self._pool, self._surely, answered)
        try:
            yield stream
        except Exception:
            with suppress(RunnerError, RedisError, OSError):  # the first error is the one to tell
                stream.finish()
            raise
        finally:
            stream.close()

    def _command(self, chunk: list[Submission]) -> list[bytes]:
        declared, parts = self.queue.declaration, self._parts
        if parts is None or parts.declaration is not declared:
            parts = self._parts = _Parts.of(self.queue)
        number = self.queue.plain(chunk)
        if not number:
            args = self.queue.submit_args(chunk)
            return [b"*%d\r\n%b%b" % (parts.words + len(args), parts.head, packed(args))]
        start = b"*%d\r\n%b%b" % (parts.words + 2 + 2 * len(chunk), parts.head, parts.priorities[number - 1])
        return [b"".join((start, *map(packed_plain, chunk)))]

    def _surely(self, chunk: list[Submission], client: Any = None) -> Any:
        checked = [s if s.checked else s._replace(checked=True) for s in chunk]
        accepted, rows = self.queue.take_in(checked, client)
        # A new id that is there already came in with the answer that was lost: it is this call that made it.
        ours = [row for row in rows if chunk[int(row[0])].checked or row[1] != b"there"]
        return accepted + len(rows) - len(ours), ours


class _Stream:
    """One connection with chunks under way, answered in order."""

    def __init__(self, pool: Any, surely: Callable[[list[Submission]], Any], answered: Answered) -> None:
        self._pool, self._surely, self._answered = pool, surely, answered
        self._connection: Any = None
        self._ahead: deque[list[Submission]] = deque()

    def send(self, command: list[bytes], chunk: list[Submission]) -> None:
        self._ahead.append(chunk)
        try:
            self._connection = self._connection or self._pool.get_connection(*_WORDS)
            self._connection.send_packed_command(command, check_health=False)
        except (RedisError, OSError):
            return self._all_surely()
        if len(self._ahead) >= AHEAD:
            self._take()

    def finish(self) -> None:
        """Read all answers that are under way."""
        while self._ahead:
            self._take()

    def close(self) -> None:
        """Give the connection back; one that still has answers to come is of no use to anybody."""
        if self._connection is not None:
            if self._ahead:
                self._connection.disconnect()
            self._pool.release(self._connection)

    def _take(self) -> None:
        try:
            reply = self._connection.read_response()
        except ResponseError:  # an answer: this chunk was refused, those behind it have answers of their own
            chunk = self._ahead.popleft()
            return self._answered(chunk, self._surely(chunk))
        except (RedisError, OSError):
            return self._all_surely()
        self._answered(self._ahead.popleft(), reply)

    def _all_surely(self) -> None:
        """The connection is lost, and with it the answers to all that was sent on it."""
        if self._connection is not None:
            self._connection.disconnect()
        lost, self._ahead = self._ahead, deque()
        for chunk in lost:
            self._answered(chunk, self._surely(chunk))
