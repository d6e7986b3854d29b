"""A submit that is answered once replicas have it: the script and WAIT behind it, on one connection. Called by producer.

WAIT counts who has what this connection wrote, so it has to go where the script went: to another connection, or to a master that a
failover has just made, it would say yes to a task that is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import AskError, MovedError

from runner.broker.lane import Answered, Lane
from runner.broker.queue import Queue
from runner.connect import patiently
from runner.errors import QueueFullError, ReplicationError
from runner.tasks import Submission


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many replicas are to have what was submitted, and how long they may take."""

    replicas: int
    within_s: float
    retry_s: float


class ReplicatedLane(Lane):
    """Sends chunk after chunk, each checked: when an answer is missing, script and WAIT are sent again together."""

    def __init__(self, quick: Any, queue: Queue, wanted: Wanted) -> None:
        super().__init__(quick, queue)
        self._quick, self._wanted = quick, wanted

    def submit(self, chunk: list[Submission]) -> Any:
        """Take in one chunk. Raises ReplicationError when it is in and too few replicas have it."""
        self.queue.check(chunk)
        acknowledging = _Acknowledging(self._quick, self.queue.keys.all[0], self._wanted)
        reply = self._surely(chunk, acknowledging)
        if acknowledging.replicas < self._wanted.replicas and (receipts := self._receipts(chunk, reply)):
            raise ReplicationError(acknowledging.replicas, self._wanted.replicas, self._wanted.within_s, receipts)
        return reply

    def _receipts(self, chunk: list[Submission], reply: Any) -> tuple[object, ...]:
        """Of the tasks that are in; where none is, because the queue is full, that is the error to tell."""
        try:
            return tuple(self.queue.receipts(chunk, reply))
        except QueueFullError as error:
            return error.accepted

    def flow(self, chunks: Iterable[list[Submission]], answered: Answered) -> None:
        """Take in chunk after chunk, up to the first that too few replicas have."""
        for chunk in chunks:
            answered(chunk, self.submit(chunk))


class _Acknowledging:
    """Stands for the client in one script call."""

    def __init__(self, quick: Any, key: str, wanted: Wanted) -> None:
        self.replicas = 0
        self._quick, self._key, self._wanted = quick, key, wanted

    def evalsha(self, *words: Any) -> Any:
        """By SHA."""
        return self._sent("EVALSHA", words)

    def eval(self, *words: Any) -> Any:
        """With the text."""
        return self._sent("EVAL", words)

    def _sent(self, *command: Any) -> Any:
        return patiently(self._wanted.retry_s, lambda: self._once(*command))

    def _once(self, name: str, words: tuple[Any, ...]) -> Any:
        try:
            pipeline = self._master().pipeline(transaction=False)
            pipeline.execute_command(name, *words)
            pipeline.execute_command("WAIT", self._wanted.replicas, round(self._wanted.within_s * 1000))
            replies = pipeline.execute(raise_on_error=False)
        except redis.ConnectionError:
            self._look_around()
            raise
        for reply in replies:
            self._check(reply)
        self.replicas = int(replies[1])
        return replies[0]

    def _master(self) -> Any:
        """Whom to ask: of a Cluster, the node that has the queue."""
        if not isinstance(self._quick, redis.RedisCluster):
            return self._quick
        return self._quick.get_redis_connection(self._quick.get_node_from_key(self._key))

    def _check(self, reply: Any) -> None:
        if isinstance(reply, (MovedError, AskError)):
            self._look_around()
            raise redis.ConnectionError(str(reply)) from reply
        if isinstance(reply, Exception):
            raise reply

    def _look_around(self) -> None:
        if isinstance(self._quick, redis.RedisCluster):
            self._quick.nodes_manager.initialize()
