"""Task <-> bytes, the contract of docs/wire.md. Called by broker, worker and child to read, by the producer to write.

The parent of a worker imports this: JSON comes from the standard library here, MessagePack is imported when such a body comes,
and what writes sits in `encode`, imported by the first `write`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from runner.envelope import KNOWN, MAX_WHOLE, PAYLOAD_NAMES, TYPE_NAMES, Fault, shown, text_fault, to_task, whole
from runner.errors import UnencodableError, UnreadableError
from runner.netstrings import flat_pairs
from runner.tasks import Task

WIRE_VERSION = 1
"""Of docs/wire.md: what version 1 can read stays readable; raised only with an ADR and a CHANGELOG line."""

ENCODINGS = ("json", "msgpack")
"""What `write` writes; `read` tells them apart by the first byte."""
MAP_BYTES = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))
"""First bytes of a MessagePack map. None of them can begin UTF-8 text."""
JSON_NAMES = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}
WITH_ID = frozenset(("id", "body"))


def read(body: bytes, default_type: str = "", default_id: str | None = None) -> Task:
    """The task that these bytes say; UnreadableError with the reason and the bytes, and no other error, for any that say none."""
    try:
        return to_task(_fields(body), default_type, default_id)
    except Fault as fault:
        raise UnreadableError(str(fault), body) from fault


def write(
    task_type: str,
    payload: Any,
    *,
    task_id: str,
    created_ms: int,
    version: int | None = None,
    timeout_ms: int | None = None,
    max_retries: int | None = None,
    key: str | None = None,
    encoding: str = "json",
) -> bytes:
    """An envelope in JSON or MessagePack; UnencodableError, naming the place, for a value that it cannot hold or `read` would not take."""
    envelope: dict[str, Any] = {"type": task_type, "task_id": task_id, "created_at": created_ms}
    if key is not None:
        envelope["key"] = key
    for name in ("type", "task_id", "key"):
        if name in envelope and (fault := text_fault(envelope[name])):
            raise UnencodableError(f"`{name}` {fault}")
    if version is not None or timeout_ms is not None or max_retries is not None:
        envelope.update(_limits(version=version, timeout_ms=timeout_ms, max_retries=max_retries))
    if payload is not None:
        envelope["payload"] = payload
    return _dumps(encoding)(envelope)


@cache
def _dumps(encoding: str) -> Callable[[Any], bytes]:
    """Imported once, by the first write: the import statement alone costs more than the encoding when it runs at every submit."""
    from runner import encode

    return {"json": encode.dumps, "msgpack": encode.packed}[encoding]


def _limits(**limits: int | None) -> dict[str, int]:
    given = {name: value for name, value in limits.items() if value is not None}
    for name, value in given.items():
        if whole(value) is None:
            raise UnencodableError(f"`{name}` is {shown(value)}, not a whole number from 0 to {MAX_WHOLE}")
    return given


def _fields(body: bytes) -> Mapping[str, Any]:
    if not body:
        raise Fault("the body is empty")
    return _flat(body) if body[:1].isdigit() else _object(body)


def _object(body: bytes) -> dict[str, Any]:
    return _from_msgpack(body) if body[:1] and body[0] in MAP_BYTES else _from_json(body)


def _from_json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Fault(f"neither JSON, nor a MessagePack map, nor flat fields: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise Fault(f"not valid JSON: {error.msg}, at character {error.pos}") from error
    except ValueError as error:
        raise Fault("the JSON holds an integer with more digits than Python reads") from error
    except RecursionError as error:
        raise Fault("the JSON is nested too deep") from error
    if not isinstance(value, dict):
        raise Fault(f"the JSON is {JSON_NAMES[type(value)]}, not an object")
    return value


def _from_msgpack(body: bytes) -> dict[str, Any]:
    try:
        msgpack = importlib.import_module("msgpack")
    except ImportError as error:
        raise Fault("this is MessagePack, and the Python package msgpack is not installed where the worker runs: install it") from error
    try:
        value = msgpack.unpackb(body, raw=False, strict_map_key=False, timestamp=3)
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise Fault(f"not valid MessagePack: {str(error)[:200] or type(error).__name__}") from error
    return {name.decode(errors="replace") if isinstance(name, bytes) else str(name): part for name, part in value.items()}


def _flat(body: bytes) -> Mapping[str, Any]:
    """Fields of a stream entry: an envelope in one of them, or the envelope's fields themselves."""
    try:
        entry = {name.decode(): value for name, value in flat_pairs(body)}
    except UnicodeDecodeError as error:
        raise Fault("a field's name is not UTF-8") from error
    except ValueError as error:
        raise Fault(f"not valid flat fields: {error}") from error
    inner = _enveloped(entry)
    return _flat_fields(entry) if inner is None else inner


def _enveloped(entry: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The envelope that one field holds. Beside `type`, `body` is a name like others: an e-mail has one."""
    if "body" in entry and WITH_ID.issuperset(entry):
        inner = _object(entry["body"])
        return {**inner, "task_id": entry["id"]} if "id" in entry else inner
    if len(entry) != 1:
        return None
    ((name, value),) = entry.items()
    return _single(name, value)


def _single(name: str, value: bytes) -> dict[str, Any] | None:
    """A `payload` alone is an envelope only if it says its type; any other name needs but one of the known fields."""
    if not _begins_object(value) or (name in KNOWN and name not in PAYLOAD_NAMES):
        return None
    if name not in PAYLOAD_NAMES:
        found = _object(value)
        return found if KNOWN.intersection(found) else None
    try:
        found = _object(value)
    except Fault:  # a payload may be any text or bytes
        return None
    return found if any(found.get(known) is not None for known in TYPE_NAMES) else None


def _begins_object(value: bytes) -> bool:
    first = value.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]
    return first == b"{" or (value[:1] != b"" and value[0] in MAP_BYTES)


def _flat_fields(entry: Mapping[str, bytes]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _text_or_bytes(value) for name, value in entry.items()}
    if any(name in fields for name in PAYLOAD_NAMES):
        return {name: _loose(value) if name in PAYLOAD_NAMES else value for name, value in fields.items()}
    rest = {name: value for name, value in fields.items() if name not in KNOWN}
    return {**fields, "payload": rest or None}


def _text_or_bytes(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _loose(value: str | bytes) -> Any:
    """JSON where it is JSON, else the text, or the bytes, as they came."""
    if isinstance(value, bytes):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
