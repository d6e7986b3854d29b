"""Every script says its contract, decodes no JSON and touches its queue's keys only. Called by pytest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redis

from runner import scripts
from runner.broker import Broker, Empty, Queue
from runner.broker.moving import Leaving
from runner.connect import connect
from runner.queue import Declaration
from tests.keyspace import Keyspace
from tests.making import LINE, bury, claim, due, end_lease, foreign, held, overdue, push, retry, submit

NAMES = sorted(path.stem for path in scripts.FOLDER.glob("*.lua") if path.stem != "prelude")
LITERAL_KEY = re.compile(r"call\('(?!XGROUP|XREADGROUP|XINFO)[A-Z]+',\s*'")


def every_script(queue: Queue) -> set[str]:
    """Call each transition once, with something to do; the scripts that this ran."""
    ran: set[str] = set()
    queue.client = Counting(queue.client, ran)
    Broker(queue.client, queue.prefix).declare(queue.declaration)
    push(queue, b'{"task_id":206}')
    found = queue.claim("t0", "pod")
    assert not isinstance(found, Empty)
    queue.adopt(found, "206", "order 7")
    queue.extend("206", "t0")
    queue.complete("206", "t0", b"1", LINE)
    for name, token in (("a", "t1"), ("b", "t2"), ("c", "t3"), ("d", "t4")):
        held(queue, name, token, key=f"key of {name}")
    retry(queue, "a", "t1")
    due(queue, "a")
    queue.promote()
    queue.release("b", "t2", LINE)
    bury(queue, "c", "t3")
    end_lease(queue, "d")
    queue.begin("t5", "pod", 5)
    queue.cancel("d")
    move(queue)
    submit(queue, "late", delay_ms=60_000, expires_ms=60_000)
    overdue(queue, "late")
    queue.expire()
    submit(queue, "stray", priority="normal")
    foreign(queue)
    queue.restore()
    queue.drop_consumers()
    entries = [letter.entry for letter in queue.dead_letters()]
    queue.run("scan", "", 9)
    queue.rerun("c", "e", LINE)
    queue.replay(entries[:1], LINE)
    queue.purge(entries[1:])
    queue.trim_dead(0)
    queue.trim_history(0)
    queue.reap()
    queue.look("a")
    queue.measure()
    submit(queue, "f", checked=False)
    queue.run("recover", 1, "f")
    return ran


def move(queue: Queue) -> None:
    """A claim seized, moved out, back, out again and in, as if another queue had it."""
    held(queue, "m", "t6", priority="high")
    (taken,) = queue.seize([one for one in queue.holdings() if one.id == "m"]).claims
    for after in (queue.move_back, lambda task_id, token: queue.move_done(task_id, token, "big")):
        leaving = queue.move_out("m", taken.token, "big", LINE)
        assert isinstance(leaving, Leaving)
        after("m", taken.token)
    queue.move_in(leaving, LINE)
    queue.cancel("m")


def in_use(mode: str) -> set[str]:
    """Scripts that a queue of this mode needs; a list has no group that could give an entry to nobody."""
    return set(NAMES) - ({"restore"} if mode == "list" else set())


class Counting:
    """A client that notes which scripts were run; everything else is the client's own."""

    def __init__(self, client: object, ran: set[str]) -> None:
        self._client, self._ran = client, ran
        self._names = {scripts.load(name).sha: name for name in NAMES}

    def evalsha(self, sha: str, *args: object) -> object:
        self._ran.add(self._names[sha])
        return self._client.evalsha(sha, *args)  # type: ignore[attr-defined]

    def pipeline(self, **options: object) -> object:
        pipeline = self._client.pipeline(**options)  # type: ignore[attr-defined]
        send = pipeline.evalsha

        def noted(sha: str, *args: object) -> object:
            self._ran.add(self._names[sha])
            return send(sha, *args)

        pipeline.evalsha = noted
        return pipeline

    def __getattr__(self, name: str) -> object:
        return getattr(self._client, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_scripts_header_says_arrow_arguments_answer_and_invariant(name: str) -> None:
    lines = (scripts.FOLDER / f"{name}.lua").read_text().splitlines()
    header = [line for line in lines[1:] if line.startswith("-- ")][:12]

    assert re.fullmatch(r"#!lua( flags=[a-z,-]+)?", lines[0])
    assert header[0].rstrip().endswith((".", ":", ";")) or ": " in header[0]
    assert any(line.startswith("-- RETURNS") for line in header)
    assert any(line.startswith("-- INVARIANT") for line in header) or "no-writes" in lines[0]
    assert any(line.startswith("-- ARGV") for line in header) or "ARGV[7]" not in "\n".join(lines)


@pytest.mark.parametrize("path", sorted(scripts.FOLDER.glob("*.lua")), ids=lambda path: path.stem)
def test_no_script_decodes_json_or_makes_up_a_key(path: Path) -> None:
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("--"))

    assert "cjson" not in text
    assert "cmsgpack" not in text
    assert LITERAL_KEY.findall(text) == [], "a key that is no KEYS"


def test_a_user_who_may_touch_one_queues_keys_only_runs_every_script(url: str, mode: str) -> None:
    with redis.Redis.from_url(url) as root:
        prefix, own = "staging", ("staging:emails", "{staging:emails}:*", "staging:runner/queues")
        root.acl_setuser("worker", enabled=True, passwords=["+secret"], keys=own, categories=["+@all"])
        root.set("other", "untouched")
    with redis.Redis.from_url(url, username="worker", password="secret") as client:
        queue = Broker(client, prefix).declare(Declaration("emails", mode=mode))

        ran = every_script(queue)

        assert ran == in_use(mode)
        Keyspace(queue).check()
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.get("other")


def test_on_a_cluster_every_script_finds_its_keys_in_one_slot(cluster_url: str, mode: str) -> None:
    with connect(cluster_url) as client:
        for name in ("emails", "images", "x"):
            queue = Broker(client, "staging").declare(Declaration(name, mode=mode))

            assert every_script(queue) == in_use(mode)
            Keyspace(queue).check()


def test_a_queue_has_no_key_but_those_of_the_layout(url: str, mode: str) -> None:
    with redis.Redis.from_url(url) as client:
        queue = Broker(client).declare(Declaration("emails", mode=mode))

        every_script(queue)

        assert {key.decode() for key in client.scan_iter()} <= {*queue.keys.all, "runner/queues"}


def test_a_script_cache_lost_between_any_two_calls_is_not_noticed(url: str, mode: str) -> None:
    """Case C42."""
    with redis.Redis.from_url(url) as client:
        queue = Broker(client).declare(Declaration("emails", mode=mode))
        submit(queue, "a", delay_ms=60_000)
        due(queue, "a")
        for step in (
            lambda: queue.promote(),
            lambda: queue.begin("t1", "pod", 5),
            lambda: queue.release("a", "t1", b""),
            lambda: queue.measure(),
        ):
            client.script_flush()
            step()
        client.script_flush()

        assert claim(queue, "t2").id == "a"
