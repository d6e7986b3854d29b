"""Property over generated types and values of them: what a producer takes, a handler that declares the type gets back. Called by pytest."""

from __future__ import annotations

from dataclasses import field, make_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntFlag, StrEnum
from typing import Any, Literal, NamedTuple
from uuid import UUID

import pydantic
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from runner import wire
from runner.convert import converter
from runner.errors import UnencodableError

Zones = st.integers(-86_399, 86_399).map(lambda s: timezone(timedelta(seconds=s))) | st.just(UTC)


class Word(StrEnum):
    RED = "red"
    BLUE = "blue"


class Mixed(Enum):
    NUMBER = 1
    TEXT = "1"
    TRUTH = None
    DAY = date(2025, 11, 30)
    ROW = (1, (2, b"x"))


class Bits(IntFlag):
    A = 1
    B = 2


class Row(NamedTuple):
    name: str
    at: datetime | None = None


class Model(pydantic.BaseModel):
    at: pydantic.AwareDatetime
    took: timedelta
    price: Decimal
    data: pydantic.Base64Bytes
    who: UUID | None
    words: set[Word]
    inner: dict[str, Model] = pydantic.Field({}, alias="in")
    model_config = pydantic.ConfigDict(populate_by_name=True)


def models(inner: Any) -> Any:
    """Base64Bytes is given base64, and holds what it says."""
    fields = {"took": st.timedeltas(), "price": DECIMALS, "who": st.none() | st.uuids(), "words": st.sets(st.sampled_from(Word))}
    data = st.sampled_from([b"", b"YQ==", b"//79", b"eWVz"])
    return st.builds(Model, at=MOMENTS, data=data, inner=st.dictionaries(TEXTS, inner, max_size=2), **fields)


MOMENTS = st.datetimes(timezones=Zones)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(), max_size=8)  # lone surrogates too
VALUES: list[tuple[Any, Any]] = [
    (bool, st.booleans()),
    (int, st.integers()),
    (float, st.floats()),
    (int | float, st.integers() | st.floats()),
    (str, TEXTS),
    (bytes, st.binary(max_size=9)),
    (datetime, MOMENTS | st.datetimes()),
    (date, st.dates()),
    (timedelta, st.timedeltas()),
    (UUID, st.uuids()),
    (Decimal, DECIMALS | st.decimals().filter(lambda number: not number.is_snan())),
    (Word, st.sampled_from(Word)),
    (Mixed, st.sampled_from(Mixed)),
    (Bits, st.sampled_from([Bits(n) for n in range(4)])),
    (Literal["a", 1, True, None], st.sampled_from(["a", 1, True, None])),
    (Row, st.builds(Row, TEXTS, st.none() | MOMENTS)),
    (Model, st.recursive(models(st.nothing()), models, max_leaves=3)),
]
HASHABLE = st.sampled_from([pair for pair in VALUES if pair[0] is not Model])


def optional(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    return pair if pair[0] in (Mixed, Literal["a", 1, True, None]) else (pair[0] | None, st.none() | pair[1])


def record(pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """A dataclass, with one field that its `__init__` does not take."""
    names = [f"f{n}" for n in range(len(pairs))]
    kind = make_dataclass("Record", [*zip(names, [pair[0] for pair in pairs], strict=True), ("late", str, field(default="x", init=False))])

    def made(parts: tuple[Any, ...]) -> Any:
        one = kind(*parts[:-1])
        one.late = parts[-1]  # type: ignore[attr-defined]
        return one

    return kind, st.tuples(*[pair[1] for pair in pairs], TEXTS).map(made)


def larger(inner: Any) -> Any:
    return (
        inner.map(lambda pair: (list[pair[0]], st.lists(pair[1], max_size=3)))  # type: ignore[name-defined]
        | inner.map(lambda pair: (dict[Word, pair[0]], st.dictionaries(st.sampled_from(Word), pair[1], max_size=2)))  # type: ignore[name-defined]
        | inner.map(lambda pair: (dict[str, pair[0]], st.dictionaries(TEXTS, pair[1], max_size=2)))  # type: ignore[name-defined]
        | HASHABLE.map(lambda pair: (set[pair[0]], st.sets(pair[1], max_size=3)))  # type: ignore[name-defined]
        | HASHABLE.map(lambda pair: (frozenset[pair[0]], st.frozensets(pair[1], max_size=3)))  # type: ignore[name-defined]
        | inner.map(lambda pair: (tuple[pair[0], ...], st.lists(pair[1], max_size=3).map(tuple)))  # type: ignore[name-defined]
        | st.tuples(inner, inner).map(lambda two: (tuple[two[0][0], two[1][0]], st.tuples(two[0][1], two[1][1])))  # type: ignore[name-defined]
        | st.lists(inner, max_size=3).map(record)
        | HASHABLE.map(optional)
    )


DECLARED = st.recursive(st.sampled_from(VALUES), larger, max_leaves=4)
TYPED = DECLARED.flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1]))


def seen(value: Any) -> Any:
    """A value as what counts in it: each with its type, so that 1, 1.0 and True differ; a time as its moment."""
    if isinstance(value, datetime):
        return ("datetime", value - datetime(1, 1, 1, tzinfo=UTC))
    if isinstance(value, dict):
        return {key: seen(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return (type(value), sorted(repr(seen(inner)) for inner in value))
    if isinstance(value, (list, tuple)):
        return (type(value), [seen(inner) for inner in value])
    if hasattr(value, "__dict__") and not isinstance(value, Enum):
        return (type(value), {name: seen(inner) for name, inner in vars(value).items()})
    return repr(value)


def written_or_refusal(value: Any, encoding: str) -> bytes | UnencodableError:
    try:
        return wire.write("a", value, task_id="1", created_ms=1, encoding=encoding)
    except UnencodableError as error:
        return error


@pytest.mark.parametrize("encoding", wire.ENCODINGS)
@given(typed=TYPED)
def test_a_value_comes_back_as_it_was_or_is_refused(encoding: str, typed: tuple[Any, Any]) -> None:
    declared, value = typed

    body = written_or_refusal(value, encoding)

    if isinstance(body, UnencodableError):
        event("refused")
        assert str(body).startswith("payload")
    else:
        assert seen(converter(declared)(wire.read(body).payload)) == seen(value)
