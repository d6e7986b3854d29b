"""The handlers of the demo: thumbnail, contact sheet, and one that always crashes. Imported by the workers' children (RUNNER_HANDLERS)."""

from __future__ import annotations

import math
import os
import signal
import time
import unicodedata
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont, ImageOps

import runner

UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)
"""What Pillow raises for a file that is no picture, or a broken one."""
TILE_PX, MARGIN_PX, CAPTION_PX, SQUARE = 256, 16, 14, "#eeeeee"


@runner.task("image.thumbnail")
def thumbnail(payload: dict[str, Any], context: runner.Context) -> dict[str, Any]:
    """One picture, its longer edge `edge_px` at most, written to `target`."""
    _have_trouble(payload, context)
    return _written(_shrunk(Path(payload["photo"]), payload["edge_px"]), Path(payload["target"]))


@runner.task("image.sheet")
def contact_sheet(payload: dict[str, Any]) -> dict[str, Any]:
    """All pictures of `tiles` on one sheet, each with its caption."""
    tiles = payload["tiles"]
    columns = math.ceil(math.sqrt(len(tiles)))
    step_x, step_y = TILE_PX + MARGIN_PX, TILE_PX + MARGIN_PX + CAPTION_PX + MARGIN_PX // 2
    rows = math.ceil(len(tiles) / columns)
    sheet = Image.new("RGB", (columns * step_x + MARGIN_PX, rows * step_y + MARGIN_PX), "white")
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        _put(sheet, tile, MARGIN_PX + column * step_x, MARGIN_PX + row * step_y)
    return _written(sheet, Path(payload["target"]))


@runner.task("demo.poison")
def poison(_payload: Any) -> None:
    """Ends its process at every start, as a bug in a C library would."""
    os.kill(os.getpid(), signal.SIGSEGV)


def _have_trouble(payload: dict[str, Any], context: runner.Context) -> None:
    """What the demo asked for: raise at the first starts, or be slow at the very first, so that there is time to be killed."""
    if context.attempt <= payload.get("fails", 0):
        raise ConnectionError("the photo store did not answer")
    if context.attempt == 1 and payload.get("slow_s"):
        context.progress(0.5, "half done")
        time.sleep(payload["slow_s"])


def _shrunk(photo: Path, edge_px: int) -> Image.Image:
    try:
        with Image.open(photo) as image:
            image.draft("RGB", (edge_px, edge_px))  # a large JPEG need not be decoded in full
            upright = ImageOps.exif_transpose(image)
            upright.thumbnail((edge_px, edge_px))
            return _on_white(upright)
    except UNREADABLE as error:
        raise runner.Fatal(f"{photo.name} cannot be read as a picture ({type(error).__name__})") from error


def _on_white(image: Image.Image) -> Image.Image:
    """JPEG has no transparency."""
    layer = image.convert("RGBA")
    white = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(white, layer).convert("RGB")


def _put(sheet: Image.Image, tile: dict[str, str], x: int, y: int) -> None:
    """One picture in the middle of its grey square, the caption below."""
    pen, font, middle_x = ImageDraw.Draw(sheet), ImageFont.load_default(CAPTION_PX), x + TILE_PX // 2
    pen.rectangle((x, y, x + TILE_PX, y + TILE_PX), fill=SQUARE)
    with Image.open(tile["file"]) as image:
        image.thumbnail((TILE_PX, TILE_PX))
        sheet.paste(image, (middle_x - image.width // 2, y + (TILE_PX - image.height) // 2))
    # The only font that is sure to be there, Pillow's own, draws boxes for all that is not ASCII.
    caption = unicodedata.normalize("NFKD", tile["caption"]).encode("ascii", "ignore").decode() or "?"
    while len(caption) > 3 and pen.textlength(caption, font) > TILE_PX:
        caption = caption[:-4] + "..."
    pen.text((middle_x, y + TILE_PX + MARGIN_PX // 4), caption, fill="black", font=font, anchor="ma")


def _written(image: Image.Image, target: Path) -> dict[str, Any]:
    """Written beside and renamed: a task may run twice, and nobody is to see half a picture."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    image.save(beside, "JPEG", quality=88)
    beside.replace(target)
    return {"file": str(target), "width_px": image.width, "height_px": image.height}
