"""Tables for people, JSON for scripts. Called by the modules of cli; rich is imported only for a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from runner.cli.common import unwrapped
from runner.masking import harmless

__all__ = ["harmless", "say_json", "say_table"]


def say_json(value: Any) -> None:
    """One JSON value, indented."""
    print(json.dumps(unwrapped(value), indent=2, ensure_ascii=False))


def say_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table; what is piped elsewhere is never cut to a terminal's width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(harmless(str(unwrapped(value)).replace("\n", " "))) for value in row])
    console = Console(width=None if sys.stdout.isatty() else 1000, highlight=False)
    with console.capture() as lines:  # rich would end the process itself when the reader of a pipe is gone
        console.print(table)
    print(lines.get(), end="")


NUMBERS = ("waiting", "delayed", "claimed", "expired", "dead", "attempts", "rev", "attempt", "wall_s", "cpu_s", "peak_kib", "runs")
