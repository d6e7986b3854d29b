"""Where a payload is not what its handler declares, in words that hold none of its values. Raised by convert, scalars and models."""

from __future__ import annotations

from typing import Any

MAX_TOLD = 5
QUOTABLE = 3
"""Characters of a value that no message happens to hold; a shorter one is in many words."""

Fault = tuple[tuple[Any, ...], str]
"""The way to the value, as names and indices, and what is wrong with it: ` is missing`, `: Input should be ...`."""


class Mismatch(Exception):
    """A value is not what was declared; the task's next run would find the same."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__()
        self.faults = faults

    def under(self, key: Any) -> list[Fault]:
        """The same, seen from the value that holds this one."""
        return [((key, *way), said) for way, said in self.faults]

    def __str__(self) -> str:
        told = [f"`{_path(way)}`{said}" for way, said in self.faults[:MAX_TOLD]]
        more = len(self.faults) - MAX_TOLD
        return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def wrong(said: str) -> Mismatch:
    """A mismatch of the value at hand: `wrong("is missing")`."""
    return Mismatch(((), f" {said}"))


def form_of(value: Any) -> str:
    """What a value is in JSON, in a word. Bytes and times of a MessagePack body count as the strings that JSON has for them."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "string"


def a(form: str) -> str:
    """With its article."""
    return form if form == "null" else f"an {form}" if form[0] in "ao" else f"a {form}"


def discreet(words: str, value: Any, instead: str) -> str:
    """The words of somebody's validator, or something in their place where they quote the payload: `int("hunter2")` does."""
    ahead = [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, (dict, list)):
            ahead += part.values() if isinstance(part, dict) else part
        elif isinstance(part, (str, int, float)) and len(text := str(part)) >= QUOTABLE and not isinstance(part, bool) and text in words:
            return instead
    return words


def _path(way: tuple[Any, ...]) -> str:
    parts = [f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]" for key in way]
    return "payload" + "".join(parts)
