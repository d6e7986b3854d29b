"""The one retry policy, for every kind of ending and at every cap. Called by pytest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runner.errors import ConfigError
from runner.outcome import Action, Ending, Kind, Verdict
from runner.queue import Declaration
from runner.retry import backoff_ms, decide
from runner.tasks import Counters

QUEUE = Declaration("emails", max_retries=3, max_timeouts=2, max_crashes=3, max_ooms=2, max_releases=20, backoff_s=4, max_backoff_s=60)
NOW_MS = 1_800_000_000_000
NONE = Counters()
SPENT = Counters(errors=99, timeouts=99, crashes=99, ooms=99, releases=99, replays=99, unknown_ms=1)


def judged(kind: Kind, counters: Counters = NONE, jitter: float = 1.0, max_retries: int | None = None, **ending: object) -> Verdict:
    return decide(Ending(kind, "said", **ending), counters, QUEUE, now_ms=NOW_MS, jitter=jitter, max_retries=max_retries)  # type: ignore[arg-type]


@pytest.mark.parametrize("counters", [Counters(), SPENT])
@pytest.mark.parametrize(
    ("kind", "action"),
    [
        (Kind.DONE, Action.COMPLETE),
        (Kind.CANCELLED, Action.CANCEL),
        (Kind.FATAL, Action.BURY),
        (Kind.UNREADABLE, Action.BURY),
        (Kind.EXPIRED, Action.BURY),
    ],
)
def test_these_endings_are_final_whatever_came_before(kind: Kind, action: Action, counters: Counters) -> None:
    assert judged(kind, counters) == Verdict(action, kind, "said")


CAPPED = [
    (Kind.ERROR, "errors", 4),
    (Kind.RETRY, "errors", 4),
    (Kind.TIMEOUT, "timeouts", 2),
    (Kind.CRASH, "crashes", 3),
    (Kind.LOST, "crashes", 3),
    (Kind.OOM, "ooms", 2),
]


@pytest.mark.parametrize(("kind", "counter", "starts"), CAPPED)
@pytest.mark.parametrize("before", range(6))
def test_each_kind_has_its_own_counter_and_cap(kind: Kind, counter: str, starts: int, before: int) -> None:
    others = {name: 99 for name in ("errors", "timeouts", "crashes", "ooms", "releases", "replays") if name != counter}

    verdict = judged(kind, Counters(**{counter: before}, **others))

    assert (verdict.action, verdict.counter) == (Action.RETRY if before + 1 < starts else Action.BURY, counter)
    assert (verdict.reason, verdict.detail) == (kind, "said")


@pytest.mark.parametrize("kind", [kind for kind, _, _ in CAPPED])
@pytest.mark.parametrize("own", [0, 1, 9])
def test_a_tasks_own_cap_counts_errors_only(kind: Kind, own: int) -> None:
    verdict = judged(kind, Counters(errors=own), max_retries=own)

    assert verdict.action is (Action.BURY if kind in (Kind.ERROR, Kind.RETRY) else Action.RETRY)


@pytest.mark.parametrize(("before", "action"), [(0, Action.RELEASE), (19, Action.RELEASE), (20, Action.BURY), (99, Action.BURY)])
def test_a_task_is_handed_back_at_most_twenty_times(before: int, action: Action) -> None:
    verdict = judged(Kind.RELEASED, Counters(releases=before, errors=99))

    assert (verdict.action, verdict.counter, verdict.delay_ms) == (action, "releases", 0)


@pytest.mark.parametrize(
    ("known_for_ms", "action", "delay_ms"),
    [
        (None, Action.RETRY, 30_000),
        (0, Action.RETRY, 30_000),
        (590_000, Action.RETRY, 10_000),
        (600_000, Action.BURY, 0),
        (10**9, Action.BURY, 0),
    ],
)
def test_an_unknown_type_has_a_grace_and_then_it_is_buried(known_for_ms: int | None, action: Action, delay_ms: int) -> None:
    since_ms = 0 if known_for_ms is None else NOW_MS - known_for_ms

    verdict = judged(Kind.UNKNOWN_TYPE, Counters(unknown_ms=since_ms))

    assert (verdict.action, verdict.reason, verdict.delay_ms) == (action, Kind.UNKNOWN_TYPE, delay_ms)
    assert verdict.counter == ("unknown_ms" if action is Action.RETRY else "")


def test_no_grace_for_an_unknown_type_buries_it_at_once() -> None:
    declaration = replace(QUEUE, unknown_type_grace_s=0)

    assert decide(Ending(Kind.UNKNOWN_TYPE), Counters(), declaration, now_ms=NOW_MS, jitter=0).action is Action.BURY


@pytest.mark.parametrize(
    ("failed", "least_ms", "most_ms"),
    [(1, 2000, 4000), (2, 4000, 8000), (4, 16_000, 32_000), (5, 30_000, 60_000), (10_000, 30_000, 60_000)],
)
def test_pauses_double_up_to_the_cap_and_half_of_each_is_random(failed: int, least_ms: int, most_ms: int) -> None:
    assert [backoff_ms(QUEUE, failed, jitter) for jitter in (0.0, 0.5, 1.0)] == [least_ms, (least_ms + most_ms) // 2, most_ms]


@pytest.mark.parametrize(("kind", "counters"), [(Kind.ERROR, Counters(errors=1)), (Kind.CRASH, Counters(crashes=1))])
def test_the_pause_grows_with_the_failures_of_the_same_kind(kind: Kind, counters: Counters) -> None:
    assert judged(kind, counters).delay_ms == 8000


@pytest.mark.parametrize("after_s", [0.0, 0.25, 86_400.0])
def test_a_handler_that_names_its_pause_gets_it(after_s: float) -> None:
    assert judged(Kind.RETRY, after_s=after_s).delay_ms == int(after_s * 1000)


def test_a_lost_claim_waited_for_a_lease_and_runs_again_at_once() -> None:
    assert judged(Kind.LOST).delay_ms == 0


@pytest.mark.parametrize("kind", list(Kind))
def test_no_kind_of_ending_goes_on_for_ever(kind: Kind) -> None:
    assert judged(kind, SPENT).action not in (Action.RETRY, Action.RELEASE)


@pytest.mark.parametrize(("ooms", "expected"), [(0, Action.MOVE), (1, Action.MOVE), (2, Action.BURY)])
def test_what_was_killed_for_memory_moves_where_that_is_declared_until_its_cap(ooms: int, expected: Action) -> None:
    declared = Declaration("small", oom_to="big", max_ooms=3)

    verdict = decide(Ending(Kind.OOM), Counters(ooms=ooms), declared, now_ms=0, jitter=0.0)

    assert (verdict.action, verdict.counter, verdict.reason) == (expected, "ooms", Kind.OOM)


@pytest.mark.parametrize("kind", [Kind.ERROR, Kind.TIMEOUT, Kind.CRASH, Kind.LOST])
def test_nothing_else_moves(kind: Kind) -> None:
    verdict = decide(Ending(kind), Counters(), Declaration("small", oom_to="big"), now_ms=0, jitter=0.0)

    assert verdict.action is Action.RETRY


@pytest.mark.parametrize("wrong", [{"oom_to": "small"}, {"oom_to": "a b"}, {"oom_to": "big", "max_ooms": 1}])
def test_a_declaration_that_moves_nowhere_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="oom_to"):
        Declaration("small", **wrong)
