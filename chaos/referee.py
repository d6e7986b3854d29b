"""Judges a run: what Redis says at the end against what the ledger saw and the workers logged. Called by chaos/__main__.py.

Every rule is a method that yields (task number or -1, sentence); no sentence is the verdict "held".
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from chaos.ledger import Line
from chaos.plan import Planned, fate
from chaos.storm import Storm
from chaos.submitter import raw_body
from runner.attempt import read_attempts
from runner.broker import Broker, Facts, Queue
from runner.connect import connect

Fault = tuple[int, str]
LINES_KEPT = 10
SIZES = {"tasks": "hlen", "bodies": "hlen", "claims": "zcard", "held": "hlen", "delayed": "zcard", "expiries": "zcard", "keys": "hlen"} | {
    "lives": "hlen"
}
EXIT_CODES = {"worker": {0, 1, -9, -15}, "controller": {0, 1, 3, -9, -15}}
CAPS = {"crash", "lost", "released", "timeout"}


class Referee:
    """All that is known of one run, and the rules."""

    def __init__(self, storm: Storm) -> None:
        self.storm, self.plan = storm, storm.plan
        self.queue: Queue = Broker(connect(storm.server.url)).open("chaos")
        self.lines: dict[int, list[Line]] = {task.n: storm.ledger.read(task.n) for task in self.plan}
        self.dead = {letter.id: letter for letter in self.queue.dead_letters()}
        self.bodies = {letter.body: letter for letter in self.dead.values()}
        self.facts: dict[int, Facts | None] = {task.n: self._facts(task) for task in self.acked}

    @cached_property
    def acked(self) -> list[Planned]:
        """The tasks whose submit or push was answered."""
        return [task for task in self.plan if any(line.word == "acked" for line in self.lines[task.n])]

    def words(self, n: int, word: str) -> list[Line]:
        """The task's lines of one kind."""
        return [line for line in self.lines[n] if line.word == word]

    def ids(self, task: Planned) -> list[str]:
        """The ids that a task is known by: several only for a push without an id that was pushed again after a lost answer."""
        said = [line.id for line in self.lines[task.n] if line.word in ("acked", "start") and line.id != "-"]
        return list(dict.fromkeys(said))

    def _facts(self, task: Planned) -> Facts | None:
        if task.way == "raw":
            letter = next((letter for body, letter in self.bodies.items() if raw_body(task) in body), None)
            return self.queue.look(letter.id) if letter else None
        found = [self.queue.look(task_id) for task_id in self.ids(task)]
        return found[0] if found else None

    def end(self, task: Planned) -> str:
        """Its state, `dead:` with the reason."""
        facts = self.facts[task.n]
        return "lost" if facts is None else f"dead:{facts.reason}" if facts.state == "dead" else facts.state

    @property
    def ends(self) -> Counter[str]:
        """How many ended how."""
        return Counter(self.end(task) for task in self.acked)

    @property
    def runs(self) -> Counter[int]:
        """How many tasks were started how often."""
        return Counter(len(self.words(task.n, "start")) for task in self.acked)

    @property
    def robbed(self) -> int:
        """Claims that were lost by workers whom nothing befell: harmless, but an outage or a slow machine should not do it often."""
        lost = [line for facts in self.facts.values() if facts for line in read_attempts(facts.attempts) if line["kind"] == "lost"]
        numbers = [int(str(line["holder"]).removeprefix("worker-")) for line in lost if str(line["holder"]).startswith("worker-")]
        return sum(not fate(self.storm.seed, self.storm.mode, number).how for number in numbers)

    @cached_property
    def logged(self) -> list[tuple[str, dict[str, Any]]]:
        """Every event that a worker or controller logged, with the name of its process."""
        found = []
        for path in sorted((self.storm.folder / "logs").iterdir()):
            for text in path.read_text(errors="replace").splitlines():
                if text.startswith('{"ts"') and text.endswith("}"):
                    found.append((path.name, json.loads(text)))
        return found

    def faults(self) -> dict[str, list[Fault]]:
        """All that broke, by rule."""
        rules = [name for name in dir(self) if name.startswith("rule_")]
        return {name.removeprefix("rule_").replace("_", " "): list(getattr(self, name)()) for name in rules}

    def rule_every_task_was_sent(self) -> Iterator[Fault]:
        yield from ((task.n, "was never acknowledged") for task in self.plan if task not in self.acked)
        yield from ((-1, wrong) for wrong in self.storm.submitter.wrong)
        if self.storm.stuck:
            yield -1, self.storm.stuck

    def rule_lost(self) -> Iterator[Fault]:
        """An acknowledged task is in a state, and one that is done has its effect in the ledger."""
        for task in self.acked:
            if self.end(task) == "lost":
                yield task.n, "is in no state"
            elif self.end(task) == "done" and not self.words(task.n, "finish"):
                yield task.n, "is done, but no handler finished"

    def rule_ended_as_planned(self) -> Iterator[Fault]:
        for task in self.acked:
            end = self.end(task)
            if end not in task.ends and end != "lost" and end.removeprefix("dead:") not in CAPS:
                yield task.n, f"ended {end}, not {' or '.join(sorted(task.ends))}"
            facts = self.facts[task.n]
            if facts and facts.state == "done" and facts.result != str(task.n).encode():
                yield task.n, f"has the result {facts.result!r}"

    def rule_settled_twice(self) -> Iterator[Fault]:
        """Redis counts each completion, workers log each; markers tell how many ids there are.

        A dead letter that is replayed is buried again. So is one whose submit was repeated, its answer lost, after it was dead: a new life.
        """
        settled: dict[str, list[str]] = defaultdict(list)
        for name, event in self.logged:
            if event["event"] == "settled" and event["action"] in ("complete", "bury", "cancel") and "word" not in event:
                settled[event["task_id"]].append(f"{event['action']} by {name}")
        known = {name: facts for name in self.dead if (facts := self.queue.look(name))}
        again = {name: facts.counters.replays + facts.life - 1 for name, facts in known.items()}
        for task_id, by in settled.items():
            if len(by) > 1 + again.get(task_id, 0):
                yield -1, f"{task_id} was settled by {', '.join(by)}"
        markers, counts = self._markers(), self.queue.measure().counts
        for state, least, most in (("done", 0, 0), ("cancelled", 0, 0), ("buried", len(self.dead), sum(again.values()))):
            there = markers[state] + least
            if not there <= counts.get(state, 0) <= there + most:
                yield -1, f"{state} was counted {counts.get(state, 0)} times, and {there} ids are"

    def _markers(self) -> Counter[str]:
        """A push that was repeated ends as a duplicate, its spare id marked as cancelled: that is no task of anybody's."""
        client, states = self.queue.client, Counter[str]()
        known = {task_id for task in self.plan for task_id in self.ids(task)}
        for number in range(4):
            for name, value in client.hgetall(self.queue.keys.part(f"done:{number}")).items():
                state = value.split(b" ")[0].decode()
                states[state] += name.startswith(b"i:") and (state != "cancelled" or name[2:].decode() in known)
        return states

    def rule_every_run_is_on_record(self) -> Iterator[Fault]:
        """A start without an attempt line is a claim that nobody accounts for."""
        for task in self.acked:
            facts, starts = self.facts[task.n], len(self.words(task.n, "start"))
            known = len(read_attempts(facts.attempts)) if facts else 0
            if facts and len(self.ids(task)) == 1 and known < min(starts, LINES_KEPT):
                yield task.n, f"was started {starts} times, {known} attempts are on record"

    def rule_a_lost_claim_settles_nothing(self) -> Iterator[Fault]:
        """A worker holds one task, so one that is on record as lost can be on the task's record in no other way, nor finish it."""
        for task in self.acked:
            facts = self.facts[task.n]
            kinds: dict[str, set[str]] = defaultdict(set)
            for line in read_attempts(facts.attempts) if facts else ():
                kinds[str(line.get("holder"))].add(str(line["kind"]))
            wrong = ((who, of) for who, of in kinds.items() if "lost" in of and len(of) > 1 and who != "-")
            yield from ((task.n, f"{who} lost it, and settled it as {' and '.join(sorted(of))}") for who, of in wrong)

    def rule_cancelled_means_never(self) -> Iterator[Fault]:
        """No handler starts after a cancel was answered with `cancelled`, nor the one of a task that expired."""
        for task in self.acked:
            for told in self.words(task.n, "cancel"):
                late = [line for line in self.words(task.n, "start") if line.at_ns > told.at_ns]
                if told.id == "cancelled" and (late or self.end(task) != "cancelled"):
                    yield task.n, f"was told to be cancelled, ended {self.end(task)}, and started {len(late)} times after that"
            if self.end(task) == "dead:expired" and self.words(task.n, "start"):
                yield task.n, "expired, and was started"

    def rule_nothing_is_left(self) -> Iterator[Fault]:
        """No orphan in any key."""
        client, keys = self.queue.client, self.queue.keys
        for part, size in SIZES.items():
            if there := getattr(client, size)(keys.part(part)):
                yield -1, f"key {keys.part(part)} holds {there}"
        for priority in self.queue.declaration.priorities:
            key = keys.watched(priority)
            there = client.xlen(key) if self.storm.mode == "stream" else client.llen(key)
            pending = client.xpending(key, "runner")["pending"] if self.storm.mode == "stream" and client.exists(key) else 0
            if there or pending:
                yield -1, f"key {key} holds {there}, {pending} pending"
        if (buried := client.hlen(keys.part("buried"))) != client.xlen(keys.part("dead")):
            yield -1, f"{buried} ids are buried, and {client.xlen(keys.part('dead'))} dead letters there"

    def rule_processes_end_as_documented(self) -> Iterator[Fault]:
        """Exit codes as the modules' docstrings say, or the signal that was sent; 1 with a line that says why; no traceback of ours."""
        failed = {name for name, event in self.logged if event["event"] == "failed"}
        for name, code in self.storm.pool.ended.items():
            path = self.storm.folder / "logs" / name.replace(" ", "-")
            if code not in EXIT_CODES[name.split()[0]]:
                yield -1, f"{name} ended with {code}, see {path}"
            elif code == 1 and name.startswith("worker") and path.name not in failed:
                yield -1, f"{name} ended with 1 and did not say why, see {path}"
            elif code == 1 and not name.startswith("worker") and "Traceback" in path.read_text():
                yield -1, f"{name} ended with a traceback, see {path}"
