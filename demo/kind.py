"""`python -m demo.kind`: the demo in a cluster with KEDA: submit, show Jobs move, copy the pictures. Run by deploy/kind/demo.sh."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from demo import pictures, report
from demo.plan import Planned, contact_sheet, planned
from demo.story import Told
from runner.broker import Broker, Queue
from runner.connect import connect
from runner.producer import Producer
from runner.url import from_environment

QUEUE = "photos"
INSIDE = Path("/pictures")
PHOTOS = Path("/app/demo/photos")
WITHIN_S = 300.0
ENDED = ("done", "dead")


class Cluster:
    """What kubectl says of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.base = ["kubectl", "--namespace", namespace]

    def run(self, *arguments: str) -> str:
        """What kubectl prints."""
        return subprocess.run([*self.base, *arguments], check=True, capture_output=True, text=True).stdout

    def jobs(self) -> Counter[str]:
        """The queue's Jobs by what they are."""
        found = json.loads(self.run("get", "jobs", "--selector", f"scaledjob.keda.sh/name=photos-runner-{QUEUE}", "--output", "json"))
        return Counter(_state(job["status"]) for job in found["items"])


def _state(status: dict[str, Any]) -> str:
    ends = {one["type"]: one["status"] for one in status.get("conditions", [])}
    return next((word for word in ("Complete", "Failed") if ends.get(word) == "True"), "running" if status.get("ready") else "starting")


class Story:
    """One run: what was submitted, and what the cluster made of it."""

    def __init__(self, queue: Queue, producer: Producer, cluster: Cluster, console: Console) -> None:
        self.queue, self.producer, self.cluster, self.console = queue, producer, cluster, console
        self.told: list[Told] = []
        self._began_s, self._said = time.monotonic(), ""

    def submit(self, one: Planned) -> None:
        """Hand in one task."""
        receipt = self.producer.submit(one.type, one.payload, queue=QUEUE, priority=one.priority)
        self.told.append(Told(one, receipt.id))

    def follow(self) -> None:
        """Until all that was submitted has ended, or the time is over; the pod of one task is deleted in the middle of it."""
        pause, struck = threading.Event(), False
        while not self._all_ended() and time.monotonic() - self._began_s < WITHIN_S:
            struck = struck or self._strike()
            self._say()
            pause.wait(0.5)

    def _all_ended(self) -> bool:
        for one in self.told:
            one.facts = self.queue.look(one.task_id)
        ended = [one.facts is not None and one.facts.state in ENDED for one in self.told]
        return all(ended)

    def _strike(self) -> bool:
        """Force-delete the pod whose heartbeat says that it is in the middle of its task."""
        one = next((told for told in self.told if told.planned.role == "killed"), None)
        facts = one.facts if one else None
        if one is None or facts is None or not facts.holder or facts.progress in (None, "-"):
            return False
        pod = facts.holder.split("/")[0]
        self.cluster.run("delete", "pod", pod, "--force", "--grace-period=0", "--wait=false")
        self.say(f"{pod} was half done with {one.planned.label!r}: deleted by force")
        return True

    def _say(self) -> None:
        """A line when something moved."""
        tasks = Counter(one.facts.state for one in self.told if one.facts)
        said = f"tasks: {_list(tasks)}; Jobs: {_list(self.cluster.jobs())}"
        if said != self._said:
            self._said = said
            self.say(said)

    def say(self, said: str) -> None:
        """A line with the time."""
        self.console.print(f"{time.monotonic() - self._began_s:5.1f} s  {said}", markup=False)


def _list(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "none"


def plan() -> list[Planned]:
    """The demo's tasks, with the paths that photographs and pictures have in the pods."""
    found = planned(pictures.found(pictures.SHIPPED), INSIDE)
    for one in found:
        if "photo" in one.payload:
            one.payload["photo"] = str(PHOTOS / Path(one.payload["photo"]).name)
    return found


def main() -> int:
    """Run it; 1 when a picture is missing."""
    parser = argparse.ArgumentParser(prog="python -m demo.kind", description=__doc__)
    parser.add_argument("--namespace", default="demo")
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    options = parser.parse_args()
    console = Console(highlight=False, width=max(report.WIDE, Console().width))
    url, cluster = from_environment(os.environ), Cluster(options.namespace)
    with Producer(url) as producer:
        story = Story(Broker(connect(url)).open(QUEUE), producer, cluster, console)
        for one in sorted(plan(), key=lambda one: one.priority):
            story.submit(one)
        story.follow()
        medium = [one.planned for one in story.told if one.planned.label.endswith(", medium") and one.facts and one.facts.state == "done"]
        story.submit(contact_sheet([(one.payload["target"], one.label.removesuffix(", medium")) for one in medium], INSIDE))
        story.follow()
    options.out.mkdir(parents=True, exist_ok=True)
    cluster.run("cp", f"pictures:{INSIDE}", str(options.out), "--container", "pictures")
    return _verdict(story, options.out, console)


def _verdict(story: Story, out: Path, console: Console) -> int:
    rows = [report.row(told) for told in story.told]
    console.print(report.table(rows, console.width))
    jobs = story.cluster.jobs()
    console.print(f"Jobs          {sum(jobs.values())}: {_list(jobs)}")
    console.print(f"pictures      {out.resolve()}", soft_wrap=True)
    wanted = [told.planned for told in story.told if told.planned.role != "poison"]
    missing = [one.label for one in wanted if not (out / Path(one.payload["target"]).name).is_file()]
    for label in missing:
        console.print(f"broken: there is no picture of {label}", markup=False)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
