"""Which claims are held by pods that are really gone, and how those ended. Pure; called by cluster_pass.

A pod is gone when a look at this moment finds none of its name and uid, or finds that it ended. The look alone proves nothing: a holder
may run in another namespace or cluster that shares the Redis. So one that is not found counts as gone only if it was here: its Job is,
or the pod was seen before. All other holders are left to their leases.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from runner.cluster import Job, Pod, Snapshot
from runner.outcome import Ending, Kind
from runner.tasks import Holding

UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OWN_LIMIT = re.compile(r"exceed", re.IGNORECASE)
"""In the message of an eviction: the pod went over a limit of its own, such as its ephemeral storage."""
UNBURNT = ("Evicted", "Preempted", "Preempting", "DeadlineExceeded", "DeletionByTaintManager", "NodeShutdown", "Terminated")
"""Ends that are the cluster's doing: the next run is likely to do better."""
KILLED = 137
STEM_AND_SUFFIX = 58
"""Kubernetes cuts a generated name here and puts five characters behind it."""


class Holder(NamedTuple):
    """Who holds a claim, as far as the word `pod/uid/node` tells."""

    pod: str
    uid: str
    node: str


def holder_of(word: str) -> Holder | None:
    """Read a holder's word; None where no uid tells the pod from another of its name."""
    pod, uid, *node = [*word.split("/", 2), ""]
    return Holder(pod, uid, node[0]) if pod and UID.fullmatch(uid) else None


def uids(holdings: Collection[Holding]) -> set[str]:
    """The pods that hold something."""
    return {holder.uid for one in holdings if (holder := holder_of(one.holder))}


def to_look_up(holdings: Sequence[Holding], seen: Snapshot) -> list[tuple[Holding, Holder]]:
    """The claims whose pods the snapshot does not show alive. A token with a colon is a reaper's, who settles it at this moment."""
    known = [(one, holder) for one in holdings if ":" not in one.token and (holder := holder_of(one.holder))]
    return [(one, holder) for one, holder in known if (pod := seen.pods.get(holder.uid)) is None or pod.ended]


def ending(holder: Holder, now: Pod | None, seen: Snapshot, ever: Collection[str]) -> Ending | None:
    """How a holder ended; None if it lives, or cannot be shown to be gone. `now` is the pod of its name at this moment."""
    if now is not None and now.uid == holder.uid:
        return ending_of(now) if now.ended else None
    last, job = seen.pods.get(holder.uid), job_of(holder, seen)
    if last is not None and last.reason:
        return ending_of(last)
    if job is not None and job.reason == "DeadlineExceeded":
        return Ending(Kind.RELEASED, f"DeadlineExceeded: the Job's deadline cut it short; {_where(holder.pod, holder.node)}")
    if last is None and job is None and holder.uid not in ever:
        return None
    return Ending(Kind.LOST, f"the pod is gone: {_where(holder.pod, holder.node)}")


def job_of(holder: Holder, seen: Snapshot) -> Job | None:
    """The Job that made a pod, by the names that Kubernetes generates."""
    stem = holder.pod[:-5]
    return next((one for one in seen.jobs if f"{one.name}-"[:STEM_AND_SUFFIX] == stem), None)


def ending_of(pod: Pod) -> Ending:
    """What the reason of an ended pod says of its attempt."""
    code = "" if pod.exit_code is None else f"; exit code {pod.exit_code}"
    said = f"{pod.reason or 'ended'}{': ' + pod.message if pod.message else ''}; {_where(pod.name, pod.node)}{code}"
    return Ending(_kind(pod), said, exit_code=pod.exit_code)


def _kind(pod: Pod) -> Kind:
    if pod.reason == "OOMKilled" or _killed_by_the_kernel(pod):
        return Kind.OOM
    if pod.reason == "Evicted" and OWN_LIMIT.search(pod.message):
        return Kind.CRASH
    return Kind.RELEASED if pod.reason in UNBURNT else Kind.LOST


def _killed_by_the_kernel(pod: Pod) -> bool:
    """containerd learns of the kill too late in one of three cases and says `Error`. No process inside can kill the first one of its
    container, and nobody outside did who deletes pods: what is left is the kernel.
    """
    return pod.reason == "Error" and pod.exit_code == KILLED and pod.deleted_s is None


def _where(pod: str, node: str) -> str:
    return f"pod {pod}" + (f" on node {node}" if node else "")
