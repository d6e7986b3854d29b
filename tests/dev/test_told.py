"""What `runner dev` shows on a terminal: one line per event, nothing that steers the terminal. Called by pytest."""

from __future__ import annotations

import io
import json
import re
from typing import Any

from rich.console import Console

from runner.dev.told import Told

TIME = re.compile(r"^\d\d:\d\d:\d\d ")


def told(*records: dict[str, Any] | bytes) -> tuple[list[str], list[str]]:
    """The lines without their times, and the queues that were held."""
    screen, held = io.StringIO(), list[str]()
    teller = Told(Console(file=screen, force_terminal=True, no_color=True, color_system=None, width=200), held.append)
    for record in records:
        line = record if isinstance(record, bytes) else json.dumps({"ts": "2026", "level": "info"} | record).encode()
        teller.line("images", "worker-1", line)
    return [TIME.sub("", line).rstrip() for line in screen.getvalue().splitlines()], held


CLAIMED = {"event": "claimed", "id": "01ABCDEFGHIJKLMNOPQRSTUVWX", "type": "image.resize", "attempt": 1}
SETTLED = {"event": "settled", "task_id": CLAIMED["id"], "type": "image.resize", "wall_s": 0.5}


def test_a_task_is_a_line_for_its_start_its_output_and_its_end() -> None:
    lines, _ = told(CLAIMED, b"half way", SETTLED | {"kind": "done", "action": "complete"})

    assert lines == [
        "images image.resize 01ABCDEFGHIJKLMNOPQRSTUVWX started",
        "images QRSTUVWX │ half way",
        "images image.resize 01ABCDEFGHIJKLMNOPQRSTUVWX done in 0.50 s",
    ]


def test_what_went_wrong_has_its_reason_in_the_same_line() -> None:
    again = SETTLED | {"kind": "error", "action": "retry", "delay_ms": 5000, "detail": "ValueError: a\nb"}
    lines, _ = told(again, SETTLED | {"kind": "fatal", "action": "bury", "detail": "never"})

    assert lines == [
        "images image.resize 01ABCDEFGHIJKLMNOPQRSTUVWX again in 5 s after 0.50 s: ValueError: a b",
        "images image.resize 01ABCDEFGHIJKLMNOPQRSTUVWX dead (fatal) after 0.50 s: never",
    ]


def test_what_a_handler_prints_does_not_steer_the_terminal() -> None:
    lines, _ = told(CLAIMED, b"\x1b[2Jgone\xff [bold]x[/]")

    assert lines[1] == "images QRSTUVWX │ \\x1b[2Jgone\ufffd [bold]x[/]"


def test_a_pass_that_changed_nothing_is_not_shown() -> None:
    lines, _ = told({"event": "pass", "promoted": 0, "waiting": 3}, {"event": "pass", "promoted": 2, "reaped_retried": 1})

    assert lines == ["images controller: 2 promoted, 1 reaped retried"]


def test_a_worker_that_could_not_start_holds_its_queue() -> None:
    lines, held = told({"event": "failed", "level": "error", "kind": "HandlersError", "error": "no module named 'x'"})

    assert (lines, held) == (["images failed: no module named 'x'"], ["images"])
