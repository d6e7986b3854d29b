"""Fails at import, in a function that it calls. Loaded by the children of the tests beside it."""

from __future__ import annotations


def connect() -> None:
    raise ConnectionError("no\nanswer")


connect()
