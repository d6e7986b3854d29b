"""The limits of `runner check`, for all queues and for single ones, and how far over one a value is. Pure; called by check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

from runner.errors import ConfigError


class Level(IntEnum):
    """As Nagios has them; the exit code of `runner check` is the worst."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def weight(self) -> int:
        """Which one is the worst: what is known to be critical is worse than what is not known."""
        return (self.OK, self.UNKNOWN, self.WARNING, self.CRITICAL).index(self)


def _limit(default: float, meaning: str) -> Any:
    return field(default=float(default), metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be. Over it is a warning, over twice of it is critical, and 0 switches a look off."""

    max_wait_s: float = _limit(300, "How long the oldest waiting task may wait.")
    max_dead_percent: float = _limit(10, "How many per cent of what ended in the last hour may be dead, where more than --max-dead are.")
    max_dead: float = _limit(20, "How many dead letters of the last hour are never too many.")
    max_length: float = _limit(0, "How many tasks a queue may hold; 0 is four fifths of its own max_length, at which it is critical.")
    max_silence_s: float = _limit(180, "How long the controller may make no pass; one that never did is silent for ever.")
    max_empty_pods: float = _limit(2, "How many pods may have ended within ten minutes without claiming.")


NAMES = tuple(one.name for one in fields(Limits))


def level_of(value: float, limit: float) -> Level:
    """How bad a value is."""
    if not limit or value <= limit:
        return Level.OK
    return Level.CRITICAL if value > 2 * limit else Level.WARNING


def limits_of(common: Mapping[str, Any], words: Sequence[str], queues: Sequence[str]) -> dict[str, Limits]:
    """The limits of each queue: what was said for all, then what a word such as `emails.max_wait_s=600` says for one."""
    given = Limits(**{name: value for name, value in common.items() if value is not None})
    found = dict.fromkeys(queues, given)
    for word in words:
        name, limit, value = _read(word)
        if name not in found:
            raise ConfigError(f"{word!r}: queue {name!r} is not among those that are checked ({', '.join(queues) or 'none'})")
        found[name] = replace(found[name], **{limit: value})
    return found


def _read(word: str) -> tuple[str, str, float]:
    name, _, value = word.partition("=")
    queue, _, limit = name.rpartition(".")
    if limit not in NAMES or not queue:
        raise ConfigError(f"{word!r} is no limit of a queue, such as emails.max_wait_s=600; there are {', '.join(NAMES)}")
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        raise ConfigError(f"{word!r}: a limit is a number from 0 up, and 0 is none")
    return queue, limit, number
