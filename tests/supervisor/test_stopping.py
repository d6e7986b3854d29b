"""Timeouts and stops: whatever the child does, it ends in time, and its ending says why. Called by pytest."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from runner.errors import StoppedError
from runner.outcome import Kind
from tests.supervisor.children import ORDINARY, STUBBORN, Watched, gone, run, watched
from tests.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
SLACK_S = 0.25


def stopped(type: str, kind: Kind = Kind.RELEASED, *, module: str = ORDINARY, grace_s: float = 5.0, **more: Any) -> tuple[Any, Watched]:
    with watched(module, grace_s=grace_s) as one:
        one.once_printed(b"started", lambda: one.supervisor.stop(kind, "so it was ordered", **more))
        return one.run(type), one


def test_a_timeout_ends_an_ordinary_handler_at_once_and_its_finally_blocks_run() -> None:
    ending = run("waits", timeout_s=0.3, grace_s=20)

    assert (ending.kind, ending.detail) == (Kind.TIMEOUT, "ran longer than its timeout of 0.3 s")
    assert b"cleaned up" in ending.tail
    assert 0.3 <= ending.wall_s < 0.3 + 2
    assert ending.exit_code == 0


def test_the_tail_of_a_timeout_shows_where_the_handler_was() -> None:
    tail = run("waits", timeout_s=0.3).tail

    assert b"Traceback" in tail
    assert b", in wait" in tail


def test_a_timeout_reaches_a_handler_that_swallows_every_exception_class() -> None:
    ending = run("waits-swallowing-errors", timeout_s=0.3, grace_s=20)

    assert ending.kind is Kind.TIMEOUT
    assert ending.wall_s < 3


def test_an_async_handler_is_cancelled_and_cleans_up() -> None:
    ending = run("async-waits", timeout_s=0.3, grace_s=20)

    assert ending.kind is Kind.TIMEOUT
    assert b"cleaned up" in ending.tail
    assert ending.wall_s < 3


@pytest.mark.parametrize("type", ["swallows-everything", "ignores-sigterm", "sleeps-in-c", "holds-the-gil", "is-stopped"])
def test_a_handler_that_will_not_end_is_killed_after_the_grace(type: str) -> None:
    ending = run(type, module=STUBBORN, timeout_s=0.4, grace_s=0.5)

    assert ending.kind is Kind.TIMEOUT
    assert ending.wall_s < 0.4 + 0.5 + SLACK_S
    if type != "is-stopped":
        assert (ending.exit_code, ending.detail) == (-9, "ran longer than its timeout of 0.4 s, and was killed after a grace of 0.5 s")


def test_a_stopped_process_is_woken_to_hear_of_its_end() -> None:
    ending = run("is-stopped", module=STUBBORN, timeout_s=0.3, grace_s=20)

    assert ending.kind is Kind.TIMEOUT
    assert ending.wall_s < 3


def test_a_handler_that_prints_without_a_pause_is_timed_like_any_other() -> None:
    ending = run("prints-for-ever", timeout_s=0.3, grace_s=0.5)

    assert ending.kind is Kind.TIMEOUT
    assert ending.wall_s < 0.3 + 0.5 + SLACK_S


@pytest.mark.parametrize("kind", [Kind.RELEASED, Kind.CANCELLED, Kind.LOST])
def test_a_stop_gives_the_ending_its_kind(kind: Kind) -> None:
    ending, one = stopped("waits", kind)

    assert (ending.kind, ending.detail) == (kind, "so it was ordered")
    assert b"cleaned up" in one.printed


def test_the_built_in_sleep_wakes_at_a_stop() -> None:
    with watched(grace_s=20) as one:
        one.supervisor.start()
        one.supervisor.await_ready()
        one.helpers.append(_soon(lambda: one.supervisor.stop(Kind.RELEASED)))

        ending = one.supervisor.run({"id": "1", "type": "runner.sleep"}, b'{"type":"runner.sleep","payload":{"s":60}}', 60)

    assert ending.kind is Kind.RELEASED
    assert ending.wall_s < 5


def _soon(action: Callable[[], object], after_s: float = 0.2) -> threading.Thread:
    timer = threading.Timer(after_s, action)
    timer.start()
    return timer


def test_a_stop_by_a_signal_handler_reaches_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched() as one:
        before = signal.signal(signal.SIGUSR1, lambda *_: one.supervisor.stop(Kind.RELEASED, "SIGTERM"))
        one.once_printed(b"started", lambda: os.kill(os.getpid(), signal.SIGUSR1))

        ending = one.run("waits")

        signal.signal(signal.SIGUSR1, before)
    assert ending.kind is Kind.RELEASED


def test_the_child_is_gone_when_the_ending_is_there() -> None:
    ending, one = stopped("waits")

    assert ending.kind is Kind.RELEASED
    assert gone(one.pid_printed())


@pytest.mark.parametrize("type", ["watches", "finishes-when-stopped"])
def test_a_handler_that_finishes_after_a_stop_is_done(type: str) -> None:
    ending, _ = stopped(type)

    assert ending.kind is Kind.DONE
    assert ending.result in (b'"finished by itself"', b'"done all the same"')


def test_a_handler_that_finishes_within_the_grace_of_its_timeout_is_done() -> None:
    assert run("finishes-when-stopped", timeout_s=0.3).kind is Kind.DONE


def test_fatal_is_a_last_word_also_after_a_stop() -> None:
    ending, _ = stopped("fatal-when-stopped")

    assert (ending.kind, ending.detail) == (Kind.FATAL, "it will never fit")


def test_an_error_that_the_stop_caused_is_the_stops_and_burns_nothing() -> None:
    ending, _ = stopped("breaks-when-stopped")

    assert ending.kind is Kind.RELEASED


def test_the_first_stop_names_the_kind_and_a_later_one_shortens_the_grace() -> None:
    with watched(STUBBORN, grace_s=60) as one:
        one.once_printed(b"started", lambda: one.supervisor.stop(Kind.CANCELLED, "first"))
        one.once_printed(b"started", lambda: until(lambda: one.supervisor._stopping) and one.supervisor.stop(Kind.LOST, grace_s=0))

        ending = one.run("ignores-sigterm")

    assert (ending.kind, ending.detail) == (Kind.CANCELLED, "first")
    assert ending.wall_s < 5


def test_a_stop_before_the_task_is_handed_over_keeps_it_from_running() -> None:
    with watched() as one:
        one.supervisor.start()
        one.supervisor.await_ready()
        one.supervisor.stop(Kind.RELEASED, "SIGTERM")

        ending = one.supervisor.run({"id": "1", "type": "waits"}, b'{"type":"waits"}', 5)

    assert (ending.kind, ending.detail, bytes(one.printed)) == (Kind.RELEASED, "SIGTERM", b"")


def test_a_stop_after_the_end_changes_nothing() -> None:
    with watched() as one:
        ending = one.run("sum", [1])

        one.supervisor.stop(Kind.LOST)

    assert ending.kind is Kind.DONE


def test_a_sigterm_from_a_stranger_is_a_crash() -> None:
    with watched() as one:
        one.once_printed(b"started", lambda: os.kill(one.pid_printed(), signal.SIGTERM))

        ending = one.run("waits")

    assert (ending.kind, ending.detail) == (Kind.CRASH, "stopped by a SIGTERM that did not come from its supervisor")


def test_a_thread_that_the_handler_left_does_not_keep_the_child() -> None:
    ending = run("leaves-thread", module=STUBBORN)

    assert ending.kind is Kind.DONE
    assert ending.wall_s < 5


def test_a_grandchild_in_the_group_ends_with_the_child() -> None:
    ending = run("leaves-grandchild", module=STUBBORN)

    assert ending.kind is Kind.DONE
    assert ending.wall_s < 5
    until(lambda: gone(int(ending.result)))


def test_a_grandchild_that_left_the_group_and_talks_is_not_waited_for() -> None:
    ending = run("leaves-talker", module=STUBBORN)

    assert ending.kind is Kind.DONE
    assert ending.wall_s < 5
    until(lambda: gone(int(ending.result)))


def test_a_timeout_ends_the_whole_group() -> None:
    ending = run("waits-with-grandchild", module=STUBBORN, timeout_s=0.3)

    assert ending.kind is Kind.TIMEOUT
    until(lambda: gone(int(ending.tail.split(b"grandchild=")[1].split()[0])))


def test_a_kernel_without_pidfd_memfd_and_signal_driven_pipes_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((os, "pidfd_open"), (os, "memfd_create"), (fcntl, "F_SETSIG")):
        monkeypatch.delattr(module, name)

    assert run("sum", [1]).kind is Kind.DONE
    assert run("waits", timeout_s=0.3).kind is Kind.TIMEOUT


def test_a_parent_that_ignores_its_children_collects_this_one() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    ending = run("sum", [1])

    signal.signal(signal.SIGCHLD, before)
    assert (ending.kind, ending.exit_code) == (Kind.DONE, 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_stop_at_any_moment_leaves_the_task_done_or_released(seed: int) -> None:
    dice, kinds = Random(seed), set()
    for _ in range(12):
        with watched() as one:
            one.helpers.append(_soon(lambda: one.supervisor.stop(Kind.RELEASED), dice.uniform(0, 0.04)))
            try:
                kinds.add(one.run("sum", [1]).kind)
            except StoppedError:
                kinds.add(Kind.RELEASED)

    assert kinds <= {Kind.DONE, Kind.RELEASED}
