"""Commands about a queue's pods: logs, queue resume. Called by cli."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import AnyQueue, DeclaredQueue, Json, Namespace, Release, TaskId, examples, opened_producer
from runner.cli.output import harmless, say_json
from runner.errors import ClusterError, TaskUnknownError

if TYPE_CHECKING:
    from runner.broker import Facts

Tail = Annotated[int, typer.Option(min=1, help="So many lines of the pod's log, the last ones.")]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=examples("runner logs 206", "runner logs 206 --tail 50 --namespace shop"))(logs)


def logs(
    task_id: TaskId,
    queue: AnyQueue = "",
    tail: Tail = 1000,
    namespace: Namespace = "",
    release: Release = "",
    as_json: Json = False,
) -> int:
    """Print what the last attempt of a task wrote: its pod's log while there is the pod, else the tail that was kept."""
    with opened_producer() as producer:
        found = producer.find(task_id, queue=queue or None)
    if not found:
        raise TaskUnknownError(f"no queue knows task {task_id!r}")
    said = attempt_of(found[1])
    text, why = _pod_log(said["pod"], tail, namespace, release) if said["pod"] else (None, "")
    said |= {"source": "pod", "text": text} if text is not None else {"source": "kept" if said["tail"] else "none", "text": said["tail"]}
    return _say(task_id, said, why, as_json)


def attempt_of(facts: Facts) -> dict[str, Any]:
    """The attempt that runs, else the last one that ran: number, pod, node, kind, and the tail of its output."""
    from runner.attempt import read_attempts

    if facts.holder:
        pod, node = _place(facts.holder)
        return {"attempt": facts.counters.attempt, "pod": pod, "node": node, "kind": "running", "tail": ""}
    ran = [one for one in read_attempts(facts.attempts) if "holder" in one]
    last: dict[str, Any] = dict(ran[-1]) if ran else {}
    pod, node = _place(str(last.get("holder", "")))
    return {"attempt": last.get("attempt"), "pod": pod, "node": node, "kind": last.get("kind"), "tail": last.get("tail", "")}


def _place(holder: str) -> tuple[str, str]:
    """Pod and node of a holder's word `pod/uid/node`."""
    pod, *rest = holder.split("/")
    return ("" if pod == "-" else pod), (rest[-1] if len(rest) > 1 else "")


def _pod_log(pod: str, lines: int, namespace: str, release: str) -> tuple[str | None, str]:
    from runner.cli import view

    cluster, why = view.entered(namespace, release)
    try:
        return (cluster.log(pod, lines), "") if cluster else (None, why)
    except ClusterError as error:
        return None, str(error)


def _say(task_id: str, said: dict[str, Any], why: str, as_json: bool) -> int:
    if as_json:
        say_json({name: value for name, value in said.items() if name != "tail"} | {"id": task_id, "not_asked": why})
        return 0 if said["text"] else 1
    if said["text"]:
        print(harmless(str(said["text"])).rstrip("\n"))
        return 0
    if said["attempt"] is None:
        print(f"no attempt of task {task_id!r} has run yet")
        return 1
    where = f"pod {said['pod'] or 'without a name'}" + (f" on node {said['node']}" if said["node"] else "")
    unseen = f" (Kubernetes was not asked: {why})" if why else ""
    print(f"nothing is kept of attempt {said['attempt']} ({said['kind']}), and its log is not to be had: it ran in {where}{unseen}")
    return 1


def resume(queue: DeclaredQueue, namespace: Namespace = "", release: Release = "") -> int:
    """Lift the pause that the controller put on a queue whose pods ended without claiming; a person's pause stays."""
    from runner.cli import view
    from runner.controller.notices import PAUSED
    from runner.controller.notices import resume as resumed

    cluster, why = view.entered(namespace, release)
    if cluster is None:
        raise ClusterError(why or "no cluster is named: neither in a pod nor by a kubeconfig")
    ours = [one for one in cluster.snapshot().scaled_jobs if one.queue == queue]
    done = [one.name for one in ours if (changes := resumed(one, asked=True)) and cluster.annotate(one.name, one.version, changes)]
    left = [one.name for one in ours if one.name not in done and one.annotations.get(PAUSED) == "true"]
    for name in done:
        print(f"{name}: resumed")
    for name in left:
        print(f"{name}: paused by a person, left so: kubectl annotate scaledjob {name} {PAUSED}-")
    if not done and not left:
        print(f"queue {queue!r} is not paused" if ours else f"queue {queue!r} has no ScaledJob here")
    return 0 if done else 1
