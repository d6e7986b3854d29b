"""Values with parts, made of the converters of their parts: arrays, rows, dataclasses. Called by convert."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, InitVar, fields
from typing import Any

from runner.errors import HandlersError
from runner.mismatch import Fault, Mismatch, a, discreet, form_of, wrong
from runner.plain import plain
from runner.scalars import Convert
from runner.signature import hints


def json_of(value: Any) -> str:
    """The JSON that says a payload's value again; bytes and times of a MessagePack body as JSON has them."""
    return json.dumps(value, default=plain)


def array(value: Any) -> list[Any]:
    """The value, if it is an array."""
    if not isinstance(value, list):
        raise wrong(f"is {a(form_of(value))}, not an array")
    return value


def converted(parts: Iterable[tuple[Any, Any]], convert: Convert) -> list[Any]:
    """Each part by the same converter; a part that does not fit is named."""
    made = []
    for key, part in parts:
        try:
            made.append(convert(part))
        except Mismatch as fault:
            raise Mismatch(*fault.under(key)) from None
    return made


def row(places: Sequence[tuple[Any, Convert]], value: Any) -> list[Any]:
    """An array of as many parts as there are places, each by the place's own converter."""
    parts = array(value)
    if len(parts) != len(places):
        raise wrong(f"has {len(parts)} parts, not {len(places)}")
    return [made for (name, convert), part in zip(places, parts, strict=True) for made in converted([(name, part)], convert)]


def fields_of(kind: Any) -> list[tuple[Field[Any], Any]]:
    """The fields of a dataclass with their types."""
    known = hints(kind)
    if odd := next((name for name, declared in known.items() if isinstance(declared, InitVar)), ""):
        raise HandlersError(f"{kind.__name__}.{odd} is an InitVar, which is never written: make it a field")
    return [(field, known.get(field.name, Any)) for field in fields(kind)]


def instance(kind: Any, parts: Sequence[tuple[Field[Any], Convert]], value: Any) -> Any:
    """The dataclass that an object says. Fields that it does not know are passed over, so that producers may go ahead of workers."""
    if not isinstance(value, dict):
        raise wrong(f"is {a(form_of(value))}, not an object")
    given: dict[str, Any] = {}
    faults: list[Fault] = []
    for field, convert in parts:
        try:
            given |= _one(field, convert, value)
        except Mismatch as fault:
            faults += fault.under(field.name)
    if faults:
        raise Mismatch(*faults)
    late = [field.name for field, _ in parts if not field.init]
    try:
        return _made(kind, late, given)
    except (ValueError, TypeError, AssertionError) as error:
        name = type(error).__name__
        words = discreet(f"{name}: {error}", value, f"{name}, in words that quote the payload")
        raise Mismatch(((), f" is refused by {kind.__name__}: {words}")) from None


def _one(field: Field[Any], convert: Convert, value: dict[str, Any]) -> dict[str, Any]:
    if field.name in value:
        return {field.name: convert(value[field.name])}
    if field.init and field.default is MISSING and field.default_factory is MISSING:
        raise wrong("is missing")
    return {}


def _made(kind: Any, late: Sequence[str], given: dict[str, Any]) -> Any:
    """What `__init__` makes; fields that it does not take are set behind it."""
    after = {name: given.pop(name) for name in late if name in given}
    made = kind(**given)
    for name, part in after.items():
        object.__setattr__(made, name, part)
    return made
