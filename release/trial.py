"""The quick start with the wheel in a virtual environment that has nothing else. Called by __main__ and by tests/release.

`runner dev` on an embedded server, a handler in the working directory, a task submitted from another process, its result.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from release.faults import Refused, ran

HANDLER = """import runner

@runner.task("image.resize")
def resize(payload: dict[str, object]) -> dict[str, object]:
    return {"file": payload["file"], "width": payload["width"]}
"""
PAYLOAD = {"file": "a.jpg", "width": 640}
WITHIN_S = 60.0


def in_clean_venv(wheel: Path) -> None:
    """Install it with pip, as a user does, and try it; Refused where the result is another one."""
    with tempfile.TemporaryDirectory(prefix="runner-trial-") as folder:
        place = Path(folder)
        ran([sys.executable, "-m", "venv", "venv"], cwd=place)
        pip = [str(place / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        ran([*pip, f"{wheel.resolve()}[dev]"], cwd=place)
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "PYTHON", "VIRTUAL_ENV"))}
        quick_start([str(place / "venv/bin/python"), "-m", "runner.cli"], place, plain)


def quick_start(command: list[str], place: Path, env: Mapping[str, str]) -> None:
    """`command` is `runner`, `place` the working directory."""
    (place / "resize.py").write_text(HANDLER)
    said = place / "dev.jsonl"
    with said.open("wb") as log:
        dev = subprocess.Popen([*command, "dev", "resize.py", "--queue", "images"], cwd=place, env=dict(env), stdout=log, stderr=log)
    try:
        url = _serving(dev, said)
        submit = [*command, "--redis-url", url, "submit", "image.resize", json.dumps(PAYLOAD), "--queue", "images", "--wait", "30"]
        result = json.loads(ran(submit, cwd=place, env=dict(env)))
    finally:
        dev.send_signal(signal.SIGINT)
        code = dev.wait(WITHIN_S)
    if (result, code) != (PAYLOAD, 0):
        raise Refused(f"the quick start gave {result} and exit code {code}: {said.read_text()[-500:]}")


def _serving(dev: subprocess.Popen[bytes], said: Path) -> str:
    """The address, once it is told."""
    deadline_s, pause = time.monotonic() + WITHIN_S, threading.Event()
    while dev.poll() is None and time.monotonic() < deadline_s:
        for line in said.read_text().splitlines():
            if line.startswith("{") and json.loads(line).get("event") == "serving":
                return str(json.loads(line)["url"])
        pause.wait(0.1)
    raise Refused(f"runner dev did not start: {said.read_text()[-500:]}")
