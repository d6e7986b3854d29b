"""What a declared type reads besides what producers of ours write, and in which words it refuses the rest. Called by pytest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Optional
from uuid import UUID

import pytest

from runner.convert import converter
from runner.mismatch import Mismatch

Size = NewType("Size", int)
Country = Enum("Country", {f"C{n}": n for n in range(22)})


@dataclass
class Node:
    n: Size
    next: Optional[Node] = None  # noqa: UP045 - as many still write it


@pytest.mark.parametrize(
    ("declared", "value", "read"),
    [
        (int, 3.0, 3),
        (int, "640", 640),
        (float, 3, 3.0),
        (float, "-1.5", -1.5),
        (bool, "true", True),
        (bytes, "__4", b"\xff\xfe"),
        (bytes, b"raw", b"raw"),
        (datetime, "2025-11-30T12:00:00Z", datetime(2025, 11, 30, 12, tzinfo=UTC)),
        (datetime, datetime(2025, 11, 30, tzinfo=UTC), datetime(2025, 11, 30, tzinfo=UTC)),
        (timedelta, 1.5, timedelta(seconds=1.5)),
        (timedelta, "P1Y1M1W1DT1H1M1.5S", timedelta(days=365 + 30 + 7 + 1, hours=1, minutes=1, seconds=1.5)),
        (timedelta | None, 90, timedelta(seconds=90)),
        (UUID, bytes(16), UUID(int=0)),
        (Decimal, 1.1, Decimal("1.1")),
        (Annotated[date, "a note"], "2025-11-30", date(2025, 11, 30)),
        (Sequence[date], ["2025-11-30"], [date(2025, 11, 30)]),
        (Mapping[str, Size], {"a": 1}, {"a": 1}),
        (date | list[date] | None, ["2025-11-30"], [date(2025, 11, 30)]),
        (Any | None, {"a": 1}, {"a": 1}),
        (tuple[int, ...], [1, 2], (1, 2)),
        (Node, {"n": 1, "next": {"n": 2}}, Node(Size(1), Node(Size(2)))),
    ],
)
def test_what_others_write_is_read_too(declared: Any, value: Any, read: Any) -> None:
    found = converter(declared)(value)

    assert (type(found), found) == (type(read), read)


@pytest.mark.parametrize(
    ("declared", "value", "said"),
    [
        (int, True, "is a boolean, not a whole number"),
        (int, "0x10", "is a string, not a whole number"),
        (bool, "yes", "is a string, not a boolean"),
        (bool, 1, "is a number, not a boolean"),
        (int, 1.5, "is a number with a fraction, not a whole one"),
        (float, 2**53 + 1, "is an integer that no float holds exactly"),
        (str, b"x", "is bytes, not a string"),
        (bytes, "a", "is a string, but not base64"),
        (bytes, "ü", "is a string, but not base64"),
        (datetime, 1764500000, "is a number, not a string with a time in ISO 8601"),
        (date, datetime(2025, 11, 30, tzinfo=UTC), "is a time, not a string with a date in ISO 8601"),
        (timedelta, "90", "is a string, but no duration in ISO 8601 such as PT90S"),
        (timedelta, "PT", "is a string, but no duration in ISO 8601 such as PT90S"),
        (timedelta, 1e300, "is a number, but no duration in ISO 8601 such as PT90S"),
        (UUID, b"x", "is of bytes, but no UUID"),
        (Decimal, "ten", "is a string, but not a decimal number"),
        (Decimal, float("nan"), "is not a finite number"),
        (Literal["a", 2], "b", 'is none of "a", 2'),
        (Country, 99, f"is none of {', '.join(map(str, range(20)))}, ..."),
        (date | list[date], {}, "is an object, not a string or an array"),
        (tuple[int, int], [1], "has 1 parts, not 2"),
        (set[Any], [[1]], "holds arrays or objects, which cannot be in a set"),
        (dict[str, date], [], "is an array, not an object"),
        (type(None), 0, "is a number, not null"),
    ],
)
def test_what_does_not_fit_is_told_without_the_value(declared: Any, value: Any, said: str) -> None:
    with pytest.raises(Mismatch) as caught:
        converter(declared)(value)

    assert str(caught.value) == f"`payload` {said}"


def test_a_chain_too_long_for_the_call_stack_does_not_fit() -> None:
    chain: Any = None
    for n in range(250):
        chain = {"n": n, "next": chain}

    with pytest.raises(Mismatch, match="is nested too deep to read"):
        converter(Node)(chain)


def test_of_many_faults_the_first_are_told() -> None:
    many = dataclass(type("Many", (), {"__annotations__": {f"f{n}": int for n in range(9)}}))

    with pytest.raises(Mismatch) as caught:
        converter(many)({"f0": "x"})

    assert str(caught.value).startswith("`payload.f0` is a string, not a whole number; `payload.f1` is missing; ")
    assert str(caught.value).endswith("`payload.f4` is missing; and 4 more")
