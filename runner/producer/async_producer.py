"""The producer for programs with an event loop: Producer's methods, awaited. Called by users; holds no transition of its own.

The calls are Producer's own, made in threads (docs/adr/0015). Only what waits or runs the caller's code stays in the loop: the pauses of
`wait`, the items of `submit_many`, and `on_receipt`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from functools import partial
from types import TracebackType
from typing import Any, Self

from runner.broker import Facts
from runner.broker.intake import CHUNK_TASKS
from runner.broker.lane import AHEAD
from runner.connect import TIMEOUT_S
from runner.producer.chunks import Item, Submitted
from runner.producer.prepare import check_wanted
from runner.producer.producer import Producer
from runner.producer.threads import Threads
from runner.producer.waiting import Waiter
from runner.tasks import Receipt

PART = AHEAD * CHUNK_TASKS
"""Items of a bulk submit that a thread takes at a time."""


class AsyncProducer:
    """Submits to the queues of one Redis, from any event loop of asyncio. Close it, or use it in an `async with`.

    Parameters, methods and errors are Producer's; nothing is opened before the first call. A payload is encoded in a thread: leave it
    alone until the submit is back. A submit that is cancelled is sent whole or not at all, and which of them stays open: with a task_id of
    your own, submitting again cannot double it.
    """

    def __init__(
        self,
        url: str = "",
        prefix: str = "",
        *,
        retry_s: float = 15.0,
        wait_replicas: int = 0,
        wait_replicas_s: float = 1.0,
        encoding: str = "json",
    ) -> None:
        check_wanted(wait_replicas, wait_replicas_s, retry_s)
        wanted: dict[str, Any] = {"wait_replicas": wait_replicas, "wait_replicas_s": wait_replicas_s, "encoding": encoding}
        make = partial(Producer, url, prefix, retry_s=retry_s, **wanted)
        self._calls = Threads(make, retry_s)
        self._looks = Threads(make, retry_s)
        """Of `wait`, apart: while Redis does not answer, each look takes seconds, and no submit is to stand behind hundreds of them."""

    async def close(self) -> None:
        """Wait for what is under way, cancelled submits too, and close the connections; the next call would open new ones."""
        await asyncio.gather(self._calls.close(), self._looks.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def submit(
        self,
        type: str,
        payload: Any = None,
        *,
        queue: str,
        priority: str | None = None,
        delay_s: float = 0,
        expires_s: float | None = None,
        timeout_s: float | None = None,
        max_retries: int | None = None,
        task_id: str | int | None = None,
        key: str | int | None = None,
        version: int | None = None,
    ) -> Receipt:
        """Take in one task, as Producer.submit does."""
        return await self._calls.call(
            Producer.submit,
            type,
            payload,
            queue=queue,
            priority=priority,
            delay_s=delay_s,
            expires_s=expires_s,
            timeout_s=timeout_s,
            max_retries=max_retries,
            task_id=task_id,
            key=key,
            version=version,
        )

    async def submit_many(
        self, items: Iterable[Item] | AsyncIterable[Item], *, queue: str, on_receipt: Callable[[Receipt], None] | None = None
    ) -> Submitted:
        """Take in any number of tasks in constant memory, as Producer.submit_many does, of an iterable or an async one."""
        receipts: list[Receipt] = []
        bulk = await self._calls.call(Producer._bulk, queue, receipts.append if on_receipt else None)
        async with aclosing(_parts(items)) as parts:
            async for part in parts:
                try:
                    await self._calls.call(Producer._take, bulk, part)
                finally:
                    _hand_on(receipts, on_receipt)
                if bulk.tally.full:
                    break
        return bulk.tally.checked()

    async def wait(self, task_id: str | int, timeout_s: float, *, queue: str | None = None, allow_nested: bool = False) -> Any:
        """The task's result, as soon as it is done, as Producer.wait gives it."""
        waiter = await self._looks.call(Producer._waiter, task_id, timeout_s, queue, allow_nested)
        try:
            async with asyncio.timeout(max(0.0, timeout_s) + TIMEOUT_S):  # a look that hangs does so no longer than a connection may
                return await self._ended(waiter)
        except TimeoutError:
            raise waiter.over() from None

    async def cancel(self, task_id: str | int, *, queue: str | None = None) -> str:
        """What became of it, in Producer.cancel's words."""
        return await self._calls.call(Producer.cancel, task_id, queue=queue)

    async def find(self, task_id: str | int, *, queue: str | None = None) -> tuple[str, Facts] | None:
        """The queue that knows this id, and all that is known of it; None if no queue does."""
        return await self._calls.call(Producer.find, task_id, queue=queue)

    async def rerun(self, task_id: str | int, *, queue: str | None = None) -> Receipt:
        """Run a task again under a new id, as Producer.rerun does."""
        return await self._calls.call(Producer.rerun, task_id, queue=queue)

    async def _ended(self, waiter: Waiter) -> Any:
        while (pause_s := await self._looks.call(Producer._look, waiter)) is not None:
            await asyncio.sleep(pause_s)
        return waiter.result


def _hand_on(receipts: list[Receipt], on_receipt: Callable[[Receipt], None] | None) -> None:
    told, receipts[:] = receipts[:], []
    for receipt in told:
        if on_receipt:
            on_receipt(receipt)


async def _parts(items: Iterable[Item] | AsyncIterable[Item]) -> AsyncGenerator[list[Item], None]:
    part: list[Item] = []
    async for item in items if isinstance(items, AsyncIterable) else _looped(items):
        part.append(item)
        if len(part) == PART:
            yield part
            part = []
    if part:
        yield part


async def _looped(items: Iterable[Item]) -> AsyncIterator[Item]:
    for item in items:
        yield item
