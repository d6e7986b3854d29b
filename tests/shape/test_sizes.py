"""Small functions, small modules, and a first line that says what a file is and who calls it."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for folder in ("runner", "demo", "chaos", "bench", "pages") for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SLEEPS = re.compile(r"\btime\.sleep\(|\bunittest\.[m]ock\b|\bMagic[M]ock\b|monkeypatch\.set[a]ttr")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_no_module_is_over_250_lines_and_no_function_over_40(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]

    assert text.count("\n") <= 250
    assert [one.name for one in functions if lines_of(one) > 40] == []


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=named)
def test_a_file_begins_with_what_it_is(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert said.split("\n")[0].endswith((".", "`", ":", ")")), "the first line is a sentence: what this is, and who calls it"


@pytest.mark.parametrize("path", sorted((ROOT / "runner").rglob("*.lua")), ids=named)
def test_a_script_begins_with_its_contract(path: Path) -> None:
    head = path.read_text(encoding="utf-8").splitlines()[:2]

    assert any(line.startswith("-- ") for line in head)


@pytest.mark.parametrize("path", [path for path in TESTS if path != Path(__file__).resolve()], ids=named)
def test_tests_wait_by_condition_and_stand_on_real_things(path: Path) -> None:
    assert SLEEPS.findall(path.read_text(encoding="utf-8")) == []


def test_nothing_is_left_over() -> None:
    word = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    listed = subprocess.run(["git", "ls-files", "*.py", "*.lua", "*.md", "Makefile"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]

    found = [str(file) for file in files if word.search(file.read_text(encoding="utf-8"))]

    assert found == []
