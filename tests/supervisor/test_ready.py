"""From the fork to ready, or to one clear line. Called by pytest."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from runner.errors import HandlersError, StoppedError
from runner.outcome import Kind
from tests.supervisor.children import ORDINARY, gone, watched
from tests.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
RAISING = "tests.supervisor.handlers_raising"


def test_a_ready_child_tells_its_types_and_versions() -> None:
    with watched(ORDINARY) as one:
        one.supervisor.start()

        known = one.supervisor.await_ready()

        assert known.types["sum"] is None
        assert known.types["versioned"] == (1, 2, 3)
        assert known.types["runner.echo"] is None
        assert [known.knows("versioned", v) for v in (None, 3, 4)] == [True, True, False]
        assert known.knows("sum", 9)
        assert not known.knows("unheard", None)
        assert one.supervisor.waits()


@pytest.mark.parametrize(
    ("modules", "line"),
    [
        (("no_such_module",), "handlers module 'no_such_module': ModuleNotFoundError: No module named 'no_such_module'"),
        ((RAISING,), f"handlers module '{RAISING}': ConnectionError: no answer ("),
        (("tests.supervisor.handlers_exiting",), "handlers module 'tests.supervisor.handlers_exiting': SystemExit: 0 ("),
        ((ORDINARY, "tests.supervisor.handlers_doubled"), "task 'sum' has two handlers, the first in module"),
        (("tests.supervisor.handlers_forging",), "the child's reply makes no sense"),
        (("tests.supervisor.handlers_dying",), "ended before its handlers were ready, killed by SIGKILL; it printed last: about to die"),
    ],
)
def test_handlers_that_cannot_be_loaded_are_one_clear_line(modules: tuple[str, ...], line: str) -> None:
    with watched(*modules) as one:
        one.supervisor.start()

        with pytest.raises(HandlersError) as raised:
            one.supervisor.await_ready()

        assert line in str(raised.value)
        assert "\n" not in str(raised.value)


def test_the_line_names_the_innermost_place_of_the_users() -> None:
    with watched(RAISING) as one:
        one.supervisor.start()

        with pytest.raises(HandlersError, match=r"handlers_raising\.py:7\)"):
            one.supervisor.await_ready()


def test_a_syntax_error_names_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crooked.py").write_text("x = 1\ndef\n")
    monkeypatch.chdir(tmp_path)
    with watched("crooked") as one:
        one.supervisor.start()

        with pytest.raises(HandlersError, match=r"SyntaxError: invalid syntax \(crooked\.py, line 2\)"):
            one.supervisor.await_ready()


def test_handlers_that_are_never_ready_are_given_up() -> None:
    with watched("tests.supervisor.handlers_waiting", start_s=0.5) as one:
        one.supervisor.start()

        with pytest.raises(HandlersError, match=r"not ready within 0\.5 s; it printed last: waiting for a licence"):
            one.supervisor.await_ready()


def test_a_stop_before_ready_ends_the_child_at_once() -> None:
    with watched("tests.supervisor.handlers_waiting") as one:
        one.supervisor.start()
        one.once_printed(b"licence", lambda: one.supervisor.stop(Kind.RELEASED, "SIGTERM"))

        with pytest.raises(StoppedError):
            one.supervisor.await_ready()


def test_closing_ends_an_idle_child_at_once() -> None:
    with watched(ORDINARY) as one:
        one.supervisor.start()
        one.supervisor.await_ready()
        pid = one.supervisor._running().pid

        one.supervisor.close()

        assert gone(pid)


def test_a_child_that_died_idle_is_seen_and_its_task_released() -> None:
    with watched(ORDINARY) as one:
        one.supervisor.start()
        one.supervisor.await_ready()
        os.kill(one.supervisor._running().pid, signal.SIGKILL)
        until(lambda: not one.supervisor.waits())

        ending = one.supervisor.run({"id": "1", "type": "sum"}, b'{"type":"sum"}', 5)

        assert ending.kind is Kind.RELEASED
        assert "before it got the task" in ending.detail


def test_without_modules_the_built_ins_are_there() -> None:
    """Beside what this process registered before the fork, as tests of handlers do."""
    with watched() as one:
        one.supervisor._handlers = ()
        one.supervisor.start()

        assert set(one.supervisor.await_ready().types) >= {"runner.echo", "runner.sleep"}
