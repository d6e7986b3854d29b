"""The entry of `python -m runner.controller`. Called by a CronJob, a shell, or a test."""

import sys

from runner import logs
from runner.config import NO_OPTIONS
from runner.controller.passes import main

if sys.argv[1:]:
    logs.event("refused to start", "error", error=NO_OPTIONS)
    sys.exit(2)
sys.exit(main())
