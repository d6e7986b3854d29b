"""What a figure has to be read with: the machine, how busy it is, the versions. Called by __main__."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def facts() -> dict[str, Any]:
    """The machine and the versions of what is compared."""
    packages = ("redis", "rq", "dramatiq")
    return {
        "machine": f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "packages": ", ".join(f"{'redis-py' if name == 'redis' else name} {version(name)}" for name in packages),
        "load before": load(),
    }


def load() -> str:
    """The load average of 1, 5 and 15 minutes."""
    return ", ".join(f"{one:.2f}" for one in os.getloadavg())


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())
