"""The examples' own tests pass as a user would run them, with the fixtures of runner.testing. Called by pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTED = sorted(str(path.parent) for path in (ROOT / "examples").glob("*/conftest.py"))
PAGE = ROOT / "docs" / "frameworks.md"


def test_the_page_shows_what_the_examples_have() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    sources = [path.read_text() for path in (ROOT / "examples").glob("*/*_app.py")]

    assert len(blocks) == 4
    assert [block for block in blocks if not any(block in source for source in sources)] == []


def test_the_tests_of_all_examples_pass() -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED]

    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(TESTED) == 4
