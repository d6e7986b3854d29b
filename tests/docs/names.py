"""Whether what a page names is there: commands and options, make's targets, paths, values of the chart. Called by test_pages."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import typer
import yaml

from runner.cli import app
from tests.docs.blocks import ROOT, Block

FOLDERS = ("bench", "chaos", "charts", "demo", "deploy", "docs", "examples", "pages", "requirements", "runner", "tests")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]*[\w/*]")
INLINE = re.compile(r"`([^`\n]+)`")
SCHEMA = jsonschema.Draft7Validator(json.loads((ROOT / "charts/runner/values.schema.json").read_text()))
UNLIMITED = ("…", "...")


@cache
def targets() -> set[str]:
    """What `make` knows."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def _group() -> Any:
    return typer.main.get_command(app)


def command_of(words: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that these words name, and the words after it."""
    command, left = _group(), list(words)
    while hasattr(command, "commands"):
        while left and left[0].startswith("--"):  # options before the command, each with its value
            left = left[1:] if "=" in left[0] else left[2:]
        if not left or left[0] not in command.commands:
            raise AssertionError(f"`runner {' '.join(words)}`: there is no such command")
        command, left = command.commands[left[0]], left[1:]
    return command, left


def parsed(words: Sequence[str]) -> None:
    """Let the command line read these words, without doing anything."""
    if {"--help", "--version"} & set(words):
        return
    command, left = command_of(words)
    try:
        command.make_context(command.name, left)
    except Exception as error:
        raise AssertionError(f"`runner {' '.join(words)}`: {error}") from error


def inline(text: str) -> Iterator[str]:
    """What is wrong with the commands, targets and paths that a page names in its sentences."""
    for said in INLINE.findall(text):
        words = said.split()
        if words[0] == "runner" and len(words) > 1:
            yield from _named(said, words[1:])
        elif words[0] == "make" and len(words) > 1:
            yield from (f"`{said}`: there is no target {word}" for word in words[1:] if "=" not in word and word not in targets())
        else:
            yield from (f"`{said}`: there is no such path" for word in words if not there(word))


def _named(said: str, words: list[str]) -> Iterator[str]:
    plain = [word for word in words if not word.startswith(("[", "<")) and word not in UNLIMITED]
    command: Any = _group()
    for word in plain:
        if word in getattr(command, "commands", ()):
            command = command.commands[word]
        elif hasattr(command, "commands") and not word.startswith("-"):
            for one in word.split("|"):
                if one not in command.commands:
                    yield f"`{said}`: there is no command {one}"
            return
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    yield from (f"`{said}`: there is no option {word}" for word in plain if word.startswith("--") and word.partition("=")[0] not in known)


def there(path: str) -> bool:
    """Whether this is no path of the project, or one that is there. What a run makes is none, nor a key such as `runner/queues`."""
    made = "/out/" in path or (path.startswith("runner/") and "." not in path)
    if made or not PATH.fullmatch(path):
        return True
    return any(ROOT.glob(path.rstrip("/"))) if "*" in path else (ROOT / path).exists()


def commands(block: Block) -> Iterator[list[str]]:
    """The simple commands of a shell block, as words, without what is assigned before them."""
    for line in "\n".join(_lines(block)).replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, "#"
        one: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set("|&;()"):
                yield _plain(one)
                one = []
            else:
                one.append(word)


def _lines(block: Block) -> list[str]:
    """What is typed; the rest of a console block is what it answers."""
    typed, more = [], False
    for line in block.text.splitlines():
        if block.language != "console" or more or line.startswith("$ "):
            typed.append(line.removeprefix("$ ") if block.language == "console" else line)
            more = block.language == "console" and line.endswith("\\")
    return typed


def _plain(words: list[str]) -> list[str]:
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    return words


def check_shell(block: Block) -> None:
    """What can be told of a shell block without running it."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        script.write("\n".join(_lines(block)))
        script.flush()
        said = subprocess.run(["bash", "-n", script.name], capture_output=True, text=True, check=False).stderr
    assert not said, f"{block.where}: {said}"
    for words in filter(None, commands(block)):
        check_command(block, words)


def check_command(block: Block, words: list[str]) -> None:
    """One simple command: what it names is there."""
    if words[0] == "runner":
        parsed(words[1:])
    if words[0] == "make":
        missing = [word for word in words[1:] if "=" not in word and not word.startswith("-") and word not in targets()]
        assert not missing, f"{block.where}: make has no target {', '.join(missing)}"
    missing = [word for word in words if not there(word)]
    assert not missing, f"{block.where}: there is no {', '.join(missing)}"
    for option, value in itertools.pairwise(words):
        if option in ("--set", "--set-string"):
            check_values(block, _nested(value))


def _nested(text: str) -> Any:
    made: dict[str, Any] = {}
    for pair in re.split(r",(?=[\w.]+=)", text):
        path, _, value = pair.partition("=")
        *folders, last = path.split(".")
        at = made
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = yaml.safe_load(value) if not value.startswith("{") else value[1:-1].split(",")
    return made


def check_values(block: Block, values: Any) -> None:
    """Values that the chart would take."""
    wrong = jsonschema.exceptions.best_match(SCHEMA.iter_errors(values))
    assert wrong is None, f"{block.where}: {'.'.join(map(str, wrong.absolute_path))}: {wrong.message}"


def check_yaml(block: Block) -> None:
    """Manifests name what they are and select their own pods; all else is values of the chart."""
    for one in yaml.safe_load_all(block.text):
        if "apiVersion" not in one:
            check_values(block, one)
            continue
        assert one["kind"] and one["metadata"]["name"], block.where
        spec = one.get("spec", {})
        if "selector" in spec:
            assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items(), block.where


def shown_somewhere(block: Block) -> bool:
    """Whether a file of examples/ has these lines, however deep."""

    def lines(text: str) -> str:
        return "\n".join(["", *(line.strip() for line in text.splitlines() if line.strip()), ""])

    return any(lines(block.text) in lines(path.read_text()) for path in (ROOT / "examples").rglob("*.py"))


def check_js(block: Block, folder: Path) -> None:
    """Syntax, where there is a node to ask."""
    if node := shutil.which("node"):
        file = folder / "block.mjs"
        file.write_text(block.text)
        said = subprocess.run([node, "--check", file], capture_output=True, text=True, check=False)
        assert said.returncode == 0, f"{block.where}: {said.stderr}"
