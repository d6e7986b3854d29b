"""The live screen: what it shows of two looks, and that a real terminal is as it was when it ends."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rich.console import Console

from runner.broker import Measures, Queue
from runner.cli.lengths import Lengths
from runner.cli.screen import Look, rows, screen
from runner.queue import Declaration
from tests.controller.town import NOW_S, job, pending, pod, scaled, seen
from tests.making import submit

NOW_MS = int(NOW_S * 1000)
PASS = {"at_ms": str(NOW_MS - 3000)}


def measures(at_ms: int = NOW_MS, waiting: int = 0, dead: int = 0, **counts: int) -> Measures:
    return Measures(at_ms, waiting, 0, 0, 0, dead, 0, -1, -1, {}, counts, {})


def look(at_ms: int = NOW_MS, broken: dict[str, str] | None = None, pods: Any = None, failed: str = "", **queues: Measures) -> Look:
    measured = [(Declaration(name), one) for name, one in queues.items()]
    return Look(at_ms, Lengths(measured, broken or {}), PASS, {}, pods, failed=failed)


def shown(before: Look, now: Look, width: int = 80, height: int = 24) -> list[str]:
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as lines:
        console.print(screen(before, now, 2, console.size))
    return lines.get().splitlines()


def test_rates_are_counted_between_two_looks() -> None:
    before = look(NOW_MS - 2000, emails=measures(NOW_MS - 2000, waiting=5, done=100, buried=1))
    now = look(emails=measures(waiting=7, dead=3, done=110, buried=4), fresh=measures())

    emails, fresh = rows(before, now)

    assert (emails["in/s"], emails["done/s"], emails["dead/s"]) == ("7.5", "5.0", "1.5")
    assert (fresh["in/s"], rows(now, now)[0]["done/s"]) == ("-", "-")


def test_a_screen_is_never_larger_than_the_terminal() -> None:
    many = {f"queue-{n:02}": measures(waiting=n) for n in range(60)}
    now = look(broken={f"b{n}": f"queue 'b{n}': Redis refused: WRONGTYPE {'x' * 200}" for n in range(30)}, **many)

    for width, height in ((80, 24), (160, 50), (40, 10)):
        lines = shown(now, now, width, height)
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
    lines = shown(now, now)
    assert any("queue-59" in line for line in lines)
    assert any("more queues" in line for line in lines)


def test_pods_take_the_place_of_less_important_numbers_where_it_is_narrow() -> None:
    pods = seen(scaled(), job(1), pod(1), job(2), pending(2), job(3), pending(3))
    now = look(emails=measures(waiting=2), pods=pods)

    narrow, wide = shown(now, now)[2].split(), shown(now, now, 120)[2].split()

    assert "delayed" not in narrow and narrow[-2:] == ["running", "pending"]
    assert "delayed" in wide and wide[-2:] == ["running", "pending"]
    assert shown(now, now)[3].split()[-2:] == ["1", "2"]


def test_queues_without_pods_to_come_are_told_in_one_sentence() -> None:
    now = look(emails=measures(), photos=measures(), images=measures(), pods=seen(scaled()))

    told = next(line for line in shown(now, now, 160) if "ScaledJob" in line)
    assert told.startswith("queues photos, images have no ScaledJob here")


def test_a_redis_that_went_away_is_told_in_the_screen() -> None:
    now = look(emails=measures(), failed="Redis at here refused the connection: nothing listens there")

    assert any("refused the connection" in line for line in shown(now, now, 120))


class Terminal:
    """A command in a terminal of 80 by 24."""

    def __init__(self, *args: str, **env: str) -> None:
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.as_it_was = termios.tcgetattr(self.slave)
        command = [sys.executable, "-m", "runner.cli", *args]
        place: dict[str, Any] = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave}
        self.process = subprocess.Popen(command, env={**os.environ, "TERM": "xterm-256color", **env}, **place)
        self.text = ""

    def await_text(self, words: str, within_s: float = 20) -> str:
        deadline_s = time.monotonic() + within_s
        while words not in self.text:
            assert time.monotonic() < deadline_s, f"{words!r} is not in {self.text!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode()
        return self.text

    def ended(self) -> int:
        """Its exit code, once the terminal is as it was."""
        code = self.process.wait(20)
        assert termios.tcgetattr(self.slave) == self.as_it_was
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(queue: Queue) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*args: str, **env: str) -> Terminal:
        opened.append(Terminal(*args, **env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.mark.parametrize("mode", ["stream"])
def test_a_live_screen_follows_the_queue_until_q(queue: Queue, terminal: Callable[..., Terminal]) -> None:
    screen = terminal("status", "--watch", "--every", "0.2")
    screen.await_text("emails")
    for n in range(37):
        submit(queue, f"t{n}")

    screen.await_text("37")
    os.write(screen.master, b"q")

    assert screen.ended() == 0
    screen.await_text("\x1b[?1049l")


@pytest.mark.parametrize("mode", ["stream"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_terminal_as_it_was(terminal: Callable[..., Terminal], number: signal.Signals) -> None:
    screen = terminal("status", "--watch")
    screen.await_text("emails")

    screen.process.send_signal(number)

    assert screen.ended() == 0
    assert "Traceback" not in screen.text


@pytest.mark.parametrize("mode", ["stream"])
def test_colours_are_for_terminals_and_can_be_turned_off(
    queue: Queue, terminal: Callable[..., Terminal], said: Callable[..., tuple[int, str, str]]
) -> None:
    queue.client.xadd(queue.keys.part("dead"), {"id": "x"})

    coloured, plain = terminal("status"), terminal("status", NO_COLOR="1")

    assert "\x1b[31m" in coloured.await_text("Controller")
    assert "\x1b[3" not in plain.await_text("Controller")
    assert "\x1b" not in said("status")[1]


@pytest.mark.parametrize("mode", ["stream"])
def test_a_live_screen_without_a_terminal_is_refused(queue: Queue, said: Callable[..., tuple[int, str, str]]) -> None:
    assert said("status", "--watch") == (2, "", "runner: --watch needs a terminal; a script asks `runner status --json` again and again\n")
