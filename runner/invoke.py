"""One call of a handler, and whatever it does made into an outcome. Called by the child."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from typing import Any

from runner.handlers import REGISTRY, Context, Fatal, Handler, Retry, Stop, Stopped, raise_stopped
from runner.mismatch import Mismatch
from runner.outcome import Kind
from runner.tail import clip
from runner.wire import read

MAX_RESULT_BYTES = 64 * 1024


def outcome_of(body: bytes, context: Context, stop: Stop) -> dict[str, Any]:
    """Run the type's handler with this body's payload. `sys.exit()`, even with 0, is an error: a library that exits did not do the task."""
    handler = REGISTRY.find(context.type, context.version)
    if handler is None:
        return {"kind": Kind.ERROR, "detail": f"no handler for type {context.type!r}, version {context.version}"}
    try:
        payload = read(body, context.type).payload
        return {"kind": Kind.DONE} | _encoded(_guarded(handler, payload, context, stop))
    except Stopped:
        _print_traceback()
        return {"kind": None}
    except Retry as wish:
        return {"kind": Kind.RETRY, "detail": clip(_text(wish)), "after_s": wish.after_s}
    except Mismatch as mismatch:  # no further run would find another payload
        return {"kind": Kind.UNREADABLE, "detail": clip(str(mismatch))}
    except Fatal as last_word:
        return {"kind": Kind.FATAL, "detail": clip(_text(last_word))}
    except BaseException as error:  # noqa: BLE001 - nothing that a handler raises is silence
        _print_traceback()
        return {"kind": Kind.OOM if isinstance(error, MemoryError) else Kind.ERROR, "detail": clip(_named(error))}


def _guarded(handler: Handler, payload: Any, context: Context, stop: Stop) -> Any:
    """Call with the stop armed, so that a SIGTERM breaks in here and nowhere else."""
    try:
        stop.interrupt = raise_stopped
        if stop.asked:
            raise Stopped
        value = handler.call(payload, context)
        return _run_async(value, stop) if inspect.iscoroutine(value) else value
    finally:
        stop.interrupt = None


def _run_async(coroutine: Any, stop: Stop) -> Any:
    """Run in an event loop. A stop cancels the handler there: an exception raised in the loop's own code would be swallowed."""
    import asyncio

    async def main() -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        stop.interrupt = lambda: loop.call_soon_threadsafe(task.cancel)
        if stop.asked:  # a moment ago, and the loop swallowed what it raised
            raise Stopped
        return await coroutine

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if stop.asked:
            raise Stopped from None
        raise


def _encoded(value: Any) -> dict[str, Any]:
    """The result as JSON. One that cannot be kept leaves the task done, with a note: to run it again would not help."""
    if value is None:
        return {}
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain)
    except Exception as error:  # noqa: BLE001 - a value's own methods can raise anything
        return {"detail": clip(f"the result is no JSON and not kept: {_named(error)}")}
    if len(text) > MAX_RESULT_BYTES:
        return {"detail": f"the result is over {MAX_RESULT_BYTES} bytes and not kept: store it elsewhere and return its address"}
    return {"result": text}


def _plain(value: Any) -> Any:
    """As in a payload. Imported for a result that needs it."""
    from runner.plain import Unplain, plain

    try:
        return plain(value)
    except Unplain as fault:
        raise TypeError(f"a value in it {fault}") from None


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {_text(error)}".rstrip(": ")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - an exception's own __str__ can raise anything
        return f"(no text: its __str__ raised {type(second).__name__})"


def _print_traceback() -> None:
    """To the child's output, and so to the log and the tail."""
    import traceback

    with contextlib.suppress(Exception):  # the handler closed its stderr; its outcome must be told all the same
        traceback.print_exc(file=sys.stderr)
