"""Every code block of README.md and docs/ runs, or says what it needs and is checked for what can be told. Called by pytest."""

from __future__ import annotations

import ast
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs import names
from tests.docs.blocks import MARKS, NEEDS, PAGES, ROOT, Block, prose, read
from tests.docs.expected import differs
from tests.docs.scene import Scene

SHELL = {"sh", "bash", "console"}
RUN = {"runner", "redis-cli", "python", "cat", "echo", "printf", "mkdir", "cp", "ls", "jq", "grep", "head", "cd", "export", "kill"}
"""What a block may call that is run on anybody's machine."""
SEEN = {"text", "mermaid"}
"""Nothing that anybody would run."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def scene(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A folder and a server for one page, in a process that is left as it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    made = Scene(url, tmp_path)
    yield made
    made.close()
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.zh.md"], ids=named)  # it shows README.md's code
def test_the_code_of_a_page_does_what_the_page_says(page: Path, scene: Scene) -> None:
    for block in read(page):
        assert block.language, f"{block.where}: a block names its language; `text` is none that runs"
        assert set(block.marks) <= MARKS, f"{block.where}: marks are {', '.join(sorted(MARKS))}"
        if "needs" in block.marks:
            look_at(block, scene.folder)
        else:
            play(block, scene)


def play(block: Block, scene: Scene) -> None:
    """Run what runs, read what is only read."""
    if block.language == "python" or block.language in SHELL:
        if block.language in SHELL:
            names.check_shell(block)
            called = {words[0] for words in names.commands(block) if words}
            assert called <= RUN, f"{block.where}: {', '.join(called - RUN)} is not run by a test: mark it with <!-- needs: ... -->"
        scene.play(block)
    elif "output" in block.marks:
        wrong = differs(block.text, scene.printed, scene.ids)
        assert not wrong, f"{block.where}: {wrong}"
    elif block.language == "yaml":
        names.check_yaml(block)
        scene.play(block)
    elif block.language == "json":
        assert isinstance(json.loads(block.text), dict), block.where
        scene.play(block)
    elif block.file:
        scene.play(block)
    else:
        assert block.language in SEEN, f"{block.where}: nothing runs {block.language}: mark it with <!-- needs: ... -->"


def look_at(block: Block, folder: Path) -> None:
    """A block that cannot run here."""
    assert block.marks["needs"] in NEEDS, f"{block.where}: needs are {', '.join(sorted(NEEDS))}"
    if block.language == "python":
        ast.parse(textwrap.dedent(block.text), block.where)
        assert block.marks["needs"] != "an app" or names.shown_somewhere(block), f"{block.where}: no file of examples/ has these lines"
    elif block.language in SHELL:
        names.check_shell(block)
    elif block.language == "yaml":
        names.check_yaml(block)
    elif block.language == "js":
        names.check_js(block, folder)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert list(names.inline(prose(page))) == []


def test_each_kind_of_block_is_found_somewhere() -> None:
    blocks = [block for page in PAGES for block in read(page)]

    assert {block.language for block in blocks} >= {"python", "sh", "yaml", "json"}
    assert sum("needs" not in block.marks for block in blocks if block.language in SHELL | {"python"}) > 10
