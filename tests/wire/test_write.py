"""What `wire.write` writes, and what it refuses at the call site and in which words. Called by pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pydantic
import pytest

from runner import wire
from runner.errors import UnencodableError
from runner.records import json_of
from runner.tasks import Task

MS = 1_764_500_000_123
OLD = datetime(1890, 1, 1, tzinfo=timezone(timedelta(seconds=1172)))


class Colour(Enum):
    RED = "red"


class Word(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass
class Point:
    x: Any = 1


class Model(pydantic.BaseModel):
    at: Any = None
    inner: list[Model] = pydantic.Field([], alias="in")
    model_config = pydantic.ConfigDict(populate_by_name=True)

    @pydantic.computed_field
    def twice(self) -> str:
        """Nothing that a reader could set."""
        return f"{self.at}{self.at}"


class Texts(pydantic.BaseModel):
    data: bytes = b""


@pydantic.dataclasses.dataclass
class Shape:
    size: Decimal


Pair = namedtuple("Pair", "a b")


def written(payload: Any, **more: Any) -> bytes:
    return wire.write("a", payload, **{"task_id": "1", "created_ms": MS, **more})


def back(payload: Any) -> Any:
    return wire.read(written(payload)).payload


def test_an_envelope_says_no_more_than_was_given() -> None:
    body = wire.write("image.resize", {"n": [1, 2.5, "x"]}, task_id="206", created_ms=MS)

    assert body == b'{"type":"image.resize","task_id":"206","created_at":1764500000123,"payload":{"n":[1,2.5,"x"]}}'


def test_all_that_was_given_is_read_back() -> None:
    body = written([], version=2, timeout_ms=1500, max_retries=0, key="order 7")

    task = wire.read(body)

    assert task == Task("a", [], "1", 2, MS, 0, 0, 1500, None, "order 7")


EXACT = [True, 0, "", [], {}, 1.0, -0.0, 130775545883395173, 2**64, -(2**200), "ü日\U0001f600", "\ud800", {"ä\udfff": "ü"}]


@pytest.mark.parametrize("payload", EXACT)
def test_a_payload_of_json_values_comes_back_exactly(payload: Any) -> None:
    assert repr(back(payload)) == repr(payload)


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        ((1, (2,)), [1, [2]]),
        (Pair(1, 2), [1, 2]),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Colour.RED, "red"),
        (Word.RED, "red"),
        (Level.HIGH, 3),
        ({Word.RED: 1}, {"red": 1}),
        (datetime(2025, 11, 30, 12, tzinfo=UTC), "2025-11-30T12:00:00+00:00"),
        (OLD, "1889-12-31T23:40:28+00:00"),
        (date(2025, 11, 30), "2025-11-30"),
        (timedelta(days=1, seconds=5, microseconds=30), "P1DT5.00003S"),
        (timedelta(seconds=-90), "-PT90S"),
        (timedelta(0), "PT0S"),
        (timedelta(days=2), "P2D"),
        (Decimal("1.10"), "1.10"),
        (b"\xff\xfe", "//4="),
        ({7}, [7]),
        (frozenset(["x"]), ["x"]),
        (Point(2), {"x": 2}),
        (Point(Point(b"a")), {"x": {"x": "YQ=="}}),
        (Enum("Day", {"ONE": date(2025, 11, 30)}).ONE, "2025-11-30"),
        (Enum("Inner", {"RED": Colour.RED}).RED, "red"),
        (Model(at=date(2025, 11, 30), inner=[Model()]), {"at": "2025-11-30", "in": [{"at": None, "in": []}]}),
        (Shape(Decimal(2)), {"size": "2"}),
    ],
)
def test_the_few_other_values_are_written_the_same_way_beside_any_others(payload: Any, read: Any) -> None:
    assert back(payload) == read
    assert back([payload, None]) == [read, None]
    assert back([payload, 2**70, "\ud800"]) == [read, 2**70, "\ud800"]
    packed = wire.read(written([payload], encoding="msgpack")).payload
    assert json.loads(json_of(packed)) == [read]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (datetime(2025, 11, 30), "is a time without a zone, which every machine reads as its own: use datetime.now(UTC)"),
        (datetime.max.replace(tzinfo=timezone(-timedelta(seconds=1172))), "is too near the end of time for its zone"),
        (time(12), "is of type time, which no task can hold"),
        (Decimal("NaN"), "is the Decimal NaN, which is no number"),
        (bytearray(b"x"), "is of type bytearray"),
        (object(), "is of type object"),
        (Point, "is of type type"),
        (Point(1j), "is of type complex"),
        (Model(at=datetime(2025, 11, 30)), "is a Model that holds a time with no zone in 'at': make it one in UTC"),
        (Model(at=OLD), "is a Model that holds a time with seconds in its zone, which pydantic drops in 'at'"),
        (Model(at=float("nan")), "is a Model that holds nan in 'at'"),
        (Model(at=pydantic.SecretStr("hush")), "is a Model that holds a secret in 'at', which is written as asterisks"),
        (Model(at=object()), "is a Model that does not serialize"),
        (Texts(data=b"x"), "is a Texts, whose field 'data' writes its bytes as UTF-8 text, while tasks carry base64"),
        (float("nan"), "is nan"),
        (float("-inf"), "is -inf"),
        pytest.param(10**5000, "is an integer with more digits", id="5001 digits"),
        ({1: "x"}, "has the key 1"),
        ({None: "x"}, "has the key None"),
    ],
)
def test_a_value_without_an_encoding_is_refused_by_its_place(value: Any, said: str) -> None:
    for beside in (1, None, 2**70):
        with pytest.raises(UnencodableError) as caught:
            written({"items": [beside, {"a b": {"when": value}}]})

        where = "payload.items[1]['a b'].when" + (".x" if isinstance(value, Point) else "")
        assert str(caught.value).startswith(f"{where} {said}")


def test_a_number_that_is_none_is_found_behind_an_enum() -> None:
    nowhere = Enum("Nowhere", {"HERE": float("nan")})

    with pytest.raises(UnencodableError, match=r"^payload\[0\] is nan"):
        written([nowhere.HERE])


def test_a_payload_that_holds_itself_or_has_no_bottom_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]

    for endless in (ring, deep):
        with pytest.raises(UnencodableError, match="nested deeper than 254 levels, or holds itself"):
            written(endless)
    while isinstance(deep, list):  # freed level by level, as the interpreter's own way down is not endless either
        deep = deep.pop()


def test_a_word_that_only_looks_like_null_costs_nothing() -> None:
    assert back({"nullable": "null"}) == {"nullable": "null"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"task_id": ""}, "`task_id` is empty"),
        ({"task_id": "x" * 4097}, "`task_id` has 4097 characters, the limit is 4096"),
        ({"task_id": "\0"}, "`task_id` holds a NUL character"),
        ({"task_id": "\ud800"}, "`task_id` holds half a surrogate pair"),
        ({"key": ""}, "`key` is empty"),
        ({"version": -1}, "`version` is -1, not a whole number from 0 to 9007199254740991"),
        ({"timeout_ms": 1.5}, "`timeout_ms` is 1.5"),
        ({"max_retries": True}, "`max_retries` is True"),
    ],
)
def test_what_no_reader_would_take_is_not_written(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UnencodableError) as caught:
        written(1, **given)

    assert str(caught.value).startswith(said)


def test_a_type_must_have_a_name() -> None:
    with pytest.raises(UnencodableError, match="`type` is empty"):
        wire.write("", 1, task_id="1", created_ms=MS)


def in_a_new_process(code: str) -> str:
    root = Path(__file__).parents[2]
    return subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def test_reading_loads_nothing_that_a_worker_pays_for() -> None:
    heavy = {"orjson", "msgpack", "pydantic", "redis", "typing_extensions", "ulid", "runner.encode"}

    code = "import sys\nfrom runner import wire\nwire.read(b'{\"type\":\"a\"}')\nwire.read(b'4:type,1:a,')\nprint(*sys.modules)"

    assert not heavy & set(in_a_new_process(code).split())


def test_without_msgpack_a_messagepack_body_says_what_to_install() -> None:
    code = (
        "import sys\nsys.modules['msgpack'] = None\nfrom runner import errors, wire\n"
        "try:\n    wire.read(b'\\x81\\xa4type\\xa1a')\nexcept errors.UnreadableError as error:\n    print(error)"
    )

    assert "the Python package msgpack is not installed" in in_a_new_process(code)
