"""Kubernetes, as the controller and the command line see it: pods, Jobs, events and ScaledJobs of one release in one namespace."""

from runner.cluster.door import Cluster, enter, inside, opened, tell_once
from runner.cluster.facts import Event, Job, Pod, ScaledJob, Snapshot

__all__ = ["Cluster", "Event", "Job", "Pod", "ScaledJob", "Snapshot", "enter", "inside", "opened", "tell_once"]
