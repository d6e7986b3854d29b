"""What a process loads is what it pays for: the worker's parent and its child stay small."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

HEAVY = {"kubernetes", "typer", "click", "rich", "pydantic", "pydantic_settings", "fastapi", "flask", "starlette", "aiohttp", "uvicorn"}
PRODUCERS_ONLY = {"orjson", "ulid", "typing_extensions", "msgpack"}
INFRASTRUCTURE = HEAVY | {"redis", "orjson", "ulid", "msgpack"}


def loaded_by(code: str) -> set[str]:
    """The top-level packages in memory after `code`, beyond those of a bare interpreter."""
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "never"),
    [
        ("runner", INFRASTRUCTURE),
        ("runner.supervisor", INFRASTRUCTURE),
        ("runner.child", INFRASTRUCTURE),
        ("runner.handlers", INFRASTRUCTURE),
        ("runner.config", INFRASTRUCTURE),
        ("runner.logs", INFRASTRUCTURE),
        ("runner.worker", HEAVY | PRODUCERS_ONLY),
        ("runner.errand", HEAVY | PRODUCERS_ONLY),
        ("runner.controller", HEAVY),
    ],
)
def test_a_process_loads_no_more_than_its_role_needs(module: str, never: set[str]) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"there is no {module} yet")

    assert loaded_by(f"import {module}") & never == set()


def test_the_child_is_forked_before_redis_is_loaded() -> None:
    assert "redis" not in loaded_by("import runner.worker")
