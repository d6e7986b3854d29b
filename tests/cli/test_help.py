"""The help of every command: it has examples, and each example is a command line that the program reads."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from pages.cli import commands, examples
from runner.cli import app, run
from tests.docs.names import parsed

ALL = {" ".join(words): command for words, command in commands(typer.main.get_command(app), ("runner",))}


def command_lines(example: str) -> list[list[str]]:
    """The calls of runner in a line of a shell, without their redirections."""
    parts = [shlex.split(part) for part in re.split(r"\s(?:\||&&|<|>)\s", example)]
    plain = [[word for word in words if not re.match(r"[A-Z_]+=", word)] for words in parts]
    return [words for words in plain if words[:1] == ["runner"]]


@pytest.mark.parametrize("name", ALL)
def test_each_example_of_a_command_parses(name: str) -> None:
    calls = [words for line in examples(ALL[name]) for words in command_lines(line)]

    assert [words for words in calls if " ".join(words).startswith(name)], f"{name} has no example of itself"
    for words in calls:
        parsed(words[1:])


@pytest.mark.parametrize("name", ALL)
def test_each_option_and_command_says_what_it_is(name: str) -> None:
    command = ALL[name]

    assert command.help
    silent = [one.name for one in command.params if one.param_type_name == "option" and one.name != "help" and not one.help]
    assert silent == []


def test_an_example_that_no_command_reads_is_found() -> None:
    with pytest.raises(AssertionError, match="No such option"):
        parsed(["status", "--frob"])


def test_a_shell_is_given_its_completion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", "bash"]) == 0

    assert "_RUNNER_COMPLETE=complete_" in capsys.readouterr().out
