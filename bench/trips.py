"""Round trips and commands of a worker for one no-op task, counted on the wire. Called by __main__."""

from __future__ import annotations

from bench.figures import Figure, Section
from bench.proxy import Proxy
from bench.rounds import Effort
from bench.server import Stand
from bench.worker import OURS, RQ, Contender, ours, process, rqs
from runner.broker import Broker
from runner.producer import Producer
from runner.queue import Declaration

CONNECTING = {"HELLO", "AUTH", "CLIENT", "SELECT", "PING"}
"""What redis-py sends to open a connection; the PING is its health check, which it makes among the others."""
AT_MOST = 4


def trips(stand: Stand, effort: Effort) -> Section:
    """Counts: the same in every round, unless something went wrong."""
    section = Section("trips", "Round trips for one no-op task, after connecting", beside=(RQ,))
    stand.empty()
    for mode in OURS:
        Broker(stand.client).declare(Declaration(mode, mode=mode))
    with Producer(stand.url) as producer, Proxy(stand.url) as proxy:
        through = Stand(proxy.url, stand.client, stand.says)
        contenders = {name: ours(through, producer, mode) for mode, name in OURS.items()} | {RQ: rqs(through)}
        counted = {name: [_count(one, proxy) for _ in range(effort.least + 1)] for name, one in contenders.items()}
    for name, found in counted.items():
        section.figures.append(Figure(name, "round trips", tuple(float(len(asked)) for asked in found[1:])))
        section.figures.append(Figure(name, "commands", tuple(float(sum(map(len, asked))) for asked in found[1:])))
    for name in OURS.values():
        section.wants(f"{name}, round trips", max(section.figure(name, "round trips").values), at_most=AT_MOST)
    section.notes.append(f"not counted, as connecting: {', '.join(sorted(CONNECTING))}")
    section.notes += [f"{name}: {_said(counted[name][-1])}" for name in OURS.values()]
    return section


def _count(contender: Contender, proxy: Proxy) -> list[list[str]]:
    task_id = contender.submit("nothing")
    proxy.trips.clear()
    process(contender.command, contender.environ)
    contender.result(task_id)
    return [trip for trip in proxy.trips if not CONNECTING.issuperset(trip)]


def _said(asked: list[list[str]]) -> str:
    """Each round trip's commands; alike ones of one trip once, with their number."""
    said = []
    for trip in asked:
        said.append(" ".join(f"{trip.count(name)} {name}" if trip.count(name) > 1 else name for name in dict.fromkeys(trip)))
    return " | ".join(said)
