"""Makes what only time makes: promotes, reaps, expires, replays, restores, trims. `python -m runner.controller`; called by cli and cron."""

from runner.controller.passes import Controller, main

__all__ = ["Controller", "main"]
