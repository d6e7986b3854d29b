"""What the demo submits: three thumbnails per photo, two of them with trouble, and one poison task. Called by __main__ and the story."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.pictures import first_readable, printable, titles

EDGES_PX = {"small": 128, "medium": 256, "large": 512}
FAILS = 2
SLOW_S = 20.0
"""How long the task to be killed waits at its first start; a heartbeat, after a second, shows it half done long before."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One task to submit. `role` is what it is there to show: thumbnail, flaky, killed, poison or sheet."""

    type: str
    label: str
    role: str
    payload: dict[str, Any]
    priority: str = "normal"


def planned(photos: list[Path], out: Path) -> list[Planned]:
    """All tasks but the contact sheet, which needs their results."""
    first, names = first_readable(photos), titles(photos)
    return [*(_thumbnail(photo, names[photo], size, out, first) for photo in photos for size in EDGES_PX), _poison()]


def contact_sheet(tiles: list[tuple[str, str]], out: Path) -> Planned:
    """The sheet of all pictures that came to be; `tiles` are file and caption."""
    payload = {"tiles": [{"file": file, "caption": caption} for file, caption in tiles], "target": str(out / "contact-sheet.jpg")}
    return Planned("image.sheet", "contact sheet", "sheet", payload)


def _thumbnail(photo: Path, name: str, size: str, out: Path, first: Path) -> Planned:
    payload: dict[str, Any] = {"photo": str(photo), "edge_px": EDGES_PX[size], "target": str(out / f"{name}-{size}.jpg")}
    role = {"small": "flaky", "large": "killed"}.get(size, "thumbnail") if photo == first else "thumbnail"
    if role == "flaky":
        payload["fails"] = FAILS
    if role == "killed":
        payload["slow_s"] = SLOW_S
    return Planned("image.thumbnail", f"{printable(name)}, {size}", role, payload, "normal" if role == "thumbnail" else "high")


def _poison() -> Planned:
    return Planned("demo.poison", "always crashes", "poison", {}, "high")
