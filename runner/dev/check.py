"""Imports handlers once and prints what came of it as one JSON line. `python -m runner.dev.check MODULE ...`; started by watch.

A process of its own, because an import cannot be undone and a module may do anything; it knows no infrastructure, as the child.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.errors import HandlersError
from runner.handlers import REGISTRY, load

BUILT_IN = "runner."


def main(modules: list[str]) -> dict[str, Any]:
    """`types` the handlers do, `error` in one line or empty, `files` whose change can alter that."""
    error, files = "", set[str]()
    try:
        load(modules)
    except HandlersError as fault:
        error = str(fault)
        files.update(_blamed(fault.__cause__))
    files.update(str(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None))
    types = sorted(name for name, _ in REGISTRY.types() if not name.startswith(BUILT_IN))
    return {"types": types, "error": error, "files": sorted({os.path.realpath(name) for name in files if _own(name)})}


def _blamed(error: BaseException | None) -> Iterator[str]:
    """The files of a failed import: they are not among the loaded modules, or no longer."""
    while error is not None:
        yield from (frame.filename for frame in traceback.extract_tb(error.__traceback__))
        if isinstance(error, SyntaxError) and error.filename:
            yield error.filename
        error = error.__cause__ or error.__context__


def _own(name: str) -> bool:
    """Source that somebody writes here: no library, nothing of this package, nothing frozen."""
    path = Path(name).resolve()
    others = [Path(__file__).parents[1], *(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))]
    return path.is_file() and path.suffix == ".py" and not any(path.is_relative_to(one) for one in others)


if __name__ == "__main__":
    said = main(sys.argv[1:])
    sys.stdout.write(f"\n{json.dumps(said)}\n")
    sys.stdout.flush()
    os._exit(0)  # threads that a module started must not keep it
