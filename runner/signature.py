"""What a handler's signature asks for: a context beside the payload, and the payload's type. Called by handlers, convert and records."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from functools import partial
from typing import Any

from runner.errors import HandlersError

JSON_TYPES = (None, type(None), Any, object, bool, int, float, str, list, tuple, dict)
JSON_LIKE = (Mapping, MutableMapping, Sequence, MutableSequence, Collection, Iterable, typing.Union, types.UnionType, typing.Literal)


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether it is to be called with (payload, context); HandlersError if neither that nor (payload) fits."""
    name = named(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise HandlersError(f"handler {name} is a generator, calling it would run nothing: return instead of yield")
    signature = inspect.signature(function)
    places = _places(signature)
    wants = len(places) > 1 and (places[1].default is places[1].empty or places[1].name == "context")
    try:
        signature.bind(*([None] * (1 + wants)))
    except TypeError:
        raise HandlersError(f"handler {name}{signature} is to take (payload) or (payload, context)") from None
    return wants


def declared_type(function: Callable[..., Any]) -> Any:
    """The type of the first parameter; None where it promises no more than JSON does, or nothing: such a payload is handed on as it is."""
    places = _places(inspect.signature(function))
    if not places or places[0].annotation is places[0].empty:
        return None
    name = places[0].name
    stub = types.SimpleNamespace(__annotations__={name: places[0].annotation})
    declared = hints(stub, _globals(function), f"parameter {name!r}")[name]
    return None if _is_json(declared, set()) else declared


def named(function: Callable[..., Any]) -> str:
    """A handler as a message calls it."""
    return str(getattr(function, "__qualname__", repr(function)))


def hints(owner: Any, names: dict[str, Any] | None = None, where: str = "") -> dict[str, Any]:
    """The resolved annotations of a class, or of a stub; HandlersError for one that names nothing known."""
    try:
        return typing.get_type_hints(owner, names, include_extras=True)
    except Exception as error:
        said = f"the type of {where or owner.__name__} cannot be resolved: {error}"
        raise HandlersError(f"{said}; import or define it at the top of the module, and not for the type checker alone") from error


def bare(declared: Any) -> Any:
    """A type without what stands around it: Annotated, NewType, a `type` statement's alias."""
    while True:
        inner = getattr(declared, "__supertype__", getattr(declared, "__value__", None))
        if typing.get_origin(declared) is typing.Annotated:
            inner = declared.__origin__
        if inner is None:
            return declared
        declared = inner


def _places(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [one for one in signature.parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _globals(function: Any) -> dict[str, Any]:
    """Where a handler's annotations were written; a decorator, a partial, a method, an object that can be called are looked through."""
    function = inspect.unwrap(function)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    function = getattr(function, "__func__", function)
    found = getattr(function, "__globals__", None) or getattr(type(function).__call__, "__globals__", None)
    return dict(found or {})


def _is_json(declared: Any, seen: set[int]) -> bool:
    """Whether JSON's own values are all that it means. A TypedDict says what keys there are, and is not checked."""
    declared = bare(declared)
    if id(declared) in seen or isinstance(declared, (str, typing.ForwardRef)):  # an alias that names itself, as one for any JSON does
        return True
    seen.add(id(declared))
    origin = typing.get_origin(declared) or declared
    if origin is typing.Literal or typing.is_typeddict(declared):
        return True
    plain = origin in (*JSON_TYPES, *JSON_LIKE) or (isinstance(origin, type) and issubclass(origin, (dict, list)))
    return plain and all(_is_json(one, seen) for one in typing.get_args(declared) if one is not ...)
