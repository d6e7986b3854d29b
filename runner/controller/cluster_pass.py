"""What a pass over one queue does about its pods, Jobs and ScaledJobs. Called by queue_pass, where there is a cluster.

Decisions come from a snapshot; whatever is done is looked at once more first, names the very object by uid or version, and leaves alone
what a living claim holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from runner import logs
from runner.broker import Broker, Queue
from runner.broker.claims import CHUNK
from runner.cluster import Cluster, Job, ScaledJob, Snapshot
from runner.controller import holders, notices
from runner.controller.jobs import abandoned, stands, stuck, unheeding
from runner.controller.silence import Silence, deserted
from runner.controller.starts import MOST, WITHIN_S, Starts, noted
from runner.outcome import Ending
from runner.reaper import settle_reaped
from runner.tasks import Holding

MOST_LOOKS = 500
"""Pods looked up in one pass of a queue; the next goes on."""
FAILING = "KEDAScalerFailed"
"""The event in which KEDA says why it cannot use a ScaledJob."""
Finding = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a pass knows of the cluster: the whole snapshot, the pods and silent nodes of earlier ones, and how long a stuck Job is left."""

    cluster: Cluster
    whole: Snapshot
    ever: Collection[str]
    silence: Silence
    stuck_s: float


class ClusterPass:
    """One queue's part of the cluster. `did` counts what was done, `found` is for `status`."""

    def __init__(self, sight: Sight, broker: Broker, queue: Queue) -> None:
        self.cluster, self.sight, self.broker, self.queue = sight.cluster, sight, broker, queue
        self.seen = sight.whole.of(queue.name)
        self.did: Counter[str] = Counter()
        self.found: list[Finding] = []

    def seize(self) -> None:
        """Settle now what is held by pods that are shown to be gone, with the reason."""
        endings = {one.id: (one, how) for one, how in self._gone(self.queue.holdings())}
        gone = [one for one, _ in endings.values()]
        for at in range(0, len(gone), CHUNK):
            taken = self.queue.seize(gone[at : at + CHUNK])
            settled = settle_reaped(self.queue, taken.claims, taken.now_ms, {name: how for name, (_, how) in endings.items()})
            self.did.update({f"seized_{name}": number for name, number in asdict(settled).items()})
            for claim in taken.claims:
                logs.event("pod gone", "warning", queue=self.queue.name, task_id=claim.id, why=endings[claim.id][1].detail)

    def _gone(self, holdings: list[Holding]) -> Iterator[tuple[Holding, Ending]]:
        for one, holder in holders.to_look_up(holdings, self.seen)[:MOST_LOOKS]:
            how = holders.ending(holder, self.cluster.pod(holder.pod), self.seen, self.sight.ever)
            if how is not None:
                yield one, how

    def end_reaped(self, reaped: Collection[str]) -> None:
        """End the Jobs of holders whose claims expired though their pods are not gone: KEDA counts them as running."""
        known = {word: holder for word in reaped if (holder := holders.holder_of(word))}
        holding = holders.uids(self.queue.holdings()) if known else set()
        for holder in known.values():
            pod = self.cluster.pod(holder.pod)
            if pod is not None and pod.uid == holder.uid and not pod.ended and pod.job_uid and pod.uid not in holding:
                job = holders.job_of(holder, self.seen)
                name = job.name if job else holder.pod.rpartition("-")[0]
                self._delete(name, pod.job_uid, "its claim expired while its pod was not gone")
                self.sight.silence.nodes[pod.node] = self.seen.now_s

    def jobs(self) -> None:
        """Name the Jobs that cannot start, delete those that are over, and those on lost nodes."""
        holding = holders.uids(self.queue.holdings()) if self.seen.jobs else set()
        lost = {*self.sight.silence.nodes, *unheeding(self.sight.whole)}
        for one in stuck(self.seen, holding, self.sight.stuck_s, lost):
            self._find("stuck", one.job.name, one.reason, one.message, one.job.created_s)
            if one.over and stands(one, self.cluster.pods_of(one.job.uid), holders.uids(self.queue.holdings())):
                self._delete(one.job.name, one.job.uid, f"it never started: {one.reason}")
        for job in [*abandoned(self.seen, holding), *deserted(self.seen, holding, self.sight.silence)]:
            self._delete(job.name, job.uid, "its node does not answer")
        self.sight.silence.held |= holding
        for job in self.seen.jobs:
            if job.suspended and not job.ended:
                self._find("suspended", job.name, "Suspended", "KEDA counts it as running", job.created_s)

    def _delete(self, name: str, uid: str, why: str) -> None:
        if self.cluster.delete_job(name, uid):
            self.did["jobs_ended"] += 1
            logs.event("Job deleted", "warning", queue=self.queue.name, job=name, why=why)

    def scaled(self) -> None:
        """Have KEDA look again, pause what only fails, lift our own pauses."""
        looping = self._looping(self.seen.jobs)
        for one in self.seen.scaled_jobs:
            self._write(one, "resumed", notices.resume)
            if looping:
                self._pause(one)
            elif notices.WHY not in one.annotations:
                self._write(one, "nudged", lambda now: notices.nudge(now, self.seen.now_s))
            if one.ready in ("False", "Unknown"):
                self._find("keda", one.name, *self._keda_says(one), 0.0)
            if why := notices.reason(one):
                self._find("paused", one.name, "paused by the controller", why, 0.0)
            elif one.annotations.get(notices.PAUSED) not in (None, notices.NUDGED):
                self._find("paused", one.name, "paused by a person", "", 0.0)

    def _keda_says(self, one: ScaledJob) -> tuple[str, str]:
        """The condition of a ScaledJob names no cause; KEDA's last event does, such as a Secret that the pods want and nobody made."""
        events = [event for event in self.seen.events if (event.kind, event.name, event.reason) == ("ScaledJob", one.name, FAILING)]
        last = max(events, key=lambda event: event.last_s, default=None)
        return (last.reason, last.message) if last else (one.ready_reason, one.ready_message)

    def _looping(self, jobs: Collection[Job]) -> bool:
        if not any(one.ended == "Failed" for one in jobs):
            return False
        kept = self.broker.starts(self.queue.name)
        before = Starts(**kept) if kept else Starts()
        after = noted(before, self.queue.turn(), jobs, self.seen.now_s)
        if after != before:
            self.broker.note_starts(self.queue.name, asdict(after))
        return after.looping

    def _pause(self, one: ScaledJob) -> None:
        why = f"{MOST} pods within {WITHIN_S / 60:.0f} min ended without claiming a task: look at their logs, mend image or settings"
        if self._write(one, "paused", lambda now: notices.pause(now, why)):
            # Should the pause be lifted, only Jobs that are made from here on count.
            self.broker.note_starts(self.queue.name, asdict(Starts(self.queue.turn(), self.seen.now_s)))
            self._find("paused", one.name, "paused by the controller", why, 0.0)

    def _write(self, one: ScaledJob, word: str, decide: Callable[[ScaledJob], notices.Changes | None]) -> bool:
        """KEDA writes the status of an active ScaledJob at every poll, so what the snapshot shows is often too old: then look once more.

        Seen: on a busy machine a pause was refused again and again, while 26 pods came to nothing.
        """
        changes = decide(one)
        done = changes is not None and self.cluster.annotate(one.name, one.version, changes)
        if changes is not None and not done and (now := self.cluster.scaled_job(one.name)):
            changes = decide(now)
            done = changes is not None and self.cluster.annotate(now.name, now.version, changes)
        if done:
            self.did[word] += 1
            logs.event(f"ScaledJob {word}", queue=self.queue.name, scaled_job=one.name, changes=changes)
        return done

    def _find(self, kind: str, name: str, reason: str, message: str, since_s: float) -> None:
        self.found.append({"kind": kind, "name": name, "reason": reason, "message": message, "since_ms": int(since_s * 1000)})
