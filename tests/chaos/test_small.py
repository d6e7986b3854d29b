"""The chaos run itself, small: it holds, and it notices what is broken. Called by pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import plan
from chaos.__main__ import main


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_settled_twice_in_a_small_storm(tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: str) -> None:
    code = main(["--tasks", "12", "--seed", "3", "--mode", mode, "--out", str(tmp_path)])

    assert code == 0, capfd.readouterr().out


def test_a_seed_repeats_tasks_fates_and_events() -> None:
    def all_of(seed: int) -> object:
        return plan.tasks(50, seed, "list"), [plan.fate(seed, "list", n) for n in range(50)], plan.events(500, seed, "list")

    assert all_of(7) == all_of(7)
    assert all_of(7) != all_of(8)
