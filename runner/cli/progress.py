"""A bar on stderr while long work goes on, where stderr is a terminal. Called by the commands that may take long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def advancing(doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """What is called with how many more were done; `total` None is for an end that nobody knows."""
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(doing, total=total)
        yield lambda more: bars.advance(bar, more)
