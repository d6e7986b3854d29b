"""A module whose import takes as long as the test wants. Imported by worker processes."""

from tests.worker.handlers_pod import NOTES, note, wait_for

note("importing", "now")
if (NOTES / "slow").exists():
    wait_for("go")
