"""docs/pictures/*.svg: what `runner dev`, `runner status` and `runner inspect` show after a small real run. Run by `make pictures`."""

from __future__ import annotations

import re
import signal
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from pages.terminal import Terminal
from runner.producer import Producer

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
COLUMNS = 116
HANDLERS = """\
import runner

@runner.task("image.resize")
def resize(payload, context):
    if payload["width"] > 10_000:
        raise runner.Fatal("nobody needs an image that wide")
    if context.attempt == 1 and payload.get("store") == "away":
        raise runner.Retry("the photo store did not answer", after_s=1)
    return {"file": payload["file"], "width": payload["width"]}
"""
TASKS = (
    {"file": "a.jpg", "width": 640},
    {"file": "b.jpg", "width": 64_000},
    {"file": "c.jpg", "width": 320, "store": "away"},
)
RUNNER = [sys.executable, "-m", "runner.cli"]
# A picture that asks a font server would show nothing in a README.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "font-family: Fira Code, monospace", "font-family: ui-monospace, Menlo, Consolas, monospace"
)


def main() -> None:
    """One run, three pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "resize.py").write_text(HANDLERS)
        with Terminal([*RUNNER, "dev", "resize", "--queue", "images", "--queue", "emails"], folder, COLUMNS) as dev:
            found = dev.until(r"RUNNER_REDIS_URL=(redis://[\d.:/]+)")
            dev.until("handlers ready")
            last = _submit(found[1])
            dev.until(f"{last}.*done")
            _picture("status", ["status"], folder, found[1])
            _picture("inspect", ["inspect", last], folder, found[1])
            dev.signal(signal.SIGINT)
            _write("dev", "runner dev resize --queue images --queue emails", dev.rest())


def _submit(url: str) -> str:
    """A few tasks that end in different ways, and some for later; the id of the one that is tried twice."""
    with Producer(url) as producer:
        receipts = [producer.submit("image.resize", one, queue="images") for one in TASKS]
        for number in range(3):
            producer.submit("email.send", {"to": f"user{number}@example.org"}, queue="emails", delay_s=3600)
    return receipts[-1].id


def _picture(name: str, words: list[str], folder: Path, url: str) -> None:
    with Terminal([*RUNNER, "--redis-url", url, *words], folder, COLUMNS) as terminal:
        _write(name, " ".join(["runner", *words]), terminal.rest())


def _write(name: str, title: str, printed: str) -> None:
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text.from_ansi(printed.replace("\r", "").strip()))
    (FOLDER / f"{name}.svg").write_text(console.export_svg(title=title, theme=MONOKAI, code_format=FORMAT, unique_id=name))


if __name__ == "__main__":
    main()
