"""What KEDA and Kubernetes think of a queue, in words. Pure but for `entered`; called by status, doctor, logs and resume."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.cluster import Cluster, Event, ScaledJob, Snapshot, enter, inside
from runner.controller.jobs import stuck
from runner.errors import ClusterError

NEWS_S = 300.0
"""An event that is older says nothing about now."""
FAILING = ("KEDAScalerFailed", "ScaledJobCheckFailed", "KEDAScalersFailed")


@dataclass(frozen=True, slots=True)
class View:
    """One queue as KEDA and Kubernetes see it: the numbers are Jobs that have not ended."""

    scaled_job: str = "-"
    ready: str = "-"
    active: str = "-"
    paused: bool = False
    running: int = 0
    pending: int = 0
    stuck: int = 0
    suspended: int = 0
    last_event: str = ""


def entered(namespace: str, release: str) -> tuple[Cluster | None, str]:
    """The cluster that this person can ask, or None and why not; silent where there is no sign of one."""
    try:
        if inside():
            return enter(release, namespace=namespace), ""
        usual = Path.home() / ".kube" / "config"
        if os.environ.get("KUBECONFIG") or usual.exists():
            return enter(release, namespace=namespace, kubeconfig=""), ""
    except ClusterError as error:
        return None, str(error)
    return None, ""


def looked(namespace: str, release: str) -> tuple[Snapshot | None, str]:
    """All of the release, or None and why not."""
    cluster, why = entered(namespace, release)
    try:
        return (cluster.snapshot(), "") if cluster else (None, why)
    except ClusterError as error:
        return None, str(error)


def view_of(seen: Snapshot, stuck_uids: Collection[str] | None = None) -> View:
    """The view of one queue's part of a snapshot."""
    uids = {one.job.uid for one in stuck(seen, (), 0)} if stuck_uids is None else set(stuck_uids)
    going = [one for one in seen.jobs if not one.ended]
    run = {one.uid for one in going if any(pod.started and not pod.ended for pod in seen.pods_of(one))}
    one = seen.scaled_jobs[0] if seen.scaled_jobs else ScaledJob("-", "", ready="-", active="-")
    return View(
        scaled_job=one.name,
        ready=one.ready,
        active=one.active,
        paused=one.paused == "True",
        running=len(run),
        pending=sum(one.uid not in run and one.uid not in uids and not one.suspended for one in going),
        stuck=len(uids),
        suspended=sum(one.suspended for one in going),
        last_event=_last(seen.events),
    )


def _last(events: Sequence[Event]) -> str:
    last = max((one for one in events if one.kind == "ScaledJob"), key=lambda one: one.last_s, default=None)
    return f"{last.reason}: {last.message}" if last else ""


def troubles(queue: str, seen: Snapshot, findings: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong with a queue's way to its pods, a sentence each. Said after Redis answered, so that it says who cannot reach it."""
    said = [f"KEDA cannot use queue {queue}, though Redis answers here: {why}" for why in _keda_says(seen)]
    if not seen.scaled_jobs:
        said.append(f"queue {queue} has no ScaledJob here: its tasks wait until somebody runs a worker")
    said += [f"Job {one.job.name} of queue {queue} cannot start: {one.reason}: {one.message}" for one in stuck(seen, (), 0)]
    return said + [told(queue, one) for one in findings if one["kind"] == "paused"]


def all_troubles(names: Sequence[str], seen: Snapshot, findings: Mapping[str, Sequence[dict[str, Any]]]) -> list[str]:
    """What is wrong with any queue; several without a ScaledJob are told in one sentence."""
    watched = {one.queue for one in seen.scaled_jobs}
    missing = [name for name in names if name not in watched]
    told_together = missing if len(missing) > 1 else []
    said = [one for name in names if name not in told_together for one in troubles(name, seen.of(name), findings.get(name, ()))]
    if told_together:
        said.append(f"queues {', '.join(missing)} have no ScaledJob here (--namespace, --release): tasks wait until somebody runs a worker")
    return said


def _keda_says(seen: Snapshot) -> list[str]:
    """Its scaler may fail while the ScaledJob is Ready, and the condition names no cause: the last event does."""
    unready = [one for one in seen.scaled_jobs if one.ready in ("False", "Unknown")]
    events = [one for one in seen.events if one.kind == "ScaledJob" and one.reason in FAILING and seen.now_s - one.last_s < NEWS_S]
    why = [one.message for one in sorted(events, key=lambda one: one.last_s)[-1:]]
    return why if why else [f"{one.ready_reason}: {one.ready_message}" for one in unready]


def told(queue: str, finding: dict[str, Any]) -> str:
    """A finding of the controller, as a sentence."""
    message = f": {finding['message']}" if finding["message"] else ""
    if finding["kind"] == "paused":
        lift = f"; `runner queue resume {queue}`, or another image, lifts it" if message else ""
        return f"queue {queue} is {finding['reason']}{message}{lift}"
    words = {"stuck": "cannot start", "suspended": "does not run", "keda": "is not ready"}
    return f"{finding['name']} of queue {queue} {words.get(finding['kind'], finding['kind'])}: {finding['reason']}{message}"


def row(queue: str, view: View) -> list[object]:
    """A line of the table of KEDA's view."""
    shown = asdict(view)
    ready = "paused" if shown.pop("paused") else shown["ready"]
    return [queue, *(shown | {"ready": ready}).values()]
