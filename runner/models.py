"""pydantic models, told by what their classes carry: pydantic is never imported here. Called by plain to write, by convert to read.

A model is written and read by its own rules, aliases and serializers included. Three things that these rules would turn into
something else are refused: bytes as UTF-8 text, where every other task carries base64; a secret as asterisks; a time without a zone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from runner.mismatch import Mismatch, discreet

BASE64 = 'declare it pydantic.Base64Bytes, or model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")'


def is_model(kind: Any) -> bool:
    """A class of pydantic's: a model, or a dataclass that pydantic made."""
    return isinstance(kind, type) and hasattr(kind, "__pydantic_validator__")


def dumped(model: Any, mode: str) -> Any:
    """The model as plain values (`json`), or as Python's own (`python`), such that its class would read them."""
    serialize = getattr(model, "model_dump", None) or _dataclass_dump(model)
    return serialize(mode=mode, by_alias=True, round_trip=True)


def _dataclass_dump(model: Any) -> Any:
    def serialize(**options: Any) -> Any:
        return type(model).__pydantic_serializer__.to_python(model, **options)

    return serialize


def unfinished(kind: Any) -> str:
    """Why a model cannot read anything yet, such as a name that nobody defined; empty if it can."""
    try:
        if not getattr(kind, "__pydantic_complete__", True):
            kind.model_rebuild()
    except Exception as error:  # noqa: BLE001 - a name is evaluated, and that can raise anything
        return str(error)
    return ""


@lru_cache(1024)
def text_bytes(kind: Any, mode: str) -> str:
    """The field whose bytes the model writes (`serialization`) or reads (`validation`) as UTF-8 text; empty if there is none."""
    pydantic: Any = sys.modules["pydantic"]
    try:
        with warnings.catch_warnings():  # of defaults that a schema cannot say
            warnings.simplefilter("ignore")
            schema = pydantic.TypeAdapter(kind).json_schema(mode=mode)
    except (pydantic.PydanticUserError, TypeError):  # a type of the user's own that no schema describes; its serializer is its own too
        return ""
    return next(_binary(schema, ""), "")


def _binary(node: Any, name: str) -> Iterator[str]:
    """The names of the fields that a JSON schema has as bytes."""
    if isinstance(node, dict):
        if node.get("format") == "binary":
            yield name
        for key, inner in node.items():
            named = inner.items() if key == "properties" and isinstance(inner, dict) else [(name, inner)]
            for part, one in named:
                yield from _binary(one, part)
    elif isinstance(node, list):
        for inner in node:
            yield from _binary(inner, name)


def validated(kind: Any, text: str, value: Any) -> Any:
    """The model that this JSON of `value` says, by pydantic's own validation; Mismatch with its words, without the values."""
    try:
        return kind.__pydantic_validator__.validate_json(text)
    except ValueError as error:
        if not hasattr(error, "errors"):
            raise
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        raise Mismatch(*[(tuple(one["loc"]), f": {discreet(one['msg'], value, one['type'])}") for one in faults]) from None
