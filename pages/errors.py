"""docs/errors.md: every error of the library, and every way an attempt can end, out of their docstrings. Called by pages.__main__."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from runner import errors
from runner.outcome import Kind

SAID_ELSEWHERE = {
    Kind.DONE: "The handler returned, or its program exited with 0.",
    Kind.TIMEOUT: "It was not back within its timeout.",
    Kind.OOM: "The kernel killed it for memory, or it raised `MemoryError`.",
    Kind.CANCELLED: "Somebody cancelled it, and its worker ended it.",
    Kind.UNREADABLE: "The body is no envelope, or its payload not what the handler declares; every byte is kept.",
    Kind.UNKNOWN_TYPE: "No worker knew the type for `unknown_type_grace_s`.",
    Kind.EXPIRED: "It was not started before its `expires_s`.",
}
"""For the kinds whose name says enough in the code."""


def document() -> Iterator[str]:
    """The lines of the page."""
    yield from ("# Errors and reasons", "", "Written by `make pages` from `runner/errors.py` and `runner/outcome.py`.", "")
    yield from ("## Errors of the library", "", "All are in `runner.errors`; catch a base to catch what is below it.", "")
    yield from ("| error | is a | means |", "|---|---|---|")
    for name, one in vars(errors).items():
        if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == errors.__name__:
            yield f"| `{name}` | `{one.__base__.__name__ if one.__base__ else ''}` | {one_line(inspect.getdoc(one) or '')} |"
    yield from ("", "## How an attempt can end", "")
    yield from ("The word stands in `runner inspect`, in the logs, and as the reason of a dead letter.", "")
    yield from ("| word | means |", "|---|---|")
    meanings = meanings_of(Kind)
    for kind in Kind:
        yield f"| `{kind}` | {one_line(meanings.get(kind.name) or SAID_ELSEWHERE[kind])} |"


def meanings_of(enum: type) -> dict[str, str]:
    """The line under each member, which is where its meaning is written down once."""
    (body,) = ast.parse(inspect.getsource(enum)).body
    said, last = {}, ""
    for node in getattr(body, "body", ()):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            last = node.targets[0].id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            said[last] = str(node.value.value)
    return said


def one_line(text: str) -> str:
    """A docstring in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
