"""What is known of the objects of a release, read from the API's JSON. Data and pure readers; called by cluster, controller and cli."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Raw = Mapping[str, Any]
QUEUE = "runner/queue"
"""Annotation (the whole name) and label (as far as it fits) of everything that belongs to a queue."""
PREEMPTED, EVICTED, OOM_KILLED = "Preempted", "Evicted", "OOMKilled"
DISRUPTIONS = {"PreemptionByScheduler": PREEMPTED, "EvictionByEvictionAPI": EVICTED, "TerminationByKubelet": EVICTED}
"""Why Kubernetes ends pods, by the reasons of the condition DisruptionTarget, where its word is none that people use."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod. `reason` and `message` say why it ended, `waiting` and `waiting_message` what it waits for; times in s since the epoch."""

    name: str
    uid: str
    node: str = ""
    phase: str = "Pending"
    queue: str = ""
    job_uid: str = ""
    scheduled_s: float = 0.0
    heard_s: float = 0.0
    """Since when it has its node, and when that was last heard of it: taken up, started, ended; 0 where that has not taken it up."""
    created_s: float = 0.0
    ran_from_s: float = 0.0
    ran_to_s: float = 0.0
    """From when to when its worker ran, 0 where that is not known."""
    deleted_s: float | None = None
    """Until when it was given to end; None for one that nobody deletes."""
    started: bool = False
    ended: bool = False
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    waiting: str = ""
    waiting_message: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One Job of a ScaledJob. `ended` is Complete, Failed or empty; `generation` that of the ScaledJob that made it."""

    name: str
    uid: str
    queue: str
    scaled_job: str = ""
    generation: int = 0
    created_s: float = 0.0
    suspended: bool = False
    ended: str = ""
    ended_s: float = 0.0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ScaledJob:
    """What KEDA was told and what it says. The conditions are True, False, Unknown or empty."""

    name: str
    queue: str
    generation: int = 0
    version: str = ""
    """Changes with each write; a write that names an older one is refused."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    ready: str = ""
    ready_reason: str = ""
    ready_message: str = ""
    active: str = ""
    paused: str = ""
    spec: Raw = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Event:
    """One warning, or what KEDA said of a ScaledJob."""

    kind: str
    name: str
    uid: str
    reason: str
    message: str
    last_s: float = 0.0
    warning: bool = True


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of a release at `now_s`."""

    now_s: float
    pods: Mapping[str, Pod] = field(default_factory=dict)
    """By uid."""
    jobs: tuple[Job, ...] = ()
    scaled_jobs: tuple[ScaledJob, ...] = ()
    events: tuple[Event, ...] = ()
    everywhere: Mapping[str, Pod] = field(default_factory=dict, repr=False)
    """In a part: the pods of all queues."""

    def of(self, queue: str) -> Snapshot:
        """The part of one queue."""
        jobs = tuple(one for one in self.jobs if one.queue == queue)
        scaled = tuple(one for one in self.scaled_jobs if one.queue == queue)
        uids, names = {one.uid for one in jobs}, {one.name for one in scaled}
        pods = {uid: one for uid, one in self.pods.items() if one.queue == queue or one.job_uid in uids}
        events = tuple(one for one in self.events if one.uid in uids or one.uid in pods or (one.kind == "ScaledJob" and one.name in names))
        return Snapshot(self.now_s, pods, jobs, scaled, events, self.pods)

    def pods_of(self, job: Job) -> Iterator[Pod]:
        """The pods of a Job."""
        return (one for one in self.pods.values() if one.job_uid == job.uid)


def pod_of(raw: Raw) -> Pod:
    """Read a Pod."""
    meta, status = raw["metadata"], raw.get("status") or {}
    container = _container(status)
    state = container.get("state") or {}
    ended, waiting, running = (state.get(word) or {} for word in ("terminated", "waiting", "running"))
    phase, scheduled = status.get("phase", "Pending"), _condition(status, "PodScheduled")
    reason, message = _why_ended(status, ended)
    waits_for, waiting_message = _why_waiting(status, waiting)
    return Pod(
        name=meta["name"],
        uid=meta["uid"],
        node=(raw.get("spec") or {}).get("nodeName", ""),
        phase=phase,
        queue=_queue(meta),
        job_uid=next((owner["uid"] for owner in meta.get("ownerReferences") or [] if owner["kind"] == "Job"), ""),
        scheduled_s=seconds(scheduled.get("lastTransitionTime")) if scheduled.get("status") == "True" else 0.0,
        heard_s=max(map(seconds, (status.get("startTime"), running.get("startedAt"), ended.get("startedAt"), ended.get("finishedAt")))),
        created_s=seconds(meta.get("creationTimestamp")),
        ran_from_s=seconds(ended.get("startedAt")),
        ran_to_s=seconds(ended.get("finishedAt")),
        deleted_s=seconds(meta["deletionTimestamp"]) if meta.get("deletionTimestamp") else None,
        started=bool(state.get("running") or ended) or phase in ("Running", "Succeeded", "Failed"),
        ended=bool(ended) or phase in ("Succeeded", "Failed"),
        reason=reason,
        message=message,
        exit_code=ended.get("exitCode"),
        waiting="" if phase != "Pending" else waits_for,
        waiting_message=waiting_message,
    )


def _container(status: Raw) -> Raw:
    """The worker's own container: sidecars end later, or never."""
    found: list[Raw] = list(status.get("containerStatuses") or [])
    return next((one for one in found if one.get("name") == "worker"), found[0] if found else {})


def _why_ended(status: Raw, ended: Raw) -> tuple[str, str]:
    """A container over its own limit comes first: that is the task's doing, not the node's."""
    target = _condition(status, "DisruptionTarget")
    said = str(status.get("message") or target.get("message") or ended.get("message") or "")
    if ended.get("reason") == OOM_KILLED:
        return OOM_KILLED, said
    if status.get("reason"):
        return str(status["reason"]), said
    if target.get("status") == "True":
        word = str(target.get("reason", ""))
        return DISRUPTIONS.get(word, word), said
    return str(ended.get("reason") or ""), said


def _why_waiting(status: Raw, waiting: Raw) -> tuple[str, str]:
    for one in status.get("initContainerStatuses") or []:
        found = (one.get("state") or {}).get("waiting") or {}
        if found.get("reason") not in (None, "PodInitializing"):
            return str(found["reason"]), str(found.get("message", ""))
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return str(scheduled.get("reason", "")), str(scheduled.get("message", ""))
    return str(waiting.get("reason", "")), str(waiting.get("message", ""))


def job_of(raw: Raw) -> Job:
    """Read a Job."""
    meta, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    ends = [one for kind in ("Failed", "Complete") if (one := _condition(status, kind)).get("status") == "True"]
    target = _condition(status, "FailureTarget")
    why = ends[0] if ends else target
    return Job(
        name=meta["name"],
        uid=meta["uid"],
        queue=_queue(meta),
        scaled_job=labels.get("scaledjob.keda.sh/name", ""),
        generation=int(annotations.get("scaledjob.keda.sh/generation") or 0),
        created_s=seconds(meta.get("creationTimestamp")),
        suspended=bool(spec.get("suspend")),
        ended=ends[0]["type"] if ends else "",
        ended_s=seconds(ends[0].get("lastTransitionTime")) if ends else 0.0,
        reason=why.get("reason", ""),
        message=why.get("message", ""),
    )


def scaled_job_of(raw: Raw) -> ScaledJob:
    """Read a ScaledJob."""
    meta, status = raw["metadata"], raw.get("status") or {}
    ready = _condition(status, "Ready")
    return ScaledJob(
        name=meta["name"],
        queue=_queue(meta),
        generation=int(meta.get("generation") or 0),
        version=meta.get("resourceVersion", ""),
        annotations=meta.get("annotations") or {},
        ready=ready.get("status", ""),
        ready_reason=ready.get("reason", ""),
        ready_message=ready.get("message", ""),
        active=_condition(status, "Active").get("status", ""),
        paused=_condition(status, "Paused").get("status", ""),
        spec=raw.get("spec") or {},
    )


def event_of(raw: Raw) -> Event:
    """Read an Event."""
    about = raw.get("involvedObject") or {}
    last = raw.get("lastTimestamp") or raw.get("eventTime") or raw["metadata"].get("creationTimestamp")
    return Event(
        kind=about.get("kind", ""),
        name=about.get("name", ""),
        uid=about.get("uid", ""),
        reason=raw.get("reason") or "",
        message=raw.get("message") or "",
        last_s=seconds(last),
        warning=raw.get("type") == "Warning",
    )


def seconds(timestamp: str | None) -> float:
    """A time of the API in s since the epoch, 0 for none."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0


def _queue(meta: Raw) -> str:
    return str((meta.get("annotations") or {}).get(QUEUE) or (meta.get("labels") or {}).get(QUEUE) or "")


def _condition(status: Raw, kind: str) -> Raw:
    return next((one for one in status.get("conditions") or [] if one.get("type") == kind), {})
