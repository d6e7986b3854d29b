"""One line for one thing that happened: coloured on a terminal, JSON elsewhere. Called by session."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from runner import logs
from runner.masking import harmless, masked

QUIET = {"nothing to claim", "asked to end", "stopped before a claim", "tasks can be lost"}
"""Said by processes that are right; on a terminal they would hide what matters."""
PASSED = ("promoted", "expired", "replayed", "restored", "recovered", "trimmed", "consumers_dropped")
SHORT = 8
"""Of an id, before what its handler printed: enough to tell two tasks apart."""
TOLD_APART = {"ts", "level", "event", "queue", "type", "task_id", "id", "kind"}
STYLES = {"info": "", "debug": "dim", "warning": "yellow", "error": "red"}
ACTIONS = {"complete": "green", "retry": "yellow", "bury": "bold red", "release": "cyan", "cancel": "magenta", "move": "cyan"}


@dataclass(frozen=True, slots=True)
class Running:
    """What a worker has in hand, for the lines that its handler prints."""

    type: str
    id: str


class Told:
    """Tells. `on_fault` is called with a queue whose worker could not work at all."""

    def __init__(self, console: Console, on_fault: Callable[[str], None]) -> None:
        self._console, self._on_fault = console, on_fault
        self._running: dict[tuple[str, str], Running] = {}
        self._queue_wide, self._type_wide = 6, 12
        self._tried = False
        self.person = console.is_terminal

    def greeting(self, url: str, queues: Sequence[str], *, embedded: bool) -> None:
        """Where things are, and how another shell gets there."""
        if not self.person:
            return logs.event("serving", url=url, queues=list(queues), embedded=embedded)
        where = "an embedded server, which forgets all when it ends" if embedded else masked(url)
        named = ", ".join(queues) or "none yet"
        self._console.print(Text.assemble("runner dev on ", where, "; Ctrl-C ends it all. Queues: ", (named, "cyan")))
        if embedded:
            self._console.print(Text.assemble("In another shell:  ", (f"export RUNNER_REDIS_URL={url}", "bold")), soft_wrap=True)

    def imported(self, types: Sequence[str], error: str, queues: Sequence[str]) -> None:
        """What importing the handlers came to; the first time with a way to try them."""
        if error:
            return logs.event("handlers cannot be imported", "error", error=error)
        if self.person and not self._tried and types:
            self._tried, queue = True, queues[0] if queues else "QUEUE"
            line = f"runner submit {types[0]} '{{}}' --queue {queue} --wait 30"
            self._console.print(Text.assemble("To try one there:  ", (line, "bold")), soft_wrap=True)
        logs.event("handlers ready", types=list(types))

    def line(self, queue: str, process: str, raw: bytes) -> None:
        """What a process wrote: an event of its own, or what a handler printed."""
        record = _event_of(raw)
        if record is not None:
            return self.event(record | ({"queue": queue} if queue else {}), process)
        if not raw.strip():
            return None
        held = self._running.get((queue, process))
        said = {"ts": logs.stamp(), "level": "info", "event": "output", "queue": queue, "line": raw.decode(errors="replace")}
        return self._say(said | ({"type": held.type, "task_id": held.id} if held else {}), process)

    def event(self, record: dict[str, Any], process: str = "") -> None:
        """Something that a process of ours did."""
        key = (str(record.get("queue", "")), process)
        if record["event"] == "claimed":
            self._running[key] = Running(str(record.get("type")), str(record.get("id")))
        if record["event"] == "settled":
            self._running.pop(key, None)
        if record["event"] in ("failed", "refused to start") and process.startswith("worker-"):
            self._on_fault(key[0])
        self._say(record, process)

    def _say(self, record: dict[str, Any], process: str) -> None:
        if record["event"] == "pass" and not (_changed(record) or record.get("failed")):
            return
        if not self.person:
            self._console.out(json.dumps(record | ({"process": process} if process else {}), default=str), highlight=False)
        elif said := self._worded(record):
            self._console.print(self._columns(record) + said, soft_wrap=True)

    def _columns(self, record: dict[str, Any]) -> Text:
        """Time, queue, type and id, each under the last one's."""
        queue, type_, task_id = (harmless(str(record.get(name) or "")) for name in ("queue", "type", "task_id"))
        task_id = task_id or harmless(str(record.get("id") or ""))
        self._queue_wide, self._type_wide = max(self._queue_wide, len(queue)), max(self._type_wide, len(type_))
        start = Text.assemble((f"{time.strftime('%H:%M:%S')} ", "dim"), (f"{queue:<{self._queue_wide}} ", "cyan"))
        if record["event"] == "output":
            return start.append(f"{task_id[-SHORT:]:<{SHORT}} ", style="dim")
        return start.append(f"{type_:<{self._type_wide}} ", style="bold").append(f"{task_id} ") if task_id else start

    def _worded(self, record: dict[str, Any]) -> Text | None:
        name = record["event"]
        if name == "output":
            return Text.assemble(("│ ", "dim"), harmless(record["line"].expandtabs()))
        if name == "claimed":
            return Text("started" if record.get("attempt", 1) == 1 else f"started again, attempt {record['attempt']}")
        if name == "settled":
            return _settled(record)
        if name == "pass":
            return _passed(record)
        if name == "handlers ready":
            return Text(f"handlers ready: {', '.join(record['types']) or 'the built-in ones only'}", style="green")
        return None if name in QUIET else _plain(record)


def _settled(record: dict[str, Any]) -> Text:
    action, detail = str(record.get("action")), harmless(str(record.get("detail", "")).replace("\n", " "))
    wait = f" in {record['delay_ms'] / 1000:.2g} s" if record.get("delay_ms") else ""
    words = {"complete": "done", "retry": f"again{wait}", "bury": f"dead ({record.get('kind')})", "release": "handed back"}
    word = words.get(action, {"cancel": "cancelled", "move": "moved"}.get(action, action))
    took = f" {'in' if action == 'complete' else 'after'} {record.get('wall_s', 0):.2f} s"
    return Text.assemble((word, ACTIONS.get(action, "")), took, f": {detail}" if detail else "")


def _changed(record: dict[str, Any]) -> list[str]:
    """What a pass of the controller did; most do nothing."""
    did = [name for name, number in record.items() if number and (name in PASSED or name.startswith("reaped_"))]
    return [f"{record[name]} {name.replace('_', ' ')}" for name in did]


def _passed(record: dict[str, Any]) -> Text:
    failed = [f"failed: {', '.join(record['failed'])}"] if record.get("failed") else []
    return Text(f"controller: {', '.join(_changed(record) + failed)}", style="red" if failed else "dim")


def _plain(record: dict[str, Any]) -> Text:
    """An event that has no words of its own."""
    facts = {name: value for name, value in record.items() if name not in TOLD_APART}
    said = str(facts.pop("error", ""))
    words = [f"{record['event']}{':' if said else ''}", said, *(f"{name}={value}" for name, value in facts.items())]
    return Text(harmless(" ".join(filter(None, words))), style=STYLES[record["level"]])


def _event_of(raw: bytes) -> dict[str, Any] | None:
    """One of our own JSON lines; a handler may print JSON too, but not with these words."""
    if not raw.startswith(b'{"ts": "'):
        return None
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("event"), str) and found.get("level") in STYLES else None

