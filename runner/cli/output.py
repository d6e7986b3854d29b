"""Tables for people, JSON for scripts. Called by the modules of cli; rich is imported only for a table.

Colours are rich's: none where output is no terminal, or NO_COLOR is set.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.cli.common import unwrapped
from runner.masking import harmless

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["harmless", "say", "say_json", "say_table", "table", "terminal_width"]

NUMBERS = (
    *("waiting", "delayed", "claimed", "expired", "dead", "attempts", "rev", "attempt", "wall_s", "cpu_s", "peak_kib", "runs", "failed"),
    *("running", "pending", "stuck", "suspended", "in/s", "done/s", "dead/s", "oldest wait", "oldest", "after"),
    *("per s", "p50 ms", "p99 ms", "max ms", "tasks", "lease_s", "timeout_s", "max_retries", "max_length"),
)
ALARMING = {"dead": "red", "stuck": "red", "expired": "yellow", "suspended": "yellow", "dead/s": "red", "failed": "yellow"}
"""Columns of numbers in which anything but 0 is news."""
WORDS = {
    **dict.fromkeys(("done", "True", "ok", "cancelled"), "green"),
    **dict.fromkeys(("claimed", "waiting", "delayed", "released"), "cyan"),
    **dict.fromkeys(("dead", "False", "error", "crash", "oom", "lost", "fatal", "timeout", "unreadable", "unknown_type"), "red"),
    **dict.fromkeys(("paused", "expired", "retry", "Unknown"), "yellow"),
}
WORD_COLUMNS = ("state", "kind", "reason", "ready")
PROSE = ("detail", "what", "value", "last event", "dead by reason", "reasons", "said", "priorities", "advice")
PIPE_WIDTH = 1000
SHORT = 40
"""Characters; a longer id or name may be cut in two all the same."""
NOTHING = ("0", "-", "0.0")


def say_json(value: Any) -> None:
    """One JSON value, indented."""
    print(json.dumps(unwrapped(value), indent=2, ensure_ascii=False))


def say_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table; what is piped elsewhere is never cut to a terminal's width."""
    from rich.console import Console

    console = Console(width=terminal_width(), highlight=False)
    with console.capture() as lines:  # rich would end the process itself when the reader of a pipe is gone
        console.print(table(columns, rows))
    print(lines.get(), end="")


def say(line: str) -> None:
    """A sentence, broken between words where a terminal is narrower."""
    print(textwrap.fill(harmless(line).replace("\n", " "), terminal_width(), break_long_words=False, break_on_hyphens=False))


def terminal_width() -> int:
    """Columns there are for a line; plenty where it goes into a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """The table itself. Where it is too wide, prose goes on in the next line first: an id that is cut in two cannot be copied."""
    from rich.table import Table
    from rich.text import Text

    cells = [[harmless(str(unwrapped(value)).replace("\n", " ")) for value in row] for row in rows]
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        whole = name not in PROSE and all(len(row[number]) <= SHORT for row in cells)
        made.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold", no_wrap=whole)
    for row in cells:
        made.add_row(*[Text(said, style=_style(name, said)) for name, said in zip(columns, row, strict=True)])
    return made


def _style(column: str, said: str) -> str:
    if column in WORD_COLUMNS:
        return WORDS.get(said, "")
    if said in NOTHING:
        return "dim"
    if column == "what":
        return "red" if ": failed: " in said or said.startswith("dead: ") else "green" if ": done" in said else ""
    return ALARMING.get(column, "")
