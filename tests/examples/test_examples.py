"""The examples' own tests pass as a user would run them, with the fixtures of runner.testing. Called by pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTED = sorted(str(path.parent) for path in (ROOT / "examples").glob("*/conftest.py"))


def test_the_tests_of_all_examples_pass() -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED]

    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(TESTED) == 4
