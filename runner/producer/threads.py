"""A producer's blocking calls, made in a few threads so that an event loop never waits for them. Called by AsyncProducer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from runner.errors import UnavailableError
from runner.producer.producer import Producer

P = ParamSpec("P")
Answer = TypeVar("Answer")

THREADS = 4
"""More are slower: they only fight for the interpreter (docs/adr/0015)."""
LEAST_S = 1.0


class _Own:
    """What belongs to one process: a forked one has none of its parent's threads, and locks that nobody will open."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="runner-producer")
        self.lock = threading.Lock()
        self.producer: Producer | None = None


class Threads:
    """Calls methods of one Producer, which `make` makes at the first call: for a Cluster that asks the network already."""

    def __init__(self, make: Callable[[], Producer], retry_s: float) -> None:
        self._make = make
        self._own: _Own | None = None
        self._patience_s = max(LEAST_S, retry_s / 2)
        self._down = ""

    async def call(self, method: Callable[Concatenate[Producer, P], Answer], *args: P.args, **kwargs: P.kwargs) -> Answer:
        """The method's answer. Cancelled before its turn, it is not made; after that it goes on to its end, unheard."""
        own = self._current()
        do = partial(self._made, own, time.monotonic(), lambda producer: method(producer, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(own.pool, copy_context().run, do)

    async def close(self) -> None:
        """Wait for the calls under way, and close the connections; the next call would open new ones."""
        own, self._own = self._own, None
        if own is not None and own.pid == os.getpid():
            await asyncio.to_thread(_closed, own)

    def _current(self) -> _Own:
        if self._own is None or self._own.pid != os.getpid():
            self._own = _Own()
        return self._own

    def _made(self, own: _Own, asked_s: float, do: Callable[[Producer], Answer]) -> Answer:
        """While Redis is away each call takes all its patience, and hundreds behind it must not do so one after the other."""
        if self._down and time.monotonic() - asked_s > self._patience_s:
            raise UnavailableError(self._down)
        try:
            answer = do(self._opened(own))
        except UnavailableError as error:
            self._down = str(error)
            raise
        self._down = ""
        return answer

    def _opened(self, own: _Own) -> Producer:
        with own.lock:
            own.producer = own.producer or self._make()
            return own.producer


def _closed(own: _Own) -> None:
    own.pool.shutdown()
    if own.producer is not None:
        own.producer.close()
