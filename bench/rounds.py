"""Rounds: everything takes its turn in each (A B A B ...), so that a slow moment of the machine meets all. Called by the sections."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

LEAST_ROUNDS = 5
MOST_ROUNDS = 25


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: `seconds` for the rounds of a section (five are made at least), `size` as a factor on all counts."""

    seconds: float = 40.0
    size: float = 1.0
    least: int = LEAST_ROUNDS

    def scaled(self, count: int) -> int:
        """A count of tasks for this effort."""
        return max(1, int(count * self.size))

    def rounds(self) -> Iterator[int]:
        """0 for a round that warms up and is not kept, then 1, 2, ... until the time is over."""
        yield 0
        until_s = time.monotonic() + self.seconds
        for number in range(1, MOST_ROUNDS + 1):
            if number > self.least and time.monotonic() > until_s:
                return
            yield number


@contextmanager
def undisturbed() -> Iterator[None]:
    """Without Python's garbage collector: when it runs depends on what others left behind."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_turns(effort: Effort, steps: Mapping[str, Callable[[], float]], after: Callable[[], object]) -> dict[str, tuple[float, ...]]:
    """What each step answered in each round; every second round goes the other way, so that no step always follows the same one."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for number in effort.rounds():
        for name in list(steps)[:: 1 if number % 2 else -1]:
            with undisturbed():
                value = steps[name]()
            if number:
                found[name].append(value)
            after()
    return {name: tuple(values) for name, values in found.items()}


def seconds_of(do: Callable[[], object]) -> float:
    """How long a call takes."""
    began_s = time.perf_counter()
    do()
    return time.perf_counter() - began_s
