"""Which Jobs hold up the work: never started, or on a node that is lost. Pure; called by cluster_pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from runner.cluster import Job, Pod, Snapshot

WAITS = (
    *("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"),
    *("CreateContainerConfigError", "CreateContainerError", "Unschedulable"),
)
"""What a pod that cannot start says of itself."""
MOUNTS = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")
"""What only an event tells of a pod that cannot start: a volume that names a missing Secret, say."""
MOUNT_S = 20.0
"""A volume may be late for so long."""
LOST_S = 15.0
"""How long after the end of its grace a pod may still be there: its node does not answer."""
SILENT = "NodeSilent"
"""Our word for a pod that its node has not taken up. Kubernetes goes on sending pods to a frozen node until it counts as NotReady, after
some 50 s, and gives them up half a minute later; meanwhile KEDA counts their Jobs as running."""
SILENT_S, LOST_NODE_S, GIVEN_UP_S = 10.0, 15.0, 60.0
"""For how long nothing was heard of its node when such a pod is named, and when its Job is over: where a claim has expired on that node
too, and where nothing else speaks against it. A starved node to which 80 pods came at once wrote of none of them for half a minute."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A Job that never started. `over` when it is to be deleted."""

    job: Job
    reason: str
    message: str
    over: bool


def waiting(seen: Snapshot) -> Iterator[Job]:
    """The Jobs that have not ended and that nobody suspended."""
    return (one for one in seen.jobs if not one.ended and not one.suspended)


def stuck(seen: Snapshot, holders: Collection[str], after_s: float, lost: Collection[str] = ()) -> list[Stuck]:
    """Jobs that cannot start, with why. One made by an older specification is over at once: what was wrong there may be mended by now.

    `lost` names nodes on which a claim has expired.
    """
    newest = {one.name: one.generation for one in seen.scaled_jobs}
    found = []
    for job in waiting(seen):
        pods = list(seen.pods_of(job))
        if startable(pods, holders) and (why := _why(job, pods, seen)):
            old = job.generation < newest.get(job.scaled_job, 0)
            found.append(Stuck(job, *why, over=old or seen.now_s - job.created_s > after_s or _given_up(pods, seen, lost)))
    return found


def stands(one: Stuck, pods: Collection[Pod], holders: Collection[str]) -> bool:
    """Whether a stuck Job still is, now that its pods were looked at again."""
    return startable(pods, holders) and not (one.reason == SILENT and any(pod.heard_s for pod in pods))


def startable(pods: Collection[Pod], holders: Collection[str]) -> bool:
    """Whether nothing of a Job has run, and none of its pods holds a claim."""
    return not any(one.started or one.uid in holders for one in pods)


def _why(job: Job, pods: Collection[Pod], seen: Snapshot) -> tuple[str, str] | None:
    for pod in pods:
        if pod.waiting in WAITS:
            return pod.waiting, pod.waiting_message
        if silent_s(pod, seen) > SILENT_S:
            return SILENT, f"node {pod.node} has not taken up its pod, and was not heard of for {silent_s(pod, seen):.0f} s"
        late = seen.now_s - pod.created_s > MOUNT_S
        if late and (said := _last(seen, pod.uid, MOUNTS)):
            return said
    return None if pods else _last(seen, job.uid, ("FailedCreate",))


def silent_s(pod: Pod, seen: Snapshot) -> float:
    """For how long nothing was heard of a node that has not taken up a pod; 0 if it took it up."""
    waits = pod.node and pod.scheduled_s and not pod.heard_s
    return seen.now_s - max(pod.scheduled_s, heard_s(pod.node, seen)) if waits else 0.0


def heard_s(node: str, seen: Snapshot) -> float:
    """When a node was last heard of any pod, of whatever queue; 0 for never."""
    everywhere = seen.everywhere or seen.pods
    return max((one.heard_s for one in everywhere.values() if one.node == node), default=0.0)


def _given_up(pods: Collection[Pod], seen: Snapshot, lost: Collection[str]) -> bool:
    return any(silent_s(one, seen) > (LOST_NODE_S if one.node in lost else GIVEN_UP_S) for one in pods)


def _last(seen: Snapshot, uid: str, reasons: Collection[str]) -> tuple[str, str] | None:
    events = [one for one in seen.events if one.uid == uid and one.reason in reasons]
    last = max(events, key=lambda one: one.last_s, default=None)
    return (last.reason, last.message) if last else None


def abandoned(seen: Snapshot, holders: Collection[str]) -> list[Job]:
    """Jobs whose pods all were to end long ago and hold nothing: their node is lost, and KEDA counts them as running."""
    found = []
    for job in waiting(seen):
        pods = list(seen.pods_of(job))
        if pods and all(_overdue(one, seen.now_s) and one.uid not in holders for one in pods):
            found.append(job)
    return found


def unheeding(seen: Snapshot) -> set[str]:
    """Nodes with a pod that was to end long ago. A controller that has just started knows a lost node by these."""
    return {one.node for one in seen.pods.values() if _overdue(one, seen.now_s)}


def _overdue(pod: Pod, now_s: float) -> bool:
    return not pod.ended and pod.deleted_s is not None and now_s - pod.deleted_s > LOST_S
