"""Status where not all is well: a queue that cannot be read hides no other; and what arrived, by what is there and what has left."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runner.broker import Broker, Queue
from runner.cli.lengths import arrived
from runner.queue import Declaration
from tests.making import bury, claim, push, submit

Say = Callable[..., tuple[int, str, str]]


def test_a_queue_with_a_key_of_another_type_hides_no_other(queue: Queue, said: Say, mode: str) -> None:
    broken = Broker(queue.client).declare(Declaration("photos", mode=mode))
    queue.client.delete(broken.keys.main)
    queue.client.set(broken.keys.main, "somebody else's")
    submit(queue, "a")

    code, out, _ = said("status")
    found = json.loads(said("status", "--json")[1])

    assert code == 1
    assert "queue 'photos': Redis refused: WRONGTYPE" in out
    assert [(one["queue"], one["waiting"]) for one in found["queues"]] == [("emails", 1)]
    assert list(found["broken"]) == ["photos"]
    assert said("status", "-q", "photos")[0] == 1
    queue.client.set(broken.keys.part("lives"), "somebody else's")
    code, out, _ = said("status", "--usage")
    assert code == 1 and "emails: no attempt is kept" in out and "queue 'photos': Redis refused: WRONGTYPE" in out


def test_a_declaration_that_cannot_be_read_hides_no_task(queue: Queue, said: Say) -> None:
    queue.client.sadd("runner/queues", "photos", "no name")
    queue.client.set("{photos}:queue", "somebody else's")
    submit(queue, "a")

    assert [one["queue"] for one in json.loads(said("status", "--json")[1])["queues"]] == ["emails"]
    assert said("inspect", "a")[0] == 0
    code, out, err = said("inspect", "b")
    assert (code, out) == (1, "") and "queue 'photos'" in err


def test_what_arrived_grows_by_what_arrives_only(queue: Queue) -> None:
    submit(queue, "a")
    submit(queue, "b", delay_ms=60_000)
    push(queue, b"{}")
    before = arrived(queue.measure())

    bury(queue, claim(queue).id, "t1")
    queue.complete(claim(queue, "t2").id, "t2", b"", b"")
    queue.cancel("b")
    (letter,) = queue.dead_letters()
    queue.replay([letter.entry], b"")

    assert (before, arrived(queue.measure())) == (3, 3)


@pytest.mark.parametrize("mode", ["stream"])
def test_an_id_is_found_over_all_queues_in_a_constant_number_of_round_trips(queue: Queue) -> None:
    broker = Broker(queue.client)
    for n in range(20):
        broker.declare(Declaration(f"q{n}"))
    submit(queue, "a")
    assert broker.find("a")  # the server has the script now

    reads = [queue.client.info()["total_reads_processed"] for _ in (1, 2) if broker.find("a")]

    assert reads[1] - reads[0] <= 5, "the index, all declarations, all looks, and INFO itself"
