"""A queue's declaration: what is decided once for all its producers and workers. Called by broker, retry and the roles."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from typing import Any

from runner.errors import ConfigError

LAYOUT = 1
"""Version of the key layout in docs/architecture.md; raised only with an ADR and a CHANGELOG line."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NAME_RULE = "a name has letters, digits, `.`, `_` and `-`, at most 100, and starts with a letter or digit"
MODES = ("stream", "list")
REPLAYED = ("crash", "timeout", "lost")
REPLAYABLE = (*REPLAYED, "error", "retry", "oom", "released", "unknown_type")
NEVER_REPLAYED = ("fatal", "unreadable", "expired", "cancelled")
PARTS = (
    *("queue", "tasks", "bodies", "claims", "held", "delayed", "expiries", "keys"),
    *("dead", "buried", "lives", "turn", "pulse", "counts", "done", "history"),
)
"""Words that follow `{queue}:` in the key layout; no priority may take one of them."""
LONGEST_S = 1e9
"""Thirty years. A heartbeat every third of a much longer lease is more than a thread can wait for."""
KIND_WORDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a string", tuple: "a tuple of strings"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """All that is declared of a queue. Units are in the names; a limit of 0 is none, unless a line says otherwise."""

    name: str
    mode: str = "stream"
    """`stream` or `list`: what the queue is in Redis, and so whether it is pushed to with XADD or LPUSH."""
    priorities: tuple[str, ...] = ("high", "normal", "low")
    """Names, highest first, at most 5."""
    default_priority: str = ""
    """Lives under the queue's plain name; empty is `normal` where that exists, else the middle one."""
    default_type: str = ""
    """The type of a bare push that names none, such as `{"task_id": 206}`."""
    lease_s: float = 30.0
    """How long a claim lives without a heartbeat; the heart beats every third of it."""
    timeout_s: float = 600.0
    """How long an attempt may run, where its task does not say."""
    max_timeout_s: float = 3600.0
    """The longest timeout that a task may ask for."""
    max_retries: int = 3
    """Runs after a first one that raised; 3 is four starts."""
    max_timeouts: int = 2
    """Starts that may time out before the task is buried."""
    max_crashes: int = 3
    """Starts that may crash or be lost before the task is buried."""
    max_ooms: int = 2
    """Starts that may be killed for memory, here and where `oom_to` moved the task, by the cap of the queue that it is in."""
    oom_to: str = ""
    """The queue with bigger pods that a task killed for memory goes on in, instead of running here again."""
    max_releases: int = 20
    """Hand-backs, as by evicted pods, before the task is buried."""
    backoff_s: float = 5.0
    """Wait before the second run, twice as long before each next one, cut at random by up to half."""
    max_backoff_s: float = 600.0
    """The longest such wait."""
    unknown_type_grace_s: float = 600.0
    """How long a type that no worker knows is tried again."""
    max_length: int = 0
    """Tasks that the queue may hold before a submit is refused; 0 is no limit."""
    max_body_bytes: int = 1024 * 1024
    """The largest body that a submit takes."""
    keep_done_s: float = 604_800.0
    """How long a done id answers a second submit, and its result can be read."""
    history_bytes: int = 0
    """Bytes of ids and bodies of done tasks kept for that long, the newest, so that `rerun` can run one again; 0 keeps none."""
    dead_max: int = 100_000
    """Dead letters kept, the newest; 0 keeps all."""
    dead_max_age_s: float = 30 * 86_400.0
    """How long a dead letter is kept; 0 is for ever."""
    replay: tuple[str, ...] = REPLAYED
    """Reasons for which the controller replays a dead letter by itself; empty is never."""
    replay_after_s: float = 900.0
    """Age, counted from the first submit, that a dead letter must have."""
    replay_max: int = 1
    """Automatic replays of one task."""
    replay_per_pass: int = 100
    """Automatic replays at most in one pass of the controller."""
    rev: int = 0
    """Raised at every declare, so that a process with an old declaration notices."""
    layout: int = LAYOUT

    def __post_init__(self) -> None:
        """Raise ConfigError for a declaration that cannot work."""
        for field in fields(self):
            kind = str if field.name == "name" else type(field.default)
            if not _fits(value := getattr(self, field.name), kind):
                raise ConfigError(f"queue {self.name!r}: {field.name} is {value!r}, not {KIND_WORDS[kind]}")
        if not self.default_priority and self.priorities:
            middle = "normal" if "normal" in self.priorities else self.priorities[len(self.priorities) // 2]
            object.__setattr__(self, "default_priority", middle)
        for wrong, said in self._faults():
            if wrong:
                raise ConfigError(f"queue {self.name!r}: {said}")

    def check_new(self) -> None:
        """Raise ConfigError for what no queue is newly declared with; one that is stored so already stays readable."""
        for field in fields(self):
            value, is_time = getattr(self, field.name), isinstance(field.default, float)
            if isinstance(field.default, (int, float)) and not 0 <= value <= (LONGEST_S if is_time else math.inf):
                wanted = f"seconds from 0 to {LONGEST_S:.0f}" if is_time else "a number from 0 up"
                raise ConfigError(f"queue {self.name!r}: {field.name} is {value}, not {wanted}")
        if not set(self.replay) <= set(REPLAYABLE):
            raise ConfigError(f"queue {self.name!r}: replay holds reasons, of {', '.join(REPLAYABLE)}")

    def _faults(self) -> list[tuple[bool, str]]:
        known = self.priorities
        return [
            (not NAME.fullmatch(self.name), NAME_RULE),
            (self.mode not in MODES, f"mode {self.mode!r} is neither stream nor list"),
            (not 1 <= len(known) <= 5 or len(set(known)) != len(known), "priorities are 1 to 5 different names, highest first"),
            (not all(NAME.fullmatch(p) for p in known), "a priority's name follows the rule of a queue's name"),
            (any(p in PARTS for p in known), f"no priority may be named {', '.join(PARTS)}: these are the queue's other keys"),
            (self.default_priority not in known, f"default_priority {self.default_priority!r} is none of {', '.join(known)}"),
            (self.lease_s < 0.2, "lease_s is at least 0.2"),
            (self.timeout_s <= 0 or self.max_timeout_s < self.timeout_s, "timeout_s is above 0 and at most max_timeout_s"),
            (min(self.max_timeouts, self.max_crashes, self.max_ooms) < 1, "max_timeouts, max_crashes and max_ooms are at least 1"),
            (bool(self.oom_to) and (self.oom_to == self.name or not NAME.fullmatch(self.oom_to)), "oom_to names another queue"),
            (bool(self.oom_to) and self.max_ooms < 2, "oom_to needs max_ooms of at least 2: at 1 the first kill is the last start"),
            (self.keep_done_s < 1 or self.max_body_bytes < 1, "keep_done_s and max_body_bytes are at least 1"),
            (any(r in NEVER_REPLAYED for r in self.replay), f"replay never holds {', '.join(NEVER_REPLAYED)}: another run cannot help"),
            (min(self.max_retries, self.max_releases) < 0, "max_retries and max_releases are at least 0"),
        ]

    @property
    def lease_ms(self) -> int:
        """The lease in ms, as the scripts take it."""
        return int(self.lease_s * 1000)

    def to_fields(self) -> dict[str, str]:
        """The declaration as the strings of its Redis hash; tuples joined by commas."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name"}
        return {k: ",".join(v) if isinstance(v, tuple) else str(v) for k, v in values.items()}

    @classmethod
    def from_fields(cls, name: str, stored: dict[str, str]) -> Declaration:
        """Read what `to_fields` wrote; fields this release does not know are left alone, missing ones take the default."""
        values: dict[str, Any] = {"name": name}
        for f in fields(cls):
            if f.name in stored and f.name != "name":
                values[f.name] = _parsed(stored[f.name], type(f.default))
        return cls(**values)


def _fits(value: Any, kind: type) -> bool:
    """Whether a value is read again as it is: 1e6 and True for a whole number were stored, and then no process could open the queue."""
    if kind is tuple:
        return isinstance(value, tuple) and all(isinstance(part, str) for part in value)
    return isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)


def _parsed(text: str, kind: type) -> Any:
    if kind is tuple:
        return tuple(part for part in text.split(",") if part)
    return kind(text)
