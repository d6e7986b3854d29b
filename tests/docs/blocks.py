"""The code blocks of a page: language, text, and the marks in the HTML comments above them. Called by the tests beside this file.

    <!-- needs: cluster -->   not run here, because it needs this; checked for syntax and names
    <!-- needs: an app -->    lines of a file of examples/, which has tests of its own
    <!-- exits: 1 -->         the exit code of its last command
    <!-- queues: a, b -->     queues that are declared before it runs
    <!-- workers: a -->       workers take this queue's tasks while it runs
    <!-- background: ready --> runs on while the page does, which goes on when it has printed this
    <!-- waits -->            the commands are repeated until they answer what is shown
    <!-- output -->           what the Python block before it prints
    <!-- unreadable -->       JSON that is no envelope

A comment that begins with `<!-- unseen` and goes over lines holds a shell block that sets the scene and is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = {"cluster", "docker", "make", "celery", "rq", "sidekiq", "node", "go", "java", "an app", "a server of yours"}
MARKS = {"needs", "exits", "queues", "workers", "background", "waits", "output", "unreadable"}
FENCE = re.compile(r"( *)(```+|~~~+)(.*)")
COMMENT = re.compile(r" *<!-- (\w+)(?:: (.+))? -->")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is where its fence stands."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """As an editor finds it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The name of a block that shows a file, which its first line tells; empty for any other."""
        told = re.fullmatch(r"(?:#|//) ([\w./-]+\.\w+|Dockerfile)", self.text.partition("\n")[0])
        return told[1] if told else ""

    def marked(self, name: str) -> list[str]:
        """The parts of a mark, none where it is not there."""
        return [part.strip() for part in self.marks.get(name, "").split(",") if part.strip()]


def read(page: Path) -> list[Block]:
    """All blocks of a page in order."""
    return list(_read(page, page.read_text(encoding="utf-8").splitlines()))


def _read(page: Path, lines: list[str]) -> Iterator[Block]:
    marks: dict[str, str] = {}
    inside: list[str] | None = None
    indent, end, info, at = "", "", "", 0
    for number, line in enumerate(lines, 1):
        fence = FENCE.fullmatch(line)
        if inside is not None:
            if line == end or (fence and fence[2] == end and not fence[3].strip()):
                yield Block(page, at, info, "".join(f"{one.removeprefix(indent)}\n" for one in inside), marks)
                inside, marks = None, {}
            else:
                inside.append(line)
        elif line == "<!-- unseen":
            indent, end, info, at, inside = "", "-->", "sh", number, []
        elif fence:
            indent, end, info, at, inside = fence[1], fence[2], fence[3].strip(), number, []
        elif comment := COMMENT.fullmatch(line):
            marks = {**marks, comment[1]: comment[2] or ""}
        elif line.strip():
            marks = {}


def prose(page: Path) -> str:
    """A page without its blocks and comments."""
    kept, inside = [], ""
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = FENCE.fullmatch(line)
        if fence and not inside:
            inside = fence[2]
        elif fence and fence[2] == inside and not fence[3].strip():
            inside = ""
        elif not inside and not COMMENT.fullmatch(line):
            kept.append(line)
    return "\n".join(kept)
