"""A payload made what a handler declares: its type's converter, put together once when the handlers are loaded. Called by handlers.

Each converter takes a plain value and gives back the declared one, or raises Mismatch. What cannot be told apart in a payload, such
as `str | datetime`, is refused when it is put together, so that no value comes back as another.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence, Set
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, Flag
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin
from uuid import UUID

from runner import models, scalars
from runner.errors import HandlersError
from runner.mismatch import a, form_of, wrong
from runner.records import array, converted, fields_of, instance, json_of, row
from runner.scalars import Convert
from runner.signature import bare, hints

FORMS = frozenset(("null", "boolean", "number", "string", "array", "object"))


class Part(NamedTuple):
    """A converter, and the forms of JSON that its values are written in."""

    convert: Convert
    forms: frozenset[str]


def same(value: Any) -> Any:
    """Anything at all."""
    return value


ANY = Part(same, FORMS)
NULL = Part(scalars.nothing, frozenset(("null",)))
STRING = frozenset(("string",))
SCALARS: dict[Any, Part] = {
    Any: ANY,
    object: ANY,
    None: NULL,
    type(None): NULL,
    bool: Part(scalars.truth, frozenset(("boolean",))),
    int: Part(scalars.whole, frozenset(("number",))),
    float: Part(scalars.real, frozenset(("number",))),
    str: Part(scalars.exactly("string"), STRING),
    bytes: Part(scalars.octets, STRING),
    datetime: Part(scalars.moment, STRING),
    date: Part(scalars.day, STRING),
    timedelta: Part(scalars.span, STRING),
    UUID: Part(scalars.identity, STRING),
    Decimal: Part(scalars.decimal, STRING),
}
ARRAYS: dict[Any, Callable[[Iterable[Any]], Any]] = {
    **dict.fromkeys((list, Sequence, MutableSequence, Collection, Iterable), list),
    **dict.fromkeys((set, Set), set),
    frozenset: frozenset,
}
MAX_NAMED = 20
OBJECTS = (dict, Mapping, MutableMapping)


def converter(declared: Any) -> Convert:
    """The way from a payload to this type; HandlersError for a type that a payload cannot be, or not for sure."""
    convert = Maker().part(declared).convert

    def read(value: Any) -> Any:
        try:
            return convert(value)
        except RecursionError:
            raise wrong("is nested too deep to read") from None

    return read


class Maker:
    """Puts the converters of one handler together; a class that holds itself is met again as it is being made."""

    def __init__(self) -> None:
        self._made: dict[type, Part] = {}

    def part(self, declared: Any) -> Part:
        """The converter of this type."""
        declared = bare(declared)
        origin, args = get_origin(declared) or declared, get_args(declared)
        if origin is Literal:
            return _choice((one, one) for one in args)
        if origin in (Union, types.UnionType):
            return self._union([self.part(one) for one in args], declared)
        if origin in SCALARS:
            return SCALARS[origin]
        if origin in ARRAYS:
            return self._array(ARRAYS[origin], self.part(args[0] if args else Any).convert)
        if origin is tuple:
            return self._tuple(args)
        if origin in OBJECTS:
            return self._object(*map(self.part, args or (str, Any)))
        return self._class(declared)

    def _class(self, kind: Any) -> Part:
        if not isinstance(kind, type) or isinstance(kind, TypeVar):
            raise HandlersError(f"{kind} is a type that no payload can be")
        if kind not in self._made:
            self._made[kind] = Part(lambda value: self._made[kind].convert(value), frozenset(("object",)))
            self._made[kind] = self._new(kind)
        return self._made[kind]

    def _new(self, kind: Any) -> Part:
        if models.is_model(kind):
            return _model(kind)
        if is_dataclass(kind):
            parts = [(field, self.part(declared).convert) for field, declared in fields_of(kind)]
            return Part(lambda value: instance(kind, parts, value), frozenset(("object",)))
        if issubclass(kind, Flag):
            return _flag(kind)
        if issubclass(kind, Enum):
            return _choice((one.value, one) for one in kind)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            known = hints(kind)
            places = [(name, self.part(known.get(name, Any)).convert) for name in kind._fields]
            return Part(lambda value: kind(*row(places, value)), frozenset(("array",)))
        raise HandlersError(f"{kind.__name__} is a class that no payload can be: make it a dataclass or a pydantic model")

    def _union(self, parts: list[Part], declared: Any) -> Part:
        """The alternative that is written in the form that came; where a form has two of them, nobody could tell which it was."""
        numbers = [part for part in parts if part in (SCALARS[int], SCALARS[float])]
        if len(numbers) == 2:  # JSON keeps 1 and 1.0 apart
            parts = [Part(scalars.exactly("number"), numbers[0].forms), *(part for part in parts if part not in numbers)]
        if ANY in parts:
            return ANY
        forms = [form for part in parts for form in part.forms]
        if len(set(forms)) < len(forms):
            raise HandlersError(f"{declared} has alternatives that look alike in a payload: keep one, or let a pydantic model choose")
        by_form = {form: part.convert for part in parts for form in part.forms}
        rest = [part.convert for part in parts if part is not NULL]
        return Part(lambda value: _alternative(by_form, rest, value), frozenset(forms))

    def _array(self, kind: Callable[[Iterable[Any]], Any], convert: Convert) -> Part:
        def read(value: Any) -> Any:
            items = converted(enumerate(array(value)), convert)
            try:
                return kind(items)
            except TypeError:
                raise wrong("holds arrays or objects, which cannot be in a set") from None

        return Part(read, frozenset(("array",)))

    def _tuple(self, args: tuple[Any, ...]) -> Part:
        if not args or args[-1] is ...:
            return self._array(tuple, self.part(args[0] if args else Any).convert)
        places = [(at, self.part(one).convert) for at, one in enumerate(args)]
        return Part(lambda value: tuple(row(places, value)), frozenset(("array",)))

    def _object(self, name: Part, inner: Part) -> Part:
        if name is not ANY and name.forms != STRING:
            raise HandlersError("a dict with other keys than strings is a type that no payload can be")

        def read(value: Any) -> Any:
            if not isinstance(value, dict):
                raise wrong(f"is {a(form_of(value))}, not an object")
            names = converted(((key, key) for key in value), name.convert)
            return dict(zip(names, converted(value.items(), inner.convert), strict=True))

        return Part(read, frozenset(("object",)))


def _alternative(by_form: Mapping[str, Convert], rest: list[Convert], value: Any) -> Any:
    form = form_of(value)
    if form in by_form:
        return by_form[form](value)
    if len(rest) == 1:  # it may read more than it writes
        return rest[0](value)
    raise wrong(f"is {a(form)}, not {' or '.join(map(a, by_form))}")


def _model(kind: Any) -> Part:
    if fault := models.unfinished(kind):
        raise HandlersError(f"{kind.__name__} cannot be resolved: {fault}")
    if field := models.text_bytes(kind, "validation"):
        said = f"{kind.__name__} reads the bytes of field {field!r} from UTF-8 text, while tasks carry base64"
        raise HandlersError(f"{said}: {models.BASE64}")

    def read(value: Any) -> Any:
        try:
            text = json_of(value)
        except TypeError:  # of a MessagePack map
            raise wrong("holds a key that is no string") from None
        return models.validated(kind, text, value)

    return Part(read, FORMS if getattr(kind, "__pydantic_root_model__", False) else frozenset(("object",)))


def _choice(members: Iterable[tuple[Any, Any]]) -> Part:
    """One of a few values, by the JSON that each is written as: pairs of what is written and what it stands for."""
    known: dict[str, Any] = {}
    forms = set()
    for written, member in members:
        text = json_of(written)
        if text in known and known[text] is not member:
            raise HandlersError(f"{member!r} and {known[text]!r} are written alike: give them other values")
        known[text] = member
        forms.add(form_of(json.loads(text)))

    def read(value: Any) -> Any:
        try:
            return known[json_of(value)]
        except (KeyError, TypeError):
            raise wrong(f"is none of {', '.join(list(known)[:MAX_NAMED])}{', ...' if len(known) > MAX_NAMED else ''}") from None

    return Part(read, frozenset(forms))


def _flag(kind: Any) -> Part:
    def read(value: Any) -> Any:
        try:
            return kind(scalars.whole(value))
        except ValueError:
            raise wrong(f"is a number, but no {kind.__name__}") from None

    return Part(read, frozenset(("number",)))
