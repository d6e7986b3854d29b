"""`make demo` keeps what it promises, on the shipped photos and on a folder with a broken one, and says plainly when it cannot."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from demo.pictures import SHIPPED
from demo.plan import EDGES_PX
from tests.processes import still_alive
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]


def start(*options: str) -> subprocess.Popen[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")}
    command = [sys.executable, "-m", "demo", *options]
    return subprocess.Popen(command, cwd=ROOT, env=plain, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*options: str) -> tuple[int, str, str]:
    process = start(*options)
    said, complained = process.communicate(timeout=120)
    return process.returncode, said, complained


def longer_edge(picture: Path) -> int:
    with Image.open(picture) as image:
        return max(image.size)


def test_the_shipped_photos_become_thumbnails_and_a_sheet_through_all_troubles(tmp_path: Path) -> None:
    code, said, complained = run("--out", str(tmp_path), "--mode", "stream")

    assert (code, complained) == (0, ""), said
    sizes = {picture.name: longer_edge(picture) for picture in tmp_path.glob("*-*.jpg") if picture.name != "contact-sheet.jpg"}
    assert sizes == {f"{photo}-{size}.jpg": edge for photo in ("china", "flower") for size, edge in EDGES_PX.items()}
    assert longer_edge(tmp_path / "contact-sheet.jpg") > 2 * EDGES_PX["medium"]
    assert "killed with its child" in said
    assert "dead letters  1 (1 crash), buried 2, replayed 1" in said


@pytest.mark.slow
def test_a_broken_image_is_a_dead_letter_and_the_others_are_done(tmp_path: Path) -> None:
    images, out = tmp_path / "images", tmp_path / "out"
    images.mkdir()
    shutil.copy(SHIPPED / "flower.jpg", images / "flower [1].jpg")
    (images / "a broken one.jpg").write_bytes((SHIPPED / "china.jpg").read_bytes()[:9000])

    code, said, complained = run("--images", str(images), "--out", str(out), "--mode", "list")

    assert (code, complained) == (0, ""), said
    assert "4 (1 crash, 3 fatal)" in said
    assert "no pictures   a broken one.jpg" in said
    assert {picture.name for picture in out.glob("*.jpg")} == {"contact-sheet.jpg", *(f"flower [1]-{size}.jpg" for size in EDGES_PX)}


def test_a_folder_without_an_image_is_refused_in_one_line(tmp_path: Path) -> None:
    code, said, complained = run("--images", str(tmp_path), "--out", str(tmp_path / "out"))

    assert (code, said) == (2, "")
    assert complained.count("\n") == 1
    assert f"{tmp_path} holds no image" in complained


def test_what_did_not_happen_in_time_is_told_and_fails(tmp_path: Path) -> None:
    code, said, _ = run("--out", str(tmp_path), "--within", "0.5")

    assert code == 1
    assert "broken: after 0.5 s" in said
    assert "What became of each task" in said


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_every_process(tmp_path: Path, times: int) -> None:
    process = start("--out", str(tmp_path))
    until((tmp_path / "logs" / "worker-1.log").exists, within_s=20)

    for _ in range(times):
        process.send_signal(signal.SIGINT)
    _, complained = process.communicate(timeout=20)

    assert process.returncode == 130
    assert complained == "demo: stopped; server, controller and workers have ended\n"
    assert still_alive(str(tmp_path)) == []
