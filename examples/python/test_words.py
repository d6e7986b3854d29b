"""How a project tests its handlers: `pytest examples/python`, with `pip install 'runner[testing]'`."""

from __future__ import annotations

from collections.abc import Callable

import words  # its handlers are registered by this

from runner import Producer
from runner.testing import RunAll, RunNext


def test_the_words_of_a_text_are_counted(runner_queue: Callable[..., str], runner_producer: Producer, run_next: RunNext) -> None:
    runner_queue("words")
    runner_producer.submit("words.count", {"text": "a b A"}, queue="words")

    ran = run_next()

    assert ran is not None
    assert (ran.state, ran.result) == ("done", {"a": 2, "b": 1})
    assert run_next() is None


def test_a_task_without_a_text_is_tried_again_and_then_dead(
    runner_queue: Callable[..., str], runner_producer: Producer, run_all: RunAll
) -> None:
    runner_queue("words", max_retries=1)
    runner_producer.submit("words.count", {}, queue="words")

    first, second = run_all()

    assert (first.attempt, first.state, first.error) == (1, "waiting", "KeyError: 'text'")
    assert (second.attempt, second.state) == (2, "dead")


def test_a_handler_is_a_function() -> None:
    assert words.count({"text": "x"}) == {"x": 1}


def test_the_same_in_a_worker_process(runner_queue: Callable[..., str], runner_producer: Producer, run_next: RunNext) -> None:
    """As in a pod: its own process, the modules found by name, the timeout kept."""
    runner_queue("words")
    runner_producer.submit("words.count", {"text": "a"}, queue="words")

    ran = run_next("words", handlers="words")

    assert ran is not None
    assert ran.result == {"a": 1}
