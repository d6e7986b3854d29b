"""Settings and declarations that contradict each other or themselves, a sentence each. Pure; called by doctor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields

from runner.cli.traps import IDLE_OVER_S
from runner.config import ControllerSettings, ProducerSettings, WorkerSettings, load, variable
from runner.errors import ConfigError
from runner.queue import Declaration

FURTHER = ("RUNNER_NAMESPACE", "RUNNER_RESULT_FILE")
"""Variables that are no settings: an option of the command line, and what a program that handles tasks is told."""
NOT_OURS = re.compile(r"RUNNER_(TASK_.+|(.+_)?SERVICE_(HOST|PORT)(_.+)?|(.+_)?PORT(_\d+_.+)?)")
"""What a child is told of its task, and what Kubernetes tells every pod of a Service with such a name."""


def of_settings(environ: Mapping[str, str], declared: Mapping[str, Declaration]) -> Iterator[str]:
    """What the variables of this process say that cannot be meant, or that one of them takes from another."""
    known = {variable(one) for kind in (WorkerSettings, ControllerSettings) for one in fields(kind)} | set(FURTHER)
    for name in sorted(environ):
        if name.startswith("RUNNER_") and name not in known and not NOT_OURS.fullmatch(name):
            yield f"{name} is set, and no setting has this name: docs/settings.md has them all"
    wrong = [said for kind in (ProducerSettings, ControllerSettings, WorkerSettings) if (said := _refused(kind, environ))]
    yield from dict.fromkeys(wrong)
    if not wrong:
        yield from _login(environ)
        yield from _worker(load(WorkerSettings, {"RUNNER_QUEUE": "none", **environ}), declared)
        yield from _controller(load(ControllerSettings, environ))


def _refused(kind: type[ProducerSettings | ControllerSettings | WorkerSettings], environ: Mapping[str, str]) -> str:
    try:
        load(kind, {"RUNNER_QUEUE": "none", **environ})
    except ConfigError as error:
        return str(error)
    return ""


def _login(environ: Mapping[str, str]) -> Iterator[str]:
    place = environ.get("RUNNER_REDIS_URL", "").partition("://")[2].partition("?")[0]
    given = [name for name in ("RUNNER_REDIS_USERNAME", "RUNNER_REDIS_PASSWORD") if environ.get(name)]
    if "@" in place and given:
        yield f"RUNNER_REDIS_URL has a login, so {' and '.join(given)} say nothing: give the login in one of both ways"


def _worker(settings: WorkerSettings, declared: Mapping[str, Declaration]) -> Iterator[str]:
    if settings.exec and settings.handlers:
        yield "RUNNER_EXEC and RUNNER_HANDLERS are both set: the program gets every task and the modules none; unset one"
    queue = declared.get(settings.queue)
    if queue and 0 < settings.idle_s < queue.lease_s + IDLE_OVER_S:
        least_s = queue.lease_s + IDLE_OVER_S
        said = f"RUNNER_IDLE_S is {settings.idle_s:g}, queue {queue.name} needs {least_s:g}, its lease and 5 s"
        yield f"{said}: workers refuse to start; unset it"


def _controller(settings: ControllerSettings) -> Iterator[str]:
    if 0 < settings.for_s < settings.every_s:
        said = f"RUNNER_CONTROL_FOR_S is {settings.for_s:g}, RUNNER_CONTROL_EVERY_S {settings.every_s:g}"
        yield f"{said}: there is one pass only; raise the first or set it to 0"


def of_declaration(one: Declaration, declared: Mapping[str, Declaration]) -> Iterator[str]:
    """What a declaration says that cannot come true."""
    if one.oom_to and one.oom_to not in declared:
        yield f"oom_to names {one.oom_to}, which is not declared: what is killed for memory runs again here; declare it"
    elif one.oom_to and (ring := _ring(one, declared)):
        yield f"oom_to goes round in a ring, {' -> '.join(ring)}: what is killed for memory never meets bigger pods; end it at the biggest"
    if one.replay and 0 < one.dead_max_age_s <= one.replay_after_s:
        said = f"dead_max_age_s is {one.dead_max_age_s:g}, replay_after_s {one.replay_after_s:g}"
        yield f"{said}: dead letters are dropped before they may be replayed; raise the first"
    if one.replay and not (one.replay_max and one.replay_per_pass):
        yield "replay names reasons, but replay_max or replay_per_pass is 0: nothing is replayed; raise it, or declare an empty replay"
    if one.max_backoff_s < one.backoff_s:
        yield f"max_backoff_s is {one.max_backoff_s:g}, less than backoff_s {one.backoff_s:g}, which is never waited for; raise the first"


def _ring(one: Declaration, declared: Mapping[str, Declaration]) -> list[str]:
    way = [one.name]
    while (following := declared[way[-1]].oom_to if way[-1] in declared else "") and following not in way:
        way.append(following)
    return [*way, following] if following == one.name else []
