"""A ScaledJob against its queue's declaration: the traps that KEDA and Kubernetes set. Pure; called by doctor.

Each was met: most of them start nothing, or start pods for nothing, without an error anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from runner.cluster import ScaledJob
from runner.keys import Keys
from runner.queue import Declaration

Raw = Mapping[str, Any]
EVICTION = ("cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt")
IDLE_OVER_S, GRACE_S = 5.0, 10.0
"""Defaults of RUNNER_IDLE_S, over the lease, and of RUNNER_GRACE_S."""


def faults(one: ScaledJob, declared: Declaration, prefix: str) -> list[str]:
    """What is wrong with a ScaledJob, a sentence each."""
    job = one.spec.get("jobTargetRef") or {}
    template = _annotations(job)
    found = [*_triggers(one.spec, declared, Keys(prefix, declared)), *_scaling(one.spec, declared)]
    found += [*_job(job, declared), *_pod(job, declared)]
    found += [f"annotation {name} is on the ScaledJob, and pods get theirs from the template" for name in _misplaced(one, template)]
    return found


def _triggers(spec: Raw, declared: Declaration, keys: Keys) -> Iterator[str]:
    stream = declared.mode == "stream"
    word, bound = ("stream", "streamLength") if stream else ("listName", "listLength")
    seen: Counter[str] = Counter()
    for trigger in spec.get("triggers") or []:
        kind, meta = str(trigger.get("type", "")), trigger.get("metadata") or {}
        key = str(meta.get(word, ""))
        seen[key] += 1
        if not kind.startswith("redis") or kind.endswith("-streams") is not stream:
            wanted_type = "redis-streams" if stream else "redis"
            yield f"trigger {kind} does not count a {declared.mode}: its type is {wanted_type}, or that of a Sentinel or Cluster"
        yield from _counting(key, meta, bound)
        if trigger.get("metricType"):
            yield f"trigger of {key}: metricType is refused on ScaledJobs"
    yield from _watched(seen, {keys.watched(priority): priority for priority in declared.priorities})


def _watched(seen: Counter[str], wanted: Mapping[str, str]) -> Iterator[str]:
    for key, priority in wanted.items():
        if not seen[key]:
            yield f"nothing watches {key}: tasks of priority {priority} start no pod"
    for key, number in seen.items():
        if number and key not in wanted:
            yield f"{key or 'a trigger without a key'} is watched, and no task of this queue ever lies there"
        if number > 1:
            yield f"{key} is watched {number} times: each task starts as many pods"


def _counting(key: str, meta: Raw, bound: str) -> Iterator[str]:
    if str(meta.get(bound, "5")) != "1":
        yield f"trigger of {key}: {bound} is {meta.get(bound, 'not set, which is 5')}: one pod is started for so many tasks; set it to 1"
    if meta.get("consumerGroup"):
        yield f"trigger of {key}: with a consumerGroup KEDA counts what never goes away, or a lag that becomes none; leave it out"
    for name in ("pendingEntriesCount", "lagCount"):
        if meta.get(name):
            yield f"trigger of {key}: {name} is not the number of tasks; use {bound}"
    for name in sorted(meta):
        if name.startswith("activation") and str(meta[name]) not in ("0", ""):
            yield f"trigger of {key}: {name} is {meta[name]}: the first tasks start nothing; leave it out"


def _scaling(spec: Raw, declared: Declaration) -> Iterator[str]:
    scaling = spec.get("scalingStrategy") or {}
    strategy = scaling.get("strategy") or "default"
    if declared.mode == "stream" and strategy != "default":
        yield f"scalingStrategy.strategy is {strategy}: a stream's length counts what runs, so tasks start more than one pod; leave it out"
    if declared.mode == "list" and strategy != "accurate":
        yield f"scalingStrategy.strategy is {strategy}: a list's length leaves out what runs, so too few pods are started; set accurate"
    if declared.mode == "list" and "Ready" not in (scaling.get("pendingPodConditions") or []):
        yield "scalingStrategy.pendingPodConditions has no Ready: a pod that has not claimed yet is not known as one; add it"
    if len(spec.get("triggers") or []) > 1 and scaling.get("multipleScalersCalculation") != "sum":
        yield "scalingStrategy.multipleScalersCalculation is not sum: only the longest of the keys counts"
    if (spec.get("rollout") or {}).get("strategy") != "gradual":
        yield "rollout.strategy is not gradual: every change of the ScaledJob kills the running Jobs"
    if spec.get("fallback"):
        yield "fallback does not exist on ScaledJobs"


def _job(job: Raw, declared: Declaration) -> Iterator[str]:
    for name, wanted in (("backoffLimit", 0), ("parallelism", 1), ("completions", 1)):
        if job.get(name, 6 if name == "backoffLimit" else 1) != wanted:
            is_now = job.get(name, "not set, which is 6")
            yield f"jobTargetRef.{name} is {is_now}: the queue itself decides what runs again; set it to {wanted}"
    least_s = declared.max_timeout_s + declared.lease_s + IDLE_OVER_S + GRACE_S
    deadline_s = job.get("activeDeadlineSeconds")
    if deadline_s is None:
        yield "jobTargetRef.activeDeadlineSeconds is not set: a Job that never starts counts as running for ever"
    elif deadline_s < least_s:
        yield f"jobTargetRef.activeDeadlineSeconds is {deadline_s}: the longest task needs {least_s:g} s, and waiting for a node counts too"


def _pod(job: Raw, declared: Declaration) -> Iterator[str]:
    pod = (job.get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or [{}]
    environment = {one.get("name"): str(one.get("value", "")) for one in containers[0].get("env") or []}
    if pod.get("restartPolicy") != "Never":
        yield f"restartPolicy is {pod.get('restartPolicy', 'not set')}: a pod takes one task and ends; set Never"
    if len(containers) > 1:
        yield "a second container keeps the Job from ending: make it an init container with restartPolicy Always"
    if declared.mode == "list" and not containers[0].get("readinessProbe"):
        yield "the worker has no readinessProbe: KEDA takes each pod for one that has claimed already; test for RUNNER_READY_FILE"
    grace_s, given_s = _number(environment.get("RUNNER_GRACE_S"), GRACE_S), pod.get("terminationGracePeriodSeconds", 30)
    if given_s <= grace_s:
        yield f"terminationGracePeriodSeconds is {given_s}, RUNNER_GRACE_S {grace_s:g}: no time is left to hand a task back"
    if environment.get("RUNNER_QUEUE", declared.name) != declared.name:
        yield f"RUNNER_QUEUE is {environment['RUNNER_QUEUE']}: these pods take another queue's tasks"
    if not any(one.get("name") == "RUNNER_POD_UID" for one in containers[0].get("env") or []):
        yield "RUNNER_POD_UID is not given to the pods: a dead one is found only when its lease ends"


def _number(text: str | None, default: float) -> float:
    try:
        return float(text) if text else default
    except ValueError:
        return default


def _annotations(job: Raw) -> Raw:
    return ((job.get("template") or {}).get("metadata") or {}).get("annotations") or {}


def _misplaced(one: ScaledJob, template: Raw) -> list[str]:
    return [name for name in EVICTION if name in one.annotations and name not in template]
