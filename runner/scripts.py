"""The Lua scripts by name: read once, run by SHA, their error codes made typed errors. Called by broker only."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from redis.exceptions import NoPermissionError, NoScriptError, ResponseError

from runner.explain import passes

FOLDER = Path(__file__).parent / "lua"
Argument = str | bytes | int
DENIED = ("ACL failure in script", "The user executing the script can't")
"""How newer and older servers refuse a command inside a script; redis-py makes a plain error of it."""


class StaleDeclaration(Exception):
    """The queue was declared again since this process read it; the broker reads it anew and repeats the call."""


class MissingDeclaration(Exception):
    """The queue has no declaration (any more)."""


class MemoryFull(Exception):
    """Redis is over maxmemory and refused the script before its first write."""


@dataclass(frozen=True)
class Script:
    """One script: its shebang, the shared prelude, its own text."""

    name: str
    text: str
    sha: str


@cache
def load(name: str) -> Script:
    """Read a script of the lua folder; the shebang stays the first line, the prelude comes next or where a line `-- prelude` says."""
    shebang, own = (FOLDER / f"{name}.lua").read_text().split("\n", 1)
    before, _, after = own.rpartition("-- prelude\n")
    text = f"{shebang}\n{before}{(FOLDER / 'prelude.lua').read_text()}{after}"
    return Script(name, text, hashlib.sha1(text.encode()).hexdigest())


def run(client: Any, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Any:
    """Run by SHA; a server that lost its script cache is given the text, at any point."""
    script = load(name)
    try:
        return client.evalsha(script.sha, len(keys), *keys, *args)
    except NoScriptError:
        return _run_text(client, script, keys, args)
    except ResponseError as error:
        raise translated(error) from error


def _run_text(client: Any, script: Script, keys: Sequence[str], args: Sequence[Argument]) -> Any:
    try:
        return client.eval(script.text, len(keys), *keys, *args)
    except ResponseError as error:
        raise translated(error) from error


def run_all(client: Any, calls: Sequence[tuple[str, Sequence[str], Sequence[Argument]]]) -> list[Any]:
    """Several scripts in one round trip where the client can (a Cluster client cannot pipeline EVALSHA)."""
    if hasattr(client, "get_primaries"):
        return [run(client, *call) for call in calls]
    pipeline = client.pipeline(transaction=False)
    for name, keys, args in calls:
        pipeline.evalsha(load(name).sha, len(keys), *keys, *args)
    replies = pipeline.execute(raise_on_error=False)
    return [_checked(client, call, reply) for call, reply in zip(calls, replies, strict=True)]


def _checked(client: Any, call: tuple[str, Sequence[str], Sequence[Argument]], reply: Any) -> Any:
    if isinstance(reply, NoScriptError):
        return _run_text(client, load(call[0]), call[1], call[2])
    if isinstance(reply, ResponseError) and passes(reply):
        return run(client, *call)  # an answer within a pipeline: only a call of its own is repeated with the client's patience
    if isinstance(reply, ResponseError):
        raise translated(reply) from reply
    if isinstance(reply, Exception):
        raise reply
    return reply


def translated(error: ResponseError) -> Exception:
    """The typed error for a script's error code, or the error itself."""
    said = str(error)
    for code, kind in (("STALEQUEUE", StaleDeclaration), ("NOQUEUE", MissingDeclaration)):
        if code in said:
            return kind(said)
    if any(words in said for words in DENIED):
        return NoPermissionError(said)
    return MemoryFull(said) if said.startswith("OOM ") or "used memory > 'maxmemory'" in said else error
