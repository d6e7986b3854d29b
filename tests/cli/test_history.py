"""Done tasks that are kept, at the command line: listed, shown, run again. Called by pytest."""

from __future__ import annotations

import json

from runner.broker import Queue
from tests.cli.conftest import Say
from tests.making import done, keeps

BODY = b'{"type":"image.resize","payload":{"width":640}}'


def test_a_done_task_that_is_kept_is_listed_and_runs_again_under_a_new_id(queue: Queue, said: Say) -> None:
    keeps(queue, 1000)
    done(queue, "a", "b", body=BODY)

    listed = json.loads(said("history", "--json")[1])
    code, out, _ = said("rerun", "a", "--json")

    made = json.loads(out)
    assert [(one["id"], one["type"], one["bytes"]) for one in listed] == [("b", "image.resize", 47), ("a", "image.resize", 47)]
    assert (code, made["state"], made["after"]) == (0, "waiting", "done a")
    again = json.loads(said("inspect", made["id"], "--json")[1])
    assert (again["body"], again["attempts"]) == (BODY.decode(), [{"kind": "rerun", "of": "a"}])
    assert [line.split()[:4] for line in said("history", "--max", "1")[1].splitlines()[1:]] == [["emails", "b", "image.resize", "47"]]


def test_where_no_queue_keeps_done_tasks_it_is_said_how_to(queue: Queue, said: Say) -> None:
    done(queue, "a")

    assert said("history")[1] == "no queue keeps done tasks: runner queue declare NAME --history-bytes 100000000\n"
    code, _, complained = said("rerun", "a")
    assert (code, "task 'a' is done and its body is not kept" in complained, "history_bytes" in complained) == (2, True, True)
