"""What anyone pushes with a bare client runs once, and what cannot run is kept. Both modes where both exist."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.worker.pods import Cluster

Made = Callable[..., Cluster]


def test_an_envelope_pushed_by_anyone_runs_under_its_own_id(made: Made) -> None:
    q = made()
    q.push("body", '{"type":"note","task_id":206,"payload":[1]}')

    q.pod().ended()

    facts = q.queue.look("206")
    assert facts and facts.state == "done" and facts.result == b"[1]" and q.notes("ran") == ["206 1"]


def test_a_bare_task_id_takes_its_type_from_the_declaration(made: Made) -> None:
    q = made(default_type="note")
    q.push("body", '{"task_id": 206}')

    q.pod().ended()

    assert q.notes("ran") == ["206 1"] and q.state("206") == "done"


def test_a_bare_push_of_a_done_id_is_settled_unrun(made: Made) -> None:
    q = made()
    q.submit("note", task_id="206")
    q.pod().ended()

    q.push("body", '{"type":"note","task_id":206}')
    pod = q.pod()

    assert pod.ended() == 0 and q.notes("ran") == ["206 1"]
    assert [e["event"] for e in pod.events()] == ["duplicate", "nothing to claim"]
    assert q.queue.measure().waiting == 0


@pytest.mark.parametrize("raw", [b"\xff\xfe{", b"", b"[1,2", b"{}"])
def test_what_cannot_be_read_is_kept_raw_and_the_next_task_runs(made: Made, raw: bytes) -> None:
    """C29."""
    q = made()
    q.push("body", raw)
    q.submit("note")

    assert q.pod().ended() == 0

    (letter,) = q.queue.dead_letters()
    assert (letter.reason, letter.body) == ("unreadable", raw) and q.state() == "done"


def test_flat_fields_run(made: Made) -> None:
    q = made()
    if q.queue.declaration.mode == "list":
        q.push('{"type":"note","payload":{"n":1}}')
    else:
        q.push("task_type", "note", "payload", '{"n":1}')

    q.pod().ended()

    assert len(q.notes("ran")) == 1 and q.queue.measure().counts["done"] == 1


def test_an_unknown_type_waits_for_a_worker_that_knows_it(made: Made) -> None:
    q = made(unknown_type_grace_s=1.0)
    q.submit("not.yet", task_id="new")
    q.submit("versioned", task_id="v3", version=3)
    q.submit("versioned", task_id="v2", version=2)

    assert q.pod().ended() == 0

    assert (q.state("new"), q.state("v3"), q.state("v2")) == ("delayed", "delayed", "done")
    facts = q.queue.look("new")
    assert facts and facts.counters.attempt == 1 and "not.yet" in q.attempts("new")[0]["detail"]


def test_an_unknown_type_is_buried_after_its_grace(made: Made) -> None:
    q = made(unknown_type_grace_s=0.0)
    q.submit("never")

    q.pod().ended()
    q.queue.promote()
    q.pod().ended()

    (letter,) = q.queue.dead_letters()
    assert letter.reason == "unknown_type" and "never" in letter.detail


def test_a_bare_push_in_the_wrong_mode_fails_in_redis(made: Made) -> None:
    q = made()
    wrong = ("LPUSH", "emails", "{}") if q.queue.declaration.mode == "stream" else ("XADD", "emails", "*", "type", "note")

    if q.queue.declaration.mode == "list":
        q.submit("note")

    with pytest.raises(Exception, match="WRONGTYPE"):
        q.client.execute_command(*wrong)
