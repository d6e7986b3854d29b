"""Long lists, printed as they are read, in the memory of one page. Called by dead."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from runner.cli.common import unwrapped
from runner.cli.output import harmless, say_table

Item = TypeVar("Item")
PAGE = 200


def batched(items: Iterable[Item], size: int = PAGE) -> Iterator[list[Item]]:
    """The items, so many at a time."""
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page


def say_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table. Further pages are tables of their own on a terminal; in a pipe they go on below the first, as wide as that."""
    pages = batched(rows)
    first = next(pages, [])
    say_table(columns, first)
    if sys.stdout.isatty():
        for page in pages:
            say_table(columns, page)
        return
    widths = [max(len(_cell(one)) for one in column) for column in zip(columns, *first, strict=True)]
    for row in chain.from_iterable(pages):
        print("  ".join(_cell(one).ljust(width) for one, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    return harmless(str(unwrapped(value)).replace("\n", " "))


def say_values(values: Iterable[Any]) -> None:
    """A JSON array, a value in each line."""
    comma = "["
    for value in values:
        print(comma, json.dumps(unwrapped(value), ensure_ascii=False), sep="\n" if comma == "[" else "", end="")
        comma = ",\n"
    print("[]" if comma == "[" else "\n]")
