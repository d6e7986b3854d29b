"""All keys of one queue, read as a person would, and what must hold between them at any moment. Called by tests/arrows and tests/core."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import redis

from runner.broker import Queue
from runner.keys import ORDER

CHANGING = re.compile(r"(bare-[0-9a-f]{20})|(\b1\d{12}-\d+\b)|\b1\d{12}\b")
SHORT = ["0,0,0,0,0,0,0", "1", "-", "-", "-", ""]


def said(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def plain(value: Any) -> Any:
    """A value without what differs from run to run: entry ids, spare ids, times."""
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return CHANGING.sub(lambda found: "BARE" if found[1] else "ENTRY" if found[2] else "MS", value) if isinstance(value, str) else value


class Record:
    """One line of `tasks`."""

    def __init__(self, line: str) -> None:
        words = line.split(" ", 9)
        self.state, self.priority, self.entry, self.first = words[:4]
        self.counters, self.life, self.wish, self.token, self.last, self.key = words[4:] or SHORT

    def __str__(self) -> str:
        rest = {"counters": self.counters, "life": self.life, "wish": self.wish, "token": self.token, "last": self.last, "key": self.key}
        plain = dict(zip(("counters", "life", "wish", "token", "last", "key"), SHORT, strict=True))
        return " ".join([self.state, self.priority, *(f"{name}={word}" for name, word in rest.items() if word != plain[name])])


class Keyspace:
    """One snapshot of a queue's keys."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.stream = queue, queue.declaration.mode == "stream"
        self.client = queue.client
        self.tasks = {name: Record(line) for name, line in self.hash("tasks").items()}
        self.bodies, self.held, self.keys = self.hash("bodies"), self.hash("held"), self.hash("keys")
        self.buried, self.lives, self.counts = self.hash("buried"), self.hash("lives"), self.hash("counts")
        self.claims, self.delayed, self.expiries = self.zset("claims"), self.zset("delayed"), self.zset("expiries")
        self.dead = [(said(entry), fields) for entry, fields in self.client.xrange(queue.keys.part("dead"))]
        self.history = [(said(entry), fields) for entry, fields in self.client.xrange(queue.keys.part("history"))]
        rings = [self.hash(f"done:{n}") for n in range(4)]
        self.done = {field: value for ring in rings for field, value in ring.items()}
        self.twice = [field for field, n in Counter(field for ring in rings for field in ring).items() if n > 1]
        self.watched = {name: self._items(queue.keys.watched(name)) for name in queue.declaration.priorities}

    def hash(self, word: str) -> dict[str, str]:
        return {said(k): said(v) for k, v in self.client.hgetall(self.queue.keys.part(word)).items()}

    def zset(self, word: str) -> dict[str, int]:
        return {said(k): int(v) for k, v in self.client.zrange(self.queue.keys.part(word), 0, -1, withscores=True)}

    def _items(self, key: str) -> list[tuple[str, str, str]]:
        """Place, id ("" for a bare push) and body or reference, the next one first."""
        if not self.stream:
            items = [said(item) for item in reversed(self.client.lrange(key, 0, -1))]
            return [(str(at), item[4:] if item.startswith("ref:") else "", item) for at, item in enumerate(items)]
        rows = [(said(entry), {said(k): said(v) for k, v in fields.items()}) for entry, fields in self.client.xrange(key)]
        return [(entry, f.get("id", ""), f.get("body", str(f))) for entry, f in rows]

    def readable(self) -> dict[str, Any]:
        """All keys that hold something, without times and entry ids."""
        words: dict[str, Any] = {
            f"watched {name}": [(f"{i}: {b}" if self.stream and i else b) for _, i, b in items] for name, items in self.watched.items()
        }
        words["tasks"] = {name: str(record) for name, record in self.tasks.items()}
        words["claims"] = {name: "released" if at == 0 else "held" for name, at in self.claims.items()}
        words["held"] = {t: line.split(" ", 1)[1] for t, line in self.held.items() if not t.startswith("entry:")}
        words["aliases"] = {t.split(":")[1]: line for t, line in self.held.items() if t.startswith("entry:")}
        words |= {"bodies": self.bodies, "delayed": [*self.delayed], "expiries": [*self.expiries], "keys": self.keys}
        words["dead"] = [f"{said(f[b'id'])}: {said(f[b'body'])} ({said(f[b'reason'])}) {said(f[b'counters'])}" for _, f in self.dead]
        words["buried"] = {name: line.split(" ")[1] for name, line in self.buried.items()}
        words["lives"] = {name: lines.split("\n") for name, lines in self.lives.items()}
        words["done"] = {field: self._marker(field, value) for field, value in self.done.items()}
        words["history"] = [f"{said(f[b'id'])}: {said(f[b'body'])}" for _, f in self.history]
        words["counts"] = {name: int(n) for name, n in self.counts.items() if n != "0"}
        return {word: plain(value) for word, value in words.items() if value}

    def _shown(self, items: list[tuple[str, str, str]]) -> list[str]:
        return [f"{name}: {body}" if self.stream and name else body for _, name, body in items]

    @staticmethod
    def _marker(field: str, value: str) -> str:
        if not field.startswith("i:"):
            return value
        state, token, _, counters, life, result = value.split(" ", 5)
        return " ".join(
            [state, token, *([counters] if counters != SHORT[0] else []), *([f"life={life}"] if life != "1" else []), result]
        ).strip()

    def states(self) -> dict[str, str]:
        """Each known id with its one state."""
        ids = [*self.tasks, *(said(f[b"id"]) for _, f in self.dead), *(field[2:] for field in self.done if field.startswith("i:"))]
        assert [name for name, n in Counter(ids).items() if n > 1] == [], "an id is in two states"
        ended = {field[2:]: value.split(" ")[0] for field, value in self.done.items() if field.startswith("i:")}
        return {n: r.state for n, r in self.tasks.items()} | {said(f[b"id"]): "dead" for _, f in self.dead} | ended

    def check(self) -> Keyspace:
        """Raise AssertionError where two keys contradict each other."""
        self.states()
        for name, record in self.tasks.items():
            self._check_record(name, record)
        live = {state: {n for n, r in self.tasks.items() if r.state == state} for state in ("waiting", "claimed", "delayed", "moving")}
        live["claimed"] |= live["moving"]
        assert {n for n, at in self.claims.items() if at > 0} == live["claimed"], "claims"
        assert {n for n, at in self.claims.items() if at == 0} <= (live["waiting"] if self.stream else set()), "released"
        assert set(self.delayed) == live["delayed"], "delayed"
        assert set(self.bodies) == (live["delayed"] if self.stream else set(self.tasks)), "bodies"
        assert set(self.expiries) <= (live["waiting"] | live["delayed"]) - set(self.claims), "expiries"
        assert self.keys == {r.key: n for n, r in self.tasks.items() if r.key}, "keys"
        assert set(self.lives) <= set(self.tasks), "lives"
        self._check_held(live["claimed"])
        self._check_ended()
        self._check_history()
        self._check_measures(live)
        return self

    def _check_record(self, name: str, record: Record) -> None:
        assert (record.token != "-") == (record.state in ("claimed", "moving")), (name, str(record))
        assert (record.entry != "-") == (self.stream and record.state != "delayed"), (name, str(record))
        places = [place for place, _, _ in self.watched[record.priority]]
        refs = [i for _, i, _ in self.watched[record.priority]]
        if self.stream and record.state != "delayed":
            assert record.entry in places, f"{name} is {record.state} and in no stream"
        if not self.stream and record.state == "waiting":
            assert name in refs, f"{name} is waiting and in no list"

    def _check_held(self, claimed: set[str]) -> None:
        tokens = {t: line.split(" ", 3)[3] for t, line in self.held.items() if not t.startswith("entry:")}
        assert tokens == {self.tasks[n].token: n for n in claimed}, "held"
        for word, name in self.held.items():
            if word.startswith("entry:"):
                assert word == f"entry:{self.tasks[name].priority}:{self.tasks[name].entry}", "alias"

    def _check_ended(self) -> None:
        assert {n: line.split(" ")[0] for n, line in self.buried.items()} == {said(f[b"id"]): entry for entry, f in self.dead}, "buried"
        assert self.twice == [], "a marker is in two buckets"
        assert {f[2:] for f in self.done if f.startswith("l:")} <= {f[2:] for f in self.done if f.startswith("i:")}, (
            "attempts without marker"
        )

    def _check_history(self) -> None:
        held = sum(len(f[b"id"]) + len(f[b"body"]) for _, f in self.history)
        assert int(self.counts.get("history_bytes", "0")) == held, "history"
        entries = {entry: said(f[b"id"]) for entry, f in self.history}
        marked = {value: field[2:] for field, value in self.done.items() if field.startswith("h:")}
        assert entries.items() <= marked.items(), "a body that no marker names"

    def _check_measures(self, live: dict[str, set[str]]) -> None:
        measures = self.queue.measure()
        assert (measures.claimed, measures.delayed, measures.dead) == (len(live["claimed"]), len(live["delayed"]), len(self.dead))
        by_reason = Counter(said(f[b"reason"]) for _, f in self.dead)
        assert measures.dead_by_reason == dict(by_reason), "dead by reason"
        if self.stream:
            for name, items in self.watched.items():
                assert pending(self.client, self.queue.keys.watched(name)) <= {place for place, _, _ in items}, (
                    "the group remembers what is gone"
                )


def pending(client: Any, key: str) -> set[str]:
    """Entries that the group holds as delivered and not acknowledged."""
    try:
        return {said(row["message_id"]) for row in client.xpending_range(key, "runner", "-", "+", 100_000)}
    except redis.ResponseError:
        return set()


def dump(queue: Queue) -> dict[str, Any]:
    """The queue's keys, readable, after a check that they agree with each other."""
    return Keyspace(queue).check().readable()


def known_keys(queue: Queue) -> set[str]:
    """Every key that the queue may have."""
    return {*(queue.keys.part(word) for word in ORDER), *(queue.keys.watched(p) for p in queue.declaration.priorities)}
