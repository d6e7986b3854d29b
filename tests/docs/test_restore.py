"""What docs/restore.md says that a copy of Redis's file brings back. Called by pytest."""

from __future__ import annotations

import shutil

import redis

from runner.broker import Broker, Queue
from runner.queue import Declaration
from tests.keyspace import Keyspace
from tests.making import claim, done, held, submit
from tests.servers import Server
from tests.waiting import until


def state(queue: Queue, name: str) -> str:
    facts = queue.look(name)
    return facts.state if facts else ""


def test_a_restored_copy_holds_what_the_page_says(server: Server, mode: str) -> None:
    file, copy = server.folder / "appendonlydir", server.folder / "copy"
    with redis.Redis.from_url(server.url) as client:
        queue = Broker(client).declare(Declaration("emails", mode=mode, lease_s=0.4))
        done(queue, "done")
        held(queue, "running", "of-the-living")
        held(queue, "abandoned", "of-the-dead")
        submit(queue, "waiting")
        submit(queue, "delayed", delay_ms=3_600_000)
        due_ms = queue.look("delayed").due_ms  # type: ignore[union-attr]

        shutil.copytree(file, copy)
        assert claim(queue, "late").id == "waiting"
        queue.complete("waiting", "late", b"", b"")
        submit(queue, "after")
        server.kill()
        shutil.rmtree(file)
        copy.rename(file)
        server.start()

        assert {name: state(queue, name) for name in ("done", "running", "abandoned", "waiting", "delayed", "after")} == {
            "done": "done", "running": "claimed", "abandoned": "claimed", "waiting": "waiting", "delayed": "delayed", "after": "",
        }  # fmt: skip
        assert queue.look("delayed").due_ms == due_ms  # type: ignore[union-attr]
        assert not submit(queue, "done").created
        assert queue.complete("running", "of-the-living", b"", b"") == "ok"
        assert until(lambda: [one.id for one in queue.reap().claims]) == ["abandoned"]
        Keyspace(queue).check()
