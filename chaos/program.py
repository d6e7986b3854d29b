"""The same handler as a program, for RUNNER_EXEC: body on stdin, exit code 0, 75 or 65, result in a file. Called by the worker."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from chaos.handlers import work
from runner import Fatal, Retry, wire


def main() -> int:
    """Do the task; an error's traceback and exit code 1 are the interpreter's."""
    facts: Any = SimpleNamespace(id=os.environ["RUNNER_TASK_ID"], attempt=int(os.environ["RUNNER_TASK_ATTEMPT"]))
    try:
        result = work(wire.read(sys.stdin.buffer.read()).payload, facts)
    except Retry:
        return 75
    except Fatal:
        return 65
    Path(os.environ["RUNNER_RESULT_FILE"]).write_text(str(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
