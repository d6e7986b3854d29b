"""Every key of a queue with its type, meaning and lifetime; the order is the KEYS of every script. Called by scripts and broker.

`emails` stands for the prefix and the queue's name, such as `staging:emails`. All keys of a queue share one slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from runner.queue import Declaration

ORDER = (
    "queue",  # HASH: the declaration. For ever.
    "tasks",  # HASH: id to record (see lua/prelude.lua). Until settled.
    "bodies",  # HASH: id to bytes: delayed in both modes, waiting and claimed in list mode. While there.
    "claims",  # ZSET: id to the claim's expiry in ms, 0 for a released one. While claimed or released.
    # HASH: token to start, holder, progress and id, so that a claim can be repeated; `entry:PRIORITY:ENTRY` to id for a bare push that
    # is held under another id than its entry tells. While claimed, and while the entry lives.
    "held",
    # under another id than its entry tells. While claimed, the second while the entry lives.
    "delayed",  # ZSET: id to due time in ms. Until promoted.
    "expiries",  # ZSET: id to expiry in ms. Until claimed or settled.
    "keys",  # HASH: business key to id. Until settled.
    "dead",  # STREAM: the dead letters. Trimmed by age and count.
    "buried",  # HASH: id to its entry in dead and the token that buried it. With the dead letter.
    "lives",  # HASH: id to its attempts, one JSON line each. Until settled, then with marker or dead letter.
    "turn",  # STRING: successful claims, for the bound that keeps low priorities alive. For ever.
    "pulse",  # STRING: when a holder or a reaper was last heard, and which claims are spared until when (ms). For ever.
    "counts",  # HASH: totals since the queue was declared, and dead letters by reason. For ever.
    "done:0",  # HASH: markers of ended tasks in a ring of four buckets of keep_done_s / 2 each; each key expires whole.
    "done:1",
    "done:2",
    "done:3",
    "history",  # STREAM: bodies of done tasks, while their bytes are within history_bytes and they are younger than keep_done_s.
)


def queue_key(prefix: str, name: str) -> str:
    """The plain key that everyone may push to: `emails`, or `staging:emails` with a prefix."""
    return f"{prefix}:{name}" if prefix else name


def index_key(prefix: str) -> str:
    """SET of the declared queues' names. No queue can collide with it: a name holds no slash."""
    return queue_key(prefix, "runner/queues")


def passes_key(prefix: str) -> str:
    """HASH: when the controller last ran, and how."""
    return queue_key(prefix, "runner/passes")


def marks_key(prefix: str) -> str:
    """HASH: a queue's name to `rev entry`, up to where its dead letters need no further look by the controller. A hint; may be deleted."""
    return queue_key(prefix, "runner/marks")


def findings_key(prefix: str) -> str:
    """HASH: a queue's name to what the controller found wrong with its pods and Jobs, JSON. Expires when no pass renews it."""
    return queue_key(prefix, "runner/findings")


def ended_key(prefix: str) -> str:
    """HASH: a queue's name to what had ended by when in the last hour, JSON. A hint; may be deleted."""
    return queue_key(prefix, "runner/ended")


def starts_key(prefix: str) -> str:
    """HASH: a queue's name to the pods that ended lately without a claim, JSON. A hint; may be deleted."""
    return queue_key(prefix, "runner/starts")


@dataclass(frozen=True)
class Keys:
    """The keys of one queue, as the scripts take them."""

    prefix: str
    declaration: Declaration

    @cached_property
    def main(self) -> str:
        """The queue's plain key, which is its default priority's."""
        return queue_key(self.prefix, self.declaration.name)

    def part(self, word: str) -> str:
        """A key beside the main one, in the same slot."""
        return f"{{{self.main}}}:{word}"

    def watched(self, priority: str) -> str:
        """The STREAM or LIST of one priority: what KEDA watches and producers push to."""
        return self.main if priority == self.declaration.default_priority else self.part(priority)

    @cached_property
    def all(self) -> tuple[str, ...]:
        """KEYS of every script: the fixed ones in ORDER, then the priorities, highest first."""
        return (*(self.part(word) for word in ORDER), *(self.watched(p) for p in self.declaration.priorities))
