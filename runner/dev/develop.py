"""Runs a session of `runner dev` until Ctrl-C, on an embedded server where no Redis was named. Called by cli."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
from contextlib import ExitStack

from rich.console import Console

from runner.connect import TOLD, explain
from runner.dev.session import FIRST_QUEUE, Plan, Session
from runner.embedded import EmbeddedServer
from runner.errors import ConfigError
from runner.queue import Declaration
from runner.stop import Stop

TURN_S = 0.05
PORT = 16379
"""Where the embedded server listens if nobody else does, so that the address given to another shell stays right from run to run."""
LOGINS = ("RUNNER_REDIS_USERNAME", "RUNNER_REDIS_PASSWORD")


def develop(plan: Plan, console: Console) -> int:
    """Run it; 0 when the end was asked for and all processes have ended."""
    _check(plan)
    server, stop = None if plan.url else _server(plan.port), Stop()
    stop.listen()
    with ExitStack() as kept:
        url = kept.enter_context(server).url if server else plan.url
        try:
            session = kept.enter_context(Session(plan, url, console))
            while not stop.asked:
                session.turn()
                stop.wait(TURN_S)
        except TOLD as error:
            raise explain(error, url) from error
    return 0


def _check(plan: Plan) -> None:
    """What cannot work is said before anything starts."""
    for name in plan.queues or (FIRST_QUEUE,):
        Declaration(name, mode=plan.mode)
    if plan.handlers and plan.exec:
        raise ConfigError("tasks are handled by Python modules or by a program: give handlers or --exec, not both")
    _check_program(plan.exec)
    if plan.url and plan.port:
        raise ConfigError("--port is for the embedded server, and a Redis was named: leave one of the two out")


def _check_program(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"--exec is {command!r}, which cannot be split into words: {error}") from error
    if command and not shutil.which(words[0] if words else ""):
        raise ConfigError(f"--exec names {words[0] if words else ''!r}, and no such program is on PATH")


def _server(port: int) -> EmbeddedServer:
    """A server that asks for no login, whatever the environment holds for another."""
    for name in LOGINS:
        os.environ.pop(name, None)
    for wanted in [port] if port else [PORT, 0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", wanted))
            except OSError:
                continue
            free = int(probe.getsockname()[1])
        return EmbeddedServer(port=free, apart=True)
    raise ConfigError(f"port {port} of this machine is taken or not allowed: name another one with --port, or none")
