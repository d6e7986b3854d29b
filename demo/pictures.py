"""Finds the photographs to work on. Called by the demo's plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from PIL import Image

SHIPPED = Path(__file__).parent / "photos"
ENDINGS = {".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}


class NoPhotosError(Exception):
    """There is nothing to work on, or nowhere to put it; one line says why."""


def found(folder: Path) -> list[Path]:
    """The folder's own images by name, those in folders below not; NoPhotosError if none can be read."""
    if not folder.is_dir():
        raise NoPhotosError(f"{folder} is no folder: name one that holds images")
    photos = sorted(path.resolve() for path in folder.iterdir() if path.suffix.lower() in ENDINGS and path.is_file())
    if not photos:
        raise NoPhotosError(f"{folder} holds no image: looked for {', '.join(sorted(ENDINGS))}")
    return photos


def first_readable(photos: list[Path]) -> Path:
    """The one whose tasks are given trouble: with a broken image nobody could tell one trouble from the other."""
    for photo in photos:
        if _readable(photo):
            return photo
    raise NoPhotosError(f"none of the {len(photos)} images in {photos[0].parent} can be read as a picture")


def _readable(photo: Path) -> bool:
    try:
        with Image.open(photo) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False
    return True


def printable(name: str) -> str:
    """A file's name may hold bytes that are no text."""
    return name.encode("utf-8", "replace").decode()


def titles(photos: list[Path]) -> dict[Path, str]:
    """What each photo's thumbnails are named after: its name, with the ending where two differ in nothing else."""
    stems = Counter(photo.stem.lower() for photo in photos)
    return {photo: photo.stem if stems[photo.stem.lower()] == 1 else photo.name for photo in photos}
