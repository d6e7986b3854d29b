"""What is written on ScaledJobs: a nudge for KEDA to look again, and a pause with its reason. Pure; called by cluster_pass and cli.

KEDA tries a ScaledJob that failed ever later, up to 16 minutes, but looks at once when the annotation `autoscaling.keda.sh/paused` changes.
The value `false` pauses nothing, so a nudge sets it or takes it away: there is no moment in which an interrupted nudge would leave the
queue paused. Our mark is written with it, in one write that is refused when somebody wrote meanwhile. Where the annotation stands without
our mark, or with another value than ours, a person put it there, and it stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from runner.cluster import ScaledJob

PAUSED = "autoscaling.keda.sh/paused"
NUDGE = "runner/nudge"
"""`TIME NUMBER`: when this ScaledJob was nudged last, in s since the epoch, and how often in a row."""
WHY = "runner/paused-because"
"""`GENERATION REASON`: the specification that we paused, and why. A newer specification lifts the pause."""
NUDGED = "false"
FIRST_S, LONGEST_S = 5.0, 600.0
Changes = Mapping[str, str | None]


def nudge(one: ScaledJob, now_s: float) -> Changes | None:
    """What to write so that KEDA looks at a ScaledJob that it gave up on, or once it has; None for nothing. Called while Redis answers."""
    mark, pause = one.annotations.get(NUDGE), one.annotations.get(PAUSED)
    if pause is not None and (mark is None or pause != NUDGED):
        return {NUDGE: None} if mark is not None else None
    if one.ready == "True":
        return {NUDGE: None, PAUSED: None} if mark is not None else None
    last_s, times = _read(mark)
    if not one.ready or now_s - last_s < min(LONGEST_S, FIRST_S * 2.0 ** min(times - 1, 10)):
        return None
    return {NUDGE: f"{int(now_s)} {times + 1}", PAUSED: NUDGED if pause is None else None}


def _read(mark: str | None) -> tuple[float, int]:
    """When and how often; a mark that says neither is as none."""
    try:
        last, times = (mark or "0 0").split()
        return float(last), int(times)
    except ValueError:
        return 0.0, 0


def pause(one: ScaledJob, why: str) -> Changes | None:
    """What to write so that KEDA starts nothing more; None where it is paused already."""
    if one.annotations.get(PAUSED) not in (None, NUDGED):
        return None
    return {WHY: f"{one.generation} {why}", PAUSED: "true", NUDGE: None}


def resume(one: ScaledJob, *, asked: bool = False) -> Changes | None:
    """What to write once our pause is over: by a newer specification, or because a person asks; None where it is not ours or goes on."""
    why = one.annotations.get(WHY)
    if why is None:
        return None
    if PAUSED not in one.annotations:
        return {WHY: None}
    generation = why.partition(" ")[0]
    older = generation.isdigit() and int(generation) < one.generation
    return {WHY: None, PAUSED: None} if older or asked else None


def reason(one: ScaledJob) -> str:
    """Why we paused it; empty if we did not."""
    return one.annotations.get(WHY, "").partition(" ")[2] if PAUSED in one.annotations else ""
