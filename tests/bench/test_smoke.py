"""Each section of the benchmarks with tiny counts: that it runs and what it is made of, never how fast. Called by pytest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.__main__ import main

MODES = ("stream", "list")
OURS = [f"runner, {mode}" for mode in MODES]
WORKERS = [f"runner.worker, {mode}" for mode in MODES]
SIZES = ("1,000", "10,000", "100,000")
STEPS = [f"{step}, {mode}, {size}" for mode in MODES for step in ("promote", "reap", "replay") for size in SIZES]
STEPS += [f"expire, {mode}, {size}" for mode in MODES for size in SIZES[:2]]
LARGE = [name for name in STEPS if not name.endswith(", 1,000")]
EXPECTED = {
    "one": {"tasks/s": [*OURS, "raw XADD", "rq", "dramatiq"]},
    "bulk": {"tasks/s": [*OURS, "bare script", "rq"]},
    "worker": {"ms CPU": [*WORKERS, "rq worker --burst", "floor"], "MiB": [*WORKERS, "rq worker --burst"]},
    "trips": {"round trips": [*WORKERS, "rq worker --burst"], "commands": [*WORKERS, "rq worker --burst"]},
    "controller": {"items/s": STEPS, "ms longest call": LARGE, "us CPU an item, server": LARGE},
    "memory": {"bytes": [*OURS, "bare stream entry", "bare list item", "rq", "dramatiq"]},
}
TARGETS = {"one": 2, "bulk": 4, "worker": 2, "trips": 2, "controller": 26, "memory": 0}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_section_has_its_figures_and_its_targets(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = tmp_path / "said.json"

    code = main(["--only", name, "--rounds", "1", "--seconds", "0", "--size", "0.002", "--json", str(said)])

    printed = capsys.readouterr()
    assert code == 0, printed.err
    found = json.loads(said.read_text())
    assert {"machine", "server", "Python", "packages", "load before", "load after"} <= set(found["facts"])
    (section,) = found["sections"]
    for unit, names in EXPECTED[name].items():
        figures = [one for one in section["figures"] if one["unit"] == unit]
        assert sorted(one["name"] for one in figures) == sorted(names)
        assert all(one["min"] <= one["median"] <= one["max"] and one["rounds"] == len(one["values"]) >= 1 for one in figures)
    assert len(section["targets"]) == TARGETS[name]
    assert all(isinstance(one["met"], bool) for one in section["targets"])
    assert section["title"] in printed.out


def test_a_wrong_option_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--size", "0"])

    assert ended.value.code == 2
    assert "--size more than 0" in capsys.readouterr().err
