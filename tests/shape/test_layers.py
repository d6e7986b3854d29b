"""The order of the modules is executed, not only written: import-linter's contracts in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_upper_layers_import_lower_ones_only() -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"

    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
