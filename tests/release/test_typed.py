"""The package is typed for users: mypy in strict mode takes a good program and finds the faults of a bad one. Called by pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = Path(__file__).with_name("typed_user.py")
CACHE = GOOD.parents[2] / ".mypy_cache/users"
"""Kept from run to run: without it each costs mypy what all of redis-py costs."""
BAD = """from runner import Producer, Retry, task

with Producer() as producer:
    producer.submit(5, queue="images")
    producer.submit("image.resize", {}, queue="images", delay=3)
    producer.submit("image.resize").created
    name: int = producer.submit("image.resize", queue="images").id

Retry(soon=True)
task(7)
"""


@pytest.mark.slow
def test_a_users_program_passes_strict_mypy_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(BAD)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(CACHE), "--no-error-summary", str(GOOD), str(bad)]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    said = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line for line in said if not line.startswith("bad.py")] == []
    assert [int(number) for number in re.findall(r"(?m)^bad\.py:(\d+): error", done.stdout)] == [4, 5, 6, 7, 9, 10]
