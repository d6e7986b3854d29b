"""A task's way as inspect tells it: in order, with what lay between, also where only parts of it are known."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runner.attempt import attempt_line, read_attempts
from runner.broker import Facts, Queue
from runner.cli.timeline import Event, made_ms, spans, timeline
from runner.outcome import Ending, Kind
from runner.producer.prepare import new_id
from runner.tasks import Counters
from tests.making import bury, claim, retry, submit

NOON = 1_800_000_000_000


def line(ending: Ending, number: int, started_ms: int, ended_ms: int) -> bytes:
    return attempt_line(ending, number=number, holder="pod-1/uid/node-a", started_ms=started_ms, ended_ms=ended_ms, task_type="mail.send")


FAILED = line(Ending(Kind.ERROR, "no route", wall_s=2, cpu_s=0.5, peak_kib=20480, exit_code=1), 1, NOON + 1000, NOON + 3000)


def told(facts: Facts, *lines: bytes, task_id: str = "206") -> list[str]:
    return [one.what for one in timeline(task_id, facts, read_attempts(b"\n".join(lines)))]


def test_attempts_stand_between_submit_and_end() -> None:
    done = line(Ending(Kind.DONE, wall_s=1, cpu_s=1, peak_kib=1024), 2, NOON + 9000, NOON + 10_000)
    facts = Facts("dead", Counters(errors=1), priority="high", first_ms=NOON, ended_ms=NOON + 11_000, reason="fatal", detail="gave up")

    assert told(facts, FAILED, done) == [
        "submitted, priority high",
        "attempt 1: claimed by pod-1 on node-a",
        "attempt 1: failed: error: no route (ran 2.00 s, CPU 0.50 s, 20 MiB; exit code 1)",
        "attempt 2: claimed by pod-1 on node-a",
        "attempt 2: done (ran 1.00 s, CPU 1.00 s, 1 MiB)",
        "dead: fatal: gave up",
    ]


def test_what_is_still_to_come_is_last() -> None:
    delayed = Facts("delayed", first_ms=NOON, due_ms=NOON + 60_000, expires_ms=NOON + 90_000)
    held = {"started_ms": NOON + 5, "holder": "pod-2", "progress": "0.500_half", "lease_until_ms": NOON + 9}
    running = Facts("claimed", first_ms=NOON, wish="cancel", **held)  # type: ignore[arg-type]

    assert told(delayed)[1:] == ["is due", "expires, unless it was started by then"]
    assert told(running, FAILED)[-4:] == [
        "attempt 1: claimed by pod-2, and runs",
        "progress: 0.500 half",
        "somebody wants it cancelled: its worker ends it at the next heartbeat",
        "its claim expires, unless its worker is heard before",
    ]


def test_replays_moves_and_dropped_attempts_are_told() -> None:
    replay, rerun = b'{"kind":"replay","by":"controller","at_ms":5}', b'{"kind":"rerun","of":"205"}'
    late = line(Ending(Kind.RELEASED, "evicted"), 4, NOON, NOON + 1)

    assert told(Facts("waiting", first_ms=NOON), replay, rerun)[1:] == ["replayed by controller", "run again as a new task of task 205"]
    assert told(Facts("waiting", first_ms=NOON), late)[1:2] == ["3 attempts of which nothing is kept any more"]
    assert "handed back, unburnt: evicted" in told(Facts("waiting", first_ms=NOON), late)[-1]


def test_a_done_task_tells_its_submit_by_an_id_that_was_made_here() -> None:
    assert made_ms(new_id(NOON)) == NOON
    assert [made_ms(name) for name in ("206", "Z" * 26, "x" * 26)] == [None, None, None]


def test_durations_are_counted_from_the_last_known_time() -> None:
    events = [Event(NOON, "a"), Event(None, "b"), Event(NOON + 1500, "c"), Event(NOON + 300_000, "d")]

    rows = spans(events, NOON + 2000)

    assert [row[1] for row in rows] == ["", "", "1.50 s", "5 min"]
    assert rows[1][0] == "-"
    assert str(rows[3][0]).endswith("(in 5 min)")


@pytest.mark.parametrize("mode", ["stream"])
def test_inspect_shows_type_and_timeline(queue: Queue, said: Callable[..., tuple[int, str, str]]) -> None:
    submit(queue, "206", b'{"type":"mail.send"}')
    claim(queue)
    retry(queue, "206", "t1", delay_ms=0, attempt=FAILED)
    assert json.loads(said("inspect", "206", "--json")[1])["type"] == "mail.send"
    claim(queue, "t2")
    bury(queue, "206", "t2")

    shown = said("inspect", "206")[1]
    known = json.loads(said("inspect", "206", "--json")[1])

    assert "failed: error: no route" in shown and "dead: fatal" in shown
    assert known["timeline"][0]["at_ms"] == known["first_ms"]
    assert [one["what"].split(",")[0].split(":")[0] for one in known["timeline"]] == ["submitted", "attempt 1", "attempt 1", "dead"]
