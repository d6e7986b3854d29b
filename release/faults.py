"""Why nothing is released: one sentence. Raised by the modules here, printed by __main__."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class Refused(Exception):
    """Something is wrong that a person has to mend first."""


def ran(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, stdin: str | None = None, within_s: float = 900) -> str:
    """What a command printed; Refused with its last lines where it failed."""
    done = subprocess.run(command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=within_s, check=False)
    if done.returncode:
        raise Refused(f"{' '.join(command[:4])} failed: {' / '.join((done.stderr or done.stdout).strip().splitlines()[-5:])}")
    return done.stdout
