"""AsyncProducer: Producer's methods, awaited. What is its own: the loop goes on, cancelling, closing, forks, many at once."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import redis

from runner import AsyncProducer, Producer
from runner.broker import Broker, Queue
from runner.errors import QueueFullError, RefusedError, TaskUnknownError, UnavailableError, UndeclaredQueueError, WaitTimeoutError
from runner.producer import Submitted
from runner.queue import Declaration
from tests.making import bury, claim
from tests.servers import Server, free_port
from tests.waiting import until


@pytest.fixture
def queue(client: redis.Redis) -> Queue:
    return Broker(client).declare(Declaration("emails"))


@pytest.fixture
def hung(server: Server) -> Iterator[Server]:
    """A server that answers nothing until `resume`."""
    with redis.Redis.from_url(server.url) as client:
        Broker(client).declare(Declaration("emails"))
    yield server
    server.resume()


def public(kind: type) -> dict[str, list[tuple[str, object]]]:
    named = [(name, one) for name, one in vars(kind).items() if inspect.isfunction(one)]
    methods = [(name, one) for name, one in named if not name.startswith("_") or name == "__init__"]
    return {name: [(p.name, p.default) for p in inspect.signature(one).parameters.values()] for name, one in methods}


def test_it_has_the_methods_of_the_producer_with_the_same_parameters() -> None:
    assert public(AsyncProducer) == public(Producer)


def test_a_task_goes_its_way_by_all_methods(queue: Queue, url: str) -> None:
    async def way() -> object:
        async with AsyncProducer(url) as producer:
            receipt = await producer.submit("a", {"n": 1}, queue="emails", priority="high", key="k")
            assert (await producer.submit("a", queue="emails", key="k")).created is False
            found = await producer.find(receipt.id)
            assert found is not None and found[0] == "emails"
            assert await producer.cancel((await producer.submit("a", queue="emails", task_id="c")).id) == "cancelled"
            await producer.submit("a", queue="emails", task_id="d")
            assert claim(queue).id == receipt.id
            assert claim(queue, "t2").id == "d"
            bury(queue, "d", "t2")
            assert (await producer.rerun("d")).after == "dead d"
            waits = asyncio.create_task(producer.wait(receipt.id, 20))
            await asyncio.sleep(0.05)
            queue.complete(receipt.id, "t1", b"[1]", b"")
            return await waits

    assert asyncio.run(way()) == [1]


def test_errors_are_the_producers(queue: Queue, url: str) -> None:
    async def errors() -> None:
        async with AsyncProducer(url) as producer:
            with pytest.raises(UndeclaredQueueError):
                await producer.submit("a", queue="orders")
            with pytest.raises(RefusedError, match=r"payload\.x is nan"):
                await producer.submit("a", {"x": float("nan")}, queue="emails")
            with pytest.raises(TaskUnknownError):
                await producer.wait("x", 5)
            with pytest.raises(RefusedError, match="nan"):
                await producer.wait("x", float("nan"))
            await producer.submit("a", queue="emails", task_id="x")
            with pytest.raises(WaitTimeoutError, match="it is waiting"):
                await producer.wait("x", 0)
        with pytest.raises(UnavailableError, match="refused the connection"):
            await AsyncProducer(f"redis://127.0.0.1:{free_port()}/0", retry_s=0).submit("a", queue="emails")

    asyncio.run(errors())


def test_hundreds_of_submits_at_once_are_each_one_task(queue: Queue, url: str) -> None:
    async def crowd() -> list[str]:
        async with AsyncProducer(url) as producer:
            return [receipt.id for receipt in await asyncio.gather(*[producer.submit("a", n, queue="emails") for n in range(500)])]

    assert len(set(asyncio.run(crowd()))) == queue.measure().waiting == 500


def test_many_items_come_from_both_kinds_of_iterables(queue: Queue, url: str) -> None:
    async def items() -> AsyncIterator[tuple[str, int]]:
        for n in range(700):
            yield "a", n
            await asyncio.sleep(0)

    async def submitted() -> tuple[Submitted, Submitted]:
        async with AsyncProducer(url) as producer:
            one = await producer.submit_many(items(), queue="emails", on_receipt=lambda receipt: seen.append(receipt.id))
            return one, await producer.submit_many((("b", n) for n in range(700)), queue="emails")

    seen: list[str] = []

    assert asyncio.run(submitted()) == (Submitted(700), Submitted(700))
    assert len(set(seen)) == 700
    assert queue.measure().waiting == 1400


def test_an_item_that_is_refused_ends_a_bulk_submit_with_its_number(queue: Queue, url: str) -> None:
    async def submitted() -> None:
        async with AsyncProducer(url) as producer:
            await producer.submit_many([("a", 0)] * 650 + [("a", {1j})], queue="emails", on_receipt=seen.append)

    seen: list[object] = []

    with pytest.raises(RefusedError) as told:
        asyncio.run(submitted())

    assert told.value.__notes__ == ["This was item 650, counted from 0; the items before it may be in."]
    assert len(seen) == queue.measure().waiting == 600


def test_a_full_queue_ends_a_bulk_submit_that_has_no_end(client: redis.Redis, url: str) -> None:
    async def endless() -> AsyncIterator[tuple[str, int]]:
        while True:
            yield "a", 1

    async def submitted() -> None:
        async with AsyncProducer(url) as producer:
            await producer.submit_many(endless(), queue="emails")

    queue = Broker(client).declare(Declaration("emails", max_length=250))

    with pytest.raises(QueueFullError):
        asyncio.run(submitted())

    assert queue.measure().waiting == 250


def test_the_loop_goes_on_while_redis_does_not_answer_and_a_cancelled_submit_is_in_once(hung: Server) -> None:
    async def cancelled() -> None:
        async with AsyncProducer(hung.url) as producer:
            await producer.submit("warm", queue="emails")
            hung.pause()
            sent = [asyncio.create_task(producer.submit("a", queue="emails", task_id=f"x{n}")) for n in range(6)]
            began_s = time.monotonic()
            await asyncio.sleep(0.1)
            assert time.monotonic() - began_s < 0.5, "the loop stood still"
            for one in sent:
                one.cancel()
            assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*sent, return_exceptions=True))
            hung.resume()
        async with AsyncProducer(hung.url) as producer:
            kept.extend([(await producer.submit("a", queue="emails", task_id=f"x{n}")).created for n in range(6)])

    kept: list[bool] = []
    asyncio.run(cancelled())

    assert kept.count(False) == 4, "those under way went on to their end, the others were never sent"
    with redis.Redis.from_url(hung.url) as client:
        assert Broker(client).open("emails").measure().waiting == 7


def test_hundreds_of_submits_fail_together_when_redis_is_away(server: Server) -> None:
    async def crowd() -> list[object]:
        async with AsyncProducer(server.url, retry_s=1.5) as producer:
            await producer.submit("a", queue="emails")
            server.kill()
            failed = await asyncio.gather(*[producer.submit("a", queue="emails") for _ in range(300)], return_exceptions=True)
            server.start()
            assert (await producer.submit("a", queue="emails")).created, "and the next one is tried anew"
            return failed

    with redis.Redis.from_url(server.url) as client:
        Broker(client).declare(Declaration("emails"))
    began_s = time.monotonic()

    failed = asyncio.run(crowd())

    assert {type(one) for one in failed} == {UnavailableError}
    assert time.monotonic() - began_s < 10


def test_a_wait_ends_in_time_though_redis_hangs(hung: Server, full: bool) -> None:
    if not full:
        pytest.skip("waits for 5 s: make test-all")

    async def waits() -> None:
        async with AsyncProducer(hung.url) as producer:
            await producer.submit("a", queue="emails", task_id="x")
            hung.pause()
            try:
                with pytest.raises(WaitTimeoutError):
                    await producer.wait("x", 0.1)
            finally:
                hung.resume()

    began_s = time.monotonic()
    asyncio.run(waits())

    assert time.monotonic() - began_s < 8


def test_it_serves_one_loop_after_the_other_and_opens_again_after_a_close(queue: Queue, url: str) -> None:
    producer = AsyncProducer(url)

    async def one() -> None:
        await producer.submit("a", queue="emails")
        await producer.close()
        await producer.submit("a", queue="emails")

    asyncio.run(one())
    asyncio.run(one())
    asyncio.run(producer.close())

    assert queue.measure().waiting == 4


def test_a_forked_process_has_threads_of_its_own(queue: Queue, url: str) -> None:
    forking = """if True:
        import asyncio, os
        from runner import AsyncProducer
        producer = AsyncProducer()
        print(asyncio.run(producer.submit("a", queue="emails")).id, flush=True)
        child = os.fork()
        print(asyncio.run(producer.submit("a", queue="emails")).id, flush=True)
        asyncio.run(producer.close())
        os.waitpid(child, 0) if child else os._exit(0)
    """
    env = {**os.environ, "RUNNER_REDIS_URL": url}
    done = subprocess.run([sys.executable, "-c", forking], env=env, capture_output=True, text=True, check=True, timeout=60)

    assert len(set(done.stdout.split())) == queue.measure().waiting == 3


def test_threads_end_with_the_producer(queue: Queue, url: str) -> None:
    import threading

    async def one() -> None:
        async with AsyncProducer(url) as producer:
            await producer.submit("a", queue="emails")

    asyncio.run(one())

    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("runner-producer")])
