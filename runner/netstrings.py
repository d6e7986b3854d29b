"""Flat fields as bytes: netstrings, a name and a value in turn. Called by wire; the claim script makes the same bytes in Lua."""

from __future__ import annotations

from collections.abc import Iterable

MAX_DIGITS = 10
"""Of a length; more would be over anything Redis can hold."""


def join(parts: Iterable[bytes]) -> bytes:
    """`b"type"` becomes `b"4:type,"`."""
    return b"".join(b"%d:%b," % (len(part), part) for part in parts)


def split(body: bytes) -> list[bytes]:
    """What `join` joined; ValueError, in words for people, for all other bytes."""
    parts: list[bytes] = []
    at = 0
    while at < len(body):
        start, end = _span(body, at)
        parts.append(body[start:end])
        at = end + 1
    return parts


def flat_pairs(body: bytes) -> list[tuple[bytes, bytes]]:
    """Names and values in the order they were sent, double names included."""
    parts = split(body)
    if len(parts) % 2:
        raise ValueError(f"a field name without a value at the end of {len(parts)} netstrings")
    return list(zip(parts[::2], parts[1::2], strict=True))


def flat_body(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """What `flat_pairs` reads."""
    return join(part for pair in pairs for part in pair)


def _span(body: bytes, at: int) -> tuple[int, int]:
    """Where the content of the netstring at `at` starts and ends."""
    colon = body.find(b":", at, at + MAX_DIGITS + 1)
    digits = body[at:colon] if colon > at else b""
    if not digits.isdigit() or (len(digits) > 1 and digits.startswith(b"0")):
        raise ValueError(f"no `length:` at byte {at}")
    end = colon + 1 + int(digits)
    if body[end : end + 1] != b",":
        raise ValueError(f"the netstring at byte {at} does not end in a comma after {int(digits)} bytes")
    return colon + 1, end
