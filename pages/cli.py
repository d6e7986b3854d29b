"""docs/cli.md: every command with its options, examples and exit codes, out of the commands themselves. Called by pages.__main__."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import typer

from pages.errors import one_line
from runner.cli import EPILOG, app

HEAD = """# Command line

Written by `make pages` from `runner/cli/`. `runner --help`, and `--help` behind every command, say the same.

Where Redis is comes from `RUNNER_REDIS_URL` and the other [settings](settings.md), or from `--redis-url` and `--prefix` in front of the
command. Whatever shows a table has `--json`. Colours and bars appear on terminals only; `NO_COLOR=1` keeps colours away.
`runner --install-completion` teaches the shell to complete commands, options, and the names of queues and types, which it asks of Redis.

## Exit codes

"""
CODES = """
`runner check` has the codes that monitoring expects, which its own section tells. `runner work` and `runner control` end as the pods do:
[operations](operations.md). Ctrl-C is 130.
"""


def document() -> Iterator[str]:
    """The lines of the page."""
    codes = textwrap.fill(EPILOG.removeprefix("Exit codes: "), 140)
    yield from (HEAD + codes + "\n" + CODES).splitlines()
    for words, command in commands(typer.main.get_command(app), ("runner",)):
        yield from ("", f"## {' '.join(words)}", "", one_line(command.help or ""), "")
        yield from _options(command)
        yield from _before_examples(command)
        yield from ("```text", *examples(command), "```")


def commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command, with the words that call it."""
    for name, command in group.commands.items():
        inner = (*words, name)
        if hasattr(command, "commands"):
            yield from commands(command, inner)
        else:
            yield inner, command


def examples(command: Any) -> list[str]:
    """The lines of a command's examples, as its help shows them."""
    _, _, lines = (command.epilog or "").partition("Examples:\n")
    return [line.strip() for line in lines.splitlines()]


def _before_examples(command: Any) -> Iterator[str]:
    said = one_line((command.epilog or "").partition("Examples:")[0].replace("\b", ""))
    yield from (said, "") if said else ()


def _options(command: Any) -> Iterator[str]:
    rows = [one for one in command.params if getattr(one, "help", None) or one.param_type_name == "argument"]
    yield from ("| argument or option | meaning |", "|---|---|")
    for one in rows:
        yield f"| {_named(one)} | {_meaning(one)} |"
    yield ""


def _named(one: Any) -> str:
    if one.param_type_name == "argument":
        name = one.name.upper().removeprefix("_")
        return f"`{name}`" if one.required else f"`[{name}]`"
    names = [f"`{name}`" for name in one.opts]
    return ", ".join(names)


def _meaning(one: Any) -> str:
    said = one_line(one.help or "")
    default = one.default if not callable(one.default) else None
    plain = re.search(r"\[[^\]]*\]$", said) is None and default not in (None, "", False, 0) and not one.required
    return f"{said} [{default:g}]" if plain and isinstance(default, float) else f"{said} [{default}]" if plain else said
