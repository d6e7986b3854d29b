"""The entry of `python -m runner.controller`. Called by a CronJob, a shell, or a test."""

import sys

from runner.controller.passes import main

sys.exit(main())
