"""A small process with one supervisor, as a worker's parent is one. Started by the tests beside it, with the run's words as JSON.

The child's output goes to this process's stderr; the last line of its stdout is the ending and what the process used.
"""

from __future__ import annotations

import json
import resource
import sys

from runner.supervisor import Supervisor


def main() -> None:
    given = json.loads(sys.argv[1])
    one = Supervisor(given["modules"], given.get("exec", ""), grace_s=given.get("grace_s", 5.0))
    one.start()
    one.await_ready()
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = json.dumps({"type": given["type"], "payload": given.get("payload")}).encode()
    facts = {"id": "1", "type": given["type"], "version": None, "queue": "emails", "attempt": 1}
    ending = one.run(facts, body, given.get("timeout_s", 30.0))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    told = {"kind": ending.kind, "wall_s": ending.wall_s, "peak_kib": ending.peak_kib}
    told |= {"tail": len(ending.tail), "result": ending.result.decode()}
    print(json.dumps(told | {"grown_kib": grown_kib, "modules": sorted(sys.modules)}), flush=True)


if __name__ == "__main__":
    main()
