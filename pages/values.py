"""docs/values.md: every value of the chart, out of the prose and defaults of charts/runner/values.yaml. Called by pages.__main__."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "charts" / "runner" / "values.yaml"
KEY = re.compile(r"( *)([A-Za-z]\w*):(?: (.+))?")
PROSE = re.compile(r" *# ?(.*)")


@dataclass(frozen=True, slots=True)
class Value:
    """One key of the file: its full name, its default as it is written, and what stands above it."""

    path: str
    default: str
    said: str


def read(text: str) -> Iterator[Value]:
    """All keys in order; a comment belongs to the keys under it, and is given to the first."""
    above: list[str] = []
    folders: list[tuple[int, str]] = []
    for line in text.splitlines():
        if prose := PROSE.fullmatch(line):
            above.append(prose[1])
        elif key := KEY.match(line):
            depth = len(key[1])
            folders = [*(one for one in folders if one[0] < depth), (depth, key[2])]
            yield Value(".".join(name for _, name in folders), key[3] or "", " ".join(one for one in above if one[:1].strip()))
            above = []
        else:
            above = above if line.startswith(" ") else []


def document() -> Iterator[str]:
    """The lines of the page."""
    yield from ("# Values of the chart", "", "Written by `make pages` from `charts/runner/values.yaml`, which `helm show values` prints.")
    yield "A value without a text belongs to the one above it. A misspelt one fails the install, and is named."
    table = ("", "| value | default | meaning |", "|---|---|---|")
    section = ""
    for one in read(SOURCE.read_text(encoding="utf-8")):
        top = one.path.partition(".")[0]
        if top != section:
            yield from ("", f"## {top}", *table)
            section = top
        yield f"| `{one.path}` | {_default(one.default)} | {one.said.replace('|', chr(92) + '|')} |"


def _default(text: str) -> str:
    return "" if not text else "(empty)" if text in ('""', "{}", "[]") else f"`{text}`"
