"""A small Kubernetes in memory, as the API would show it, and short ways to make its objects. Called by the tests beside this file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runner.cluster import Event, Job, Pod, ScaledJob, Snapshot
from runner.errors import ClusterError

UIDS = [f"00000000-0000-4000-8000-{n:012d}" for n in range(100)]
NOW_S = 1_800_000_000.0


def pod(number: int = 0, **more: Any) -> Pod:
    """A pod of the Job of that number; it runs unless told otherwise."""
    stem = f"job-{number:05d}"
    known: dict[str, Any] = {"name": f"{stem}-abcde", "uid": UIDS[number], "node": "node-1", "phase": "Running", "queue": "emails"}
    return Pod(**known | {"job_uid": f"uid of {stem}", "created_s": NOW_S - 60, "started": True} | more)


def stopped(number: int = 0, **more: Any) -> Pod:
    """A pod that ended."""
    return pod(number, **{"phase": "Failed", "ended": True, "exit_code": 1, "reason": "Error"} | more)


def pending(number: int = 0, **more: Any) -> Pod:
    """A pod that has not started."""
    return pod(number, **{"phase": "Pending", "started": False, "node": ""} | more)


def job(number: int = 0, **more: Any) -> Job:
    """A Job of ScaledJob `emails`."""
    stem = f"job-{number:05d}"
    known: dict[str, Any] = {"name": stem, "uid": f"uid of {stem}", "queue": "emails", "scaled_job": "emails", "generation": 1}
    return Job(**known | {"created_s": NOW_S - 60} | more)


def scaled(**more: Any) -> ScaledJob:
    """A ScaledJob that is well."""
    return ScaledJob(**{"name": "emails", "queue": "emails", "generation": 1, "version": "1", "ready": "True"} | more)


def seen(*things: Any, now_s: float = NOW_S) -> Snapshot:
    """A snapshot of these."""
    pods = {one.uid: one for one in things if isinstance(one, Pod)}
    jobs, kept = ([one for one in things if isinstance(one, kind)] for kind in (Job, ScaledJob))
    return Snapshot(now_s, pods, tuple(jobs), tuple(kept), tuple(one for one in things if isinstance(one, Event)))


def word(one: Pod) -> str:
    """How this pod names itself in a claim."""
    return f"{one.name}/{one.uid}/{one.node}"


class Town:
    """Objects that change as the controller writes. `past` is what a snapshot shows though it is not so any more."""

    def __init__(self, *things: Any, past: tuple[Any, ...] = ()) -> None:
        self.things, self.past = list(things), past
        self.deleted: list[str] = []
        self.refuses = False

    def snapshot(self) -> Snapshot:
        """What there is, and what there was a moment ago."""
        if self.refuses:
            raise ClusterError("the API refused GET pods: 403 not allowed")
        return seen(*self.things, *self.past, now_s=time.time())

    def pod(self, name: str) -> Pod | None:
        """One pod as it is now."""
        return next((one for one in self.things if isinstance(one, Pod) and one.name == name), None)

    def pods_of(self, job_uid: str) -> list[Pod]:
        """The pods of a Job as they are now."""
        return [one for one in self.things if isinstance(one, Pod) and one.job_uid == job_uid]

    def scaled_job(self, name: str) -> ScaledJob | None:
        """One ScaledJob as it is now."""
        return next((one for one in self.things if isinstance(one, ScaledJob) and one.name == name), None)

    def delete_job(self, name: str, uid: str) -> bool:
        """Delete a Job with its pods."""
        gone = [one for one in self.things if isinstance(one, Job) and (one.name, one.uid) == (name, uid)]
        self.things = [one for one in self.things if one not in gone and not (isinstance(one, Pod) and one.job_uid == uid and gone)]
        self.deleted += [one.name for one in gone]
        return bool(gone)

    def annotate(self, scaled_job: str, version: str, changes: Mapping[str, str | None]) -> bool:
        """Write annotations, unless somebody did meanwhile."""
        for at, one in enumerate(self.things):
            if isinstance(one, ScaledJob) and (one.name, one.version) == (scaled_job, version):
                new = {name: value for name, value in (dict(one.annotations) | dict(changes)).items() if value is not None}
                self.things[at] = replace(one, annotations=new, version=f"{int(one.version) + 1}")
                return True
        return False

    def log(self, pod: str, tail_lines: int) -> str | None:
        """No pod here says anything."""
        return None

    def versions(self) -> dict[str, str]:
        """None here either."""
        return {}
