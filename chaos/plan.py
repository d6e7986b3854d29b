"""All that is random, made from the seed alone: the tasks, the workers' fates, the events. Pure; called by storm.

Events are keyed by the number of the worker that is started next, because that repeats where wall time does not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

LEASE_S = 1.5
ALWAYS = 1_000
OPERATIONS = {
    "list": ("flush scripts", "cut connections", "fill memory"),
    "stream": ("flush scripts", "cut connections", "fill memory", "destroy group", "delete consumer", "foreign reader"),
}
PRIORITIES = ("high", "normal", "low")
TYPE = "chaos.work"


@dataclass(frozen=True, slots=True)
class Planned:
    """One task: how it comes in, what its handler does, how it may end (a state, or `dead:reason`)."""

    n: int
    id: str
    ends: frozenset[str]
    way: str = "submit"
    """`submit`, `checked` (with an id of the user's), `bare` (XADD or LPUSH of an envelope), `anonymous` (the same without an id), or
    `raw` (no envelope)."""
    do: str = "work"
    s: float = 0.0
    fails: int = 0
    priority: str = "normal"
    delay_ms: int = 0
    expires_ms: int = 0
    timeout_ms: int | None = None
    max_retries: int | None = None
    key: str = ""
    repeats: int = 0
    """Further submits of the same id (for one with a key: of the key, under other ids), which must change nothing."""
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Fate:
    """What befalls one worker: `how` after `after_s`, counted from its start or from its claim; `hold_s` is how long it stays stopped."""

    how: str = ""
    after_s: float = 0.0
    from_claim: bool = False
    hold_s: float = 0.0
    plain: bool = False
    """A fresh interpreter, `python -m runner.worker`, and no fork."""
    program: bool = False
    """Its tasks are run by a program (RUNNER_EXEC), not by Python handlers."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happens `after_s` after worker number `before` starts: to Redis for `down_s`, to a controller or a key by its index."""

    before: int
    what: str
    after_s: float
    down_s: float = 0.0
    index: int = 0


KINDS: tuple[tuple[int, dict[str, object]], ...] = (
    # weight, facts of the task; one line per kind of trouble
    (560, {}),
    (80, {"way": "checked", "repeats": 2}),
    (25, {"way": "checked", "key": "yes", "repeats": 1}),
    (60, {"way": "bare"}),
    (20, {"way": "anonymous"}),
    (15, {"way": "raw", "ends": ("dead:unreadable",)}),
    (70, {"delay": True}),
    (40, {"do": "error", "fails": 1}),
    (20, {"do": "again", "fails": 2}),
    (25, {"do": "crash", "fails": 1}),
    (15, {"do": "fatal", "fails": ALWAYS, "ends": ("dead:fatal",)}),
    (15, {"do": "error", "fails": ALWAYS, "max_retries": 1, "ends": ("dead:error",)}),
    (5, {"do": "slow", "s": 30.0, "timeout_ms": 300, "ends": ("dead:timeout",)}),
    (25, {"way": "checked", "cancelled": True, "ends": ("cancelled", "done")}),
    (15, {"way": "checked", "cancelled": True, "delay": True, "ends": ("cancelled", "done")}),
    (10, {"expires_ms": 400, "ends": ("done", "dead:expired")}),
)

FATES: tuple[tuple[int, str], ...] = (
    # weight, how; half of the fates count from the claim
    (65, ""),
    (7, "kill both"),
    (6, "kill parent"),
    (5, "kill child"),
    (7, "term"),
    (2, "term, kill"),
    (4, "stop parent"),
    (4, "stop both"),
)


def tasks(count: int, seed: int, mode: str) -> list[Planned]:
    """The tasks of one mode, in the order they are submitted."""
    dice = random.Random(f"tasks {seed} {mode}")
    weights = [weight for weight, _ in KINDS]
    return [_task(dice, n, dict(dice.choices(KINDS, weights)[0][1])) for n in range(count)]


def _task(dice: random.Random, n: int, facts: dict[str, object]) -> Planned:
    facts["ends"] = frozenset(facts.get("ends", ("done",)))  # type: ignore[call-overload]
    facts.setdefault("s", dice.choices((dice.uniform(0, 0.05), dice.uniform(0.05, 0.4), dice.uniform(1, 2.5)), (70, 25, 5))[0])
    facts["priority"] = dice.choices(PRIORITIES, (2, 6, 2))[0]
    if facts.pop("delay", False):
        facts["delay_ms"] = dice.randrange(50, 3000)
    if facts.get("key"):
        facts["key"] = f"order {n}"
    return Planned(n=n, id=f"task-{n}", **facts)  # type: ignore[arg-type]


def fate(seed: int, mode: str, number: int) -> Fate:
    """What befalls worker `number`."""
    dice = random.Random(f"fate {seed} {mode} {number}")
    how = dice.choices([name for _, name in FATES], [weight for weight, _ in FATES])[0]
    from_claim = dice.random() < 0.6
    after_s = dice.uniform(0, 0.15 if from_claim else 0.3)
    # Half of the stopped ones come back just when their claim is somebody else's.
    hold_s = LEASE_S * dice.choice((dice.uniform(1, 1.4), dice.uniform(0.7, 3)))
    return Fate(how, after_s, from_claim, hold_s, plain=dice.random() < 0.04, program=dice.random() < 0.04)


def controller_fate(seed: int, mode: str, number: int) -> Fate:
    """What befalls the controllers' `number`-th process, besides the events: some hang for several leases."""
    dice = random.Random(f"controller {seed} {mode} {number}")
    return Fate(dice.choices(("", "stop parent", "term"), (6, 3, 1))[0], dice.uniform(0.2, 3), False, LEASE_S * dice.uniform(1, 5))


def events(count: int, seed: int, mode: str) -> list[Event]:
    """Every kill of Redis and of controllers, soonest first."""
    dice = random.Random(f"events {seed} {mode}")
    few = min(3, count // 10)
    downs = [_down_s(dice, number) for number in range(max(few, count // 100))]
    made = [Event(_when(dice, count), "kill redis", dice.uniform(0, 0.3), down_s) for down_s in downs]
    freezes = [LEASE_S * dice.uniform(0.1, 1.5) for _ in range(max(few // 3, count // 250))]
    made += [Event(_when(dice, count), "freeze redis", dice.uniform(0, 0.3), down_s) for down_s in freezes]
    deaths = max(few + 1, count // 40)
    made += [Event(_when(dice, count), "kill controller", dice.uniform(0, 0.3), index=number % 2) for number in range(deaths)]
    for what in OPERATIONS[mode]:
        times = max(few, count // 50 if what == "cut connections" else count // 200)
        made += [Event(_when(dice, count), what, dice.uniform(0, 0.3), dice.uniform(0.1, 1), number) for number in range(times)]
    return sorted(made, key=lambda event: (event.before, event.what))


def _when(dice: random.Random, count: int) -> int:
    return dice.randrange(max(1, count // 20), max(2, count * 9 // 10))


def _down_s(dice: random.Random, number: int) -> float:
    """One outage in three about as long as a lease, one in six well over it: what the silence rule is for."""
    if number % 6 == 1:
        return LEASE_S * dice.uniform(1.2, 2.5)
    return LEASE_S * dice.uniform(0.6, 1.2) if number % 3 == 0 else dice.uniform(0, 0.4)
