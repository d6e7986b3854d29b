"""Every vector file of this directory against `wire.read`. Called by pytest; other readers of the wire can run the same files.

A vector's bytes are `body` (UTF-8 text), `hex`, `flat` (pairs, joined as netstrings) or `pieces` (text and how often). It expects
`task`, with the fields that are not at their default, or `unreadable`, a part of the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner import wire
from runner.errors import UnreadableError
from runner.netstrings import flat_body
from runner.tasks import Task

FILES = sorted((Path(__file__).parent / "vectors").glob("*.json"))
VECTORS = [(f"{path.stem}: {vector['name']}", vector) for path in FILES for vector in json.loads(path.read_text())["vectors"]]


def bytes_of(vector: dict[str, Any]) -> bytes:
    if "hex" in vector:
        return bytes.fromhex(vector["hex"])
    if "flat" in vector:
        return flat_body((name.encode(), value.encode()) for name, value in vector["flat"])
    if "pieces" in vector:
        return "".join(text * times for text, times in vector["pieces"]).encode()
    return str(vector["body"]).encode()


def plain(value: Any) -> Any:
    """What JSON cannot say is written as an object with one `$` key."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    spelled = {"$bytes": bytes.fromhex, "$float": float, "$items": dict}
    return next((spelled[key](inner) for key, inner in value.items() if key in spelled), {k: plain(v) for k, v in value.items()})


def read(vector: dict[str, Any]) -> Task:
    return wire.read(bytes_of(vector), vector.get("default_type", ""), vector.get("default_id"))


def params(expects: str) -> list[Any]:
    return [pytest.param(vector, id=name) for name, vector in VECTORS if expects in vector]


@pytest.mark.parametrize("vector", params("task"))
def test_a_readable_body_says_the_same_task_to_every_reader(vector: dict[str, Any]) -> None:
    expected = Task(**plain(vector["task"]))

    # By repr: 1 is not 1.0 and not True here, and NaN is NaN.
    assert repr(read(vector)) == repr(expected)


@pytest.mark.parametrize("vector", params("unreadable"))
def test_an_unreadable_body_is_refused_in_one_sentence_with_its_bytes(vector: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(vector)

    assert vector["unreadable"] in str(caught.value)
    assert caught.value.raw == bytes_of(vector)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value).encode()) < 400


def test_every_vector_expects_something_and_has_a_name_of_its_own() -> None:
    names = [name for name, _ in VECTORS]

    assert len(set(names)) == len(names) > 100
    assert all(("task" in vector) != ("unreadable" in vector) for _, vector in VECTORS)
