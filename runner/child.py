"""The forked child: it loads the handlers, says so, waits for one task, runs it and says how it ended. Called by the supervisor.

It never returns into its parent's code, and ends by `os._exit`: threads that the handler left cannot keep it, and hooks
of `atexit` do not run. A fork of it that falls out of the handler is ended without a word.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from runner.channels import Channels, read_all, tie_to, write_all
from runner.errors import HandlersError
from runner.tail import clip

if TYPE_CHECKING:
    from runner import handlers


def main(channels: Channels, handlers: Sequence[str], command: str, result_file: str) -> NoReturn:
    """All of the child's life, from the fork on."""
    code = 1
    try:
        _settle_in(channels)
        reply = Reply(channels.reply_w)
        if command:
            _live_as_program(channels, reply, command, result_file)
        else:
            _live_as_handlers(channels, reply, handlers)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent's code is below on this stack, nothing may get there
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


class Reply:
    """JSON lines to the supervisor, each written by one call so that threads do not mix them."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pid = os.getpid()

    def send(self, **said: Any) -> None:
        """Tell the supervisor. Only this process speaks for the task, no fork that the handler made of it."""
        if os.getpid() != self._pid:
            os._exit(0)
        write_all(self._fd, json.dumps(said, separators=(",", ":")).encode() + b"\n")

    def progress(self, fraction: float, note: str) -> None:
        """What `context.progress` calls."""
        self.send(progress=[fraction, note])


def _settle_in(channels: Channels) -> None:
    """A group of its own, the pipes in place of the standard streams, and none of the parent's signal handlers."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    channels.keep_childs_ends()
    tie_to(channels.lifeline_r)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(channels.output_w, 1)
    os.dup2(channels.output_w, 2)
    os.close(channels.output_w)
    _renew_streams()


def _renew_streams() -> None:
    """New stream objects: the parent's may hold unwritten text, or lead somewhere else."""
    import faulthandler

    text: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "closefd": False}
    sys.stdin = open(0, **text)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, **text)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, **text)  # noqa: SIM115
    faulthandler.enable(2)


def _live_as_program(channels: Channels, reply: Reply, command: str, result_file: str) -> None:
    from runner import program

    try:
        words = program.check(command)
    except HandlersError as error:
        reply.send(failed=clip(str(error)))
        return
    reply.send(ready=None)
    facts = channels.await_task()
    if facts is None:
        return
    try:
        program.become(words, facts, channels, result_file)
    except OSError as error:
        reply.send(outcome={"kind": "error", "detail": f"{words[0]} could not be started: {error}"})


def _live_as_handlers(channels: Channels, reply: Reply, modules: Sequence[str]) -> None:
    from runner import handlers, invoke, program

    try:
        handlers.load(modules)
    except HandlersError as error:
        reply.send(failed=clip(str(error)))
        return
    reply.send(ready=handlers.REGISTRY.types())
    facts = channels.await_task()
    if facts is not None:
        stop = handlers.Stop()
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # users' modules may have their own, and then it is theirs
            signal.signal(signal.SIGTERM, stop.on_term)
            os.register_at_fork(after_in_child=lambda: _end_plainly(stop))
        context = handlers.Context(facts, stop, reply.progress)
        program.tell_id(context.id)
        outcome = invoke.outcome_of(read_all(channels.body_fd), context, stop)
        _flush()
        reply.send(outcome=outcome)


def _end_plainly(stop: handlers.Stop) -> None:
    """In the handler's own forks SIGTERM ends a process, as everywhere: a process pool that is closed waits for that."""
    if signal.getsignal(signal.SIGTERM) == stop.on_term:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the handler closed or replaced it; its outcome must be told all the same
            stream.flush()
