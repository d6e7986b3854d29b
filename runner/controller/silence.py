"""Pods of a silent node whose tasks others have taken: KEDA counts their Jobs as running. Pure; called by cluster_pass and passes.

Workers reap too: the first pod that replaces one of a frozen node may take over all claims of that node before the controller sees them
expire. Seen: two of three Jobs then stayed for two minutes, until Kubernetes gave their pods up, and their tasks waited for as long.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from runner.cluster import Job, Pod, Snapshot
from runner.controller.jobs import heard_s, waiting

QUIET_S = 5.0
"""For how long nothing was heard of a silent node when the claim expired. One that is only busy, with late heartbeats and pods whose end it
has not written yet, writes of others all the time."""
FRESH_S = 120.0
"""How long a node counts as silent after a claim expired there though its pod was not gone; then Kubernetes has given its pods up."""


@dataclass(slots=True)
class Silence:
    """What a process remembers from pass to pass: pods that held a claim, and when a node was found silent."""

    held: set[str] = field(default_factory=set)
    nodes: dict[str, float] = field(default_factory=dict)

    def forget(self, seen: Snapshot) -> None:
        """Drop what is not there any more."""
        self.held &= set(seen.pods)
        self.nodes = {node: at for node, at in self.nodes.items() if seen.now_s - at < FRESH_S}


def deserted(seen: Snapshot, holders: Collection[str], known: Silence) -> list[Job]:
    """Jobs whose pods all held something, hold nothing any more, and have not ended, on nodes that are silent."""

    def is_so(pod: Pod) -> bool:
        return not pod.ended and pod.uid in known.held and pod.uid not in holders and pod.node in silent

    silent = {node for node, at in known.nodes.items() if heard_s(node, seen) < at - QUIET_S}
    return [job for job in waiting(seen) if (pods := list(seen.pods_of(job))) and all(map(is_so, pods))]
