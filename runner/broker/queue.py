"""A declared queue, opened: all its transitions in one object. Called by the roles through Broker.open."""

from __future__ import annotations

from runner.broker.attempts import Attempts
from runner.broker.claims import Claims
from runner.broker.history import History
from runner.broker.intake import Intake
from runner.broker.moving import Moving
from runner.broker.reads import Reads
from runner.broker.seizing import Seizing
from runner.broker.upkeep import Upkeep


class Queue(Intake, Claims, Seizing, Moving, Attempts, Upkeep, History, Reads):
    """Submit, claim, settle, move, bury, replay, promote, reap, read: each method is one script."""
