"""A random walk over all transitions of one queue, with what may break in between; knows what must be there. Called by test_random_walk."""

from __future__ import annotations

import random

import redis

from runner.broker import Queue, Reaped, Settled
from runner.errors import ClaimLostError
from runner.outcome import Ending, Kind
from runner.reaper import settle_reaped
from runner.tasks import Claim, Submission
from tests.keyspace import Keyspace, said
from tests.making import due, end_lease

PRIORITIES = ("high", "normal", "low")
ODD = ("a b", "ref:1", "1-1", "entry:high:1-1", "line\nbreak", "ü☃", "x" * 500, "i:a", "-", "0", " ", "bare")


class Walk:
    """`known` is every id that was acknowledged and not dropped on purpose; `pushed` the bare pushes that nobody claimed yet."""

    def __init__(self, queue: Queue, seed: int) -> None:
        self.queue, self.random, self.steps = queue, random.Random(seed), 0
        self.known: set[str] = set()
        self.pushed: set[str] = set()
        self.mine: dict[str, Claim] = {}
        self.silent: list[tuple[str, str]] = []
        self.past: list[tuple[str, str]] = []

    def step(self) -> None:
        weights = {
            self.submit: 22,
            self.submit_many: 3,
            self.push: 8,
            self.claim: 26,
            self.complete: 8,
            self.retry: 10,
            self.bury: 4,
            self.release: 6,
            self.extend: 4,
            self.cancel: 4,
            self.settle_with_a_past_token: 6,
            self.lose_holders: 3,
            self.reap: 5,
            self.seize: 3,
            self.move: 4,
            self.promote: 6,
            self.expire: 3,
            self.replay: 3,
            self.purge: 1,
            self.break_something: 3,
            self.restore: 3,
            self.rerun: 2,
            self.trim_history: 1,
        }
        self.random.choices(list(weights), list(weights.values()))[0]()
        self.steps += 1

    def name(self) -> str:
        return self.random.choice([*ODD, *(f"task-{n}" for n in range(60))])

    def submit(self) -> None:
        self._submit([self._submission()])

    def submit_many(self) -> None:
        self._submit([self._submission() for _ in range(self.random.randrange(2, 30))])

    def _submission(self) -> Submission:
        roll, pick = self.random.random, self.random.choice
        name = self.name()
        return Submission(
            id=name,
            body=pick([b"", b"x", b"\xff\x00"]) + name.encode(),
            priority=pick(PRIORITIES),
            delay_ms=pick([1, 30, 60_000]) if roll() < 0.3 else 0,
            expires_ms=pick([1, 40, 60_000]) if roll() < 0.2 else 0,
            key=f"key {self.random.randrange(12)}" if roll() < 0.3 else "",
        )

    def _submit(self, chunk: list[Submission]) -> None:
        # A new run of a key takes the place of the key's dead letter; where its id had a life before, the receipt tells only of that.
        superseded = {task.key: self._dead_with(task.key) for task in chunk if task.key}
        for receipt, task in zip(self.queue.submit(chunk), chunk, strict=True):
            if receipt.created:
                self.known -= superseded.get(task.key, set())
            self.known.add(receipt.id)

    def push(self) -> None:
        body, key = f"bare-{self.steps}", self.queue.keys.watched(self.random.choice(PRIORITIES))
        self.pushed.add(body)
        if self.queue.declaration.mode == "list":
            self.queue.client.lpush(key, body)
        elif self.random.random() < 0.5:
            self.queue.client.xadd(key, {"type": "t", "payload": body})
        else:
            self.queue.client.xadd(key, {"body": body})

    def claim(self) -> None:
        token = f"{self.random.getrandbits(64):x}"
        found = self.queue.claim(token, "pod/uid/node")
        if isinstance(found, Claim):
            assert self.queue.claim(token, "pod/uid/node").id == found.id  # type: ignore[union-attr]
            self.known.add(found.id)
            self.pushed -= {body for body in self.pushed if found.body.endswith((body.encode(), f"{body},".encode()))}
            self.mine[token] = found
            if found.fresh:
                self._adopt(token, found)

    def _adopt(self, token: str, found: Claim) -> None:
        named, roll = self.name(), self.random.random()
        if roll < 0.2:
            return
        task_id, key = (found.id if roll < 0.4 else named), (f"key {self.random.randrange(12)}" if roll > 0.8 else "")
        gone = self._dead_with(key) if key else set()
        answers = {self.queue.adopt(found, task_id, key), self.queue.adopt(found, task_id, key)}
        assert len(answers) == 1, "asked twice, two answers"
        if answers == {True}:
            self.known -= {found.id} | gone
            self.known.add(task_id)
            self.mine[token] = Claim(task_id, token, found.body, found.priority, found.first_ms, found.counters)
        else:
            self.known.discard(found.id) if self.queue.look(found.id) is None else None
            del self.mine[token]

    def _dead_with(self, key: str) -> set[str]:
        rows = self.queue.client.xrange(self.queue.keys.part("dead"))
        return {said(fields[b"id"]) for _, fields in rows if fields[b"key"] == key.encode()}

    def _one(self) -> tuple[str, Claim] | None:
        if not self.mine:
            return None
        token = self.random.choice(list(self.mine))
        claim = self.mine.pop(token)
        self.past.append((claim.id, token))
        return token, claim

    def complete(self) -> None:
        if one := self._one():
            self._twice(lambda: self.queue.complete(one[1].id, one[0], b"{}", b'{"n":1}'))

    def retry(self) -> None:
        if one := self._one():
            settled = Settled(
                one[1].id, one[0], self.random.choice(["errors", "crashes", "unknown_ms"]), b"{}", self.random.choice([0, 1, 60_000])
            )
            self._twice(lambda: self.queue.retry([settled])[0])

    def bury(self) -> None:
        if one := self._one():
            self._twice(lambda: self.queue.bury([Settled(one[1].id, one[0], "errors", b"{}", reason="fatal", detail="no use")])[0])

    def release(self) -> None:
        if one := self._one():
            self._twice(lambda: self.queue.release(one[1].id, one[0], b"{}"))

    def _twice(self, settle: object) -> None:
        words = []
        for _ in range(2):
            try:
                words.append(settle())  # type: ignore[operator]
            except ClaimLostError:
                words.append("lost")
        assert words in (["ok", "again"], ["cancelled", "again"], ["lost", "lost"]), words

    def extend(self) -> None:
        if self.mine:
            token = self.random.choice(list(self.mine))
            assert self.queue.extend(self.mine[token].id, token, "0.5") in ("ok", "cancel", "lost")

    def cancel(self) -> None:
        name = self.name()
        word = self.queue.cancel(name)
        assert (word == "unknown") == (self.queue.look(name) is None)

    def settle_with_a_past_token(self) -> None:
        if not self.past:
            return
        name, token = self.random.choice(self.past)
        before = self.queue.look(name)
        words = [*self.queue.retry([Settled(name, token)]), *self.queue.bury([Settled(name, token)])]
        words.append(self.queue.extend(name, token))
        assert set(words) <= {"lost", "again"}, words
        assert self.queue.look(name) == before

    def lose_holders(self) -> None:
        for token in self.random.sample(list(self.mine), len(self.mine) // 2):
            claim = self.mine.pop(token)
            self.silent.append((claim.id, token))
            if self.queue.client.zscore(self.queue.keys.part("claims"), claim.id):
                end_lease(self.queue, claim.id)

    def reap(self) -> None:
        self._take_over(self.queue.reap(self.random.choice([1, 200])))

    def seize(self) -> None:
        holdings = self.queue.holdings()
        self._take_over(self.queue.seize(self.random.sample(holdings, len(holdings) // 3)))

    def _take_over(self, reaped: Reaped) -> None:
        taken = {claim.id for claim in reaped.claims}
        self.past += [(name, token) for name, token in self.silent if name in taken]
        self.past += [(claim.id, token) for token, claim in self.mine.items() if claim.id in taken]
        self.mine = {token: claim for token, claim in self.mine.items() if claim.id not in taken}
        if self.random.random() < 0.8:
            endings = {
                name: Ending(self.random.choice([Kind.LOST, Kind.RELEASED, Kind.OOM])) for name in taken if self.random.random() < 0.5
            }
            settle_reaped(self.queue, reaped.claims, reaped.now_ms, endings)
        elif taken:
            end_lease(self.queue, *taken)

    def move(self) -> None:
        """Towards a queue that has gone since: whoever goes on with it brings it back, unless it was there already."""
        asked_for = sorted(token for token, claim in self.mine.items() if not claim.fresh)
        if not asked_for:
            return
        token = self.random.choice(asked_for)
        found = self.mine.pop(token)
        self.past.append((found.id, token))
        words = [self.queue.move_out(found.id, token, "gone", b"{}") for _ in range(2)]
        if isinstance(words[0], str):
            assert words in (["lost", "lost"], ["cancelled", "again"]), words
            return
        assert words[0] == words[1]
        after = self.random.choice([self.queue.move_back, lambda name, token: self.queue.move_done(name, token, "gone"), None])
        if after is None:
            end_lease(self.queue, found.id)
            return
        assert after(found.id, token) == "ok"
        if (facts := self.queue.look(found.id)) and facts.state == "claimed":
            assert self.queue.retry([Settled(found.id, token)]) == ["ok"]

    def promote(self) -> None:
        due(self.queue, *self.random.sample(sorted(self.known), min(5, len(self.known))))
        self.queue.promote(self.random.choice([1, 200]))

    def expire(self) -> None:
        self.queue.expire()

    def replay(self) -> None:
        entries = [letter.entry for letter in self.queue.dead_letters()]
        chosen = self.random.sample(entries, len(entries) // 2)
        assert self.queue.replay(chosen, b"{}") == len(chosen)
        assert self.queue.replay(chosen, b"{}") == 0

    def purge(self) -> None:
        for letter in list(self.queue.dead_letters())[:2]:
            assert self.queue.purge([letter.entry, letter.entry]) == 1
            self.known.discard(letter.id)

    def rerun(self) -> None:
        name, fresh = self.name(), f"rerun-{self.steps}"
        words = {self.queue.rerun(name, fresh, b"{}"), self.queue.rerun(name, fresh, b"{}")}
        facts = self.queue.look(name)
        assert words == {"ok"} or words == {facts.state if facts else "unknown"}
        assert ("ok" in words) == bool(facts and (facts.state == "dead" or (facts.state == "done" and facts.body is not None)))
        self.known |= {fresh} if words == {"ok"} else set()

    def trim_history(self) -> None:
        self.queue.trim_history(self.queue.measure().now_ms)

    def restore(self) -> None:
        self.queue.restore()

    def break_something(self) -> None:
        key = self.queue.keys.watched(self.random.choice(PRIORITIES))
        self.queue.client.script_flush()
        if self.queue.declaration.mode == "list":
            return
        groups = [group["name"] for group in self.queue.client.xinfo_groups(key)]
        roll = self.random.randrange(4)
        if roll == 0 or not groups:
            self.queue.client.xgroup_destroy(key, "runner")
        elif roll == 1:
            self.queue.client.xgroup_delconsumer(key, "runner", "runner")
        elif roll == 2:
            self.queue.client.xreadgroup("runner", "foreign", {key: ">"}, count=3)
            self.queue.client.xgroup_delconsumer(key, "runner", "foreign")
        else:
            self.queue.client.xgroup_setid(key, "runner", self.random.choice(["0", "$"]))

    def check(self) -> None:
        """Each known id is in exactly one state, each bare push is still there, and the keys agree."""
        keyspace = Keyspace(self.queue).check()
        states = keyspace.states()
        assert int(keyspace.counts.get("history_bytes", "0")) <= self.queue.declaration.history_bytes, "more is kept than declared"
        assert self.known <= set(states), self.known - set(states)
        bodies = [body for items in keyspace.watched.values() for _, _, body in items] + list(keyspace.bodies.values())
        assert [body for body in self.pushed if not any(body in one for one in bodies)] == []

    def drain(self) -> None:
        """Let everything end: what is left over then was lost to every claim."""
        self.mine.clear()
        for _ in range(100_000):
            keyspace = Keyspace(self.queue)
            if not keyspace.tasks and not any(keyspace.watched.values()):
                return
            end_lease(self.queue, *(name for name, at in keyspace.claims.items() if at))
            due(self.queue, *keyspace.delayed)
            self.queue.restore()
            reaped = self.queue.reap()
            settle_reaped(self.queue, reaped.claims, reaped.now_ms)
            while self.queue.promote()[0]:
                pass
            self._empty()
        raise AssertionError("the queue does not drain")

    def _empty(self) -> None:
        while isinstance(found := self.queue.claim(f"{self.random.getrandbits(64):x}", "pod"), Claim):
            self.pushed -= {body for body in self.pushed if body.encode() in found.body}
            self.known.add(found.id)
            assert self.queue.complete(found.id, found.token, b"", b"") == "ok"


def walked(queue: Queue, seed: int, steps: int) -> Walk:
    """Walk, checking on the way, and drain."""
    walk = Walk(queue, seed)
    try:
        for _ in range(steps):
            walk.step()
            if walk.steps % 50 == 0:
                walk.check()
        walk.check()
        walk.drain()
        walk.check()
    except (AssertionError, redis.RedisError) as error:
        error.add_note(f"seed {seed}, step {walk.steps}")
        raise
    return walk
