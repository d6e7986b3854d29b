"""What a measurement is: figures with all their values, targets, sections. Data and its JSON; called by every module of bench."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured, a value per round."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value, which a slow moment of the machine does not move."""
        return statistics.median(self.values)

    def over(self, other: Figure) -> float:
        """The median, over the rounds, of this value divided by the other's of the same round."""
        return statistics.median(mine / its for mine, its in zip(self.values, other.values, strict=True))


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure has to reach: at least `bound`, or at most it."""

    says: str
    value: float
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether it is reached."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass(slots=True)
class Section:
    """One measurement: its figures, the names of those that the others are divided by, its targets, and what else has to be said."""

    name: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    beside: tuple[str, ...] = ()
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def figure(self, name: str, unit: str = "") -> Figure:
        """The figure of that name; of that unit, where there are several."""
        return next(one for one in self.figures if one.name == name and unit in ("", one.unit))

    def ratio(self, figure: Figure, other: str) -> float | None:
        """A figure over the one of another name and the same unit; None where there is none."""
        its = next((one for one in self.figures if one.name == other and one.unit == figure.unit), figure)
        return None if its is figure else figure.over(its)

    def ratio_of(self, name: str, other: str, unit: str = "") -> float:
        """The same by names; no ratio is an error."""
        found = self.ratio(self.figure(name, unit), other)
        if found is None:
            raise KeyError(f"{name} cannot be compared with {other}")
        return found

    def wants(self, says: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
        """Add a target."""
        bound = at_least if at_least is not None else at_most
        if bound is not None:
            self.targets.append(Target(says, value, bound, at_least is not None))

    def as_json(self) -> dict[str, Any]:
        """All of it in plain values."""
        return {
            "name": self.name,
            "title": self.title,
            "figures": [self._figure_as_json(one) for one in self.figures],
            "targets": [
                {"says": one.says, "value": one.value, "at_least" if one.at_least else "at_most": one.bound, "met": one.met}
                for one in self.targets
            ],
            "notes": self.notes,
        }

    def _figure_as_json(self, one: Figure) -> dict[str, Any]:
        ratios = {other: self.ratio(one, other) for other in self.beside}
        spread = {"median": one.median, "min": min(one.values), "max": max(one.values), "rounds": len(one.values)}
        return {"name": one.name, "unit": one.unit, **spread, "over": ratios, "values": list(one.values)}
