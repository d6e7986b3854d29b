"""The command that looks for what will go wrong: doctor. Called by cli."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from runner.cli import contradictions
from runner.cli.common import AnyQueue, Json, Namespace, Release, age, examples, opened_broker
from runner.cli.output import say, say_json
from runner.errors import ClusterError, ConfigError, RunnerError, UndeclaredQueueError

if TYPE_CHECKING:
    from runner.broker import Broker, Queue
    from runner.cluster import Cluster
    from runner.queue import Declaration

SUPPORTED = {"Kubernetes": (1, 29), "KEDA": (2, 19)}
"""The oldest releases that the chart works with; the README has them (a test compares)."""
SILENT_MS = 180_000
"""A controller that made no pass for so long does not run: the CronJob's period is a minute."""
CLOCK_MS = 2_000
"""From here on printed times are misleading; nothing else depends on the clock of any machine but Redis's."""
Fault = tuple[str, str]
Seen = TypeVar("Seen")
Role = Annotated[str, typer.Option(help="Whose work the login has to do: controller (also a person here), worker or producer.")]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    shown = examples("runner doctor", "runner doctor --role worker", "runner doctor --namespace shop --release shop --json")
    app.command(epilog=shown)(doctor)


def doctor(queue: AnyQueue = "", role: Role = "controller", namespace: Namespace = "", release: Release = "", as_json: Json = False) -> int:
    """Look for what will go wrong: Redis, the login, keys, settings, the controller, each ScaledJob, versions. Exit code 1 if there is."""
    with opened_broker() as broker:
        found, unseen, declared = of_redis(broker, queue, role)
        prefix = broker.prefix
    more, looked = of_cluster(declared, prefix, namespace, release)
    return _say([*found, *more], [*unseen, *([looked] if looked else [])], as_json)


def of_redis(broker: Broker, queue: str, role: str) -> tuple[list[Fault], list[str], list[Declaration]]:
    """What is wrong as far as Redis tells it, what could not be looked at, and the declarations that can be read."""
    from runner.broker.rights import ROLES

    if role not in ROLES:
        raise ConfigError(f"{role!r} is no role: use one of {', '.join(ROLES)}")
    look = Looks()
    everything: Mapping[str, Queue | RunnerError] = look.at("queues", broker.each, {})
    known = {name: one.declaration for name, one in everything.items() if not isinstance(one, RunnerError)}
    opened = {name: one for name, one in everything.items() if queue in ("", name)}
    if queue and everything and not opened:
        raise UndeclaredQueueError(queue)
    queues = [one for one in opened.values() if not isinstance(one, RunnerError)]
    look.find("Redis's version, persistence and memory", lambda: _servers(broker))
    look.found += _login(broker, role, next(iter(opened), queue or "queue"))
    look.find("the clock", lambda: _clock(broker))
    look.found += [("settings", said) for said in contradictions.of_settings(os.environ, known)]
    look.find("the controller", lambda: _controller(broker))
    look.find("keys", lambda: _keys(broker, opened, all_=not queue))
    for one in queues:
        look.find(f"queue {one.name}", lambda one=one: _queue(one, known))  # type: ignore[misc]
    return look.found, look.unseen, [one.declaration for one in queues]


class Looks:
    """What was found, and what could not be looked at because the login may not."""

    def __init__(self) -> None:
        self.found: list[Fault] = []
        self.unseen: list[str] = []

    def at(self, what: str, look: Callable[[], Seen], nothing: Seen) -> Seen:
        """What a look shows, or nothing."""
        from runner.explain import DENIED

        try:
            return look()
        except DENIED as error:
            self.unseen.append(f"{what}: not looked at, this login may not: {error}")
            return nothing

    def find(self, what: str, look: Callable[[], Iterable[Fault]]) -> None:
        """Add the faults that a look shows."""
        self.found += self.at(what, lambda: list(look()), [])


def _servers(broker: Broker) -> Iterator[Fault]:
    from runner.broker.hazards import hazards
    from runner.broker.server import doubts

    yield from (("Redis", one) for one in (*doubts(broker.client), *hazards(broker.client)))


def _login(broker: Broker, role: str, queue: str) -> Iterator[Fault]:
    from runner.broker.rights import lacking

    yield from (("login", said) for said in lacking(broker.client, role, broker.prefix, queue))


def _clock(broker: Broker) -> Iterator[Fault]:
    began_s = time.time()
    theirs_ms = broker.now_ms()
    yield from clocks((began_s + time.time()) * 500, theirs_ms)


def clocks(ours_ms: float, theirs_ms: float) -> Iterator[Fault]:
    """The clock of this machine against Redis's, read at the same moment."""
    if abs(ours_ms - theirs_ms) > CLOCK_MS:
        way = "ahead of" if ours_ms > theirs_ms else "behind"
        said = f"this machine is {abs(ours_ms - theirs_ms) / 1000:.0f} s {way} Redis: claims and delays go by Redis's clock alone"
        yield "clock", f"{said}, but ages printed here are wrong; let both follow a time server"


def _controller(broker: Broker) -> Iterator[Fault]:
    last, now_ms = broker.last_pass(), broker.now_ms()
    if not last:
        yield "controller", "it never made a pass: nothing is promoted, replayed or trimmed; install its CronJob, or run `runner control`"
    elif now_ms - int(last["at_ms"]) > SILENT_MS:
        yield "controller", f"no pass for {age(int(last['at_ms']), now_ms)}: see its CronJob and its last pod's log"
    elif last.get("failed"):
        yield "controller", f"its last pass could not do all: {last['failed']}; its log says why"


def _keys(broker: Broker, opened: Mapping[str, Queue | RunnerError], all_: bool) -> Iterator[Fault]:
    """Declarations that cannot be read, and keys that nobody looks at."""
    yield from ((f"queue {name}", str(one)) for name, one in opened.items() if isinstance(one, RunnerError))
    orphans = broker.orphans()
    for name in sorted(set(broker.undeclared()) - set(orphans)) if all_ else ():
        yield f"key {name}", "it holds entries and is no declared queue: `runner queue declare` it, or delete it"
    for name, words in orphans.items():
        if name in opened and not isinstance(opened[name], RunnerError):
            yield f"queue {name}", f"it has keys {', '.join(words)} and no such priority: nothing there is ever claimed; delete them"
        elif all_ and "queue" in words:
            yield f"queue {name}", "it is declared but not listed, so no controller looks at it: `runner queue declare` it again"
        elif all_:
            said = f"it is not declared, and left {', '.join(words)}"
            yield f"queue {name}", f"{said}: declare it again to get its tasks back, or delete the keys"


def _queue(queue: Queue, known: Mapping[str, Declaration]) -> Iterator[Fault]:
    about = f"queue {queue.name}"
    yield from ((about, said) for said in contradictions.of_declaration(queue.declaration, known))
    try:
        mislaid = queue.measure().mislaid
    except RunnerError as error:
        yield about, f"{error}: delete the key that is no queue's"
        return
    if mislaid:
        said = f"{mislaid} waiting tasks have lost their entries to another program (DEL, XTRIM, LTRIM)"
        yield about, f"{said}: the controller's next pass sees to them"


def of_cluster(declared: Sequence[Declaration], prefix: str, namespace: str, release: str) -> tuple[list[Fault], str]:
    """What is wrong as far as Kubernetes tells it, and why it was not asked."""
    from runner.cli import view

    cluster, why = view.entered(namespace, release)
    if cluster is None:
        return [], f"Kubernetes was not asked: {why or 'no cluster is named: neither in a pod nor by a kubeconfig'}"
    try:
        return [*_versions(cluster.versions()), *_scaled(cluster, declared, prefix)], ""
    except ClusterError as error:
        return [], f"Kubernetes was not asked: {error}"


def _versions(found: dict[str, str]) -> Iterator[Fault]:
    for name, least in SUPPORTED.items():
        version = found.get(name, "")
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if numbers and numbers < least:
            yield name, f"it is {version}, the oldest that is supported is {least[0]}.{least[1]}"


def _scaled(cluster: Cluster, declared: Sequence[Declaration], prefix: str) -> Iterator[Fault]:
    from runner.cli import traps, view

    seen = cluster.snapshot()
    for one in declared:
        part = seen.of(one.name)
        if len(part.scaled_jobs) > 1:
            names = ", ".join(scaled.name for scaled in part.scaled_jobs)
            yield f"queue {one.name}", f"{names} watch it together: each task starts as many pods (name one with --release)"
        for scaled in part.scaled_jobs:
            yield from ((f"ScaledJob {scaled.name}", said) for said in traps.faults(scaled, one, prefix))
        yield from ((f"queue {one.name}", said) for said in view.troubles(one.name, part, ()))


def _say(found: list[Fault], unseen: list[str], as_json: bool) -> int:
    if as_json:
        say_json({"faults": [{"about": about, "said": said} for about, said in found], "not_asked": "; ".join(unseen)})
        return 1 if found else 0
    for about, said in found:
        say(f"{about}: {said}")
    for said in unseen:
        say(said)
    if not found:
        print("nothing was found wrong")
    return 1 if found else 0
