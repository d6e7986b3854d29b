"""One line for one thing that happened: coloured on a terminal, JSON elsewhere. Called by session."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from runner import logs
from runner.masking import harmless

QUIET = {"nothing to claim", "asked to end", "stopped before a claim", "tasks can be lost"}
"""Said by processes that are right; on a terminal they would hide what matters."""
PASSED = ("promoted", "expired", "replayed", "restored", "recovered", "trimmed", "consumers_dropped")
STYLES = {"info": "", "debug": "dim", "warning": "yellow", "error": "red"}
ACTIONS = {"complete": "green", "retry": "yellow", "bury": "bold red", "release": "cyan", "cancel": "magenta", "move": "cyan"}


@dataclass(frozen=True, slots=True)
class Running:
    """What a worker has in hand, for the lines that its handler prints."""

    type: str
    id: str


class Told:
    """Tells. `on_fault` is called with a worker's reason when it could not work at all."""

    def __init__(self, console: Console, on_fault: Callable[[str, str], None]) -> None:
        self._console, self._on_fault = console, on_fault
        self._running: dict[tuple[str, str], Running] = {}
        self._queue_wide, self._type_wide = 6, 12
        self.person = console.is_terminal

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
            self._on_fault(key[0], str(record.get("error")))
        self._say(record, process)

    def _say(self, record: dict[str, Any], process: str) -> None:
        if not self.person:
            self._console.out(json.dumps(record | ({"process": process} if process else {}), default=str), highlight=False)
        elif said := self._worded(record):
            self._console.print(self._columns(record) + said, soft_wrap=True)

    def _columns(self, record: dict[str, Any]) -> Text:
        """Time, queue, type and id, each under the last one's."""
        queue, type_, task_id = (harmless(str(record.get(name) or "")) for name in ("queue", "type", "task_id"))
        task_id = task_id or harmless(str(record.get("id") or ""))
        self._queue_wide, self._type_wide = max(self._queue_wide, len(queue)), max(self._type_wide, len(type_))
        start = Text(f"{time.strftime('%H:%M:%S')} ", style="dim")
        start.append(f"{queue:<{self._queue_wide}} ", style="not dim cyan")
        if task_id:
            start.append(f"{type_:<{self._type_wide}} ", style="not dim bold").append(f"{task_id} ", style="not dim")
        return start

    def _worded(self, record: dict[str, Any]) -> Text | None:
        name = record["event"]
        if name == "output":
            return Text("│ ", style="dim").append(harmless(record["line"].expandtabs()), style="not dim")
        if name == "claimed":
            return Text("started" if record.get("attempt", 1) == 1 else f"started again, attempt {record['attempt']}")
        if name == "settled":
            return _settled(record)
        if name == "pass":
            return _passed(record)
        return None if name in QUIET else _plain(record)


def _settled(record: dict[str, Any]) -> Text:
    action, detail = str(record.get("action")), harmless(str(record.get("detail", "")).replace("\n", " "))
    wait = f" in {record['delay_ms'] / 1000:.3g} s" if record.get("delay_ms") else ""
    words = {"complete": "done", "retry": f"again{wait}", "bury": f"dead ({record.get('kind')})", "release": "handed back"}
    said = Text(words.get(action, {"cancel": "cancelled", "move": "moved"}.get(action, action)), style=ACTIONS.get(action, ""))
    said.append(f" {record.get('wall_s', 0):.2f} s", style="not bold default")
    return said.append(f"  {detail}", style="not bold default") if detail else said


def _passed(record: dict[str, Any]) -> Text | None:
    """What a pass of the controller changed; most change nothing."""
    did = {name: number for name, number in record.items() if (name in PASSED or name.startswith("reaped_")) and number}
    failed = record.get("failed")
    said = ", ".join([f"{number} {name.replace('_', ' ')}" for name, number in did.items()] + ([f"failed: {failed}"] if failed else []))
    return Text(f"controller: {said}", style="red" if failed else "dim") if said else None


def _plain(record: dict[str, Any]) -> Text:
    """An event that has no words of its own."""
    facts = {name: value for name, value in record.items() if name not in ("ts", "level", "event", "queue", "type", "task_id", "id", "kind")}
    said = facts.pop("said", None) or facts.pop("error", "")
    rest = " ".join(f"{name}={value}" for name, value in facts.items())
    return Text(harmless(" ".join(filter(None, [f"{record['event']}:" if said else record["event"], str(said), rest]))), style=STYLES[record["level"]])


def _event_of(raw: bytes) -> dict[str, Any] | None:
    """One of our own JSON lines; a handler may print JSON too, but not with these words."""
    if not raw.startswith(b'{"ts": "'):
        return None
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("event"), str) and found.get("level") in STYLES else None

