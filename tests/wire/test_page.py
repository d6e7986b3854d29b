"""The examples of docs/wire.md against `wire.read`: what the page tells people to send can be read. Called by pytest."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from runner import wire
from runner.envelope import KNOWN
from runner.errors import UnreadableError
from runner.netstrings import flat_body

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
COMMANDS = re.findall(r"^redis-cli .*$", PAGE, re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def pushed(command: str) -> bytes:
    words = [word.encode() for word in shlex.split(command)]
    fields = words[4:]
    return flat_body(zip(fields[::2], fields[1::2], strict=True)) if words[1] == b"XADD" else words[3]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_pushes_a_task(command: str) -> None:
    task = wire.read(pushed(command), "thumbnail")

    assert task.type in ("image.resize", "email.send", "thumbnail")
    assert task.payload is not None or task.task_id == "206" or "{}" in command


def test_the_envelopes_of_the_page_are_what_it_says_they_are() -> None:
    good, wrong = blocks("json")

    task = wire.read(good.encode())
    with pytest.raises(UnreadableError) as caught:
        wire.read(wrong.encode())

    assert (task.task_id, task.timeout_ms, task.created_ms) == ("order-7/large", 30_000, 1_764_500_000_123)
    assert f"unreadable: {caught.value}" in PAGE


def test_the_table_of_the_page_lists_every_field() -> None:
    table = PAGE.partition("| field |")[2].partition("\n\n")[0]
    first_column = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))

    assert set(re.findall(r"`(\w+)`", first_column)) == KNOWN


def test_the_page_names_the_version_of_the_code() -> None:
    assert f"# The wire, version {wire.WIRE_VERSION}\n" in PAGE
    assert len(COMMANDS) >= 6
