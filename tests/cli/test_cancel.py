"""What cancel answers, and ids and queue names that no bytes can say: one sentence, with the exit code that fits."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runner.broker import Queue
from runner.errors import ConfigError, RefusedError
from runner.producer import Producer
from tests.making import bury, claim, submit

Say = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.parametrize("mode", ["stream"])


def test_what_cannot_be_cancelled_is_a_sentence_and_exit_code_1(queue: Queue, said: Say) -> None:
    submit(queue, "dead")
    claim(queue)
    bury(queue, "dead", "t1")
    submit(queue, "done")
    claim(queue, "t2")
    queue.complete("done", "t2", b"", b"")

    assert said("cancel", "nobody") == (1, "", "runner: no queue knows task 'nobody': nothing was cancelled\n")
    assert said("cancel", "done") == (1, "", "runner: task 'done' cannot be cancelled: it is done\n")
    assert "`runner dead purge dead` drops its dead letter" in said("cancel", "dead")[2]
    code, out, err = said("cancel", "done", "--json")
    assert (code, json.loads(out), err) == (1, {"id": "done", "answer": "done"}, "")


def test_a_running_task_is_said_to_end_through_its_worker(queue: Queue, said: Say) -> None:
    submit(queue, "a")
    claim(queue)

    assert said("cancel", "a") == (0, "a cancelling: it runs, and its worker ends it within a heartbeat\n", "")


HALF = "\ud800"


def test_half_a_surrogate_pair_is_refused_wherever_an_id_is_asked_for(queue: Queue, url: str, said: Say) -> None:
    with Producer(url) as producer:
        for call in (producer.cancel, producer.find, producer.rerun, lambda name: producer.wait(name, 1)):
            with pytest.raises(RefusedError, match="half a surrogate pair"):
                call(HALF)
        with pytest.raises(ConfigError, match="a name has letters"):
            producer.submit("a", queue=HALF)

    for command in ("cancel", "inspect", "rerun", "logs"):
        code, out, err = said(command, HALF)
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert said("status", "-q", "\udcff")[0] == 2
