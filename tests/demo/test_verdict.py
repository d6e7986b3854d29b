"""The demo's verdict notices each promise that was broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from demo.plan import Planned
from demo.report import Row
from demo.story import Told
from demo.verdict import broken_promises
from runner.broker import Facts
from runner.tasks import Counters


def row(target: Path, role: str, kinds: str, workers: str, state: str = "done", reason: str | None = None, replays: int = 0) -> Row:
    facts = Facts(state, Counters(replays=replays), reason=reason)
    told = Told(Planned("image.thumbnail", role, role, {"target": str(target), "photo": "x.jpg"}), "some id", facts)
    return Row(told, state, tuple(kinds.split()), tuple(workers.split()), "", 0.1, 0.1, 20)


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, Row]:
    picture = tmp_path / "made.jpg"
    picture.touch()
    return {
        "flaky": row(picture, "flaky", "error error done", "w1 w2 w3"),
        "killed": row(picture, "killed", "lost done", "w4 w5"),
        "sheet": row(picture, "sheet", "done", "w6"),
        "unreadable": row(picture, "thumbnail", "fatal", "w7", "dead", "fatal"),
        "poison": row(picture, "poison", "crash crash", "w8 w9", "dead", "crash", replays=1),
    }


def said(rows: Sequence[Row], *, killed: str = "w4", passes_sat_out: int = 2, started: int = 9) -> list[str]:
    return broken_promises(rows, killed=killed, replay_max=1, passes_sat_out=passes_sat_out, started=started)


def test_all_went_as_promised_also_with_a_photo_that_cannot_be_read(rows: dict[str, Row]) -> None:
    assert said([*rows.values()]) == []


@pytest.mark.parametrize(
    ("role", "changed", "word"),
    [
        ("flaky", {"kinds": ("done",), "workers": ("w1",)}, "was to fail 2 times"),
        ("killed", {"kinds": ("done",), "workers": ("w5",)}, "was not done by another"),
        ("killed", {"kinds": ("lost", "done"), "workers": ("w4", "w4")}, "w4 ran 2 tasks"),
        ("sheet", {"state": "waiting"}, "sheet is waiting, not done"),
        ("poison", {"workers": ("w8", "w1")}, "w1 ran 2 tasks"),
    ],
)
def test_a_row_that_is_not_as_promised_is_named(rows: dict[str, Row], role: str, changed: dict[str, object], word: str) -> None:
    rows[role] = replace(rows[role], **changed)  # type: ignore[arg-type]

    assert word in " ".join(said([*rows.values()]))


def test_a_poison_task_that_is_replayed_twice_or_never_is_named(rows: dict[str, Row], tmp_path: Path) -> None:
    for replays in (0, 2):
        rows["poison"] = row(tmp_path, "poison", "crash crash", "w8 w9", "dead", "crash", replays)

        assert "was to be replayed 1 time" in " ".join(said([*rows.values()]))


def test_a_picture_that_is_not_there_is_named(rows: dict[str, Row], tmp_path: Path) -> None:
    rows["sheet"] = row(tmp_path / "gone.jpg", "sheet", "done", "w6")

    assert said([*rows.values()]) == ["sheet is done, but its picture is not there"]


def test_what_the_run_itself_missed_is_named(rows: dict[str, Row]) -> None:
    without_sheet = [one for role, one in rows.items() if role != "sheet"]

    assert said([*rows.values()], killed="") == ["no worker was killed in the middle of its task"]
    assert said([*rows.values()], passes_sat_out=1) == ["no pass of the controller showed that the poison task stays dead"]
    assert said([*rows.values()], started=8) == ["9 attempts, but only 8 workers were started"]
    assert said(without_sheet) == ["there is no contact sheet"]
